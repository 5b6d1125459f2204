#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Canaries are out of the reach of the sandbox that they are in; one that hangs holds nobody up, and is a loss when it does so
# twice and nothing accounts for it.
. "$(dirname "$0")/lib.sh"
out=$tmp/watch.json
runtime=$cgroots/other.runtime
keep_loaded
root=$(policy root <<P
version: 1
name: root
$powers
P
)
freeze=$(policy freeze <<<$'version: 1\nname: freeze\non_loss: freeze')
lock_is_free() { flock -n /run/sbpf.lock true; }
effective() { jq -r '.degraded[] | select(.what == "canary") | .effective'; }

# ---- from inside ----
mkdir -p "$runtime/in"
echo +pids >"$runtime/cgroup.subtree_control"
seen() { awk -v who="$1" -v op="$2" '$1 == who && $2 == op { print $3 }' "$tmp/attack" | sort -u | paste -sd' '; }
# Attached, so that it sees the host's /proc: that of `run` hides the canary.
mkdir -p "$runtime/attacked/cage" # it makes no cgroups itself
mkfifo "$tmp/go"
sh -c "echo \$\$ >$runtime/attacked/cgroup.procs; read -r go <$tmp/go; exec python3 $here/canary.py $tmp/attack" </dev/null >/dev/null 2>&1 & servers+=($!)
within 20 grep -q 'populated 1' "$runtime/attacked/cgroup.events"
sbpf attach --cgroup "$runtime/attacked" --name attacked --policy "$root" >/dev/null; is inside/start 0 $?
: >"$tmp/attack"
echo go >"$tmp/go"
within 60 grep -q 'control ready' "$tmp/attack"; is inside/ready 0 $?
codes=''
met() { [[ $(grep -c '^canary move' "$tmp/attack") -ge 3 ]]; } # on a busy machine a canary may be gone before it is seen
until met && ((${#codes} >= 8)) || ((${#codes} >= 60)); do
  sbpf verify attacked >/dev/null 2>&1
  codes+=$?
done
is inside/canaries-answer "" "${codes//0/}"
for op in stop null nice scheduler affinity ioprio limit trace descriptor memory mem-file oom; do
  is "inside/$op/control" 0 "$(seen control $op)"
  is "inside/$op/denied" 1 "$(seen canary $op)"
done
is inside/move/denied 1 "$(seen canary move)"
is inside/freeze/denied 1 "$(seen control freeze)"
sbpf kill attacked 2>/dev/null
# What the last two do where nothing stands in the way.
mkdir -p "$runtime/in/cage"
sleep infinity & moved=$!
echo $moved >"$runtime/in/cage/cgroup.procs"; is inside/move/control 0 $?
echo 1 >"$runtime/in/cage/cgroup.freeze"
within 10 grep -q 'frozen 1' "$runtime/in/cage/cgroup.events"; is inside/freeze/control 0 $?
kill -9 $moved

# ---- one that hangs: root outside stops it ----
confine() { # confine NAME
  inhabit "$runtime/$1"
  sbpf attach --cgroup "$runtime/$1" --name "$1" --policy "$freeze" >/dev/null
}
confine hang; is hang/start 0 $?
confine by; is by/start 0 $?
member=$(members "$runtime/hang")
stop_all() { # whoever makes a system call in CGROUP (hang)
  "$tests/stop_in" "${1:-$runtime/hang}" >"$tmp/stopping" & stopper=$!
  servers+=($stopper)
  within 20 grep -q ready "$tmp/stopping"
}
stopped_in() { local p; for p in $(members "$runtime/hang"); do grep -q '^State:.T' "/proc/$p/status" 2>/dev/null && return; done; return 1; }
stop_all
sbpf verify hang --json >"$tmp/verify" 2>/dev/null & verifier=$!
within 20 stopped_in; is hang/control-stopped 0 $?
lock_is_free; is hang/lock-is-free 0 $?
sbpf swap by --policy "$freeze" >/dev/null 2>&1; is hang/others-change 0 $?
sbpf run -q --policy "$freeze" -- true 2>/dev/null; is hang/others-start 0 $?
wait $verifier; is hang/verify-code 3 $?
is hang/verify-says "inactive no answer" "$(jq -r .isolation <"$tmp/verify") $(effective <"$tmp/verify")"
is hang/gives-way true "$(jq -r '.degraded[].reason' <"$tmp/verify" | grep -q "others wait for their turn" && echo true)"

# At a limit it cannot be told.
sbpf verify hang --json >"$tmp/verify" 2>/dev/null & verifier=$!
within 20 stopped_in
echo 1 >"$runtime/hang/pids.max"; is limit/set 0 $?
wait $verifier
is limit/not-told "not run" "$(effective <"$tmp/verify")"
echo max >"$runtime/hang/pids.max"

# Who runs it is killed: it does not stay, and the next one has its turn.
sbpf verify hang >/dev/null 2>&1 & verifier=$!
within 20 stopped_in; is killed/control-stopped 0 $?
kill -9 $verifier
wait $verifier 2>/dev/null
kill $stopper
wait $stopper 2>/dev/null
sbpf verify hang >/dev/null 2>&1; is killed/next-one 0 $?
nobody_else() { [[ $(members "$runtime/hang") == "$member" ]]; }
within 10 nobody_else; is killed/it-ends 0 $?

# What was found while the sandbox was changed says nothing of what it is now.
stop_all
sbpf verify hang --json >"$tmp/verify" 2>/dev/null & verifier=$!
within 20 stopped_in; is changed/control-stopped 0 $?
kill $stopper
wait $stopper 2>/dev/null
sbpf swap hang --policy "$freeze" >/dev/null 2>&1; is changed/swap 0 $?
wait $verifier; is changed/verified-anew 0 $?

# ---- that of a sandbox that comes up: others have the host lock, and leave it alone ----
stopped_canary() { # its number; in CGROUP, whose member makes a system call when it is thawed
  local p
  for p in $(members "$1"); do [[ $p != "$sleeper" ]] && grep -q '^State:.T' "/proc/$p/status" 2>/dev/null && echo "$p" && return; done
  return 1
}
starts() { sbpf run -q --policy "$freeze" -- true 2>/dev/null; } # on a busy host a canary may not get its turn at once
no_stopper() { kill $stopper; wait $stopper 2>/dev/null; }
inhabit "$runtime/coming"
stop_all "$runtime/coming"
sbpf attach --cgroup "$runtime/coming" --name coming --policy "$freeze" >"$tmp/said" 2>&1 & maker=$!
within 20 stopped_canary "$runtime/coming" >/dev/null; is coming/attach/control-stopped 0 $?
lock_is_free; is coming/attach/lock-is-free 0 $?
is coming/attach/stands coming "$(sbpf list | grep -o '^coming')"
within 60 starts; is coming/attach/others-start 0 $?
wait $maker; is coming/attach/code 125 $?
has coming/attach/says-why "gave no answer" "$(cat "$tmp/said")"
is coming/attach/taken-down "" "$(sbpf list | grep '^coming')"
no_stopper
made=$cgroots/sbpf/made
take_turn() {
  python3 -c 'import fcntl, time
f = open("/run/sbpf-canaries.lock", "w")
fcntl.lockf(f, fcntl.LOCK_EX)
print("ready", flush=True)
time.sleep(600)' >"$tmp/turn" & turn=$!
  servers+=($turn)
  within 20 grep -q ready "$tmp/turn"
}
start_waiting() { # a run whose canary has not its turn yet, so that its cgroup is empty
  take_turn
  sbpf run -q --name made --policy "$freeze" -- echo ran >"$tmp/ran" 2>"$tmp/said" & maker=$!
  within 20 [ -e "$pins/sandboxes/made" ] && within 20 lock_is_free
}
end_turn() { kill $turn; wait $turn 2>/dev/null; }
start_waiting; is coming/run/lock-is-free 0 $?
kill -STOP $maker
end_turn
is coming/run/control-empty "populated 0" "$(grep -o 'populated 0' "$made/cgroup.events")"
within 60 starts; is coming/run/others-start 0 $?
is coming/run/not-collected yes "$([[ -d $made ]] && echo yes)"
kill -CONT $maker; wait $maker; is coming/run/code 0 $?
is coming/run/ran ran "$(cat "$tmp/ran")"
start_waiting; is coming/ended/lock-is-free 0 $?
sbpf detach made 2>/dev/null; is coming/ended/detach 0 $?
end_turn
wait $maker; is coming/ended/code 125 $?
has coming/ended/says-why "was ended by another one" "$(cat "$tmp/said")"
is coming/ended/nothing-ran "" "$(cat "$tmp/ran")"
start_waiting; is coming/killed/lock-is-free 0 $?
kill -9 $maker; wait $maker 2>/dev/null
end_turn
is coming/killed/control yes "$([[ -d $made ]] && echo yes)"
within 60 starts; is coming/killed/others-start 0 $?
is coming/killed/collected no "$([[ -d $made ]] && echo yes || echo no)"

# One who comes meanwhile and swaps the policy has the last word, whether the proof ends or is killed.
other=$(policy other <<<$'version: 1\nname: other\nfilesystem: {default: read, deny: [/srv/other]}\n')
mkdir -p /srv/other; echo text >/srv/other/f
reads() { sh -c 'echo $$ >"$0/cgroup.procs"; exec cat /srv/other/f' "$runtime/$1" 2>/dev/null; }
attach_waiting() { # attach_waiting NAME OPTION…: whose canary has not its turn yet
  take_turn
  inhabit "$runtime/$1"
  sbpf attach --cgroup "$runtime/$1" --name "$1" --policy "$freeze" "${@:2}" >"$tmp/ran" 2>"$tmp/said" & maker=$!
  within 20 [ -e "$pins/sandboxes/$1" ] && within 20 lock_is_free
}
attach_waiting swapped --keep; is swapped/lock-is-free 0 $?
is swapped/control text "$(reads swapped)"
sbpf swap swapped --policy "$other" >"$tmp/swap" 2>&1 & swapper=$!
in_force() { [[ $(sbpf status swapped --json | jq -r .policy.name) == other ]]; } # who reads meanwhile has the file open, and a swap is refused
within 20 in_force; is swapped/in-force 0 $?
is swapped/denied "" "$(reads swapped)"
end_turn
wait $swapper; is swapped/swap 0 $?
wait $maker; is swapped/attach 0 $?
has swapped/says-what-is-in-force "policy=other" "$(cat "$tmp/ran" "$tmp/said")"
is swapped/assignment /srv/other "$(grep -o '/srv/other' /var/lib/sbpf/assigned/swapped)"
sbpf detach swapped 2>/dev/null
attach_waiting taken; is taken/lock-is-free 0 $?
kill -STOP $maker
end_turn
sbpf swap taken --policy "$other" >/dev/null 2>&1; is taken/swap 0 $?
kill -9 $maker; wait $maker 2>/dev/null
sleep 3
is taken/still-there taken "$(sbpf list | grep -o '^taken')"
is taken/still-denied "" "$(reads taken)"
sbpf detach taken 2>/dev/null

# ---- twice is a loss for the watch ----
stop_all
sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" & watch=$!
servers+=($watch)
within 200 stopped_in; is watch/control-stopped 0 $?
free=0
for i in {1..20}; do lock_is_free && free=$((free + 1)); sleep 0.2; done
is watch/lock-is-free 20 $free
within 200 grep -q 'frozen 1' "$runtime/hang/cgroup.events"; is watch/frozen 0 $?
is watch/named '["canary"]' "$(jq -c 'select(.loss.sandbox == "hang") | .loss.hooks' "$out" | head -1)"
has watch/says-why "gave no answer" "$(jq -c 'select(.loss.sandbox == "hang") | .loss.reasons' "$out")"
is watch/others-lose-nothing "" "$(jq -c 'select(.loss and .loss.sandbox != "hang")' "$out")"
is watch/status true "$(sbpf status hang --json | jq .frozen)"
kill $stopper $watch
wait $stopper $watch 2>/dev/null
echo 0 >"$runtime/hang/cgroup.freeze"

# ---- what changes meanwhile is no loss ----
sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" & watch=$!
servers+=($watch)
for i in {1..15}; do
  for change in "swap by --policy $freeze" "detach hang" "attach --cgroup $runtime/hang --name hang --policy $freeze"; do
    sbpf $change >/dev/null 2>&1 || echo "$change: $?" >>"$tmp/unchanged"
  done
  sbpf verify by >/dev/null 2>&1 || echo "not verified: $?" >>"$tmp/unverified"
done
canary_ran() { jq -c 'select(.sandbox.canary_at > 0)' "$out" 2>/dev/null | grep -q .; }
within 60 canary_ran; is change/canaries-ran 0 $?
kill $watch
wait $watch 2>/dev/null
is change/no-loss "" "$(jq -c 'select(.loss)' "$out")"
is change/each-was-made "" "$(cat "$tmp/unchanged" 2>/dev/null)"
is change/verified "" "$(cat "$tmp/unverified" 2>/dev/null)"
sbpf detach hang 2>/dev/null
sbpf detach by 2>/dev/null

# ---- what is assigned stays confined although no canary can be run in it: what runs inside can see to that ----
inhabit "$runtime/kept"
sbpf attach --cgroup "$runtime/kept" --name kept --policy "$other" --keep >/dev/null 2>&1; is kept/attach 0 $?
kill -9 $sleeper
sbpf break-glass --reason kept --for 5m 2>/dev/null # as after the host's restart
within 20 rmdir "$runtime/kept" 2>/dev/null; is kept/restarts 0 $?
sbpf break-glass --close 2>/dev/null
inhabit "$runtime/kept"
is kept/control text "$(reads kept)"
echo 1 >"$runtime/kept/pids.max"
sbpf reattach kept >"$tmp/said" 2>&1; is kept/not-proven 125 $?
is kept/still-there kept "$(sbpf list | grep -o '^kept$')"
is kept/still-denied "" "$(reads kept)"
sbpf detach kept 2>/dev/null
end_all

# ---- the first sandbox of a host that fails does not take away what others came to need meanwhile ----
sbpf unload 2>/dev/null; is first/control-not-loaded 0 $?
inhabit "$runtime/beside"
beside=$sleeper
inhabit "$runtime/first"
stop_all "$runtime/first"
sbpf attach --cgroup "$runtime/first" --name first --policy "$freeze" >"$tmp/said" 2>&1 & maker=$!
within 600 stopped_canary "$runtime/first" >/dev/null; is first/control-stopped 0 $?
programs() { bpftool prog show 2>/dev/null | grep -o '^[0-9]*: lsm' | paste -sd' '; }
loaded=$(programs); has first/control-loaded lsm "$loaded"
sbpf attach --cgroup "$runtime/beside" --name beside --policy "$freeze" >/dev/null 2>&1; is first/other-starts 0 $?
wait $maker; is first/code 125 $?
is first/other-stays active "$(sbpf status beside --json | jq -r .isolation)"
is first/programs-stay "$loaded" "$(programs)"
no_stopper
kill -9 $beside $sleeper
end_all
finish
