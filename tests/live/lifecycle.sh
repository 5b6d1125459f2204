#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How run, attach, swap, status, detach behave: exit codes, signals, losses, races, clean-up.
. "$(dirname "$0")/lib.sh"
run() { sbpf run -q --policy no-network "$@"; }

# ---- exit codes and streams ----
run -- true; is exit/zero 0 $?
run -- sh -c 'exit 7'; is exit/own-code 7 $?
run -- sh -c 'kill -9 $$'; is exit/signal 137 $?
run -- /no/such/program 2>/dev/null; is exit/not-found 127 $?
run -- /etc/passwd 2>/dev/null; is exit/not-executable 126 $?
run --timeout 1s -- sleep 100; is exit/timeout 124 $?
sbpf run --no-such-option -- true 2>/dev/null; is exit/usage 2 $?
sbpf run --policy /no/such.yaml -- true 2>/dev/null; is exit/no-policy 2 $?
is stream/stdin-stdout hello "$(echo hello | run -- cat)"
out=$(sbpf run --policy no-network -- true 2>&1 >/dev/null)
has active/line "isolation active ($hooks_here/$hooks_here hooks) policy=no-network cgroup=" "$out"
bad=$(policy bad <<'P'
version: 1
name: bad
network: {connect: [{address: 127.0.0.1, port: [1]}]}
P
)
rm -f "$tmp/marker"
out=$(sbpf run --policy "$bad" -- touch "$tmp/marker" 2>&1); is policy/bad-exit 2 $?
has policy/bad-location "bad.yaml:3:" "$out"
is policy/bad-ran-nothing no "$([[ -e $tmp/marker ]] && echo yes || echo no)"

# ---- inside of a sandbox it says so, whatever it was asked ----
for asked in list "status within" "run -- true" "kill within" "events within"; do
  # shellcheck disable=SC2086
  out=$(run --name within -- sbpf $asked 2>&1); is "inside/${asked%% *}-exit" 125 $?
  has "inside/${asked%% *}" "error: this is the inside of sandbox within, where nothing of sbpf's can be seen or changed" "$out"
done
run -- sbpf policy check "$bad" 2>/dev/null; is inside/policy-is-checked 2 $?
out=$(sbpf kill within 2>&1); is inside/outside-exit 125 $?
hasnt inside/outside inside "$out"

# ---- what is left over ends with the program ----
run --name leftover -- sh -c "setsid sh -c 'sleep 1000 & echo \$! >$tmp/pid; wait' & until test -s $tmp/pid; do sleep 0.1; done"
is leftover/killed no "$(kill -0 "$(cat "$tmp/pid")" 2>/dev/null && echo yes || echo no)"
is leftover/cgroup-removed no "$([[ -e $cgroots/sbpf/leftover ]] && echo yes || echo no)"
is leftover/pins-removed no "$([[ -e $pins/sandboxes/leftover ]] && echo yes || echo no)"

# ---- signals ----
sbpf run -q --policy no-network -- sh -c "trap 'echo term >$tmp/sig; exit 9' TERM; echo \$\$ >$tmp/up; while :; do sleep 0.1; done" &
supervisor=$!
within 60 test -s "$tmp/up"
kill -TERM $supervisor
wait $supervisor; is signal/forwarded 9 $?
is signal/seen term "$(cat "$tmp/sig")"

# ---- the terminal is put back ----
cat >"$tmp/terminal.py" <<'P'
import os, pty, subprocess, sys, termios
master, slave = pty.openpty()
before = termios.tcgetattr(slave)
p = subprocess.Popen(["sbpf", "run", "-q", "--policy", "no-network", "--", "stty", "raw", "-echo"],
                     stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
p.wait()
print("same" if termios.tcgetattr(slave)[:4] == before[:4] else "changed", p.returncode)
P
is terminal/restored "same 0" "$(python3 "$tmp/terminal.py")"

# ---- limits are the kernel's ----
limits=$(policy limits <<'P'
version: 1
name: limits
process: {limits: {processes: 8, memory: 64MiB, cpu: 0.5, timeout: 10m}}
P
)
sbpf run -q --policy "$limits" -- sh -c 'cd /sys/fs/cgroup && cd ./$(cut -d: -f3 /proc/self/cgroup) && cat pids.max memory.max cpu.max' >"$tmp/limits"
is limits/set "8 67108864 50000 100000" "$(paste -sd' ' "$tmp/limits")"
has limits/processes-held "Resource temporarily unavailable" "$(sbpf run -q --policy "$limits" -- bash -c 'for i in {1..20}; do sleep 5 & done' 2>&1)"
sbpf run -q --policy "$limits" -- python3 -c 'x = bytearray(200 << 20)' 2>/dev/null; is limits/memory-held 137 $?
limits_of() { (cd "$1" && cat pids.max memory.max memory.swap.max memory.oom.group cpu.max | xargs); }
limited="8 67108864 0 1 50000 100000" unlimited="max max max 0 max 100000"
started lifted -q --policy "$limits" -- sleep 1000; is limits/run 0 $?
is limits/before-the-swap "$limited" "$(limits_of "$cgroots/sbpf/lifted")"
sbpf swap lifted --policy no-network >/dev/null; is limits/swap 0 $?
is limits/swap-lifts "$unlimited" "$(limits_of "$cgroots/sbpf/lifted")"
sbpf swap lifted --policy "$limits" >/dev/null; is limits/swap-back 0 $?
is limits/swap-sets "$limited" "$(limits_of "$cgroots/sbpf/lifted")"
sbpf kill lifted
# Of an attached cgroup they are its owner's to lift.
mkdir -p "$cgroots/owner/limited"
for above in "$cgroots" "$cgroots/owner"; do echo "+pids +memory +cpu" >"$above/cgroup.subtree_control"; done
is limits/attach-control "$unlimited" "$(limits_of "$cgroots/owner/limited")"
sbpf attach --cgroup "$cgroots/owner/limited" --name owned --policy "$limits" >/dev/null; is limits/attach 0 $?
is limits/attach-sets "$limited" "$(limits_of "$cgroots/owner/limited")"
sbpf swap owned --policy no-network >/dev/null; is limits/attached-swap 0 $?
is limits/attached-swap-lifts-nothing "$limited" "$(limits_of "$cgroots/owner/limited")"
sbpf detach owned
rmdir "$cgroots/owner/limited" "$cgroots/owner"

# ---- status, verify, on_loss (AB-2); what takes the links away is allowed to by break-glass (tamper.sh has the rest) ----
ids() { bpftool -j link show | json "[l['id'] for l in d if l.get('cgroup_id') == $1 and l.get('attach_type') == '$2']" | tr -d '[]'; }
declare -A watching
# answered ACTION KIND TEXT: the supervisor of KIND-ACTION froze it, killed it, or only said TEXT
answered() {
  case $1 in
    freeze) within 10 grep -q 'frozen 1' "$cgroots/sbpf/$2-freeze/cgroup.events" ;;
    # All that ran in it, and then the supervisor.
    kill) within 10 sh -c "! grep -qs 'populated 1' $cgroots/sbpf/$2-kill/cgroup.events && ! kill -0 $supervisor 2>/dev/null" ;;
    alert) within 10 grep -qE "$3" "$tmp/$2-alert.err" && grep -q 'frozen 0' "$cgroots/sbpf/$2-alert/cgroup.events" ;;
  esac
}
for action in freeze kill alert; do
  p=$(policy "loss-$action" <<P
version: 1
name: loss-$action
on_loss: $action
P
)
  started "loss-$action" --policy "$p" -- sleep 1000 2>"$tmp/loss-$action.err"
  watching[$action]=$started
  sbpf status "loss-$action" >/dev/null; is "AB-2/$action/active-before" 0 $?
  started "unsaid-$action" --policy "$p" -- sleep 1000 2>"$tmp/unsaid-$action.err"
  watching[unsaid-$action]=$started
  started "other-$action" --policy "$p" -- sleep 1000 2>"$tmp/other-$action.err"
  watching[other-$action]=$started
  started "bare-$action" --policy "$p" -- sleep 1000 2>"$tmp/bare-$action.err"
  watching[bare-$action]=$started
done
open=$(policy open <<<$'version: 1\nname: open\nnetwork: {dangerously_allow_all: true}')
started open -q --policy "$open" -- sleep 1000
watching[open]=$started
started each -q --policy no-network -- sleep 1000
watching[each]=$started
sbpf break-glass --reason "AB-2" --for 30m 2>/dev/null
for action in freeze kill alert; do
  supervisor=${watching[$action]}
  cg=$(sbpf status "loss-$action" --json | json 'd["cgroup_id"]')
  link=$(ids "$cg" cgroup_inet4_connect)
  mark
  bpftool link detach id "$link"
  answered $action loss connect4; is "AB-2/$action/done" 0 $?
  in_time "AB-2/$action/done"
  if [[ $action != kill ]]; then # a killed sandbox is soon gone, and its status with it
    out=$(sbpf status "loss-$action" --json); is "AB-2/$action/status-exit" 3 $?
    is "AB-2/$action/status-says-so" inactive "$(json 'd["isolation"]' <<<"$out")"
    has "AB-2/$action/names-the-hook" connect4 "$(json '[x["what"] for x in d["degraded"]]' <<<"$out")"
  fi
  sbpf kill "loss-$action" >/dev/null 2>&1
  wait $supervisor 2>/dev/null
done
# The policy is gone first, and does not say any more how this is answered: as it did.
for action in freeze kill alert; do
  supervisor=${watching[unsaid-$action]}
  cg=$(sbpf status "unsaid-$action" --json | json 'd["cgroup_id"]')
  link=$(ids "$cg" cgroup_inet4_connect)
  bpftool map delete pinned "$pins/maps/policies" key $(hex "$cg")
  bpftool link detach id "$link"
  answered $action unsaid 'connect4|policy'
  is "AB-2/$action/without-its-policy" 0 $?
  sbpf kill "unsaid-$action" >/dev/null 2>&1
  wait $supervisor 2>/dev/null
done
# The record is gone: no watch runs, and the supervisor answers.
for action in freeze kill alert; do
  supervisor=${watching[bare-$action]}
  cg=$(sbpf status "bare-$action" --json | json 'd["cgroup_id"]')
  bpftool map delete pinned "$pins/maps/sandboxes" key $(hex "$cg"); is "AB-2/$action/no-record/control" 0 $?
  answered $action bare 'LOST: record'
  is "AB-2/$action/no-record" 0 $?
  echo 1 >"$cgroots/sbpf/bare-$action/cgroup.kill" 2>/dev/null
  wait $supervisor 2>/dev/null
done
# The policy of another sandbox, whole and under its own hash, in the place of its own.
open_map=$(policy_map "$(sbpf status open --json | json 'd["cgroup_id"]')")
for action in freeze kill alert; do
  supervisor=${watching[other-$action]}
  cg=$(sbpf status "other-$action" --json | json 'd["cgroup_id"]')
  mark
  bpftool map update pinned "$pins/maps/policies" key $(hex "$cg") value id "$open_map"; is "AB-2/$action/other-policy/control" 0 $?
  answered $action other 'by none of sbpf'
  is "AB-2/$action/other-policy" 0 $?
  in_time "AB-2/$action/other-policy"
  if [[ $action != kill ]]; then is "AB-2/$action/other-policy/status" "inactive policy" "$(sbpf status "other-$action" --json | json 'd["isolation"] + " " + " ".join(x["what"] for x in d["degraded"] if x["what"] != "break-glass")')"; fi
  sbpf kill "other-$action" >/dev/null 2>&1
  wait $supervisor 2>/dev/null
done
sbpf kill open >/dev/null 2>&1
wait ${watching[open]} 2>/dev/null
# Every link of the sandbox in turn, and every LSM pin in turn.
cg=$(sbpf status each --json | json 'd["cgroup_id"]')
for hook in inet6_connect:connect6 udp4_sendmsg:sendmsg4 udp6_sendmsg:sendmsg6 inet4_bind:bind4 inet6_bind:bind6 inet_sock_create:sock_create; do
  type=cgroup_${hook%:*}
  id=$(ids "$cg" "$type")
  [[ -n $id ]] || id=$(ids "$cg" "${type/inet_sock_create/sock_create}")
  bpftool link detach id "$id"
  sbpf verify each --json >"$tmp/verify" 2>/dev/null; code=$?
  is "AB-2/detach/$type" "3 inactive link was detached" "$code $(json 'd["isolation"]' <"$tmp/verify") $(json "', '.join(x['reason'] for x in d['degraded'] if x['what'] == '${hook#*:}')" <"$tmp/verify")"
done
for pin in "$pins"/links/*; do
  mv "$pin" "$pins/links/moved_${pin##*/}" 2>/dev/null || rm "$pin"
  sbpf status each --json >"$tmp/status"; code=$?
  is "AB-2/pin/${pin##*/}" "3 ${pin##*/}" "$code $(jq -r '.degraded[].what' "$tmp/status" | grep -x "${pin##*/}")"
done
# Its own policy under its own digest, with an entry more.
of_policy() { sbpf status each --json | json '", ".join(x["reason"] for x in d["degraded"] if x["what"] == "policy")'; }
is AB-2/own-hash/control "" "$(of_policy)"
forged_policy "$(policy_map "$cg")"; is AB-2/own-hash/made 0 $?
bpftool map update pinned "$pins/maps/policies" key $(hex "$cg") value pinned /sys/fs/bpf/more; is AB-2/own-hash/put 0 $?
is AB-2/own-hash "the kernel's policy map does not have its own hash" "$(of_policy)"
rm /sys/fs/bpf/more
sbpf kill each >/dev/null 2>&1
wait "${watching[each]}" 2>/dev/null
clean

# ---- `detach` of a sandbox of `run` ends what runs in it: nothing of that goes on unconfined ----
started over -q --policy no-network -- sleep 1000
within 60 grep -q 'populated 1' "$cgroots/sbpf/over/cgroup.events"
pid=$(members "$cgroots/sbpf/over")
sbpf detach over 2>/dev/null; is detach/of-a-run 0 $?
within 10 sh -c "! kill -0 $pid 2>/dev/null"; is detach/is-dead 0 $?
wait $started 2>/dev/null; is detach/code-of-run 137 $?
is detach/cgroup no "$([[ -e $cgroots/sbpf/over ]] && echo yes || echo no)"

# ---- a dead supervisor's empty sandbox is cleaned up by the next command ----
started dead -q --policy no-network -- sleep 1000
supervisor=$started
within 60 grep -q 'populated 1' "$cgroots/sbpf/dead/cgroup.events"
kill -9 $supervisor
wait $supervisor 2>/dev/null
kill -9 "$(members "$cgroots/sbpf/dead")"
within 30 grep -q 'populated 0' "$cgroots/sbpf/dead/cgroup.events"
quiet garbage/list sbpf list
is garbage/list-removes-nothing yes "$([[ -e $cgroots/sbpf/dead ]] && echo yes || echo no)"
is garbage/next-run 0 "$(sbpf run -q --policy no-network -- true >/dev/null 2>&1; echo $?)"
is garbage/cgroup no "$([[ -e $cgroots/sbpf/dead ]] && echo yes || echo no)"

# ---- kill -9 of a starting supervisor at random moments ----
for i in {1..25}; do
  sbpf run -q --policy no-network --name "crash$i" -- sleep 1000 &
  supervisor=$!
  sleep "0.$(printf %02d $((RANDOM % 60 + 1)))" # a start takes some tenths of a second
  kill -9 $supervisor 2>/dev/null
  wait $supervisor 2>/dev/null
done
# What did start is confined, what did not is gone: no third state.
half=0 begun=0
for name in $(sbpf list); do
  begun=$((begun + 1))
  sbpf verify "$name" >/dev/null 2>&1 || half=$((half + 1))
  sbpf kill "$name" || half=$((half + 1))
done
is crash/no-half-made-sandbox 0 $half
is crash/some-had-begun true "$( ((begun > 0)) && echo true)"
run -- true; is crash/next-run-works 0 $?

# ---- concurrent first runs: one loads, all are confined ----
clean
for i in {1..6}; do (run -- "$probe" connect tcp 127.0.0.1 9 >"$tmp/con$i"; echo "exit $?" >>"$tmp/con$i") & done
wait
is concurrent/all-denied "6" "$(grep -lx 1 "$tmp"/con? | wc -l)"
started twin -q --policy no-network -- sleep 1000
out=$(run --name twin -- true 2>&1); is concurrent/name-taken 125 $?
has concurrent/name-taken/says "a sandbox named twin exists" "$out"
sbpf kill twin
wait

# ---- attach, swap, explain, events ----
serve tcp 127.0.0.1 7001
allow=$(policy allow7001 <<'P'
version: 1
name: allow7001
network: {connect: [{address: 127.0.0.1, ports: [7001]}]}
P
)
mkdir -p "$cgroots/other.runtime/box"
# A process of the other runtime's that connects when it is asked to: none of its sockets is open when `attach` looks. It may
# read of its cgroup what it has open.
mkfifo "$tmp/ask" "$tmp/answer"
sh -c "echo \$\$ >$cgroots/other.runtime/box/cgroup.procs; exec 3<$cgroots/other.runtime/box/cgroup.events; while read -r _; do { $probe connect tcp 127.0.0.1 7001; echo exit \$?; } >$tmp/answer; done <>$tmp/ask" &
loop=$!
box_answers() { echo >"$tmp/ask"; paste -sd' ' "$tmp/answer"; } # its errno, and its exit code
box_connects() { box_answers | cut -d' ' -f1; }
is attach/control-open 0 "$(box_connects)"
cat >"$tmp/frozen.py" <<'P'
import select, sys
events = open(sys.argv[1] + "/cgroup.events")
poll = select.poll()
poll.register(events, select.POLLPRI)
while True:
    events.seek(0)
    print(" ".join(events.read().split()[2:]), flush=True)
    poll.poll()
P
python3 "$tmp/frozen.py" "$cgroots/other.runtime/box" >"$tmp/frozen" & frozen=$!
within 20 test -s "$tmp/frozen"
is attach/not-frozen-before "frozen 0" "$(paste -sd, "$tmp/frozen")"
sbpf attach --cgroup "$cgroots/other.runtime/box" --name box --policy no-network >/dev/null; is attach/exit 0 $?
within 20 sh -c "tail -n 1 '$tmp/frozen' | grep -q 'frozen 0'"
is attach/frozen-meanwhile "frozen 0,frozen 1,frozen 0" "$(uniq "$tmp/frozen" | paste -sd,)" # while it is looked for what is open already
kill $frozen
is attach/all-is-enforced "active 0" "$(sbpf status box --json | json 'd["isolation"] + " " + str(d["denied"].get("connect4", 0))')"
is attach/denied 1 "$(box_connects)"
is attach/denial-is-counted 1 "$(sbpf status box --json | json 'd["denied"].get("connect4", 0)')"
mkdir "$cgroots/other.runtime/box/child"
is attach/child-cgroup-denied 1 "$(sh -c "echo \$\$ >$cgroots/other.runtime/box/child/cgroup.procs; exec $probe connect tcp 127.0.0.1 7001")"
has attach/inside-cannot-be-told "the inside of a sandbox that \`attach\` made, which cannot be told" \
  "$(sh -c "echo \$\$ >$cgroots/other.runtime/box/child/cgroup.procs; exec sbpf list" 2>&1)"
sbpf attach --cgroup "$cgroots/other.runtime" --name outer --policy "$allow" >/dev/null; is attach/outer-exit 0 $?
is attach/outer-and-inner-both-hold 1 "$(sh -c "echo \$\$ >$cgroots/other.runtime/box/child/cgroup.procs; exec $probe connect tcp 127.0.0.1 7001")"
sbpf detach outer
sbpf swap box --policy "$allow" >/dev/null; is swap/exit 0 $?
is swap/allowed 0 "$(box_connects)"
is swap/generation 2 "$(sbpf status box --json | json 'd["policy"]["generation"]')"
sbpf swap box --policy "$bad" 2>/dev/null; is swap/bad-policy-exit 2 $?
is swap/bad-policy-changed-nothing 2 "$(sbpf status box --json | json 'd["policy"]["generation"]')"
sbpf attach --cgroup "$cgroots/other.runtime/box" --policy no-network 2>/dev/null; is attach/twice 125 $?
out=$(sbpf attach --cgroup "$cgroots/other.runtime/box" --name again --policy no-network 2>&1); is attach/twice-by-another-name 125 $?
has attach/twice-by-another-name/says "is sandbox box" "$out"
sbpf attach --cgroup /tmp --policy no-network 2>/dev/null; is attach/not-a-cgroup 2 $?
# Rules for programs alone, which need the tree of paths as those for files do.
p=$(policy no-probe <<P
version: 1
name: no-probe
network: {dangerously_allow_all: true}
process: {exec: {deny: [$probe]}}
P
)
sbpf swap box --policy "$p" >/dev/null; is swap/exec-rules-exit 0 $?
is swap/program-denied "exit 126" "$(box_answers 2>/dev/null)"
sbpf swap box --policy no-network >/dev/null
is swap/denied-again 1 "$(box_connects)"
events=$(sbpf events box --json)
has events/json '"port":7001' "$(tr -d ' ' <<<"$events")"
has events/allow-line 7001 "$(jq -r 'select(.hook == "connect4").allow' <<<"$events" | tail -1)"
sbpf detach box; is detach/exit 0 $?
is detach/open-again 0 "$(box_connects)"
# What is kept open is told as long as it is attached.
sh -c "echo \$\$ >$cgroots/other.runtime/box/child/cgroup.procs; exec sleep infinity" <>/dev/udp/127.0.0.1/7001 & kept=$!
within 20 grep -q 'populated 1' "$cgroots/other.runtime/box/child/cgroup.events"
attach_child() { sbpf attach --cgroup "$cgroots/other.runtime/box/child" --name child --policy no-network "$@" 2>&1; }
out=$(attach_child); is attach/open-refused 125 $?
has attach/open-refused/says 127.0.0.1:7001 "$out"
attach_child --keep-open-sockets >/dev/null; is attach/kept 0 $?
sbpf status child --json >"$tmp/status"; is attach/kept/status-exit 3 $?
is attach/kept/status "degraded sockets" "$(json 'd["isolation"] + " " + " ".join(x["what"] for x in d["degraded"])' <"$tmp/status")"
sbpf detach child
kill $kept
wait $kept 2>/dev/null
# Whoever would freeze itself.
timeout -s KILL 60 sh -c "echo \$\$ >$cgroots/other.runtime/box/child/cgroup.procs; exec sbpf attach --cgroup $cgroots/other.runtime/box --name own --policy no-network" >"$tmp/own" 2>&1; is attach/to-oneself 2 $?
has attach/to-oneself/says "sbpf itself runs in $cgroots/other.runtime/box" "$(cat "$tmp/own")"
kill $loop
wait $loop 2>/dev/null
sbpf explain --policy "$allow" connect 127.0.0.1:7001 >/dev/null; is explain/allowed 0 $?
sbpf explain --policy "$allow" connect 127.0.0.1:7002 >/dev/null; is explain/denied 1 $?

# ---- swaps under load: never both, never neither ----
serve udp 127.0.0.1 7101
serve udp 127.0.0.1 7102
for port in 7101 7102; do
  policy "only$port" >/dev/null <<P
version: 1
name: only$port
network: {connect: [{address: 127.0.0.1, ports: [$port], protocol: udp}]}
P
done
mkfifo "$tmp/hold"
exec 9<>"$tmp/hold"
started swapped -q --policy "$tmp/only7101.yaml" -- "$probe" hammer 127.0.0.1 7101 7102 <"$tmp/hold" >"$tmp/hammer" 9>&-
hammer=$started
swaps=0
while ((swaps < 30)) && sbpf swap swapped --policy "$tmp/only7102.yaml" >/dev/null && sbpf swap swapped --policy "$tmp/only7101.yaml" >/dev/null; do
  swaps=$((swaps + 2))
done
exec 9>&-
wait "$hammer"
read -r _ a _ b _ both _ neither _ other <<<"$(cat "$tmp/hammer")"
# A pair of connects straddles a flip now and then: both or neither of a pair is then right. More than one a flip is not.
if ((swaps == 30 && a > 0 && b > 0 && both + neither <= swaps && other == 0)); then ok swap/under-load
else not_ok swap/under-load "swaps $swaps: $(cat "$tmp/hammer")"; fi

# ---- a host without room says so, audit never says active ----
audit=$(policy audit <<'P'
version: 1
name: audit
mode: audit
P
)
out=$(sbpf run --policy "$audit" -- "$probe" connect tcp 127.0.0.1 7001 2>&1); is audit/not-blocked 0 $?
hasnt audit/never-called-active "isolation active" "$out"
has audit/reports 7001 "$out"
out=$(sbpf run -q --name audited --policy "$audit" --status-fd 3 -- true 3>&1 >/dev/null 2>&1 | head -1)
is audit/status "False degraded mode" "$(json 'str(d["isolation_active"]) + " " + d["isolation"] + " " + " ".join(x["what"] for x in d["degraded"])' <<<"$out")"
rmdir "$cgroots/other.runtime/box/child" "$cgroots/other.runtime/box" "$cgroots/other.runtime"
clean
is left-behind "" "$(left_behind)"
finish
