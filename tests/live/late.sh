#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Killed commands leave nothing that waits for the next one; a busy host does not starve the watch, which says how late it is;
# and programs are handed over on a host with many processes.
. "$(dirname "$0")/lib.sh"
out=$tmp/watch.json
box=$cgroots/late
crash=$tests/../bin/crash_shim.so
keep_loaded
policy=$(policy late <<<$'version: 1\nname: late\non_loss: freeze')
inhabit "$box"

# ---- a killed attach: thawed and taken down at once, with no other command and no watch ----
attach=(sbpf attach --cgroup "$box" --name late --policy "$policy")
SBPF_KILL_COUNT=$tmp/points LD_PRELOAD=$crash "${attach[@]}" >/dev/null 2>&1
points=$(cat "$tmp/points")
sbpf detach late 2>/dev/null
as_before() { grep -q 'frozen 0' "$box/cgroup.events" && ! bpftool cgroup show "$box" | grep -q hook_ && [[ -z $(ls "$pins/building") ]]; }
is killed/control 0 "$(as_before; echo $?)"
killed=0
for at in $(seq 2 $((points / 9 + 1)) "$points"); do
  SBPF_KILL_AT=$at LD_PRELOAD=$crash "${attach[@]}" >/dev/null 2>&1
  if (($? != 137)); then sbpf detach late 2>/dev/null; continue; fi
  killed=$((killed + 1))
  within 20 as_before; is "killed/$at" 0 $?
  is "killed/$at/not-there" keeper "$(sbpf list | paste -sd' ')"
done
is killed/enough yes "$( ((killed >= 5)) && echo yes || echo $killed)"

# ---- what killed canaries leave goes with the next one ----
scenes() { find /run -maxdepth 1 -name 'sbpf-canary.*' | wc -l; }
"${attach[@]}" >/dev/null
SBPF_KILL_COUNT=$tmp/points LD_PRELOAD=$crash sbpf verify late >/dev/null 2>&1
for at in $(seq 1 "$(cat "$tmp/points")"); do
  SBPF_KILL_AT=$at LD_PRELOAD=$crash sbpf verify late >/dev/null 2>&1
done
is scenes/control yes "$( (($(scenes) > 0)) && echo yes)"
sleep 11
sbpf verify late >/dev/null; is scenes/verified 0 $?
is scenes/gone 0 "$(scenes)"

# ---- a busy host ----
# This shell goes before the busy ones, too; what it starts as others do is started by `chrt -o 0`.
chrt -r -p 2 $$
watched() {
  chrt -o 0 sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" &
  watch=$!
  servers+=($watch)
  within 60 grep -q '"pass"' "$out"
}
late_by_a_second() { tail -n "+$1" "$out" | jq -r 'select(.pass) | .pass.late_us | select(. > 1000000)'; }
late_told() { grep -c '"code":"late"' "$out"; }
watched
sleep 5
is busy/control-not-late 0 "$(late_told)"
for _ in $(seq 40); do chrt -o 0 nice -n -20 sh -c 'while :; do :; done' & busy+=($!); done
# Starting them, as this shell does, has kept the watch waiting: that is told before the next passes.
started=$(passes_in "$out")
caught_up() { (($(passes_in "$out") >= started + 3)); }
within 30 caught_up; is busy/control-caught-up 0 $?
passes_before=$(passes_in "$out")
from=$(wc -l <"$out") # this shell goes before the watch, too, and has been busy
sleep 20
passes=$(($(passes_in "$out") - passes_before))
# A process that mostly sleeps gets its turn among these even without a priority: so that is looked at by itself.
is busy/goes-first SCHED_RR "$(chrt -p $watch | sed -n 's/.*policy: \([A-Z_]*\).*/\1/p')"
# Some 40 passes, on a processor of its own: what runs beside the guest takes some of them.
is busy/passes yes "$( ((passes >= 10)) && echo yes || echo "$passes in 20 s")"
# Once, as the watch waits in the kernel for locks of processes that are starved (docs/WATCH.md).
is busy/not-starved yes "$( (($(late_by_a_second "$from" | wc -l) <= 1)) && echo yes || late_by_a_second "$from" | paste -sd' ')"
sbpf break-glass --reason late --for 5m 2>/dev/null
id=$(bpftool -j link show pinned "$pins/sandboxes/late/connect4" | jq .id)
mark "$out"
"$tests/tamper" link-detach "$id" >/dev/null
within 30 grep -q 'frozen 1' "$box/cgroup.events"; is busy/loss-answered 0 $?
in_time busy/loss "$out"
sbpf break-glass --close 2>/dev/null
kill $watch; wait $watch 2>/dev/null
kill -9 "${busy[@]}"
wait "${busy[@]}" 2>/dev/null
# One that does not come to its turn says so, once.
watched
is late/control 0 "$(late_told)"
kill -STOP $watch
sleep 3
kill -CONT $watch
within 20 sh -c "grep -q '\"code\":\"late\"' $out"; is late/told 0 $?
is late/counted yes "$([[ -n $(late_by_a_second 1) ]] && echo yes)"
sleep 2
is late/told-once 1 "$(late_told)"
kill -9 $watch
wait $watch 2>/dev/null
chrt -o -p 0 $$
echo 0 >"$box/cgroup.freeze"

# ---- many processes: places of executables that nobody runs any more are found all the same ----
for i in 1 2 3 4 5; do cp "$(command -v sbpf)" "$tmp/agent$i"; done
for _ in $(seq 1300); do sleep infinity & many+=($!); done
hand() { setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource -- prlimit --nofile=400:400 sbpf hand-over "$1"; }
handed=0
for i in 1 2 3 4 5; do hand "$tmp/agent$i" >/dev/null 2>"$tmp/err" && handed=$((handed + 1)); done
is many/handed-over "5 " "$handed $(cat "$tmp/err" | grep -v manages)"
is many/manages 0 "$("$tmp/agent5" status keeper --require active >/dev/null 2>&1; code=$?; ((code == 0 || code == 3)) && echo 0 || echo $code)"
kill -9 "${many[@]}"; wait "${many[@]}" 2>/dev/null
for pid in $(members "$box"); do kill -9 "$pid"; done
end_all
rmdir "$box" 2>/dev/null
finish
