#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What hangs, is stopped, covered or broken: it hides no loss, is none itself, and takes no sandbox away.
. "$(dirname "$0")/lib.sh"
out=$tmp/watch.json
runtime=$cgroots/stuck
crash=$tests/../bin/crash_shim.so
keep_loaded
serve tcp 127.0.0.1 7001
none=$(policy none <<<$'version: 1\nname: none\non_loss: freeze')
mkdir "$runtime"
confine() { inhabit "$runtime/$1" && sbpf attach --cgroup "$runtime/$1" --name "$1" --policy "$none" "${@:2}" >"$tmp/said" 2>&1; }
# start_watch [COMMAND…]: which runs it
start_watch() {
  : >"$out"
  "$@" sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" & watch=$!
  servers+=($watch)
}
end_watch() { kill $watch; wait $watch 2>/dev/null; }
told() { jq -r "select(.sandbox.name == \"$1\") | .sandbox.isolation" "$out" | tail -1; }
is_told() { [[ $(told "$1") == "$2" ]]; }
losses_of() { grep -c "\"loss\":{\"sandbox\":\"$1\"" "$out"; }
frozen() { grep -q 'frozen 1' "$runtime/$1/cgroup.events"; }
detach_link() { "$tests/tamper" link-detach "$(bpftool -j link show pinned "$pins/sandboxes/$1/connect4" | jq .id)"; }
connect_in() { sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$runtime/$1" "$probe" connect tcp 127.0.0.1 7001; }

# ---- a threaded cgroup has threads, whose processes have others outside ----
mkdir -p "$cgroots/mixed/threads"
echo threaded >"$cgroots/mixed/threads/cgroup.type"; is threaded/control 0 $?
sbpf attach --cgroup "$cgroots/mixed/threads" --name threads --policy "$none" >"$tmp/said" 2>&1; is threaded/refused 2 $?
has threaded/says-why "is threaded" "$(cat "$tmp/said")"
sbpf attach --cgroup "$cgroots/mixed" --name mixed --policy "$none" >/dev/null 2>&1; is threaded/whole 0 $?
sbpf detach mixed
rmdir "$cgroots/mixed/threads" "$cgroots/mixed"

# ---- the sentinels' cgroup was killed: it is made anew ----
confine att; is start/attach 0 $?
start_watch
within 60 is_told att active; is start/watched 0 $?
echo 1 >"$cgroots/sbpf/.alive/cgroup.kill"; is sentinel/control 0 $?
active_again() { sbpf status att --require active >/dev/null 2>&1; }
within 30 active_again; is sentinel/active-again 0 $?
within 30 is_told att active; is sentinel/watch 0 $?
is sentinel/no-loss 0 "$(losses_of att)"

# ---- another mount lies over the pins ----
for place in /sys/fs /sys; do
  mount -t tmpfs none $place; is cover$place/control 0 $?
  sleep 3
  umount -l $place
  frozen att; is cover$place/runs-on 1 $?
  is cover$place/no-loss 0 "$(losses_of att)"
  is cover$place/keeper-runs-on 1 "$(grep -q 'frozen 1' "$cgroots/sbpf/keeper/cgroup.events"; echo $?)"
done
within 30 active_again; is cover/active-again 0 $?

# ---- it is told to freeze, and a process that waits for a disk (here: held by another freezer) keeps it from being frozen ----
confine held; is freezing/attach 0 $?
mkdir "$tmp/freezer"
mount -t cgroup -o freezer none "$tmp/freezer" && mkdir "$tmp/freezer/held"
echo "$sleeper" >"$tmp/freezer/held/cgroup.procs"
echo FROZEN >"$tmp/freezer/held/freezer.state"
echo 1 >"$runtime/held/cgroup.freeze"
sleep 1
frozen held; is freezing/control 1 $?
within 130 grep -q "no canary of sandbox held: the sandbox is frozen" "$tmp/watch.err" "$out"; is freezing/told 0 $?
is freezing/no-loss 0 "$(losses_of held)"
echo THAWED >"$tmp/freezer/held/freezer.state"
echo 0 >"$runtime/held/cgroup.freeze"
echo "$sleeper" >"$tmp/freezer/cgroup.procs"
rmdir "$tmp/freezer/held"
umount "$tmp/freezer"

end_watch

# ---- a watch that cannot open what is loaded takes no assigned cgroup for unconfined ----
confine kept --keep; is covered/attach 0 $?
for way in tmpfs bpf; do
  start_watch unshare -m sh -c "mount -t $way none /sys/fs/bpf; exec \"\$@\"" sh
  within 20 grep -q '"pass"' "$out"; is covered/$way/passes 0 $?
  sleep 4
  is covered/$way/no-loss 0 "$(losses_of kept)"
  frozen kept; is covered/$way/runs-on 1 $?
  end_watch
done
is covered/denied 1 "$(connect_in kept)"
sbpf detach kept
start_watch
within 60 is_told att active; is covered/watched-again 0 $?

# ---- a change that is stopped in the middle hides no loss ----
(SBPF_STOP_AT=3 LD_PRELOAD=$crash exec sbpf swap att --policy "$none" >/dev/null) & swapper=$!
servers+=($swapper)
within 20 is_stopped $swapper; is changing/stopped 0 $?
sleep 12
is changing/control "active 0" "$(told att) $(losses_of att)"
kill -CONT $swapper; wait $swapper; is changing/goes-on 0 $?
sbpf break-glass --reason stuck --for 30m 2>/dev/null
(SBPF_STOP_AT=3 LD_PRELOAD=$crash exec sbpf swap att --policy "$none" >/dev/null) & swapper=$!
servers+=($swapper)
within 20 is_stopped $swapper; is changing/stopped-again 0 $?
is changing/detached 0 "$(detach_link att)"
not_active() { ! is_told att active && ! is_told att degraded; }
within 40 not_active; is changing/watch-says-so 0 $?
frozen att; is changing/not-answered-yet 1 $?
kill -CONT $swapper; wait $swapper 2>/dev/null
within 20 frozen att; is changing/answered 0 $?
sbpf break-glass --close 2>/dev/null
restored() { grep -q '"restored":{"sandbox":"att"' "$out"; }
within 30 restored; is changing/restored 0 $?
echo 0 >"$runtime/att/cgroup.freeze"
end_watch

# ---- with a pin gone nothing can be managed, and what is confined stays confined ----
is broken/control 1 "$(connect_in att)"
sbpf break-glass --reason stuck --for 30m 2>/dev/null
rm "$pins/maps/rings"; is broken/pin-goes 0 $?
sbpf break-glass --close >/dev/null 2>&1
sbpf unload >"$tmp/said" 2>&1; is broken/unload-is-refused 125 $?
has broken/says-what "is confined still" "$(cat "$tmp/said")"
is broken/denied-still 1 "$(connect_in att)"
for pid in $(members "$runtime"/*); do kill -9 "$pid"; done
within 20 sh -c "! grep -q 'populated 1' $runtime/cgroup.events"
rmdir "$runtime"/*/ "$runtime"
pkill -KILL -x -f "sleep infinity" # the keeper's
gone() { ! grep -q 'populated 1' "$cgroots/sbpf/keeper/cgroup.events" 2>/dev/null; }
within 30 gone; is broken/all-ended 0 $?
sbpf unload >"$tmp/said" 2>&1; is broken/unload-at-the-end 0 $?
nothing_left() { [[ -z $(left_behind) ]]; }
within 60 nothing_left
is left-behind "" "$(left_behind)"
finish
