#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the programs know of a directory holds for that one alone: what they remember, until the policy changes, and for no
# canary; and what rules say. On overlayfs and FUSE a new directory gets the number, and often the memory, of one that was removed.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
modprobe -a overlay fuse # before sbpf's programs: of one that comes later nothing is remembered
layers=/var/overlay
mkdir -p "$layers"/{low/1/2/3/4/5/6/7/8/9/10/deep,up,work} "$layers/all"
mount -t overlay overlay -o "lowerdir=$layers/low,upperdir=$layers/up,workdir=$layers/work" "$layers/all"; is mounted 0 $?
mkdir "$layers"/all/{rw,ro}
mkdir -p /var/fuse/{behind,all}
bindfs /var/fuse/behind /var/fuse/all; is fuse/mounted 0 $?
p=$(policy carved <<P
version: 1
name: carved
filesystem: {default: read, write: [$layers/all/rw]}
$powers
P
)
cat >"$tmp/outside.py" <<'P'
import collections, os, subprocess, sys, time
place, *inside = sys.argv[1:]
box = subprocess.Popen(inside, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def write(path):
    box.stdin.write("w " + path + "\n")
    box.stdin.flush()
    return int(box.stdout.readline())

def make(directory):
    os.mkdir(directory)
    open(directory + "/file", "w").close()
    return os.stat(directory).st_ino

def remove(directory):
    os.unlink(directory + "/file")
    os.rmdir(directory)

seen = collections.Counter()
for i in range(int(os.environ["ROUNDS"])):
    number = make(place + "/rw/own")
    seen["own %d" % (write(place + "/rw/own/file") or write(place + "/rw/own/file"))] += 1
    remove(place + "/rw/own")
    time.sleep(0.06)  # until the kernel has freed what it was
    for k in range(i % 8):  # takes some of the memory
        os.path.exists("%s/ro/none.%d.%d" % (place, i, k))
    seen["again %s" % (make(place + "/ro/other") == number)] += 1
    seen["other %d" % write(place + "/ro/other/file")] += 1
    remove(place + "/ro/other")
for what in sorted(seen):
    print(what, seen[what])
P
tried() { ROUNDS=$1 python3 "$tmp/outside.py" "$layers/all" "${@:2}" python3 -c "$hands"; }
out=$(tried 4)
is control/written "other 0 4" "$(grep other <<<"$out")"
out=$(tried 240 sbpf run -q --policy "$p" --)
is own/written "own 0 240" "$(grep own <<<"$out")"
has number/given-again "again True 2" "$out"
is other/denied "other 13 240" "$(grep other <<<"$out")"

# ---- what a rule names, which the host removes: the next one gets its number, and not its rights ----
hands_of free env
box open "$open_policy"
deep=1/2/3/4/5/6/7/8/9/10/deep # more names than hold by themselves
# with_number NUMBER COMMAND…: makes with it until one has the number
with_number() {
  for i in {1..100}; do
    next=$all/ro/next.$i
    "${@:2}" "$next"
    [[ $(stat -c %i "$next") == "$1" ]] && return
  done
}
# replaced RULE WRITTEN MAKE…: what RULE names, which has WRITTEN in it or is it, is removed and made anew with MAKE, four times
replaced() {
  local rule=$1 path=$all/$1 given=0 number
  for round in 1 2 3 4; do
    number=$(stat -c %i "$path")
    echo text >"$path$2"
    if [[ $rule == secret ]]; then denied $fs/secret/control-$round named r "$path$2"; else allowed $fs/$rule/control-$round named w "$path$2"; fi
    rm -r "${path:?}"
    sleep 0.1 # until the kernel has freed what it was
    with_number "$number" "${@:3}"
    if [[ $(stat -c %i "$next") == "$number" ]]; then given=$((given + 1)); fi # another file of the disk may have taken it
    echo text >"$next$2"
    denied $fs/$rule/not-written-$round named w "$next$2"
    allowed $fs/$rule/is-read-$round named r "$next$2"
    rm -r "$all"/ro/next.*
    "${@:3}" "$path"
    sbpf swap named --policy "$p" >/dev/null; is $fs/$rule/known-anew-$round 0 $?
  done
  is $fs/$rule/numbers-given-again yes "$( ((given >= 1)) && echo yes || echo "$given of 4")"
}
# What is in the lower layer keeps its number when it is copied up, and when its memory is given back.
deep_ones() {
  local place=$all/$deep
  allowed deep/control-written named create "$place/one"
  is deep/copied-up yes "$([[ -d $layers/up/$deep ]] && echo yes || echo no)"
  allowed deep/copied-up-is-written named create "$place/two"
  denied deep/beside named create "${place%/*}/beside"
  echo 2 >/proc/sys/vm/drop_caches
  allowed deep/after-dropped-caches named create "$place/three"
}
for fs in overlay fuse; do
  all=/var/$fs/all
  p=$(policy named <<P
version: 1
name: named
filesystem: {default: read, write: [$all/named, $all/file, $all/$deep], deny: [$all/secret]}
$powers
P
)
  mkdir -p "$all"/{named,secret,ro,$deep}
  touch "$all/file"
  box named "$p"
  replaced named /file mkdir
  replaced secret /file mkdir
  replaced file "" touch
  mv "$all/file" "$all/ro/moved" # files are known by their names
  denied $fs/moved/file named w "$all/ro/moved"
  mv "$all/ro/moved" "$all/file"
  # The kernel has forgotten what they were: names lead to them.
  echo text >"$all/secret/file"
  echo text >"$all/named/file"
  echo 2 >/proc/sys/vm/drop_caches
  denied $fs/dropped/secret named r "$all/secret/file"
  allowed $fs/dropped/named named w "$all/named/file"
  allowed $fs/dropped/file named w "$all/file"
  if [[ $fs == overlay ]]; then deep_ones; fi
  end named
done
end open

# ---- a file of theirs that is mounted by itself has no name there ----
# says FILE ACCESS: the exit code under a policy that says so of where FILE is mounted
says() {
  local code
  mount --bind "$1" /srv/one
  p=$(policy one <<<"version: 1"$'\n'"name: one"$'\n'"filesystem: {default: write, $2: [/srv/one]}")
  sbpf run -q --policy "$p" -- sh -c "echo more >>/srv/one" </dev/null >/dev/null 2>"$tmp/said"; code=$?
  umount /srv/one
  echo $code
}
touch /srv/one /srv/plain
for fs in overlay fuse; do
  touch /var/$fs/all/one
  for access in deny protect; do
    is $fs/mounted-file/$access 125 "$(says /var/$fs/all/one $access)"
    has $fs/mounted-file/$access-says "/srv/one: a file of $fs is mounted there" "$(cat "$tmp/said")"
  done
  has $fs/mounted-file/hint "name the file where it lies" "$(cat "$tmp/said")"
  is $fs/mounted-file/none-was-run 0 "$(stat -c %s /var/$fs/all/one)"
  is $fs/mounted-file/written 0 "$(says /var/$fs/all/one write)"
done
is mounted-file/control-denied 2 "$(says /srv/plain deny)" # by the shell
has mounted-file/control-says "Permission denied" "$(cat "$tmp/said")"
umount "$layers/all" /var/fuse/all

# ---- a canary, and a policy that is swapped ----
# Remembered is what rules say of directories: not what nobody judges, nor a file that a rule names.
p=$(policy reader <<<$'version: 1\nname: reader\nfilesystem: {default: deny, read: [/usr, /bin, /lib, /lib64, /etc, /proc, /dev, /srv]}')
nothing=$(policy nothing <<<$'version: 1\nname: nothing\nextends: [runtime-files]\nfilesystem: {default: deny}')
echo text >/srv/file
box reader "$p"
is canary/opened 0 "$(ask reader r /dev/zero)"
sbpf verify reader >/dev/null 2>&1; is canary/denied 0 $?
is swap/opened 0 "$(ask reader r /srv/file)"
sbpf swap reader --policy "$nothing" >/dev/null; is swap/exit 0 $?
is swap/denied $EACCES "$(ask reader r /srv/file)"
end reader
clean; is left-behind "" "$(left_behind)"
finish
