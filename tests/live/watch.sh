#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `sbpf watch`: sees each manner of loss on a sandbox of `run` and one of `attach`, answers it, repairs it, and takes
# nothing that sbpf itself does for a loss.
. "$(dirname "$0")/lib.sh"
out=$tmp/watch.json
runtime=$cgroots/other.runtime
watching() { grep -c '"pass"' "$out"; }
counted() { grep -c "\"$1\":{\"sandbox\":\"$2\"" "$out"; } # counted loss|restored NAME
more() { (($(counted "$1" "$2") > $3)); }
last() { grep "\"$1\":{\"sandbox\":\"$2\"" "$out" | tail -1 | jq -c ".$1"; }
told() { grep "\"sandbox\":{\"name\":\"$1\"" "$out" | tail -1 | jq -c .sandbox; } # as the watch said last how it stands
open_glass() { sbpf break-glass --reason watch --for 30m 2>/dev/null; }
close_glass() { sbpf break-glass --close 2>/dev/null; }
id_of() { sbpf status "$1" --json | jq .cgroup_id; }
pin() { echo "$pins/sandboxes/$1/$2"; }

# ---- it waits while nothing is loaded, and is alone ----
sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" & watch=$!
servers+=($watch)
within 20 grep -q '"sandboxes":0' "$out"; is idle/passes 0 $?
said=$(timeout 20 sbpf watch --json </dev/null 2>/dev/null); is second/refused 125 $?
has second/says-why watch_exists "$said"

keep_loaded
serve tcp 127.0.0.1 7001
for action in alert freeze kill; do
  policy "w-$action" >/dev/null <<Y
version: 1
name: w-$action
on_loss: $action
network: {connect: [{address: 127.0.0.1, ports: [7001]}]}
Y
done
mkdir -p "$runtime/att" "$runtime/extra"
mkfifo "$tmp/ask" "$tmp/answer" "$tmp/ask2" "$tmp/answer2"
sh -c "echo \$\$ >$runtime/att/cgroup.procs; while read -r port; do $probe connect tcp 127.0.0.1 \$port >$tmp/answer; done <>$tmp/ask" & servers+=($!)
within 20 test -s "$runtime/att/cgroup.procs"
sleep 0.5
asked() { if [[ $1 == att ]]; then echo "$2" >"$tmp/ask"; timeout 20 cat "$tmp/answer"; else echo "$2" >"$tmp/ask2"; cat "$tmp/answer2"; fi; }
is attack/control 111 "$(asked att 7002)" # nobody listens: not refused by us
sbpf attach --cgroup "$runtime/att" --name att --policy "$tmp/w-alert.yaml" >/dev/null; is attach/exit 0 $?
exec 8<>"$tmp/ask2" 9<>"$tmp/answer2"
sbpf run -q --name box --policy "$tmp/w-alert.yaml" -- sh -c "while read -r port; do $probe connect tcp 127.0.0.1 \$port; done" <"$tmp/ask2" >"$tmp/answer2" 2>/dev/null &
servers+=($!)
asked_box() { echo "$1" >&8; read -r -t 20 -u 9 got; echo "$got"; }
asked() { if [[ $1 == att ]]; then echo "$2" >"$tmp/ask"; timeout 20 cat "$tmp/answer"; else asked_box "$2"; fi; }
for name in att box; do
  within 60 grep -q "\"sandbox\":{\"name\":\"$name\".*\"isolation\":\"active\"" "$out"; is "seen/$name" 0 $?
  is "$name/denied" 1 "$(asked $name 7002)"
  is "$name/allowed" 0 "$(asked $name 7001)"
done

# ---- what sbpf does itself is no loss: 50 of its own changes ----
for i in {1..10}; do
  sbpf run -q --name "short$i" --policy no-network -- true 2>/dev/null
  sbpf swap att --policy "$tmp/w-alert.yaml" >/dev/null
  sbpf swap box --policy "$tmp/w-alert.yaml" >/dev/null
  sbpf attach --cgroup "$runtime/extra" --name extra --policy no-network >/dev/null
  sbpf detach extra
done
sleep 2
is own-changes/no-loss 0 "$(grep -c '"loss"' "$out")"
# The sandbox of preflight is there for a moment, with links that are pinned nowhere.
halted() { [[ $(stat_field $preflight 1) != [RSD] ]]; }
is_recorded() { ! sbpf status "preflight-$preflight" 2>&1 | grep -q "no sandbox is named"; }
its_hooks() { bpftool cgroup show "$cgroots/sbpf/preflight-$preflight" 2>/dev/null | grep -c hook_; }
crash=$tests/../bin/crash_shim.so
SBPF_KILL_COUNT=$tmp/points LD_PRELOAD=$crash sbpf preflight >/dev/null 2>&1
looked() { (($(watching) > passes + 3)); }
# From the end: last it takes the record and the hooks away, which is a change by itself, and before that it tries what they do.
stops=0 ended=0
for ((at = $(cat "$tmp/points"); at > 0; at--)); do
  (SBPF_STOP_AT=$at LD_PRELOAD=$crash exec sbpf preflight >/dev/null 2>&1) & preflight=$!
  within 60 halted
  there=$(its_hooks)
  if ((there == 12)) && is_recorded; then
    passes=$(watching)
    within 20 looked && stops=$((stops + 1))
  fi
  kill -CONT $preflight
  wait $preflight || ended=$?
  ((stops > 0 && there < 12)) && break # before they were all attached
done 2>/dev/null
is preflight/is-looked-at yes "$( ((stops > 3)) && echo yes || echo $stops)"
is preflight/exit 0 $ended
is preflight/no-loss 0 "$(grep -c '"loss"' "$out")"
is own-changes/generation 11 "$(told att | jq .generation)"

# ---- a name that another sandbox has by now is left alone ----
started twin -q --policy no-network -- sleep infinity </dev/null >/dev/null 2>&1
first=$started
within 60 flock -n /run/sbpf.lock true # a stopped holder of the lock would stop the rest
kill -STOP $first
sbpf kill twin 2>/dev/null
started twin -q --policy no-network -- sleep infinity </dev/null >/dev/null 2>&1
second=$started
kill -CONT $first
wait $first 2>/dev/null
is twin/still-active true "$(sbpf status twin --json 2>/dev/null | jq .isolation_active)"
sbpf kill twin 2>/dev/null
wait $second 2>/dev/null
is twin/no-loss 0 "$(grep -c '"loss"' "$out")"

# ---- each manner ----
# manner NAME HOOK LABEL COMMAND…: tampers in a window, expects the loss, closes, expects the repair and what it is for
manner() {
  local name=$1 hook=$2 label=$1/$3 losses repairs
  shift 3
  losses=$(counted loss "$name") repairs=$(counted restored "$name")
  open_glass
  mark "$out"
  "$@" >"$tmp/manner" 2>&1 || not_ok "$label/done" "$(cat "$tmp/manner")"
  within 10 more loss "$name" "$losses"; is "$label/seen" 0 $?
  in_time "$label" "$out"
  has "$label/named" "\"$hook\"" "$(last loss "$name" | jq -c .hooks)"
  close_glass
  within 20 more restored "$name" "$repairs"; is "$label/restored" 0 $?
  is "$label/denied-again" 1 "$(asked "$name" 7002)"
  is "$label/allowed-again" 0 "$(asked "$name" 7001)"
}
# The time counts from the deed, not from looking up whom it is done to.
at_link() { # at_link WHAT NAME HOOK
  local id
  id=$(bpftool -j link show pinned "$(pin "$2" "$3")" | jq .id)
  mark "$out"
  local errno
  errno=$("$tests/tamper" "$1" "$id")
  echo "$1 of link $id: errno $errno"
  [[ $errno == 0 ]]
}
detach() { at_link link-detach "$@"; }
replace() { at_link link-update "$@"; }
for name in att box; do
  key=$(hex "$(id_of $name)")
  manner $name connect4 detached detach $name connect4
  manner $name connect4 replaced replace $name connect4
  manner $name sock_create pin-removed rm "$(pin $name sock_create)"
  manner $name policy policy-deleted bpftool map delete pinned $pins/maps/policies key $key
  # The same policy with an entry more, under the hash of the one without.
  open_glass
  forged_policy "$(policy_map "$(id_of $name)")"
  manner $name policy policy-forged bpftool map update pinned $pins/maps/policies key $key value pinned /sys/fs/bpf/more
  rm -f /sys/fs/bpf/more
  manner $name storage storage-edited bpftool map update pinned $pins/maps/cgroup_refs key $key value $(yes 0 | head -40)
done
levels_off() { [[ $("$tests/tamper" levels-off "$pins/maps/globals") == 0 ]] && said=$(sbpf status att --json | jq -c '[.degraded[].what]'); }
manner att gate levels-off levels_off
has att/levels-off/status '"gate"' "$said"
# What is missing still at the next passes was told.
losses=$(counted loss att) repairs=$(counted restored att)
open_glass
detach att connect4 >/dev/null
within 10 more loss att "$losses"; is told-once/seen 0 $?
sleep 2
is told-once $((losses + 1)) "$(counted loss att)"
is told-once/nothing-put-back "$repairs" "$(counted restored att)"
close_glass
within 20 more restored att "$repairs"; is told-once/restored 0 $?
key=$(hex "$(id_of att)")
open_glass
old=$(policy_map "$(id_of att)")
bpftool map pin id "$old" /sys/fs/bpf/old_policy 2>/dev/null
close_glass
sbpf swap att --policy "$tmp/w-alert.yaml" >/dev/null
if [[ -e /sys/fs/bpf/old_policy ]]; then
  generation=$(sbpf status att --json | jq .policy.generation)
  newest() { [[ $(told att | jq .generation) == "$generation" ]]; }
  within 20 newest; is generation-stale/newest-seen 0 $? # by the watch: else it could not put it back
  manner att policy generation-stale bpftool map update pinned $pins/maps/policies key $key value pinned /sys/fs/bpf/old_policy
  has att/generation-stale/reason "after $generation" "$(last loss att | jq -c .reasons)"
  # One that says the same, but that somebody may write to: sbpf's own are frozen.
  copied() { [[ $("$tests/tamper" policy-copy $pins/maps/policies "$(sbpf status att --json | jq .cgroup_id)") == 0 ]]; }
  manner att policy copied copied
  # What is published and replaced between two passes was never seen: it cannot be put back, and all is denied until a swap.
  kill -STOP $watch
  within 60 flock -n /run/sbpf.lock true # a stopped holder of the lock would stop the rest
  sbpf swap att --policy "$tmp/w-alert.yaml" >/dev/null
  open_glass
  bpftool map update pinned $pins/maps/policies key $key value pinned /sys/fs/bpf/old_policy
  close_glass
  is unseen/status inactive "$(sbpf status att --json | jq -r .isolation)"
  has unseen/status-says "an older policy is in force" "$(sbpf status att)"
  is unseen/control 0 "$(asked att 7001)"
  kill -CONT $watch
  all_denied() { [[ $(asked att 7001) == 1 ]]; }
  within 20 all_denied; is unseen/denied 0 $?
  sbpf swap att --policy "$tmp/w-alert.yaml" >/dev/null
  # The window that was used is all that is left.
  is unseen/status-again "degraded break-glass" "$(sbpf status att --json | jq -r '.isolation + " " + ([.degraded[].what] | join(" "))')"
  is unseen/allowed-again 0 "$(asked att 7001)"
  rm -f /sys/fs/bpf/old_policy
else
  skip att/generation-stale "the old policy's map could not be kept"
fi
manner att record record-deleted bpftool map delete pinned $pins/maps/sandboxes key $key
first=file_open last_hook=$(ls $pins/links | tail -1)
manner att $first lsm-pin-removed rm $pins/links/$first
manner att "$last_hook" last-pin-removed rm "$pins/links/$last_hook"
is event/lost isolation_lost "$(sbpf events att --json | jq -r .reason | grep isolation_lost | head -1)"

# ---- freeze and kill; a frozen one stays frozen when it is whole again ----
for action in freeze kill; do
  inhabit "$runtime/$action"
  sbpf attach --cgroup "$runtime/$action" --name "$action" --policy "$tmp/w-$action.yaml" >/dev/null
  within 20 grep -q "\"sandbox\":{\"name\":\"$action\"" "$out"
  open_glass
  detach "$action" bind6
  case $action in
    freeze) within 10 grep -q 'frozen 1' "$runtime/freeze/cgroup.events" ;;
    kill) within 10 grep -q 'populated 0' "$runtime/kill/cgroup.events" ;;
  esac
  is "on-loss/$action" 0 $?
  in_time "on-loss/$action" "$out"
  close_glass
  within 20 more restored "$action" 0; is "on-loss/$action/restored" 0 $?
done
has on-loss/freeze/frozen-still 'frozen 1' "$(cat "$runtime/freeze/cgroup.events")"
is on-loss/freeze/answered frozen "$(last loss freeze | jq -r .answered)"
is on-loss/kill/answered killed "$(last loss kill | jq -r .answered)"
echo "# passes of $(jq -c 'select(.pass) | .pass.duration_us' "$out" | sort -n | awk '{ v[NR] = $1 } END { print "median " v[int((NR + 1) / 2)] " us, longest " v[NR] " us" }'), with $(sbpf list | wc -l) sandboxes; $(grep VmRSS /proc/$watch/status)"
within 90 grep -q '"canary_at":"' "$out"; is canary/told 0 $?

# ---- limits that systemd or root loosened: degraded, and put back within a minute; tighter ones stand ----
limited=$(policy limited <<'Y'
version: 1
name: limited
process: {limits: {processes: 40, memory: 256MiB, cpu: 0.5}}
Y
)
inhabit "$runtime/limited"
for controller in pids memory cpu; do echo "+$controller" >"$cgroots/cgroup.subtree_control"; echo "+$controller" >"$runtime/cgroup.subtree_control"; done
its() { cat "$runtime/limited/$1"; }
its_limits() { echo "$(its pids.max) $(its memory.max) $(its memory.swap.max) $(its cpu.max)"; }
how() { sbpf status limited --json | jq -r '.isolation + " " + ([.degraded[] | .what + ": " + .effective] | join(", "))'; }
is limits/control "max max max max 100000" "$(its_limits)"
sbpf attach --cgroup "$runtime/limited" --name limited --policy "$limited" >/dev/null; is limits/attached 3 $? # degraded by the window
whole="40 268435456 0 50000 100000"
is limits/set "$whole" "$(its_limits)"
now_active=$(how)
within 20 grep -q '"sandbox":{"name":"limited"' "$out"; is limits/seen 0 $?
for limit in pids.max=max pids.max=41 memory.max=max memory.max=300000000 memory.swap.max=max cpu.max=max "cpu.max=60000 100000" "cpu.max=50000 90000"; do
  file=${limit%%=*} before=$(its "${limit%%=*}")
  echo "${limit#*=}" >"$runtime/limited/$file"
  has "limits/${limit// /-}/degraded" "limits: $(its "$file")" "$(how)"
  echo "$before" >"$runtime/limited/$file"
done
is limits/as-they-were "$now_active" "$(how)"
for file in pids.max memory.swap.max cpu.max; do echo max >"$runtime/limited/$file"; done
echo 104857600 >"$runtime/limited/memory.max" # with the others, a tighter one
is limits/loosened "max 104857600 max max 100000" "$(its_limits)"
within 90 grep -aq "limits of sandbox limited were put back" "$tmp/watch.err"
is limits/put-back "40 104857600 0 50000 100000" "$(its_limits)"
is limits/not-degraded-any-more "$now_active" "$(how)"
has limits/said "the limits of sandbox limited were put back: pids.max was max, and the policy has 40" "$(grep -ah limits "$out" "$tmp/watch.err")"
for limit in pids.max=30 memory.max=104857600 "cpu.max=20000 100000"; do echo "${limit#*=}" >"$runtime/limited/${limit%%=*}"; done
is limits/tighter-is-well "$now_active" "$(how)"
none limits/no-loss grep '"loss":{"sandbox":"limited"' "$out"

# ---- without a canary for five minutes a sandbox is degraded, though all that is read back is in place ----
canary_of_att() { told att | jq -rc '[.degraded[] | select(.what == "canary").effective]'; }
waits_for() { # waits_for STATE: looked at every ten seconds
  for _ in {1..42}; do
    [[ $(canary_of_att) == "$1" ]] && return 0
    sleep 10
  done
  return 1
}
is unproven/control '[]' "$(canary_of_att)"
lost_before=$(counted loss att)
# While it waits nothing else is looked at, by a watch or a supervisor.
sbpf kill box 2>/dev/null
for name in limited freeze kill; do sbpf detach $name 2>/dev/null; done
hold_canaries
waits_for '["none for 5 minutes"]'; is unproven/is-degraded 0 $?
release_canaries
waits_for '[]'; is unproven/canary-again 0 $?
is unproven/no-loss "$lost_before" "$(counted loss att)"

# ---- its end ----
kill $watch
wait $watch; is end/sigterm 0 $?
mkfifo "$tmp/stdin"
sbpf watch --json <"$tmp/stdin" >/dev/null 2>&1 & watch=$!
exec 7>"$tmp/stdin"
sleep 2
kill -0 $watch 2>/dev/null; is end/stdin-open 0 $?
exec 7>&- 
wait $watch; is end/stdin-closed 0 $?
exec 8>&- 9>&-
end_runtime "$runtime"
clean
is left-behind "" "$(left_behind)"
finish
