#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the programs know of a directory holds for that one alone: what they remember, until the policy changes, and for no
# canary; and what rules say. On overlayfs a new directory gets the number, and often the memory, of one that was removed.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
modprobe overlay # before sbpf's programs: of one that comes later nothing is remembered
layers=/var/overlay
mkdir -p "$layers"/{low/1/2/3/4/5/6/7/8/9/10/deep,up,work} "$layers/all"
mount -t overlay overlay -o "lowerdir=$layers/low,upperdir=$layers/up,workdir=$layers/work" "$layers/all"; is mounted 0 $?
mkdir "$layers"/all/{rw,ro}
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

# ---- a rule's directory, which the host removes: the next one gets its number, and not its rights ----
deep=$layers/all/1/2/3/4/5/6/7/8/9/10/deep # more names than hold by themselves
p=$(policy named <<P
version: 1
name: named
filesystem: {default: read, write: [$layers/all/named, $deep], deny: [$layers/all/secret]}
$powers
P
)
mkdir "$layers"/all/{named,secret}
hands_of free env
box open "$open_policy"
box named "$p"
# with_number NUMBER: makes directories until one has it
with_number() {
  for i in {1..40}; do
    next=$layers/all/ro/next.$i
    mkdir "$next"
    [[ $(stat -c %i "$next") == "$1" ]] && return
  done
}
for rule in named secret; do
  given=0
  for round in 1 2 3 4; do
    number=$(stat -c %i "$layers/all/$rule")
    echo text >"$layers/all/$rule/file"
    if [[ $rule == named ]]; then allowed named/control-$round named w "$layers/all/named/file"; fi
    if [[ $rule == secret ]]; then denied secret/control-$round named r "$layers/all/secret/file"; fi
    rm -r "${layers:?}/all/$rule"
    sleep 0.1 # until the kernel has freed what it was
    with_number "$number"
    if [[ $(stat -c %i "$next") == "$number" ]]; then given=$((given + 1)); fi # another file of the disk may have taken it
    echo text >"$next/file"
    denied $rule/not-written-$round named w "$next/file"
    allowed $rule/is-read-$round named r "$next/file"
    rm -r "$layers"/all/ro/next.*
    mkdir "$layers/all/$rule"
    sbpf swap named --policy "$p" >/dev/null; is $rule/known-anew-$round 0 $?
  done
  is $rule/numbers-given-again yes "$( ((given >= 2)) && echo yes || echo "$given of 4")"
done
# What is in the lower layer keeps its number when it is copied up, and when its memory is given back.
allowed deep/control-written named create "$deep/one"
is deep/copied-up yes "$([[ -d $layers/up/${deep#"$layers/all/"} ]] && echo yes || echo no)"
allowed deep/copied-up-is-written named create "$deep/two"
denied deep/beside named create "${deep%/*}/beside"
echo 2 >/proc/sys/vm/drop_caches
allowed deep/after-dropped-caches named create "$deep/three"
end named
end open
umount "$layers/all"

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
