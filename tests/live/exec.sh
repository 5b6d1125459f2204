#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `sbpf exec`: another program in a sandbox that runs.
. "$(dirname "$0")/lib.sh"
keep_loaded
mkdir -p /workspace /srv/open /srv/closed
chmod 755 "$tmp"
echo "text of open" >/srv/open/f
echo "text of closed" >/srv/closed/f
echo "of the host" >/tmp/mark
serve tcp 127.0.0.1 7001
cd /
rules='filesystem: {read: [/srv/open], write: [/workspace], private: [/tmp]}'
box=$(policy box <<<"$(printf 'version: 1\nname: box\nextends: [runtime-files]\n%s\nnetwork: {loopback: private}\nprocess: {env: {allow: [PATH], set: {FROM: policy}}, exec: {allow: [/usr, /bin, /lib, /lib64]}, limits: {open_files: 77}}' "$rules")")
open=$(policy open <<<$'version: 1\nname: open\nnetwork: {dangerously_allow_all: true}')
started box -q -p "$box" -- sh -c 'echo mine >/tmp/mark; cd /workspace; exec sleep 10000' >/dev/null 2>&1; is box/runs 0 $?
started open -q -p "$open" -- sleep 10000 >/dev/null 2>&1; is open/runs 0 $?
within 30 grep -q mine "/proc/$(members "$cgroots/sbpf/box" | head -1)/root/tmp/mark"
# runs_in_box SECONDS: does a `sleep` of this time?
runs_in_box() {
  local pid
  for pid in $(members "$cgroots/sbpf/box"); do
    [[ $(tr '\0' ' ' <"/proc/$pid/cmdline") == "sleep $1 " ]] && return
  done 2>/dev/null
  return 1
}
in_box() { sbpf exec -q "$@" </dev/null 2>&1; }

# ---- it is confined as the sandbox is ----
is files/control "text of closed" "$(cat /srv/closed/f)"
is files/open "text of closed" "$(in_box open -- cat /srv/closed/f)"
is files/denied "cat: /srv/closed/f: Permission denied" "$(in_box box -- cat /srv/closed/f)"
is files/allowed "text of open" "$(in_box box -- cat /srv/open/f)"
connect() { "$@" "$probe" connect tcp 127.0.0.1 7001 >/dev/null 2>&1; echo $?; }
is network/control "0 1" "$(connect env) $(visits tcp 127.0.0.1 7001)"
is network/open "0 2" "$(connect in_box open --) $(visits tcp 127.0.0.1 7001)"
cp "$probe" /usr/local/bin/probe_of_exec
is network/closed "1 2" "$(in_box box -- probe_of_exec connect tcp 127.0.0.1 7001 >/dev/null; echo $?) $(visits tcp 127.0.0.1 7001)"
cp /bin/true /srv/open/program
/srv/open/program; is first-instruction/control 0 $?
in_box open -- /srv/open/program; is first-instruction/open 0 $?
out=$(in_box box -- /srv/open/program); is first-instruction/denied 126 $?
has first-instruction/named "/srv/open/program: Permission denied" "$out"
is cgroup "0::/sbpf/box" "$(in_box open -- true; in_box box -- cat /proc/self/cgroup)"

# ---- and begins as its program began ----
field() { awk -v f="$1:" '$1 == f { print $2 }'; }
own=$(cat "/proc/$(members "$cgroots/sbpf/box" | head -1)/status") its=$(in_box box -- cat /proc/self/status)
for what in Seccomp Seccomp_filters NoNewPrivs CapEff CapBnd Uid Gid; do
  is "begins/$what" "$(field "$what" <<<"$own")" "$(field "$what" <<<"$its")"
done
is begins/no-capability "0000000000000000 1" "$(field CapEff <<<"$its") $(field CapEff </proc/self/status | grep -c 1)"
is begins/limit 77 "$(in_box box -- sh -c 'ulimit -n')"
is begins/directory /workspace "$(in_box box -- pwd)"
is begins/environment "FROM=policy PATH" "$(TOKEN=secret in_box box -- env | sed 's/^PATH=.*/PATH/' | xargs)"
is begins/variable given "$(in_box --env GIVEN=given box -- sh -c 'echo $GIVEN')"
is begins/user "65534 65534" "$(in_box -u 65534:65534 box -- sh -c 'echo $(id -u) $(id -g)')"
started user -q -u 65534:65534 -- sleep 10000 >/dev/null 2>&1
is begins/programs-user "65534 65534" "$(in_box user -- sh -c 'echo $(id -u) $(id -g)')"
is begins/keyring 1 "$(in_box open -- sh -c 'test "$(awk "/_ses/ { print \$1 }" /proc/keys)" != "'"$(awk '/_ses/ { print $1 }' /proc/keys)"'" && echo 1')"

# ---- in its places ----
is places/control "of the host" "$(cat /tmp/mark)"
is places/own mine "$(in_box box -- cat /tmp/mark)"
in_box box -- sh -c 'echo by-exec >/tmp/new'
is places/shared by-exec "$(cat "/proc/$(members "$cgroots/sbpf/box" | head -1)/root/tmp/new")"
is places/not-the-hosts 1 "$(ls /tmp/new >/dev/null 2>&1 || echo 1)"
for kind in mnt ipc net; do
  is "places/$kind" "$(readlink "/proc/$(members "$cgroots/sbpf/box" | head -1)/ns/$kind")" "$(in_box box -- readlink "/proc/self/ns/$kind")"
done
in_box box -- sh -c 'sleep 10001 >/dev/null 2>&1 & probe_of_exec listen tcp 127.0.0.1 7009 /tmp/log >/dev/null 2>&1 &'
is loopback/served 0 "$(within 30 in_box box -- probe_of_exec connect tcp 127.0.0.1 7009 >/dev/null; echo $?)"
is loopback/not-the-hosts 1 "$("$probe" connect tcp 127.0.0.1 7009 >/dev/null 2>&1; echo $?)"
runs_in_box 10001; is left-behind/lives 0 $?

# ---- how it ends ----
in_box box -- sh -c 'exit 7'; is end/code 7 $?
in_box box -- sh -c 'kill -9 $$'; is end/signal 137 $?
in_box box -- nowhere >/dev/null; is end/not-found 127 $?
is end/stdin "a line" "$(echo "a line" | sbpf exec -q box -- cat)"
has end/said "isolation active" "$(sbpf exec box -- true 2>&1)"
has end/denials "denials in box meanwhile: sbpf events box" "$(sbpf exec box -- cat /srv/closed/f 2>&1)"
hasnt end/no-denials "denials" "$(sbpf exec box -- true 2>&1)"
has end/event "/srv/closed/f" "$(sbpf events box 2>&1)"
sbpf exec -q box -- sleep 10002 &
waits=$!
within 60 runs_in_box 10002
kill -TERM $waits; wait $waits; is end/forwarded-signal 143 $?

# ---- who is in the sandbox does not look into it on its way ----
cat >"$tmp/spy.py" <<'PY'
import os, time
seen = open("/tmp/seen", "a", buffering=1)
print("spies", file=seen)
while True:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ("environ", "cmdline", "maps"):
            try:
                text = open(f"/proc/{pid}/{name}", "rb").read()
            except OSError:
                continue
            if b"CALLERS" in text or b"/bin/sbpf" in text:
                print("CALLERS", file=seen)
            if b"GIVEN" in text:
                print("GIVEN", file=seen)
PY
cp "$tmp/spy.py" /srv/open/spy.py
(sbpf exec -q box -- python3 -IS /srv/open/spy.py >/dev/null 2>&1 &)
within 60 grep -qs spies "/proc/$(members "$cgroots/sbpf/box" | head -1)/root/tmp/seen"; is spy/looks 0 $?
for _ in $(seq 30); do CALLERS=secret sbpf exec -q box -- true; done
in_box --env GIVEN=1 box -- sleep 2
seen=$(in_box box -- cat /tmp/seen)
has spy/control GIVEN "$seen"
hasnt spy/sees-nothing-of-the-caller CALLERS "$seen"

# ---- who stops it on its way stops nobody else ----
cat >/srv/open/stopper.py <<'PY'
import os, signal
while True:
    try: os.kill(-1, signal.SIGSTOP)
    except OSError: pass
PY
started stop -q -p "$open" -- python3 -IS /srv/open/stopper.py >/dev/null 2>&1; is stopped/runs 0 $?
# Is a process of sbpf's stopped in the sandbox, which is not the program yet?
entering_is_stopped() {
  local pid
  for pid in $(members "$cgroots/sbpf/stop"); do
    [[ $(readlink "/proc/$pid/exe") == */sbpf && $(stat_field "$pid" 1) == T ]] && return
  done
  return 1
}
for _ in $(seq 30); do
  sbpf exec -q stop -- sleep 10 >/dev/null 2>&1 & servers+=($!)
  within 2 entering_is_stopped && break
done
entering_is_stopped; is stopped/control 0 $?
is stopped/others-run 0 "$(timeout 60 sbpf run -q -- true 2>/dev/null; echo $?)"
is stopped/others-enter open "$(timeout 60 sbpf exec -q open -- echo open)"
is stopped/it-can-be-ended 0 "$(timeout 60 sbpf kill stop >/dev/null; echo $?)"

# ---- what is refused ----
out=$(sbpf exec nobody -- true 2>&1); is refused/no-sandbox 125 $?
has refused/no-sandbox-named "nobody" "$out"
sbpf exec box 2>/dev/null; is refused/no-command 2 $?
mkdir -p "$cgroots/theirs"
sbpf attach -p "$open" -n theirs --cgroup "$cgroots/theirs" >/dev/null
out=$(sbpf exec theirs -- true 2>&1); is refused/attached 2 $?
has refused/attached-why "another runtime's" "$out"
sbpf detach theirs >/dev/null
echo 1 >"$cgroots/sbpf/open/cgroup.freeze"
within 30 grep -q 'frozen 1' "$cgroots/sbpf/open/cgroup.events"
out=$(timeout 60 sbpf exec open -- true 2>&1); is refused/frozen 125 $?
has refused/frozen-why "frozen" "$out"
echo 0 >"$cgroots/sbpf/open/cgroup.freeze"
in_box open -- true; is refused/thawed 0 $?
python3 -ISc 'import socket, subprocess, sys
ours, theirs = socket.socketpair()
sys.exit(subprocess.run(["sbpf", "exec", "-q", "open", "--", "true"], stdin=theirs).returncode)' 2>"$tmp/socket"; is refused/socket 125 $?
has refused/socket-why "descriptor 0 is a socket" "$(cat "$tmp/socket")"
text=/run/sbpf-policies/$(stat -c %i "$cgroots/sbpf/user")
is refused/text-control "65534" "$(in_box user -- id -u)"
sed -i 's/^name: .*/name: other/' "$text"
out=$(sbpf exec user -- true 2>&1); is refused/text 125 $?
has refused/text-why "was not kept" "$out"

# ---- after a swap it is the new policy's ----
swapped=$(policy swapped <<<$'version: 1\nname: swapped\nextends: [runtime-files]\nfilesystem: {read: [/srv/closed], private: [/tmp]}\nnetwork: {loopback: private}\nprocess: {env: {allow: [PATH], set: {FROM: swapped}}}')
sbpf swap -p "$swapped" box --evict >/dev/null 2>&1
is swap/files "text of closed" "$(in_box box -- cat /srv/closed/f)"
is swap/environment swapped "$(in_box box -- sh -c 'echo $FROM')"
is swap/places "by-exec" "$(sbpf swap -p no-network box >/dev/null; in_box box -- cat /tmp/new)"

# ---- with the sandbox it ends ----
sbpf exec box -- sleep 10003 2>"$tmp/ended" &
waits=$!
within 60 runs_in_box 10003; is ended/control 0 $?
sbpf kill box >/dev/null
wait $waits; is ended/code 137 $?
has ended/said "sandbox box ended" "$(cat "$tmp/ended")"
sbpf exec box -- true 2>/dev/null; is ended/nothing-after 125 $?
end_all
finish
