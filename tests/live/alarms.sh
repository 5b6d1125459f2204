#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a busy host does is no loss: with all processors taken, little memory, many runs at once, cgroups that come and go, and a clock
# that jumps, the supervisor of `run` and `sbpf watch` say nothing, and nothing is frozen. At the end a loss is told, so they do look.
#
#   alarms.sh [RUNS]   how many sandboxes run at once
. "$(dirname "$0")/lib.sh"
runs=${1:-40}
out=$tmp/watch.json
by=$cgroots/other.runtime/by
printf 'version: 1\nname: guarded\non_loss: freeze\n' >"$tmp/guarded.yaml"
started box --policy "$tmp/guarded.yaml" -- sleep infinity </dev/null >/dev/null 2>"$tmp/box.err"; is start/run 0 $?
inhabit "$by"
sbpf attach --cgroup "$by" --name by --policy "$tmp/guarded.yaml" >/dev/null; is start/attach 0 $?
sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" & watch=$!
servers+=($watch)
within 60 grep -q '"sandbox":{"name":"by".*"isolation":"active"' "$out"; is start/watched 0 $?

# told: what would be an alarm, of any sandbox. A pass may be late in an emulated guest, which is no alarm.
told() {
  grep -E '^\{"(loss|restored)"|"isolation":"(degraded|inactive)"|"code":"(liveness|cannot_tell)"' "$out" | grep -v '"code":"late"'
  grep -E 'ISOLATION LOST|degraded' "$tmp/box.err"
}
frozen() { cat "$cgroots/sbpf/box/cgroup.freeze" "$by/cgroup.freeze" | xargs; }
passed() { (($(passes_in "$out") >= from + $1)); }
# calm NAME: the watch looked some times meanwhile and still does, and there is no alarm
calm() {
  within 60 passed 4; is "$1/looked" 0 $?
  is "$1/no-alarm" "" "$(told)"
  is "$1/active" "active active" "$(sbpf status box --json | jq -r .isolation) $(sbpf status by --json | jq -r .isolation)"
  is "$1/nothing-frozen" "0 0" "$(frozen)"
}
begin() { from=$(passes_in "$out"); }

# ---- all processors are taken ----
begin
# This shell would wait for them, too.
chrt -r -p 2 $$
for _ in $(seq 50); do chrt -o 0 nice -n -20 sh -c 'while :; do :; done' & busy+=($!); done
sleep 8
kill -9 "${busy[@]}"; wait "${busy[@]}" 2>/dev/null
chrt -o -p 0 $$
calm busy

# ---- little memory is left, and more is asked for all the time ----
begin
python3 - "$tmp/pressed" <<'P' & pressing=$!
import mmap, sys, time
def available():
    return next(int(line.split()[1]) for line in open("/proc/meminfo") if line.startswith("MemAvailable")) << 10
taken = []
while available() > 120 << 20:
    piece = mmap.mmap(-1, 16 << 20)
    for at in range(0, len(piece), 4096): piece[at] = 1
    taken.append(piece)
open(sys.argv[1], "w").write("%d\n" % available())
end = time.monotonic() + 4
while time.monotonic() < end:
    open("/usr/bin/python3", "rb").read()
    piece = mmap.mmap(-1, 8 << 20)
    for at in range(0, len(piece), 4096): piece[at] = 1
    piece.close()
P
wait $pressing; is memory/ends 0 $?
is memory/control yes "$( (($(cat "$tmp/pressed") < 130 << 20)) && echo yes || cat "$tmp/pressed")"
calm memory

# ---- many runs at once ----
begin
pids=()
for i in $(seq "$runs"); do sbpf run -q --name "many$i" --policy no-network -- sleep 3 </dev/null >/dev/null 2>>"$tmp/many.err" & pids+=($!); done
ended=0
for pid in "${pids[@]}"; do wait "$pid" && ended=$((ended + 1)); done
is runs/ended "$runs" "$ended"
is runs/said "$runs" "$(grep -c 'isolation active' "$tmp/many.err")"
# But that another command removes what one left behind: so many wait for the lock of the host longer than one does here.
is runs/said-nothing-else "" "$(grep -v -e "isolation active" -e "its empty cgroup is left to the next command" "$tmp/many.err")"
calm runs
# The next command removes what those left behind that did not wait for the lock.
sbpf run -q --policy no-network -- true </dev/null 2>"$tmp/next"; is runs/next-command 0 $?
hasnt runs/next-says-no-error "sbpf: error" "$(cat "$tmp/next")"

# ---- cgroups are made and removed, some of them in those of sandboxes ----
begin
python3 - "$cgroots/other.runtime" "$by" "$cgroots/sbpf/box" <<'P'; is cgroups/made-and-removed 0 $?
import os, sys
for i in range(1000):
    path = "%s/short%d" % (sys.argv[1 + i % 3], i)
    os.mkdir(path)
    os.rmdir(path)
P
calm cgroups

# ---- the clock is set ----
begin
day=$((24 * 3600))
now() { date +%s; }
base=$(now)
date -s "@$((base + day))" >/dev/null; is clock/forward yes "$( (($(now) >= base + day)) && echo yes)"
sleep 2
date -s "@$((base - day))" >/dev/null; is clock/back yes "$( (($(now) < base)) && echo yes)"
sleep 2
date -s "@$base" >/dev/null
calm clock

# ---- they do look ----
sbpf break-glass --reason alarms --for 5m 2>/dev/null
"$tests/tamper" link-detach "$(bpftool -j link show pinned "$pins/sandboxes/by/connect4" | jq .id)" >/dev/null
within 20 grep -q '^{"loss":{"sandbox":"by"' "$out"; is control/loss-is-told 0 $?
within 20 grep -q 'frozen 1' "$by/cgroup.events"; is control/frozen 0 $?
sbpf break-glass --close 2>/dev/null
kill $watch; wait $watch 2>/dev/null
echo 0 >"$by/cgroup.freeze"
for pid in $(members "$by"); do kill -9 "$pid"; done
end_all
rmdir "$by" "$cgroots/other.runtime" 2>/dev/null
finish
