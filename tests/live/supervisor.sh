#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The supervisor of `sbpf run` waits for nobody: not for the terminal that it shares with its program, nor for readers of what it
# tells, nor for who holds the host lock; and the time ends when it is stopped itself.
. "$(dirname "$0")/lib.sh"
keep_loaded
none=$(policy none <<<$'version: 1\nname: none')
terminal() { python3 "$here/terminal.py" "$@" 2>&1; }
job() { terminal job 40 "$@"; }
state() { stat_field "$1" 1; }
populated() { grep -q 'populated 1' "$cgroots/sbpf/$1/cgroup.events" 2>/dev/null; }
over() { ! populated "$1"; }
timed_out() { # timed_out STATUS-FILE: what the last line says
  tail -n 1 "$1" | json 'd["exit"]["timed_out"]' 2>&1
}

# ---- job control stops the group of who reads in the background ----
cat >"$tmp/ttin.py" <<'P'
import os, signal, time
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
if os.fork() == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    time.sleep(1000)
while os.tcgetpgrp(0) == os.getpgrp():
    time.sleep(0.05)
os.read(0, 1)
time.sleep(1000)
P
is ttin/control "stopped 21, still there" "$(terminal job 8 sh -c "python3 $tmp/ttin.py </dev/tty & sleep 2; kill -9 \$!")"
# Of two that come at once the front takes SIGTSTP first.
is ttin/time-is-kept "stopped, exit 124" "$(job sbpf run -q --timeout 3s --policy "$none" -- python3 "$tmp/ttin.py" | sed 's/stopped 2[01]/stopped/')"

# ---- a program that stops, for good ----
is stop/control "stopped 19, still there" "$(terminal job 5 sh -c 'kill -STOP $$')"
is stop/time-is-kept "stopped 20, exit 124" "$(job sbpf run -q --timeout 3s --policy "$none" -- sh -c 'kill -STOP $$')"
sbpf run -q --timeout 2s --policy "$none" -- sh -c 'kill -STOP $$'; is stop/without-terminal 124 $?

# ---- the terminal's output is stopped ----
cat >"$tmp/tcooff.py" <<'P'
import os, socket, sys, termios, time
termios.tcflow(1, termios.TCOOFF)
if sys.argv[1:]:
    os.write(1, b"x" * 10)
    sys.exit(0)
for i in range(1000):
    try:
        socket.create_connection(("192.0.2.7", 80))
    except PermissionError:
        pass
    time.sleep(0.01)
P
is tcooff/control "still there, terminal back" "$(terminal job 4 python3 "$tmp/tcooff.py" write)"
is tcooff/time-is-kept "exit 124, terminal back" \
  "$(job sh -c "exec sbpf run --events --timeout 3s --policy $none --status-fd 3 -- python3 $tmp/tcooff.py 3>$tmp/tcooff.status")"
is tcooff/told True "$(timed_out "$tmp/tcooff.status")"

# ---- a pipe that nobody reads ----
cat >"$tmp/full.py" <<'P'
import fcntl, os, subprocess, sys, time
reader, writer = os.pipe()
fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
fds = {"stdout": writer, "stderr": writer} if sys.argv[1] == "stderr" else {"stderr": subprocess.DEVNULL}
process = subprocess.Popen([str(writer) if a == "FD" else a for a in sys.argv[2:]], pass_fds=[writer], **fds)
os.close(writer)
if sys.argv[1] == "never":
    print("code", process.wait(60))
    sys.exit()
def populated():
    try:
        return "populated 1" in open("/sys/fs/cgroup/sbpf/full/cgroup.events").read()
    except OSError:
        return False
end = time.monotonic() + 120
while not populated() and time.monotonic() < end:
    time.sleep(0.05)
while populated() and time.monotonic() < end:
    time.sleep(0.05)
print("over" if not populated() else "still there")
# Denials that it has not come to yet would find a pipe that is read: it sleeps when it has come to all of them.
def at(pid):
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return fields[0], fields[11], fields[12]
quiet, before = 0, None
while quiet < 10 and process.poll() is None and time.monotonic() < end:
    now = at(process.pid)
    quiet = quiet + 1 if now[0] == "S" and now == before else 0
    before = now
    time.sleep(0.1)
text = open(reader, "rb").read().decode()
print("code", process.wait(60))
sys.stderr.write(text)
P
# Denials of as many ports, or equal ones would be told once a second: more lines than there is room for, as fast as they are read.
cat >"$tmp/flood.py" <<'P'
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in range(1, 6001):
    try:
        s.connect(("192.0.2.7", port))
    except PermissionError:
        pass
    if port % 16 == 0:
        time.sleep(0.02)
time.sleep(0 if sys.argv[1] == "status" else 1000)
P
full() { python3 "$tmp/full.py" "$@" -- python3 "$tmp/flood.py" "$1" 2>"$tmp/full.out" | paste -sd' '; }
# It ends by itself: a slow machine takes longer to fill the room.
is full/status "over code 0" "$(full status sbpf run -q --events --name full --policy "$none" --status-fd FD)"
has full/status-exit '{"exit":{"code":0,' "$(tail -n 1 "$tmp/full.out")"
has full/status-is-counted '{"untold":' "$(grep untold "$tmp/full.out" | head -1)"
is full/status-whole-lines "" "$(while read -r line; do jq -e . >/dev/null 2>&1 <<<"$line" || echo "$line"; done <"$tmp/full.out" | head -3)"
is full/stderr "over code 124" "$(full stderr sbpf run --events --name full --timeout 5s --policy "$none")"
has full/stderr-end "timed out" "$(cat "$tmp/full.out")"
is full/never-read "code 124" "$(full never sbpf run -q --events --name full --timeout 3s --policy "$none" --status-fd FD)"

# ---- who holds the host lock ----
h=/srv/late
mkdir -p $h/a $h/b
files=$(policy files <<P
version: 1
name: files
extends: [runtime-files]
filesystem: {write: [$h]}
P
)
mkfifo "$tmp/ask" "$tmp/answer"
exec 8<>"$tmp/ask" 9<>"$tmp/answer"
started late -q --policy "$files" --timeout 40s -- sh -c 'while read -r f; do (echo x >"$f") 2>/dev/null; echo $?; done' <"$tmp/ask" >"$tmp/answer" 2>/dev/null; is lock/start 0 $?
late=$started
write() { local code; echo "$1" >&8; read -r -t 20 -u 9 code; echo "$code"; }
is lock/control 0 "$(write $h/f)"
flock /run/sbpf.lock sleep 1000 & holder=$!
servers+=($holder)
taken() { ! flock -n /run/sbpf.lock true; }
within 10 taken; is lock/is-held 0 $?
mount -t tmpfs late $h/a
switches() { awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$1/status"; }
before=$(switches $late)
sleep 2 # some passes
is lock/mount-is-denied 2 "$(write $h/a/f)"
(($(switches $late) > before)); is lock/supervisor-goes-on 0 $?
is lock/no-wait "" "$(grep -o 'FLOCK.*' /proc/locks | awk -v pid=$late '$4 == pid'; grep -h -- '->' /proc/locks | awk -v pid=$late '$6 == pid')"
within 50 over late; is lock/time-is-kept 0 $?
taken; is lock/still-held 0 $?
pkill -P $holder; kill $holder 2>/dev/null
wait $late; is lock/code 124 $?
started late -q --policy "$files" -- sh -c 'while read -r f; do (echo x >"$f") 2>/dev/null; echo $?; done' <"$tmp/ask" >"$tmp/answer" 2>/dev/null
late=$started
flock /run/sbpf.lock sleep 1000 & holder=$!
within 10 taken
mount -t tmpfs late $h/b
sleep 1
is lock/again/denied 2 "$(write $h/b/f)"
pkill -P $holder; kill $holder 2>/dev/null
allowed_again() { [[ $(write $h/b/f) == 0 ]]; }
within 20 allowed_again; is lock/again/published 0 $?
sbpf kill late 2>/dev/null
wait $late 2>/dev/null
umount $h/a $h/b

# ---- it is stopped itself, by who may ----
started held -q --timeout 4s --policy "$none" -- sleep 1000 </dev/null >/dev/null 2>&1
kill -STOP $started
populated held; is stopped/control 0 $?
within 20 over held; is stopped/time-is-kept 0 $?
is stopped/still-stopped T "$(state $started)"
children=$(pgrep -P $started | paste -sd' ')
is left-over/control true "$( (($(wc -w <<<"$children") > 0)) && echo true)"
kill -CONT $started
wait $started; is stopped/code 124 $?
left=""
for p in $children; do [[ -e /proc/$p ]] && left+=" $p"; done
is left-over/none "" "$left"
started held -q --timeout 1000s --policy "$none" -- sleep 1000 </dev/null >/dev/null 2>&1
# Its children are the program, who keeps the time, and who writes to the pipe.
children=$(pgrep -P $started | paste -sd' ')
is killed/control 3 "$(wc -w <<<"$children")"
outside=$(for p in $children; do grep -q '/sbpf/held' /proc/$p/cgroup || echo $p; done)
is killed/they-are-outside 2 "$(wc -w <<<"$outside")"
is killed/they-hold-what-they-need "1 2" "$(for p in $outside; do ls /proc/$p/fd | wc -l; done | sort | paste -sd' ')"
keeper=$(for p in $outside; do [[ $(ls /proc/$p/fd | wc -l) == 1 ]] && echo $p; done)
isnt_group() { [[ $(ps -o pgid= -p $keeper) != $(ps -o pgid= -p $started) ]]; }
isnt_group; is killed/keeper-has-a-group 0 $?
kill -9 $started
wait $started 2>/dev/null
gone() { ! kill -0 $outside 2>/dev/null; }
within 10 gone; is killed/they-end 0 $?
sbpf kill held 2>/dev/null

# ---- job control is the user's ----
run="sbpf run -q --name typed --policy $none --"
sessions="for p in \$(pgrep -x sbpf); do { tr '\\\\0' ' ' </proc/\$p/cmdline; } 2>/dev/null | grep -q typed && echo \$(ps -o stat= -p \$p | cut -c1 | tr R S); done | sort | paste -sd' '"
terminal type "bash --norc -i" "send $run sleep 1000\\n" "run until ps -eo args | grep -qx 'sleep 1000'; do sleep 0.1; done" "send \\x1a" "expect Stopped" "run $sessions" \
  "send fg\\n" "expect sleep 1000" "run sleep 1; $sessions" "send \\x03" "send echo code=\$?\\n" "expect code=130" >"$tmp/typed"
is jobs/stop-and-go " seen S T seen S S seen" "$(paste -sd' ' "$tmp/typed")"
cat >"$tmp/tstp.py" <<'P'
import os, signal
print("u" + "p", flush=True)
os.kill(0, signal.SIGTSTP)
print("ba" + "ck", flush=True)
P
terminal type "bash --norc -i" "send $run python3 $tmp/tstp.py\\n" "expect up" "expect Stopped" "send fg\\n" "expect back" >"$tmp/typed"
is jobs/stops-itself "seen seen seen" "$(paste -sd' ' "$tmp/typed")"
terminal type "bash --norc -i" "send $run cat &\\n" "expect [1]" "send sleep 5; echo; jobs\\n" "expect Stopped" "run $sessions" \
  "send fg\\n" "expect cat" "send hello\\n" "expect hello" "send \\x04" "send echo code=\$?\\n" "expect code=0" >"$tmp/typed"
is jobs/background "seen seen S T seen seen seen" "$(paste -sd' ' "$tmp/typed")"
is jobs/pipe-reads-the-terminal "seen" "$(terminal type "bash --norc -i" "send $run sleep 4 | (read -r x </dev/tty; echo got=\$x)\\n" "send word\\n" "expect got=word")"
is jobs/terminal-is-put-back "exit 0, terminal back" "$(job $run sh -c 'stty raw -echo')"
cat >"$tmp/takes.py" <<'P'
import os, signal
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
os.setpgid(0, 0)
os.tcsetpgrp(0, os.getpid())
P
is jobs/terminal-taken/control "exit 0, terminal taken" "$(job sh -c "python3 $tmp/takes.py; true")"
is jobs/terminal-taken "exit 0, terminal back" "$(job $run python3 "$tmp/takes.py")"

# The one that watches is in no session that a terminal has: the child of the one that stays there.
command_of() { cat "/proc/$1/comm" 2>/dev/null; }
parent_of() { awk '/^PPid:/ { print $2 }' "/proc/$1/status" 2>/dev/null; }
watcher() {
  local pid parent
  for pid in $(pgrep -x sbpf); do
    grep -qs typed "/proc/$pid/cmdline" || continue
    parent=$(parent_of "$pid")
    [[ $(command_of "$parent") == sbpf && $(command_of "$(parent_of "$parent")") != sbpf ]] && echo "$pid" && return
  done
  return 1
}
job $run sleep 1000 >/dev/null & terminal=$!
within 20 watcher >/dev/null; is session/control 0 $?
watching=$(watcher)
is session/of-its-own "$watching" "$(stat_field "$watching" 4)"
sbpf kill typed
wait $terminal

# ---- other sessions ----
sbpf run -q --timeout 2s --policy "$none" -- setsid sleep 1000; is setsid/program 124 $?
setsid -w sbpf run -q --timeout 2s --policy "$none" -- sleep 1000 </dev/null; is setsid/no-terminal 124 $?
nohup sbpf run -q --name hup --timeout 4s --policy "$none" -- sleep 1000 </dev/null >/dev/null 2>&1 & hup=$!
within 20 populated hup
kill -HUP $hup
wait $hup; is nohup/goes-on 124 $?

# ---- over while it could not look, and taken down by another command: that is no loss ----
# It lets go of the lock while the canary runs, too.
lets_others_on() { grep -q 'isolation active' "$tmp/$1.err" && flock -n /run/sbpf.lock true; }
while_stopped() { # while_stopped NAME COMMAND...: run by NAME's program, while its supervisor is stopped
  nice -n 5 sbpf run -q --name "$1" --policy "$none" -- sleep 1000 </dev/null >/dev/null 2>"$tmp/$1.err" & stopped=$!
  within 20 lets_others_on "$1"
  kill -STOP $stopped
  "${@:2}"; is "collected/$2" 0 $?
  sleep 1 # a pass is due
  kill -CONT $stopped
}
end_program() {
  kill -KILL $(cat "$cgroots/sbpf/over/cgroup.procs")
  within 20 over over
  sbpf run -q --name next --policy "$none" -- true </dev/null
  [[ ! -e $pins/sandboxes/over ]]
}
while_stopped over end_program
wait $stopped; is collected/exit 137 $?
is collected/said "sbpf: isolation active" "$(sed 's/active .*/active/' "$tmp/over.err")"
nices() { nice_supervisor=$(stat_field $stopped 17) nice_program=$(stat_field "$(cat "$cgroots/sbpf/nice/cgroup.procs")" 17); }
while_stopped nice nices
is nice/supervisor -20 "$nice_supervisor"
is nice/program 5 "$nice_program"
sbpf kill nice; wait $stopped
while_stopped lost lose_hook lost connect4
within 20 grep -q 'ISOLATION LOST' "$tmp/lost.err"
sbpf kill lost; wait $stopped
is collected/control 1 "$(grep -c 'ISOLATION LOST: connect4' "$tmp/lost.err")"
end_all
finish
