#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Attached is not running: what stops the LSM programs without touching one of their links is told by the next `sbpf status`
# and `sbpf verify`, and answered by the supervisor of `run` and by `sbpf watch`, with the reason.
. "$(dirname "$0")/lib.sh"
out=$tmp/watch.json
overrule=$tests/overrule
runtime=$cgroots/other.runtime
switch=/proc/sys/kernel/ftrace_enabled
isolation() { sbpf status "$1" --json 2>/dev/null | jq -r .isolation; }
why() { sbpf status "$1" --json 2>/dev/null | jq -r '[.degraded[] | .what + ": " + .reason] | join("; ")'; }
frozen() { grep -q 'frozen 1' "$1/cgroup.events"; }
thaw() { echo 0 >"$1/cgroup.freeze"; within 10 grep -q 'frozen 0' "$1/cgroup.events"; }
losses() { grep -c "\"loss\":{\"sandbox\":\"$1\"" "$out"; }
restored() { grep -c "\"restored\":{\"sandbox\":\"$1\"" "$out"; }
no_canary() { ! proves $watch; }
last() { jq -c "select(.$1.sandbox == \"$2\") | .$1" "$out" | tail -1; }
more() { (($(losses "$1") > $2)); }
# foreign NAME WANTED COMMAND…: runs it in the background until `gone`; its errno must be the one that is wanted
foreign() {
  "${@:3}" >"$tmp/foreign" & other=$!
  servers+=($other)
  within 20 test -s "$tmp/foreign"
  is "$1" "$2" "$(cut -d' ' -f1 "$tmp/foreign")"
  program=$(cut -d' ' -f2 "$tmp/foreign")
}
gone() { kill $other; wait $other 2>/dev/null; }

policy guarded >/dev/null <<'P'
version: 1
name: guarded
on_loss: freeze
P
# ---- sbpf does not switch its programs off either: its output may be a name that somebody chose, and go where somebody says ----
started 0 -q --policy "$tmp/guarded.yaml" -- sleep infinity </dev/null >/dev/null 2>&1; named_0=$started
is by-the-agent/list 0 "$(sbpf list)"
sbpf list >$switch 2>/dev/null; is by-the-agent/refused 1 "$(cat $switch)"
read -r error lifted < <("$overrule" later "$cgroots" sysctl)
sbpf list >$switch; is by-the-agent/control "0 0" "$error $(cat $switch)"
echo 1 >$switch
bpftool cgroup detach "$cgroots" sysctl id "$lifted"
sbpf kill 0 2>/dev/null
wait $named_0 2>/dev/null

started box --policy "$tmp/guarded.yaml" -- sleep infinity </dev/null >/dev/null 2>"$tmp/box.err"; is start/run 0 $?
supervisor=$started
echo +cpu >"$cgroots/cgroup.subtree_control"
mkdir -p "$runtime/by"
echo +cpu >"$runtime/cgroup.subtree_control"
inhabit "$runtime/by"
sbpf attach --cgroup "$runtime/by" --name by --policy "$tmp/guarded.yaml" >/dev/null; is start/attach 0 $?
box=$cgroots/sbpf/box by=$runtime/by alive=$cgroots/sbpf/.alive
sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" & watch=$!
servers+=($watch)
within 60 grep -q '"sandbox":{"name":"by".*"isolation":"active"' "$out"; is start/watched 0 $?

# ---- control: nobody does anything, and all processors are busy ----
for _ in 1 2 3 4; do sh -c 'while :; do :; done' & busy+=($!); done
sleep 4
is busy/active "active active" "$(isolation box) $(isolation by)"
is busy/nothing-lost "0 0" "$(losses box) $(losses by)"
kill "${busy[@]}"
wait "${busy[@]}" 2>/dev/null
sleep 1

# ---- the switch of all trampolines ----
# Nobody may turn it off…
off() { (printf %s "$1" >$switch) 2>/dev/null; echo "$? $(cat $switch)"; }
for value in 0 00 ' 0' -0 +0 0x0; do is "switch/refused/${value// /_}" "1 1" "$(off "$value")"; done
is switch/refused/by-sysctl "1 1" "$(sysctl -qw kernel.ftrace_enabled=0 2>/dev/null; echo "$? $(cat $switch)")"
is switch/refused/kept-open "1 1" "$(exec 9>$switch; (echo 0 >&9) 2>/dev/null; echo "$? $(cat $switch)")"
is switch/on-is-free "0 1" "$(off 1)"
is switch/others-are-free 0 "$(echo 0 >/proc/sys/kernel/ftrace_dump_on_oops; echo $?)"
is switch/refused/nothing-lost "active active 0 0" "$(isolation box) $(isolation by) $(losses box) $(losses by)"
# …but one whose program answers after ours.
read -r error _ < <("$overrule" later "$cgroots" sysctl); is switch/lifted 0 "$error"
echo 0 >$switch; is switch/control 0 "$(cat $switch)"
is switch/status "inactive inactive" "$(isolation box) $(isolation by)"
has switch/status/why "kernel.ftrace_enabled is 0" "$(why box)"
sbpf status box >/dev/null; is switch/status/exit 3 $?
sbpf verify by >/dev/null; is switch/verify/exit 3 $?
within 10 frozen "$by"; is switch/watch/frozen 0 $?
within 10 frozen "$box"; is switch/run/frozen 0 $?
within 10 grep -q 'ISOLATION LOST: liveness.*ftrace_enabled is 0' "$tmp/box.err"; is switch/run/why 0 $?
within 10 more by 0
has switch/watch/why "kernel.ftrace_enabled is 0" "$(last loss by)"
is switch/watch/what '["liveness"]' "$(last loss by | jq -c .hooks)"
is switch/run-refused 125 "$(sbpf run -q --name late --policy no-network -- true >/dev/null 2>"$tmp/late.err"; echo $?)"
has switch/run-refused/why "ftrace_enabled is 0" "$(cat "$tmp/late.err")"
echo 1 >$switch
within 10 grep -q '"restored":{"sandbox":"by"' "$out"; is switch/restored 0 $?
is switch/on/status "active active" "$(isolation box) $(isolation by)"
within 10 sh -c 'sbpf events by --json | grep -q isolation_restored'; is switch/on/event 0 $?
is switch/on/stays-frozen "0 0" "$(frozen "$box"; echo $?) $(frozen "$by"; echo $?)"

# ---- off while the sentinel, which calls the hooks, cannot answer ----
thaw "$by"
mkdir -p "$alive"
echo 1 >"$alive/cgroup.freeze"
before=$(losses by)
sleep 1
mark "$out"
echo 0 >$switch
within 10 frozen "$by"; is unanswered/frozen 0 $?
in_time unanswered "$out"
within 10 more by "$before"
has unanswered/why "kernel.ftrace_enabled is 0" "$(last loss by)"
is unanswered/status inactive "$(isolation by)"
echo 1 >$switch
# It is not left so: nothing but sentinels is in there.
answers_again() { ! frozen "$alive" && [[ $(isolation by) == active ]]; }
within 20 answers_again; is unanswered/answers-again 0 $?

# ---- off while the sentinel is stopped, and another file lies over the switch: whoever looks asks another one, and sees through it ----
thaw "$by"
# The watch's own: those of supervisors come and go.
starter() {
  local child children=''
  { read -r children; } 2>/dev/null </proc/$watch/task/$watch/children
  for child in $children; do grep -qs '^0::/sbpf/.alive$' /proc/$child/cgroup && echo "$child"; done | tail -1
}
there() { [[ -n $(starter) ]]; }
echo 1 >"$tmp/one"
exec 9>$switch
mount --bind "$tmp/one" $switch; is covered/control 1 "$(cat $switch)"
before=$(losses by)
within 20 there
mark "$out"
kill -STOP "$(starter)"
echo 0 >&9
within 20 frozen "$by"; is covered/frozen 0 $?
in_time covered "$out"
within 10 more by "$before"
has covered/why "kernel.ftrace_enabled is 0" "$(last loss by)"
is covered/status inactive "$(isolation by)"
has covered/status-why "kernel.ftrace_enabled is 0" "$(sbpf status by)"
umount $switch
exec 9>&-
echo 1 >$switch
within 20 answers_again; is covered/over 0 $?

# ---- the sentinel is moved out of its cgroup, where nobody counts it: it cannot be told, and is no loss ----
thaw "$by"
thaw "$box"
before=$(losses by)
python3 - "$alive/cgroup.procs" "$runtime/else/cgroup.procs" 6 <<'P' >"$tmp/moved"
import os, sys, time
os.makedirs(os.path.dirname(sys.argv[2]), exist_ok=True)
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
moved, end = 0, time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    for pid in open(sys.argv[1]).read().split():
        try:
            with open(sys.argv[2], "w") as procs: procs.write(pid)
            moved += 1
        except OSError: pass
    time.sleep(0.0003)
print(moved)
P
is moved/control yes "$( (($(cat "$tmp/moved") > 5)) && echo yes || cat "$tmp/moved")"
is moved/no-loss "$before 1 1" "$(losses by) $(frozen "$box"; echo $?) $(frozen "$by"; echo $?)"
within 20 answers_again; is moved/over 0 $?
for pid in $(members "$runtime/else"); do kill -9 "$pid"; done
within 20 rmdir "$runtime/else"; is moved/ends 0 $?

# ---- one that is stopped is not waited for ----
thaw "$by"
kill -STOP "$supervisor" # whose sentinels would do for the watch, too
within 20 there
held=$(starter)
kill -STOP "$held"; is asked-anew/control 0 $?
another() { there && [[ $(starter) != "$held" ]]; }
within 6 another; is asked-anew/another-one 0 $?
is asked-anew/active active "$(isolation by)"

# ---- one that cannot even be killed is left, and keeps no pass waiting ----
mkdir "$tmp/freezer"
mount -t cgroup -o freezer none "$tmp/freezer"; is unkillable/mount 0 $?
mkdir "$tmp/freezer/held"
within 20 there
held=$(starter)
echo "$held" >"$tmp/freezer/held/cgroup.procs"
echo FROZEN >"$tmp/freezer/held/freezer.state"; is unkillable/control 0 $?
from=$(passes_in "$out")
within 30 another; is unkillable/another-one 0 $?
looked() { (($(passes_in "$out") > from + 12)); }
within 30 looked; is unkillable/passes 0 $?
within 20 answers_again; is unkillable/active 0 $?
is unkillable/still-there "yes 1 1" "$([[ -d /proc/$held ]] && echo yes) $(frozen "$box"; echo $?) $(frozen "$by"; echo $?)"
echo THAWED >"$tmp/freezer/held/freezer.state"
gone_for_good() { [[ ! -d /proc/$held ]]; }
reap() { kill -STOP "$(starter)" 2>/dev/null; sleep 0.6; gone_for_good; } # when another one is asked
within 60 reap; is unkillable/reaped 0 $?
kill -CONT "$supervisor"
rmdir "$tmp/freezer/held" && umount "$tmp/freezer"

# ---- off again while the canary runs that follows on `restored`: the switch is the reason, not each hook that it finds open ----
thaw "$by"
before=$(losses by)
echo 0 >$switch
within 10 more by "$before"
thaw "$by"
before=$(losses by)
proofs=$(restored by)
echo "1000 100000" >"$by/cpu.max"; is canary/slow 0 $?
echo 1 >$switch
within 10 eval '(($(restored by) > proofs))'
within 10 proves $watch; is canary/control 0 $?
passes=$(grep -c '^{"pass"' "$out")
within 10 eval '(($(grep -c "^{\"pass\"" "$out") > passes))' # so that the canary ends before the next one
echo 0 >$switch
echo max >"$by/cpu.max"
within 10 more by "$before"
within 30 no_canary
sleep 2 # some passes
is canary/what '["liveness"]' "$(jq -s -c '[.[] | select(.loss.sandbox == "by") | .loss.hooks] | .['"$before"':] | add' "$out")"
proofs=$(restored by)
echo 1 >$switch
within 10 eval '(($(restored by) > proofs))'; is canary/restored 0 $?

# ---- off for a moment: who looks twice a second has seen it, and what it froze stays so ----
thaw "$box"
thaw "$by"
before=$(losses by)
mark "$out"
echo 0 >$switch
within 10 frozen "$by"
in_time moment/watch "$out"
within 10 frozen "$box"
echo 1 >$switch
within 10 more by "$before"; is moment/told 0 $?
is moment/frozen "0 0" "$(within 5 frozen "$box"; echo $?) $(within 5 frozen "$by"; echo $?)"

# ---- cannot tell is no loss: where no sentinel can start ----
thaw "$box"
thaw "$by"
all_active() { tail -n 3 "$out" | grep -q '"pass".*"active":2'; }
within 20 all_active; is unknown/begins-sound 0 $?
before=$(losses by)
echo 0 >"$cgroots/sbpf/pids.max"; is unknown/control 0 $?
is unknown/status degraded "$(isolation box)"
has unknown/status/why "not proven that the programs run" "$(why box)"
sleep 2
is unknown/no-loss "$before 1 1" "$(losses by) $(frozen "$box"; echo $?) $(frozen "$by"; echo $?)"
# The switch itself tells: no sentinel is needed for that.
mark "$out"
echo 0 >$switch
within 10 frozen "$by"; is unknown/switch/frozen 0 $?
in_time unknown/switch "$out"
is unknown/switch/status inactive "$(isolation by)"
echo 1 >$switch
echo max >"$cgroots/sbpf/pids.max"
within 20 eval '[[ $(isolation by) == active ]]'; is unknown/over active "$(isolation box)"
thaw "$by"
within 10 frozen "$box"; thaw "$box"
before=$(losses by)
# The same where a sentinel starts and is stopped, by what stops all below sbpf's root.
echo 1 >"$cgroots/sbpf/cgroup.freeze"
is stopped/status degraded "$(isolation by)"
is stopped/no-loss "$before 1" "$(losses by) $(frozen "$by"; echo $?)"
echo 0 >"$cgroots/sbpf/cgroup.freeze"
is stopped/over active "$(isolation by)"
# Its own cgroup is not left so.
for file in pids.max cgroup.freeze; do
  mkdir -p "$alive"
  [[ $file == pids.max ]] && echo 0 >"$alive/$file" || echo 1 >"$alive/$file"; is "released/$file/control" 0 $?
  within 20 answers_again; is "released/$file" 0 $?
  is "released/$file/no-loss" "$before 1 1" "$(losses by) $(frozen "$box"; echo $?) $(frozen "$by"; echo $?)"
done

# ---- what the watch keeps running beside it holds none of the programs ----
sbpf kill box 2>/dev/null
sbpf kill by 2>/dev/null
wait $sleeper $supervisor 2>/dev/null
is unload/beside-the-watch "sbpf: unloaded" "$(sbpf unload 2>&1)"
within 20 nothing_left
is unload/left-behind "" "$(left_behind)"
kill $watch
wait $watch 2>/dev/null
rmdir "$runtime/by" "$runtime"
clean
is left-behind "" "$(left_behind)"
finish
