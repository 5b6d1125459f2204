#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A file system that gives no answer: sbpf gives it up and names the path, takes no lock along, and goes on with the rest.
. "$(dirname "$0")/lib.sh"
keep_loaded
modprobe fuse 2>/dev/null # where it is a module
where=/srv/hung
mkdir -p $where /srv/fine
cat >"$tmp/hang.py" <<'P'
import ctypes, os, struct, sys, time
fd = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fd
if libc.mount(b"hung", sys.argv[1].encode(), b"fuse", 0, options):
    sys.exit(os.strerror(ctypes.get_errno()))
print("ready", flush=True)
if len(sys.argv) == 2:
    time.sleep(1000)  # and answers nothing
INIT, ACCESS, OPENDIR = 26, 34, 27  # an empty directory, until it is stopped
answers = {INIT: struct.pack("=IIIIHHIIHH32x", 7, 31, 65536, 0, 12, 9, 65536, 1, 16, 0), ACCESS: b"", OPENDIR: bytes(16)}
while True:
    operation, unique = struct.unpack_from("=4xIQ", os.read(fd, 1 << 17))
    body = answers.get(operation)
    os.write(fd, struct.pack("=IiQ", 16 + len(body or b""), 0 if body is not None else -38, unique) + (body or b""))
P
hang() { : >"$tmp/ready"; python3 -IS "$tmp/hang.py" $where "$@" >"$tmp/ready" & hanging=$!; servers+=($hanging); within 20 grep -q ready "$tmp/ready"; }
# Whoever waits for it gets an error then.
let_go() { kill $hanging; wait $hanging 2>/dev/null; umount $where; }
beneath=$(policy beneath <<P
version: 1
name: beneath
extends: [runtime-files]
filesystem: {write: [$where/data, /srv/fine]}
P
)
beside=$(policy beside <<P
version: 1
name: beside
extends: [runtime-files]
filesystem: {write: [/srv/fine]}
P
)
lock_is_free() { flock -n /run/sbpf.lock true; }
processes=$(pgrep -cx sbpf)
no_more_are_left() { [[ $(pgrep -cx sbpf) == "$processes" ]]; }
says="$where gives no answer for"

hang; is control/mounted 0 $?
timeout -s KILL 3 stat $where/data >/dev/null 2>&1; is control/it-hangs 137 $?
sbpf run -q --policy "$beside" -- touch /srv/fine/f 2>/dev/null; is beside/runs 0 $?

# ---- what begins there ----
sbpf run -q --policy "$beneath" -- touch /srv/fine/ran 2>"$tmp/said"; is run/code 125 $?
has run/says "$says" "$(cat "$tmp/said")"
is run/nothing-ran no "$([[ -e /srv/fine/ran ]] && echo yes || echo no)"
# The program itself lies there: who waits for it has no lock, and can be ended.
none=$(policy none <<<$'version: 1\nname: none')
entered() { grep -q 'populated 1' "$cgroots/sbpf/there/cgroup.events" 2>/dev/null && lock_is_free; }
there() { sbpf run -q --name there "$@" --policy "$none" -- $where/data </dev/null >/dev/null 2>&1 & program=$!; within 20 entered; }
there; is program/lock-is-free 0 $?
sbpf run -q --policy "$beside" -- true 2>/dev/null; is program/others-start 0 $?
kill -TERM $program; wait $program; is program/ended-by-a-signal 143 $?
there --timeout 3s; is program/again 0 $?
wait $program; is program/timeout 124 $?
is program/nothing-left keeper "$(sbpf list | paste -sd' ')"
box=$cgroots/box
inhabit "$box"
sbpf attach --cgroup "$box" --name box --policy "$beneath" >"$tmp/said" 2>&1; is attach/code 125 $?
has attach/says "$says" "$(cat "$tmp/said")"
is attach/not-frozen "frozen 0" "$(grep frozen "$box/cgroup.events")"
is attach/nothing-left keeper "$(sbpf list | paste -sd' ')"
sbpf attach --cgroup "$box" --name box --policy "$beside" >/dev/null; is swap/control 0 $?
before=$(sbpf status box --json | jq -c .policy)
sbpf swap box --policy "$beneath" >"$tmp/said" 2>&1; is swap/code 125 $?
has swap/says "$says" "$(cat "$tmp/said")"
is swap/old-one-stands "$before" "$(sbpf status box --json | jq -c .policy)"
lock_is_free; is swap/lock-is-free 0 $?
within 10 no_more_are_left; is swap/no-process-is-left 0 $?
sbpf detach box
let_go
sbpf run -q --policy "$beneath" -- touch /srv/fine/ran 2>/dev/null; is over/runs 0 $?
sbpf run -q --policy "$none" -- $where/data 2>"$tmp/said"; is over/program-is-not-there 127 $?
has over/program-says "$where/data: No such file or directory" "$(cat "$tmp/said")"

# ---- where the caller's directory lies ----
hang answers; is directory/mounted 0 $?
cd $where; is directory/answers 0 $?
sh -c "exec 9<.; echo \$\$ >$box/cgroup.procs; exec sleep infinity" & inside=$!
servers+=($inside)
within 20 grep -qx $inside "$box/cgroup.procs"; is directory/opened-within 0 $?
kill -STOP $hanging
timeout -s KILL 3 bash -c "cd $where" 2>/dev/null; is directory/control 137 $?
limited() { timeout -s KILL 60 "$@"; }
is directory/program-is-there $where "$(limited sbpf run -q --policy "$none" -- readlink /proc/self/cwd 2>/dev/null)"
limited sbpf run -q --policy "$beside" -- touch /srv/fine/g; is directory/files 0 $?
# Its policy is looked up anew, in its namespace, at a mount.
follows='until grep -q " /srv/fine " /proc/self/mountinfo; do sleep 0.1; done; until touch /srv/fine/after 2>/dev/null; do sleep 0.1; done'
started here -q --timeout 60s --policy "$beside" -- sh -c "$follows" </dev/null; is directory/start 0 $?
(cd / && mount -t tmpfs none /srv/fine)
limited tail --pid=$started -f /dev/null; wait $started; is directory/follows-mounts 0 $?
(cd / && umount /srv/fine)
limited sbpf attach --cgroup "$box" --name box --policy "$beside" >"$tmp/said" 2>&1; is directory/attach 125 $?
has directory/attach-names-it "$where open" "$(cat "$tmp/said")"
is directory/attach-not-frozen "frozen 0" "$(grep frozen "$box/cgroup.events")"
cd /
echo 1 >"$box/cgroup.kill"
kill -CONT $hanging
let_go

# ---- what is mounted under one that runs ----
link_id() { bpftool -j link show pinned "$pins/sandboxes/late/connect4" | jq .id; }
started late --policy "$beneath" -- sleep infinity </dev/null >/dev/null 2>"$tmp/late.err"; is mounted/start 0 $?
is mounted/control active "$(sbpf status late --json | jq -r .isolation)"
hang; is mounted/mounted 0 $?
free=0
for i in {1..20}; do lock_is_free && free=$((free + 1)); sleep 0.1; done
is mounted/lock-is-free 20 $free
within 20 grep -q "does not reach what was mounted: $says" "$tmp/late.err"; is mounted/said 0 $?
is mounted/still-active active "$(sbpf status late --json | jq -r .isolation)"
sbpf run -q --policy "$beside" -- true 2>/dev/null; is mounted/others-start 0 $?
# It goes on to look after the sandbox.
sbpf break-glass --reason hung --for 10m 2>/dev/null
"$tests/tamper" link-detach "$(link_id)" >/dev/null; is mounted/detached 0 $?
within 20 grep -q "ISOLATION LOST: connect4" "$tmp/late.err"; is mounted/loss-is-answered 0 $?
sbpf break-glass --close 2>/dev/null
sbpf kill late; is mounted/kill 0 $?
let_go
rmdir "$box" 2>/dev/null
clean
is left-behind "" "$(left_behind)"
finish
