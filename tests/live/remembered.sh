#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the programs remember of a directory holds for that one alone, until the policy changes, and for no canary. On overlayfs
# a new directory gets the number, and often the memory, of one that was removed.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
modprobe overlay # before sbpf's programs: of one that comes later nothing is remembered
layers=/var/overlay
mkdir -p "$layers"/{low,up,work} "$layers/all"
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
