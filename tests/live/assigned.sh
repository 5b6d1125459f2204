#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is attached with --keep stays attached: a program that exits, and is started again in the next cgroup of that name, is confined
# again. Nobody outside removes the cgroup; what sbpf itself has to give up (break-glass, a restart of the host) is put in force again.
. "$(dirname "$0")/lib.sh"
out=$tmp/watch.json
assigned=/var/lib/sbpf/assigned
top=$cgroots/manager
web=$top/web
mkdir "$top"
keep_loaded
serve tcp 127.0.0.1 7001
none=$(policy none <<<$'version: 1\nname: none\non_loss: freeze')
open=$(policy open <<<$'version: 1\nname: open\nnetwork: {connect: [{address: 127.0.0.1, ports: [7001], protocol: tcp}]}')
seen() { visits tcp 127.0.0.1 7001; }
rmdir_of() { "$tests/tamper" rmdir "$1"; } # the errno
# in_cgroup CGROUP COMMAND…: what a manager starts there
in_cgroup() { sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$@"; }
# instance: a unit's life. Its cgroup is made, its first act is the connect, whose errno is printed; it exits, its cgroup is removed.
instance() {
  mkdir "$web" 2>/dev/null
  in_cgroup "$web" "$probe" connect tcp 127.0.0.1 7001
  within 20 grep -q 'populated 0' "$web/cgroup.events"
  removed=$(rmdir_of "$web")
}
next() { instance >"$tmp/instance"; cat "$tmp/instance"; }
attach() { sbpf attach --cgroup "$web" --name web "$@" >"$tmp/said" 2>&1; }
path_is_there() { [[ -d $web ]] && echo yes || echo no; }

# ---- the escape, where nothing is kept: without a policy, and with one that lasts as long as the cgroup ----
is control/no-policy 0 "$(next)"
mkdir "$web"
attach --policy "$none"; is control/attach 0 $?
instance >"$tmp/first"; is control/first-instance 1 "$(cat "$tmp/first")"
is control/is-removed 0 "$removed"
is control/next-escapes 0 "$(next)"

# ---- kept ----
# The path need not be there.
attach --keep --policy "$none"; is keep/attach 0 $?
is keep/makes-the-cgroup yes "$(path_is_there)"
before=$(seen)
instance >"$tmp/first"; is keep/first-instance 1 "$(cat "$tmp/first")"
is keep/rmdir 16 "$removed"
for _ in 1 2 3 4 5 6 7 8 9 10; do next; done >"$tmp/all"
is keep/next-instances "10 of 1" "$(sort "$tmp/all" | uniq -c | awk '{ print $1 " of " $2 }')"
is keep/no-visit "$before" "$(seen)"
is keep/parent 16 "$(rmdir_of "$top")"
is keep/active 0 "$(sbpf status web --require active >/dev/null; echo $?)"
has keep/says-empty "empty: what starts in its cgroup next is confined" "$(sbpf status web)"
is keep/json "true true 0" "$(sbpf status web --json | jq -r '"\(.kept) \(.attached) \(.processes)"')"
is keep/listed "keeper web" "$(sbpf list | sort | xargs)"
is keep/verify 0 "$(sbpf verify web >/dev/null; echo $?)"
# Of its owner, who is not root: control, and kept.
chown nobody "$top"
mkdir "$top/other"
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
is owner/control 0 "$(as_nobody "$tests/tamper" rmdir "$top/other")"
is owner/kept 16 "$(as_nobody "$tests/tamper" rmdir "$web")"
# Root inside, whose policy has no rules for files; in a cgroup below, as of Delegate=, which comes and goes.
mkdir "$web/below" "$top/other"
is inside/control 0 "$(in_cgroup "$top" "$tests/tamper" rmdir "$top/other")"
is inside/kept 1 "$(in_cgroup "$web/below" "$tests/tamper" rmdir "$web")"
is inside/below-is-confined 1 "$(in_cgroup "$web/below" "$probe" connect tcp 127.0.0.1 7001)"
within 20 grep -q 'populated 0' "$web/cgroup.events"
is below/removed 0 "$(rmdir_of "$web/below")"
# A second one, below; and a name that is taken.
sbpf attach --keep --cgroup "$web/second" --name second --policy "$open" >/dev/null; is two/attach 0 $?
is two/both-judge 1 "$(in_cgroup "$web/second" "$probe" connect tcp 127.0.0.1 7001)"
within 20 grep -q 'populated 0' "$web/second/cgroup.events"
is two/kept 16 "$(rmdir_of "$web/second")"
sbpf detach second 2>/dev/null; is two/detach 0 $?
is two/goes 0 "$(rmdir_of "$web/second")"
is two/first-stays 1 "$(next)"
sbpf attach --keep --cgroup "$top/third" --name web --policy "$none" >"$tmp/said" 2>&1; is name/taken 125 $?
rmdir "$top/third"

# ---- swap: it holds for what comes next, and is what is assigned ----
sbpf swap --policy "$open" web >/dev/null; is swap/code 0 $?
is swap/next-instance 0 "$(next)"
is swap/kept 16 "$removed"
has swap/assigned "name: open" "$(cat $assigned/web)"
is swap/mode 600 "$(stat -c %a $assigned/web)"
sbpf swap --policy "$none" web >/dev/null
is swap/back 1 "$(next)"

# ---- rules for files: looked up where its first process will come from, and not in the namespace of who attaches ----
sbpf detach web 2>/dev/null
is detach/lets-it-go 0 "$(rmdir_of "$web")"
# By a link, which that namespace does not have: names alone would do without.
mkdir "$tmp/place"
ln -s "$tmp/place" /srv/place
echo secret >/srv/place/file
files=$(policy files <<<$'version: 1\nname: files\nfilesystem: {default: write, deny: [/srv/place/file]}')
elsewhere() { unshare -m sh -c 'mount -t tmpfs none /srv && exec "$@"' sh "$@"; }
reads() { in_cgroup "$web" cat /srv/place/file 2>&1; }
elsewhere sbpf attach --keep --cgroup "$web" --name web --policy "$open" >/dev/null
is files/control secret "$(reads)"
elsewhere sbpf swap --policy "$files" web >/dev/null; is files/swap 0 $?
has files/swapped "Permission denied" "$(reads)"
sbpf detach web 2>/dev/null
is files/after-detach secret "$(reads)"
elsewhere sbpf attach --keep --cgroup "$web" --name web --policy "$files" >/dev/null; is files/attach 0 $?
has files/attached "Permission denied" "$(reads)"
sbpf kill web 2>/dev/null; is kill/code 0 $?
is kill/lets-it-go 0 "$(rmdir_of "$web")"
is kill/nothing-assigned "" "$(ls $assigned)"

# ---- a service manager sets the unit up in its cgroup: that is not judged, and ends when the program runs ----
# Where process 1 is none, sbpf is shown one: an interpreter by its name, and by that of its helper.
mkdir -p "$tmp/proc/fd" /usr/lib/systemd
manager=$tmp/systemd
helper=/usr/lib/systemd/systemd-executor
interpreter=$(readlink -f /usr/bin/python3)
cp "$interpreter" "$manager"
cp "$interpreter" "$helper"
ln -s "$manager" "$tmp/proc/exe"
ln -s "$helper" "$tmp/proc/fd/9"
chmod 755 "$tmp"
managed() { unshare -m sh -c 'mount --bind "$0" /proc/1 && exec "$@"' "$tmp/proc" "$@"; }
# What systemd does in the cgroup: it opens cgroup.procs to write. Prints the errno.
cat >"$tmp/opens.py" <<'P'
import sys
try: open(sys.argv[1] + "/cgroup.procs", "w"); print(0)
except OSError as e: print(e.errno)
P
# starts.py moved|cloned|forks|keeps CGROUP COMMAND…: brings a child there, which opens as above, and runs the command. One that
# forks has a child do the same before; one that keeps has the file $kept_open open for writing.
cat >"$tmp/starts.py" <<'P'
import ctypes, os, struct, sys
how, cgroup, command = sys.argv[1], sys.argv[2], sys.argv[3:]
if how == "cloned":
    fd = os.open(cgroup, os.O_RDONLY)
    into = ctypes.create_string_buffer(struct.pack("=11Q", 0x200000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, fd))
    child = ctypes.CDLL(None).syscall(435, into, 88)
else:
    child = os.fork()
if child:
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
if how != "cloned":
    with open(cgroup + "/cgroup.procs", "w") as procs: procs.write("0")
def opens():
    try: open(cgroup + "/cgroup.procs", "w"); print(0, flush=True)
    except OSError as e: print(e.errno, flush=True)
opens()
if how == "forks":
    child = os.fork()
    if not child: opens(); os._exit(0)
    os.waitpid(child, 0)
kept = open(os.environ["kept_open"], "w") if how == "keeps" else None
try: os.execv(command[0], command)
except OSError as e: print("refused", e.errno)
P
starts() { "$1" "$tmp/starts.py" "$2" "$web" "${@:3}" | xargs; }
connects=("$probe" connect tcp 127.0.0.1 7001)
managed sbpf attach --keep --cgroup "$web" --name web --policy "$none" >/dev/null; is launch/attach 0 $?
is launch/control-others-are-judged "1 1" "$(starts /usr/bin/python3 moved "${connects[@]}")"
is launch/others-clone-and-are-judged "1 1" "$(starts /usr/bin/python3 cloned "${connects[@]}")"
is launch/moved "0 1" "$(starts "$manager" moved "${connects[@]}")"
is launch/cloned "0 1" "$(starts "$manager" cloned "${connects[@]}")"
is launch/helper "0 0" "$(starts "$manager" cloned "$helper" "$tmp/opens.py" "$web")"
is launch/child-before-the-program "0 0 1" "$(starts "$manager" forks "${connects[@]}")"
# By a link that the program left where the unit's output goes, the manager's child opens what drives the kernel.
keeps() { kept_open=$1 "$manager" "$tmp/starts.py" keeps "$web" /bin/echo ran 2>&1 | xargs; }
is launch/control-other-files-are-brought "0 ran" "$(keeps /dev/null)"
is launch/control-files-are-not-brought "0 refused 1" "$(keeps /proc/sys/vm/drop_caches)"
is launch/cgroup-files-are-not-brought "0 refused 1" "$(keeps "$cgroots/cgroup.procs")"
is launch/program-runs-the-manager "0 1" "$(starts "$manager" moved "$manager" "$tmp/opens.py" "$web")"
is launch/program-runs-the-helper "0 1" "$(starts "$manager" moved /bin/sh -c "exec $helper $tmp/opens.py $web")"
is launch/helper-runs-the-helper "0 1" "$(starts "$manager" cloned "$helper" -c "import os; os.execv('$helper', ['$helper', '$tmp/opens.py', '$web'])")"
is launch/child-of-the-program "0 1" "$(starts "$manager" moved /bin/sh -c "$manager $tmp/opens.py $web; :")"
# What is inside does not reach into it: it could have it do anything.
mkfifo "$tmp/hold"
in_cgroup "$web" "$manager" -c "open('$tmp/hold').read()" &
in_cgroup "$web" sleep infinity &
within 20 sh -c '[ "$(grep -c . "$0")" = 2 ]' "$web/cgroup.procs"
exe_of() { for p in $(members "$web"); do [[ $(readlink "/proc/$p/exe") == "$1" ]] && echo "$p"; done; }
within 20 sh -c 'for p in $(cat "$0"); do readlink /proc/$p/exe; done | grep -q /sleep$' "$web/cgroup.procs"
held=$(exe_of "$manager")
within 20 test -n "$held"
is launch/reach-control 0 "$(in_cgroup "$web" "$tests/tamper" ptrace "$(exe_of "$(readlink -f "$(command -v sleep)")")")"
is launch/out-of-reach 1 "$(in_cgroup "$web" "$tests/tamper" ptrace "$held")"
scored() { in_cgroup "$web" sh -c "echo 7 >/proc/$1/oom_score_adj" 2>/dev/null; cat "/proc/$1/oom_score_adj"; }
is launch/files-control 7 "$(scored "$(exe_of "$(readlink -f "$(command -v sleep)")")")"
is launch/files-out-of-reach 0 "$(scored "$held")"
echo 1 >"$web/cgroup.kill"
within 20 grep -q 'populated 0' "$web/cgroup.events"
# Without --keep nobody is exempt.
sbpf detach web 2>/dev/null
managed sbpf attach --cgroup "$web" --name web --policy "$none" >/dev/null
is launch/not-kept "1 1" "$(starts "$manager" moved "${connects[@]}")"
sbpf detach web 2>/dev/null
# A canary may be in it still.
goes() { within 30 sh -c '[ "$("$0" rmdir "$1")" = 0 ]' "$tests/tamper" "$web"; }
goes

# ---- an assignment without its sandbox: the watch puts it in force ----
said() { jq -c "select(.$1) | .$1" "$out"; }
watching() {
  sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" &
  watch=$!
  servers+=("$watch")
  within 60 grep -q '"pass"' "$out"
}
state_of() { jq -r 'select(.sandbox.name == "web") | .sandbox.isolation' "$out" | tail -1; }
is_state() { [[ $(state_of) == "$1" ]]; }
attach --keep --policy "$none"
cp $assigned/web "$tmp/web"
sbpf detach web 2>/dev/null
rmdir "$web"
# What the host's restart leaves: the file. A unit is started before the watch is.
cp "$tmp/web" $assigned/web
chmod 600 $assigned/web
is restart/control 0 "$(next)"
sbpf status web >/dev/null 2>"$tmp/said"; is restart/status 3 $?
has restart/status-says "web is assigned to $web, and confines nothing now" "$(cat "$tmp/said")"
is restart/listed "keeper web" "$(sbpf list | sort | xargs)"
mkdir "$top/third"
sbpf attach --cgroup "$top/third" --name web --policy "$none" >/dev/null 2>"$tmp/said"; is restart/name-is-taken 125 $?
has restart/name-is-taken-says "web is assigned to $web" "$(cat "$tmp/said")"
rmdir "$top/third"
# By a command it is put in force before anything runs there: no watch is needed.
is reattach/done 0 "$(sbpf reattach web >/dev/null; echo $?)"
is reattach/first-instance 1 "$(next)"
is reattach/kept 16 "$(rmdir_of "$web")"
is reattach/again 0 "$(sbpf reattach web >/dev/null; echo $?)"
is reattach/as-before 1 "$(sbpf status web --json | jq .policy.generation)"
unheld() { sbpf detach web 2>/dev/null; rmdir "$web"; }
unheld
sbpf reattach web >/dev/null 2>"$tmp/said"; is reattach/nothing-assigned 125 $?
has reattach/nothing-assigned-says "nothing is assigned under the name web" "$(cat "$tmp/said")"
is reattach/if-assigned 0 "$(sbpf reattach --if-assigned web >/dev/null; echo $?)"
# It waits for the host's lock, and meanwhile the assignment ends, or gets another policy.
waits() { # waits COMMAND…: what it says that was done when it was about to begin
  cp "$tmp/web" $assigned/web
  exec 5>/run/sbpf.lock
  flock 5
  sbpf reattach web >/dev/null 2>"$tmp/said" 5>&- & local waiting=$!
  sleep 2
  "$@"
  exec 5>&-
  wait $waiting
}
opened() { { echo "$web"; cat "$open"; } >$assigned/web; }
waits true; is reattach/waited/control "0 none" "$? $(sbpf status web --json | jq -r .policy.name)"
unheld
waits rm $assigned/web; is reattach/waited/ended 125 $?
is reattach/waited/ended/nothing-there "keeper" "$(sbpf list | xargs)"
waits opened; is reattach/waited/other-policy "0 open" "$? $(sbpf status web --json | jq -r .policy.name)"
unheld
cp "$tmp/web" $assigned/web
mkdir "$web"
sbpf attach --cgroup "$web" --name other --policy "$open" >/dev/null; is reattach/control-other 0 $?
sbpf reattach web >/dev/null 2>"$tmp/said"; is reattach/taken 125 $?
has reattach/taken-says "is sandbox other" "$(cat "$tmp/said")"
sbpf detach other 2>/dev/null
rmdir "$web"
chmod 600 $assigned/web
mkdir "$web"
# One that connects all along, and says what came of it.
in_cgroup "$web" python3 -c '
import socket, sys, time
while True:
    s = socket.socket()
    open(sys.argv[1], "w").write("%d\n" % s.connect_ex(("127.0.0.1", 7001)))
    time.sleep(0.05)' "$tmp/tries" &
servers+=($!)
tries() { [[ $(cat "$tmp/tries") == "$1" ]]; }
echo none >"$tmp/tries"
within 30 tries 0; is restart/unit-runs-open 0 $?
watching
within 60 is_state active; is restart/in-force 0 $?
is restart/loss "web frozen [\"cgroup\"]" "$(said loss | jq -r '"\(.sandbox) \(.answered) \(.hooks)"')"
within 20 grep -q '"restored"' "$out"; is restart/restored "web [\"cgroup\"]" "$(said restored | jq -r '"\(.sandbox) \(.hooks)"')"
is restart/stays-frozen 1 "$(cat "$web/cgroup.freeze")"
echo 0 >"$web/cgroup.freeze"
within 30 tries 1; is restart/confined 0 $?
echo 1 >"$web/cgroup.kill"
within 20 grep -q 'populated 0' "$web/cgroup.events"; is restart/unit-ends 0 $?
is restart/kept 16 "$(rmdir_of "$web")"
is restart/next-instance 1 "$(next)"
is restart/not-gone "" "$(said gone)"
# A file that is not sbpf's is told, and keeps nobody from anything.
echo nonsense >$assigned/bad
within 20 grep -q "$assigned/bad does not begin with the path" "$tmp/watch.err"; is bad-file/told 0 $?
rm $assigned/bad
passed() { (($(passes_in "$out") >= from + 4)); }
losses() { said loss | jq -c "select(.sandbox == \"$1\" and (.hooks | index(\"$2\")))" | wc -l; }
# Nor is one waited for that nobody writes.
mkfifo $assigned/odd
within 20 grep -q "cannot read $assigned/odd" "$tmp/watch.err"; is fifo/told 0 $?
rm $assigned/odd
# A second assignment to the path: what runs there is confined, by another name.
in_cgroup "$web" sleep infinity &
within 20 grep -q 'populated 1' "$web/cgroup.events"; is copy/runs 0 $?
cp $assigned/web $assigned/copy
from=$(passes_in "$out")
within 20 passed; is copy/looked-at 0 $?
is copy/no-loss 0 "$(losses copy cgroup)"
is copy/not-frozen 0 "$(cat "$web/cgroup.freeze")"
rm $assigned/copy
echo 1 >"$web/cgroup.kill"
within 20 grep -q 'populated 0' "$web/cgroup.events"
# What cannot be attached, for what is open there, stays frozen and is one loss, however often it is tried.
mkdir "$top/stuck"
in_cgroup "$top/stuck" sh -c 'exec 5</srv/place/file; exec sleep infinity' &
within 20 sh -c 'for p in $(cat "$0"); do readlink /proc/$p/exe; done | grep -q /sleep$' "$top/stuck/cgroup.procs"
printf '%s\n' "$top/stuck" 'version: 1' 'name: stuck' 'filesystem: {default: write, deny: [/srv/place/file]}' >$assigned/stuck
within 20 grep -q "what is open already" "$tmp/watch.err"; is stuck/told 0 $?
from=$(passes_in "$out")
within 20 passed
is stuck/one-loss 1 "$(losses stuck cgroup)"
is stuck/frozen 1 "$(cat "$top/stuck/cgroup.freeze")"
sbpf detach stuck 2>/dev/null; is stuck/detach 0 $?
echo 1 >"$top/stuck/cgroup.kill"
within 20 grep -q 'populated 0' "$top/stuck/cgroup.events"
rmdir "$top/stuck"
# Who breaks the glass may remove it. It is made again when the window is closed, before anything runs in it.
sbpf break-glass --reason assigned --for 5m 2>/dev/null
goes; is glass/control-rmdir 0 $?
within 20 grep -q '"gone":{"name":"web"' "$out"; is glass/gone 0 $?
from=$(passes_in "$out")
within 20 passed
is glass/not-made-in-the-window no "$(path_is_there)"
sbpf break-glass --close 2>/dev/null
made_again() { [[ $(jq -r 'select(.gone.name == "web" or .sandbox.name == "web") | keys[0]' "$out" | tail -1) == sandbox ]]; }
within 60 made_again; is glass/made-again 0 $?
is glass/next-instance 1 "$(next)"
is glass/kept 16 "$removed"
is glass/no-second-loss 1 "$(losses web cgroup)"
# A record that is missing while the cgroup lives is one loss, and not the assignment's too.
key=$(hex "$(sbpf status web --json | jq .cgroup_id)")
sbpf break-glass --reason assigned --for 5m 2>/dev/null
bpftool map delete pinned $pins/maps/sandboxes key $key; is record/control 0 $?
within 20 sh -c 'grep "\"loss\"" "$0" | grep -q "\"record\""' "$out"; is record/lost 0 $?
sbpf break-glass --close 2>/dev/null
within 30 sh -c 'grep "\"restored\"" "$0" | grep -q "\"record\""' "$out"; is record/restored 0 $?
is record/no-loss-of-the-cgroup 1 "$(losses web cgroup)"
echo 0 >"$web/cgroup.freeze"
is record/next-instance 1 "$(next)"
# Detached while the watch looks: it does not come back.
sbpf detach web 2>/dev/null
goes; is ended/rmdir 0 $?
from=$(passes_in "$out")
within 20 passed
is ended/stays-away no "$(path_is_there)"
is ended/next-instance 0 "$(next)"
kill $watch
wait $watch 2>/dev/null
rmdir "$top"
rm /srv/place
end_all
# The programs stay while an assignment is left, though it has no sandbox.
cp "$tmp/web" $assigned/web
chmod 600 $assigned/web
sbpf unload >/dev/null 2>"$tmp/said"; is unload/refused 125 $?
has unload/says "assignments are left, web among them" "$(cat "$tmp/said")"
sbpf detach web 2>/dev/null; is unload/assignment-ends 0 $?
sbpf unload >/dev/null 2>&1; is unload/exit 0 $?
finish
