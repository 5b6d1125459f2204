#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `sbpf exec --policy` of who is not root: a program in a sandbox of its own within a run of theirs, by way of sbpfd.
. "$(dirname "$0")/lib.sh"
. "$here/users_world.sh"
chmod 755 "$tmp"
keep_loaded
start
mkdir -p /srv/theirs
chown 4242:4242 /srv/theirs
echo text >/srv/theirs/file
chown 4242 /srv/theirs/file
serve tcp 127.0.0.1 7001
serve tcp 127.0.0.1 7002
run=u4242-agent
of_port() { echo "network: {connect: [{address: 127.0.0.1, ports: [$1], protocol: tcp}]}"; }
outer=$(policy outer <<<$'version: 1\nname: outer\nfilesystem: {default: read, write: [/srv/theirs]}\nprocess: {env: {allow: [PATH], set: {FROM: outer}}}\n'"$(of_port 7001)")
policy allows <<<$'version: 1\nname: allows\nfilesystem: {default: write}\nprocess: {env: {allow: [PATH], set: {FROM: own}}}\n'"$(of_port 7001)" >/dev/null
policy more <<<$'version: 1\nname: more\n'"$(of_port 7001-7002)" >/dev/null
policy reads <<<$'version: 1\nname: reads\nfilesystem: {default: read}' >/dev/null
policy short <<<$'version: 1\nname: short\nprocess: {limits: {timeout: 2s}}' >/dev/null
policy strict <<<$'version: 1\nname: strict\nprocess: {seccomp: strict}' >/dev/null
policy names <<<$'version: 1\nname: names\nnetwork: {connect: [{host: a.example, ports: [443]}]}' >/dev/null
policy memory <<<$'version: 1\nname: memory\nprocess: {limits: {memory: 64MiB}}' >/dev/null
started_by=user_sbpf
started agent -q -p "$outer" -- sleep 10000 >/dev/null 2>&1; is agent/runs 0 $?
unset started_by
under() { user sbpf exec -p "$tmp/$1.yaml" "${@:2}" </dev/null 2>&1; }
connect() { echo "$probe" connect tcp 127.0.0.1 "$1"; }
io_setup="import ctypes; libc = ctypes.CDLL(None, use_errno=True); libc.syscall(206, 0, 0); print('errno', ctypes.get_errno())"

# ---- both policies are asked ----
# shellcheck disable=SC2046
{
  is both/control 0 "$(user $(connect 7001) >/dev/null; echo $?)"
  is both/control-outer 0 "$(user sbpf exec -q $run -- $(connect 7001) >/dev/null; echo $?)"
  is both/allowed 0 "$(under allows -q $run -- $(connect 7001) >/dev/null; echo $?)"
  out=$(user sbpf exec -p no-network $run -- $(connect 7001) </dev/null 2>&1); is both/denied 1 $?
  has both/told "sbpf: denied connect tcp 127.0.0.1:7001" "$out"
  has both/what-allows-it "allow with: network: {connect: [{address: 127.0.0.1, ports: [7001], protocol: tcp}]}" "$out"
  is both/outer-denies 1 "$(under more -q $run -- $(connect 7002) >/dev/null; echo $?)"
  is both/control-of-that 0 "$(user $(connect 7002) >/dev/null; echo $?)"
}
is both/visits "3 1" "$(visits tcp 127.0.0.1 7001) $(visits tcp 127.0.0.1 7002)"
is files/control 0 "$(user sbpf exec -q $run -- sh -c 'echo more >>/srv/theirs/file'; echo $?)"
is files/allowed 0 "$(under allows -q $run -- sh -c 'echo more >>/srv/theirs/file'; echo $?)"
has files/denied "Permission denied" "$(under reads $run -- sh -c 'echo more >>/srv/theirs/file')"
has files/outer-denies "Permission denied" "$(under allows $run -- touch /srv/new)"
is files/text "text more more" "$(xargs </srv/theirs/file)"
is calls/control "errno 14" "$(user sbpf exec -q $run -- python3 -IS -c "$io_setup" 2>&1)"
is calls/denied "errno 1" "$(under strict -q $run -- python3 -IS -c "$io_setup")"

# ---- where it is, and how it begins and ends ----
has place/active "sbpf: isolation active ($hooks_here/$hooks_here hooks) policy=allows" "$(under allows $run -- true)"
has place/cgroup "0::/sbpf/$run/u4242-exec-" "$(under allows -q $run -- cat /proc/self/cgroup)"
is place/environment "FROM=own PATH" "$(SECRET=1 under allows -q $run -- env | sed 's/^PATH=.*/PATH/' | xargs)"
under allows -q $run -- sh -c 'exit 7'; is end/code 7 $?
under allows -q $run -- nowhere >/dev/null; is end/not-found 127 $?
is end/stdin in "$(echo in | user sbpf exec -q -p "$tmp/allows.yaml" $run -- cat)"
out=$(under short $run -- sleep 1000); is end/timeout 124 $?
under allows -q $run -- sh -c 'sleep 7178 >&- 2>&- &'
within 20 sh -c "! pgrep -xf 'sleep 7178' >/dev/null"; is end/what-it-left 0 $?
nothing_within() { ! compgen -G "$cgroots/sbpf/$run/*/" >/dev/null && ! sbpf list | grep -q u4242-exec-; }
within 20 nothing_within; is end/nothing-left 0 $?
is end/written-down 1 "$(jq '.runs | length' /run/sbpf/service.json)"
is end/run-goes-on true "$(sbpf status $run --json | jq .isolation_active)"

# ---- the client goes, the service goes ----
user sbpf exec -q -p "$tmp/allows.yaml" $run -- sleep 7179 </dev/null >/dev/null 2>&1 & client=$!
within 60 pgrep -xf 'sleep 7179' >/dev/null
inner=$(sbpf list | grep u4242-exec-)
is lives/written-down "$run" "$(jq -r ".runs[\"$inner\"].within" /run/sbpf/service.json)"
is lives/status '["allows",true]' "$(user sbpf status "$inner" --json | jq -c '[.policy.name, .isolation_active]')"
is lives/others 403 "$(other curl -s -o /dev/null -w '%{http_code}' --unix-socket $socket "$url/v1/sandboxes/$inner/events?follow=false")"
pkill -9 -P $client 2>/dev/null
kill -9 $client 2>/dev/null
pkill -9 -f 'sbpf exec.*sleep 717[9]'
wait $client 2>/dev/null
within 20 sh -c "! pgrep -xf 'sleep 7179' >/dev/null"; is client/killed 0 $?
within 20 nothing_within; is client/nothing-left 0 $?
user sbpf exec -q -p "$tmp/allows.yaml" $run -- sleep 7180 </dev/null >/dev/null 2>&1 & client=$!
within 60 pgrep -xf 'sleep 7180' >/dev/null
sbpf kill $run >/dev/null
wait $client; is outer/code 137 $?
within 20 nothing_within; is outer/nothing-left 0 $?
within 20 sh -c '[ "$(jq ".runs | length" /run/sbpf/service.json)" = 0 ]'; is outer/not-written-down 0 $?

# ---- what cannot be ----
started_by=user_sbpf
started agent -q -p "$outer" -- sleep 10000 >/dev/null 2>&1
unset started_by
out=$(under names $run -- true); is refuse/names 2 $?
has refuse/names-named "host names need a resolver" "$out"
out=$(under memory $run -- true); is refuse/limits 125 $?
has refuse/limits-named "process.limits.memory" "$out"
out=$(other sbpf exec -p "$tmp/allows.yaml" $run -- true 2>&1); is refuse/others 125 $?
has refuse/others-named "uid 4243" "$out"
out=$(user sbpf exec -p "$tmp/nothing.yaml" $run -- true 2>&1); is refuse/no-policy 2 $?
is refuse/both 400 "$(user curl -s -o /dev/null -w '%{http_code}' --unix-socket $socket -d '{"pid": 1, "policy": "no-network", "policy_text": "x"}' "$url/v1/sandboxes/$run/processes")"
within 20 nothing_within; is refuse/nothing-left 0 $?
user sbpf exec -q -p "$tmp/allows.yaml" $run -- sleep 7181 </dev/null >/dev/null 2>&1 & client=$!
within 60 pgrep -xf 'sleep 7181' >/dev/null
kill -9 $daemon
wait $daemon 2>/dev/null
wait $client; is service/code 125 $?
start
within 30 nothing_within; is service/nothing-left 0 $?
kill $daemon
wait $daemon 2>/dev/null
cat "$tmp/log" >&2
end_all
finish
