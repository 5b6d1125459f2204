#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who keeps watch waits for nobody: the host's log and the reader of its output are stopped, and losses are answered. And sbpf's own
# root cgroup, removed while it is empty.
. "$(dirname "$0")/lib.sh"
runtime=$cgroots/blocked
overrule=$tests/overrule
none=$(policy none <<<$'version: 1\nname: none\non_loss: freeze')
mkdir "$runtime"
confine() { inhabit "$runtime/$1" && sbpf attach --cgroup "$runtime/$1" --name "$1" --policy "$none" >/dev/null 2>&1; }
frozen() { grep -q 'frozen 1' "$1/cgroup.events"; }
thaw() { echo 0 >"$1/cgroup.freeze"; }

# ---- sbpf's root cgroup, which nobody keeps while it is empty ----
confine att; is root/attach 0 $?
is root/control active "$(sbpf status att --json | jq -r .isolation)"
rmdir "$cgroots/sbpf/.alive" "$cgroots/sbpf"; is root/removed 0 $?
is root/not-proven degraded "$(sbpf status att --json | jq -r .isolation)"
has root/says-why "not proven that the programs run" "$(sbpf status att --json | jq -r '.degraded[0].reason')"
mkdir "$cgroots/sbpf"
has root/another "is not the one that they know" "$(sbpf status att --json | jq -r '.degraded[0].reason')"
is root/run 0 "$(sbpf run -q --policy "$none" -- true >/dev/null 2>&1; echo $?)"
is root/active-again active "$(sbpf status att --json | jq -r .isolation)"
# By the watch, without a command.
rmdir "$cgroots/sbpf/.alive" "$cgroots/sbpf"; is root/removed-again 0 $?
: >"$tmp/first.json"
sbpf watch --json </dev/null >"$tmp/first.json" 2>/dev/null & watch=$!
servers+=($watch)
within 60 grep -q '"sandbox":{"name":"att".*"isolation":"active"' "$tmp/first.json"; is root/watch 0 $?
is root/no-loss 0 "$(grep -c '"loss"' "$tmp/first.json")"
kill $watch; wait $watch 2>/dev/null

# ---- the log is stopped, and its queue is full; so is the reader of the watch's output ----
started box -q --policy "$none" -- sleep infinity </dev/null >/dev/null 2>"$tmp/box.err"
hear_log "$tmp/log"
logger=${servers[-1]}
mkfifo "$tmp/out"
exec 5<>"$tmp/out"
sbpf watch --json </dev/null >&5 2>/dev/null & watch=$!
servers+=($watch)
line() { timeout 60 grep -m1 "$1" <&5 >/dev/null; }
line '"sandbox":{"name":"att".*"isolation":"active"'; is log/watched 0 $?
kill -STOP $logger
is log/full "11" "$(python3 -c '
import socket
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.connect("/dev/log")
log.setblocking(False)
try:
    while True: log.send(b"<13>filled")
except BlockingIOError as e: print(e.errno)')" # EAGAIN
python3 -c '
import os
out = os.open("/proc/self/fd/5", os.O_WRONLY | os.O_NONBLOCK)  # a description of its own: the watch may wait
try:
    while True: os.write(out, b"\n" * 4096)
except BlockingIOError: pass'
is log/control 124 "$(timeout 2 python3 -c 'import syslog; syslog.syslog("waits")' 2>/dev/null; echo $?)"
is log/control/reader 124 "$(timeout 2 sh -c 'echo waits >&5' 2>/dev/null; echo $?)"
"$overrule" link "$cgroots" connect4 >"$tmp/later" & later=$!
servers+=($later)
within 20 test -s "$tmp/later"; is log/loss 0 "$(cut -d' ' -f1 "$tmp/later")"
for place in "$runtime/att" "$cgroots/sbpf/box"; do
  within 20 frozen "$place"; is "log/answered/${place##*/}" 0 $?
done
within 20 grep -q 'ISOLATION LOST: later' "$tmp/box.err"; is log/supervisor-tells 0 $?
# A second one is answered, too: nobody waits for the first to be told.
for place in "$runtime/att" "$cgroots/sbpf/box"; do thaw "$place"; done
"$overrule" link "$cgroots" sendmsg4 >"$tmp/later2" & second=$!
servers+=($second)
for place in "$runtime/att" "$cgroots/sbpf/box"; do
  within 20 frozen "$place"; is "log/answered-again/${place##*/}" 0 $?
done
# What was told meanwhile comes when it is read.
kill -CONT $logger
line '"loss":{"sandbox":"att"'; is log/told-later 0 $?
kill $later $second; wait $later $second 2>/dev/null
kill $watch; wait $watch 2>/dev/null
exec 5>&-
for place in "$runtime/att" "$cgroots/sbpf/box"; do thaw "$place"; done
end_runtime "$runtime"
clean
is left-behind "" "$(left_behind)"
finish
