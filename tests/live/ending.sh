#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The end of a run says why: what ended the program, if that was not the program itself, and which limit held it back.
. "$(dirname "$0")/lib.sh"
. "$here/users_world.sh"
keep_loaded
# limited NAME LIMITS: a policy with these limits
limited() { policy "$1" <<<"$(printf 'version: 1\nname: %s\nprocess: {limits: {%s}}' "$1" "$2")"; }
last() { tail -n 1 "$tmp/status" | json "$1"; }
codes() { last '" ".join(r["code"] for r in d["exit"]["reasons"])'; }
# ends LABEL POLICY CODE SIGNAL REASONS COMMAND…: so it ends, and so it is told. What was said is in $tmp/err.
ends() {
  local got
  "${by[@]}" sbpf run --policy "$2" "${options[@]}" --status-fd 3 -- "${@:6}" 3>"$tmp/status" >/dev/null 2>"$tmp/err" </dev/null
  got=$?
  is "$1" "exit $3, signal $4: $5" "exit $got, signal $(last 'd["exit"]["signal"]'): $(codes)"
  is "$1/status-code" "$3" "$(last 'd["exit"]["code"]')"
}
said() { has "$1/said" "sbpf: $2" "$(cat "$tmp/err")"; }
silent() { is "$1/silent" "1 line" "$(grep -c . "$tmp/err") line$(grep -v '^sbpf: isolation active' "$tmp/err")"; }
by=() options=()
small=$(limited small 'memory: 64MiB') large=$(limited large 'memory: 512MiB')
few=$(limited few 'processes: 8') many=$(limited many 'processes: 64')
slow=$(limited slow 'cpu: 0.1') fast=$(limited fast 'cpu: 1.0')
alloc='x = bytearray(200 << 20)'
forks='import os, sys, time
for i in range(20):
    try:
        if os.fork() == 0: time.sleep(1000)
    except BlockingIOError: sys.exit(6)
sys.exit(5)'
busy='import time
end = time.monotonic() + 6
while time.monotonic() < end: pass'

# ---- of itself: nothing is said, whatever the code ----
ends itself/zero no-network 0 None "" true; silent itself/zero
ends itself/code no-network 137 None "" sh -c 'exit 137'; silent itself/code
ends itself/term no-network 143 SIGTERM "" sh -c 'kill -TERM $$'; silent itself/term

# ---- memory ----
ends memory/control "$large" 0 None "" python3 -ISc "$alloc"; silent memory/control
is memory/control-peak True "$(last 'd["exit"]["usage"]["memory_peak_bytes"] >= 200 << 20')"
ends memory/limit "$small" 137 SIGKILL out_of_memory python3 -ISc "$alloc"
said memory/limit 'out of memory: the sandbox reached its limit of 64MiB (process.limits.memory); the kernel killed'
is memory/limit-usage True "$(last '32 << 20 <= d["exit"]["usage"]["memory_peak_bytes"] <= 64 << 20 and d["exit"]["usage"]["oom_kills"] >= 1')"
ends memory/of-a-child "$small" 137 SIGKILL out_of_memory sh -c "python3 -ISc '$alloc'; exit 0"
mkfifo "$tmp/go"
sbpf run --policy "$large" --name above --status-fd 3 -- sh -c "read -r go <$tmp/go; exec python3 -ISc '$alloc'" 3>"$tmp/status" >/dev/null 2>"$tmp/err" &
above=$!
within 60 grep -q 'isolation active' "$tmp/err"
echo 96M >"$cgroots/sbpf/memory.max"
echo go >"$tmp/go"
wait $above
is memory/above "137 out_of_memory" "$? $(codes)"
echo max >"$cgroots/sbpf/memory.max"
said memory/above 'out of memory: the host ran out, or a cgroup above the sandbox; the kernel killed '

# ---- processes and CPU: they hold back, and end nothing ----
ends processes/control "$many" 5 None "" python3 -ISc "$forks"; silent processes/control
ends processes/limit "$few" 6 None process_limit python3 -ISc "$forks"
said processes/limit 'the limit of 8 processes and threads (process.limits.processes) refused it a new one'
is processes/counted True "$(last 'd["exit"]["usage"]["forks_refused"] >= 1')"
ends cpu/control "$fast" 0 None "" python3 -ISc "$busy"; silent cpu/control
ends cpu/limit "$slow" 0 None cpu_limit python3 -ISc "$busy"
said cpu/limit 'the limit of CPU (process.limits.cpu) held it back in '
is cpu/counted True "$(last 'd["exit"]["usage"]["cpu_throttled_us"] >= 1000000 and d["exit"]["usage"]["cpu_throttled_periods"] >= 10')"

# ---- killed: by whom ----
ends timeout/control no-network 0 None "" true
options=(--timeout 1s)
ends timeout no-network 124 SIGKILL timeout sleep 1000
said timeout 'timed out: every process of the sandbox was killed'
options=()
ends killed/by-itself no-network 137 SIGKILL killed sh -c 'kill -KILL $$'
said killed/by-itself "killed by SIGKILL: not by the policy's limits, but by somebody outside or by itself"
# meanwhile NAME POLICY COMMAND…: what is done to a sandbox that sleeps
meanwhile() {
  sbpf run --policy "$2" --name "$1" --status-fd 3 -- sleep 1000 3>"$tmp/status" >/dev/null 2>"$tmp/err" </dev/null &
  local run=$!
  within 60 grep -q 'isolation active' "$tmp/err"
  within 20 sh -c "grep -qx sleep /proc/\$(cat $cgroots/sbpf/$1/cgroup.procs)/comm"
  "${@:3}" >/dev/null
  wait $run
  is "$1" "exit 137, signal SIGKILL" "exit $?, signal $(last 'd["exit"]["signal"]')"
}
kill_program() { kill -KILL $(members "$cgroots/sbpf/outside"); }
meanwhile outside no-network kill_program; is outside/reason killed "$(codes)"
meanwhile down no-network sbpf kill down; is down/reason taken_down "$(codes)"
said down 'killed, as another command took the sandbox down'

# ---- a seccomp profile that kills ----
cat >"$tmp/kills.json" <<'J'
{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["acct"], "action": "SCMP_ACT_KILL_PROCESS"}]}
J
kills=$(policy kills <<<"$(printf 'version: 1\nname: kills\nprocess: {seccomp: %s}' "$tmp/kills.json")")
acct='import ctypes; ctypes.CDLL(None).acct(None)'
ends seccomp/control no-network 0 None "" python3 -ISc "$acct"
ends seccomp/kills "$kills" 159 SIGSYS seccomp python3 -ISc "$acct"
said seccomp/kills 'ended by SIGSYS'

# ---- --quiet is for people: programs are told all the same ----
options=(-q)
ends quiet "$small" 137 SIGKILL out_of_memory python3 -ISc "$alloc"; silent quiet
options=()

# ---- users of the service ----
start
by=(as 4242 "$readers")
ends user/control "$large" 0 None "" python3 -ISc "$alloc"; silent user/control
ends user/memory "$small" 137 SIGKILL out_of_memory python3 -ISc "$alloc"
said user/memory 'out of memory: the sandbox reached its limit of 64MiB'
ends user/processes "$few" 6 None process_limit python3 -ISc "$forks"
options=(--timeout 1s)
ends user/timeout no-network 124 SIGKILL timeout sleep 1000
options=() by=()
kill $daemon
wait $daemon

# ---- on_loss: kill; at the end, as a window that was used stays known ----
loss=$(policy loss <<<$'version: 1\nname: loss\non_loss: kill')
meanwhile lost "$loss" lose_hook lost connect4; is lost/reason isolation_lost "$(codes)"
said lost 'killed, as its isolation was lost and the policy says on_loss: kill'

end_all
finish
