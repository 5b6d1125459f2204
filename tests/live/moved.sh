#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Root outside moves a process out of its sandbox: seen, told, and answered by on_loss (docs/GUARD.md).
. "$(dirname "$0")/lib.sh"

serve tcp 127.0.0.1 7301
mkdir -p "$cgroots/outside"
# A program that connects whenever it is asked to, and its child that does the same.
cat >"$tmp/loop.sh" <<P
mkfifo $tmp/\$1.ask $tmp/\$1.answer
echo \$\$ >$tmp/\$1.pid
while read -r _; do $probe connect tcp 127.0.0.1 7301 >$tmp/\$1.answer; done <>$tmp/\$1.ask
P
connects() { echo >"$tmp/$1.ask"; cat "$tmp/$1.answer"; }
start() { # start NAME MODE ON_LOSS
  printf 'version: 1\nname: %s\nmode: %s\non_loss: %s\n' "$1" "$2" "$3" >"$tmp/$1.yaml"
  sbpf run --name "$1" --policy "$tmp/$1.yaml" -- bash "$tmp/loop.sh" "$1" </dev/null >/dev/null 2>"$tmp/$1.err" &
  supervisor=$!
  servers+=($supervisor)
  within 300 test -s "$tmp/$1.pid"
}
dead() { ! kill -0 "$1" 2>/dev/null || grep -q 'State:.Z' "/proc/$1/status" 2>/dev/null; }
move() { echo "$1" >"$cgroots/$2/cgroup.procs"; }
events_of() { (set -o pipefail; new_events "$1" --json | jq -c "select(.reason == \"moved_out\") | [.target_pid, .verdict]"); }

# ---- control: without a policy's on_loss, a process that is moved out is out ----
start tells enforce alert
is control/denied-inside 1 "$(connects tells)"
pid=$(cat "$tmp/tells.pid")
quiet control/nothing-told-before events_of tells
move "$pid" sbpf/tells
quiet control/moved-to-where-it-is events_of tells
mkdir "$cgroots/sbpf/tells/below"
move "$pid" sbpf/tells/below
quiet control/moved-within-the-sandbox events_of tells
is control/still-active 0 "$(sbpf status tells >/dev/null; echo $?)"
mark
move "$pid" outside
within 10 grep -q "moved" "$tmp/tells.err"; is alert/told 0 $?
in_time alert/told
is alert/is-out 0 "$(connects tells)"
is alert/event "[$pid,\"allowed\"]" "$(events_of tells)"
sbpf status tells --json >"$tmp/status"; is alert/status-exit 3 $?
has alert/status-names-it "$pid" "$(jq -c '.degraded[] | select(.what == "processes")' "$tmp/status")"
is alert/lives 1 "$(dead "$pid"; echo $?)"
# What it starts outside is taken for it.
"$probe" connect tcp 127.0.0.1 7301 >/dev/null
move "$pid" sbpf/tells
is alert/back-inside-is-denied 1 "$(connects tells)"
sbpf kill tells

# Also what it clones straight into another cgroup.
cat >"$tmp/clones.py" <<'P'
import ctypes, os, struct, sys, time
into = os.open(sys.argv[1], os.O_RDONLY)
open(sys.argv[2], "w").write(str(os.getpid()))
def cloned():
    child = ctypes.CDLL(None).syscall(435, ctypes.create_string_buffer(struct.pack("=11Q", 0x200000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, into)), 88)
    if child == 0: time.sleep(1000)
    return child
while (child := cloned()) < 0: time.sleep(0.02)
open(sys.argv[3], "w").write(str(child))
time.sleep(1000)
P
mkdir -p "$cgroots/elsewhere"
sbpf run --name clones --policy "$(policy clones <<<$'version: 1\nname: clones\non_loss: kill\nprocess: {seccomp: dangerously_unconfined}')" -- \
  python3 "$tmp/clones.py" "$cgroots/elsewhere" "$tmp/clones.pid" "$tmp/clones.child" </dev/null >/dev/null 2>&1 &
supervisor=$!
servers+=($supervisor)
within 300 test -s "$tmp/clones.pid"
kill -STOP "$supervisor" # so that it has time for it
is clones/refused-inside no "$([[ -e $tmp/clones.child ]] && echo yes || echo no)"
move "$(cat "$tmp/clones.pid")" outside
within 30 test -s "$tmp/clones.child"; is clones/control-outside 0 $?
kill -CONT "$supervisor"
within 10 dead "$(cat "$tmp/clones.pid")"; is clones/the-moved-one-dies 0 $?
within 10 dead "$(cat "$tmp/clones.child")"; is clones/its-clone-dies 0 $?
wait $supervisor 2>/dev/null

# ---- freeze, kill: the one that was moved dies, what it started outside too, and the rest is frozen or killed ----
for action in freeze kill; do
  name=moved-$action
  printf 'version: 1\nname: %s\non_loss: %s\n' "$name" "$action" >"$tmp/$name.yaml"
  sbpf run --name "$name" --policy "$tmp/$name.yaml" -- bash -c "sleep 1000 & echo \$! >$tmp/$name.stays
    bash -c 'echo \$\$ >$tmp/$name.pid; until test -e $tmp/$name.go; do sleep 0.02; done; sleep 2000 & echo \$! >$tmp/$name.child; wait' &
    wait; wait" </dev/null >/dev/null 2>"$tmp/$name.err" &
  supervisor=$!
  servers+=($supervisor)
  within 300 test -s "$tmp/$name.pid"
  pid=$(cat "$tmp/$name.pid") stays=$(cat "$tmp/$name.stays")
  is "$action/active-before" 0 "$(sbpf status "$name" >/dev/null; echo $?)"
  kill -STOP "$supervisor" # so that it has time to start one of its own, outside
  move "$pid" outside
  touch "$tmp/$name.go"
  within 30 test -s "$tmp/$name.child"
  child=$(cat "$tmp/$name.child")
  has "$action/status-names-both" "$pid $child" "$(sbpf status "$name" --json | jq -r '.degraded[] | select(.what == "processes") | .reason')"
  mark
  kill -CONT "$supervisor"
  within 10 dead "$pid"; is "$action/the-moved-one-dies" 0 $?
  within 10 dead "$child"; is "$action/its-child-outside-dies" 0 $?
  in_time "$action/both-die"
  case $action in
    freeze)
      is freeze/rest-is-frozen 0 "$(within 5 grep -q 'frozen 1' "$cgroots/sbpf/$name/cgroup.events"; echo $?)"
      is freeze/rest-lives 1 "$(dead "$stays"; echo $?)"
      has freeze/told moved "$(cat "$tmp/$name.err")"
      ;;
    kill) within 10 dead "$stays"; is kill/rest-dies 0 $? ;;
  esac
  sbpf kill "$name" 2>/dev/null
  wait $supervisor 2>/dev/null
done

# ---- an audit policy only tells, whatever on_loss says ----
start audited audit kill
pid=$(cat "$tmp/audited.pid")
move "$pid" outside
within 10 grep -q moved "$tmp/audited.err"; is audit/told 0 $?
is audit/event "[$pid,\"allowed\"]" "$(events_of audited)"
sleep 1
is audit/lives 1 "$(dead "$pid"; echo $?)"
sbpf kill audited
kill -9 "$pid" 2>/dev/null

# ---- attach: what was there before, and what comes in later ----
mkdir "$cgroots/runtime"
sleep 1000 & before=$!
servers+=($before)
move "$before" runtime
sbpf attach --cgroup "$cgroots/runtime" --name runtime --policy no-network >/dev/null; is attach/exit 0 $?
sleep 1000 & later=$!
servers+=($later)
move "$later" runtime
quiet attach/nothing-told-before events_of runtime
move "$before" outside
move "$later" outside
is attach/events "[$before,\"allowed\"] [$later,\"allowed\"]" "$(events_of runtime | paste -sd' ')"
has attach/status "$before $later" "$(sbpf status runtime --json | jq -r '.degraded[] | select(.what == "processes") | .reason')"
sbpf detach runtime
move "$before" runtime
move "$before" outside
kill $before $later
wait $before $later 2>/dev/null

# ---- nobody supervises what was attached: `sbpf watch` answers, by the policy's mode and on_loss ----
watched=$tmp/watch.json
sbpf watch --json </dev/null >"$watched" 2>"$tmp/watch.err" & watch=$!
servers+=($watch)
# It lives, and has no signal that will kill it.
unharmed() { ! dead "$1" && grep -q '^SigPnd:.0*$' "/proc/$1/status"; }
losses() { jq -c "select(.loss.sandbox == \"$1\") | .loss | [.hooks, .answered]" "$watched"; }
is_answered() { grep -q "\"loss\":{\"sandbox\":\"$1\"" "$watched"; }
for how in enforce/alert/alerted enforce/freeze/frozen enforce/kill/killed audit/freeze/alerted audit/kill/alerted; do
  IFS=/ read -r mode action answered <<<"$how"
  name=watched-$mode-$action label=watch/$mode-$action
  printf 'version: 1\nname: %s\nmode: %s\non_loss: %s\n' "$name" "$mode" "$action" >"$tmp/$name.yaml"
  mkdir "$cgroots/runtime/$name"
  sleep 1000 & pid=$!
  sleep 2000 & stays=$!
  servers+=($pid $stays)
  move "$pid" "runtime/$name"
  move "$stays" "runtime/$name"
  sbpf attach --cgroup "$cgroots/runtime/$name" --name "$name" --policy "$tmp/$name.yaml" >/dev/null; is "$label/attach-exit" 0 $?
  within 20 grep -q "\"sandbox\":{\"name\":\"$name\"" "$watched"; is "$label/seen" 0 $?
  quiet "$label/nothing-told-before" losses "$name"
  mark "$watched"
  move "$pid" outside
  within 10 is_answered "$name"; is "$label/told" 0 $?
  in_time "$label" "$watched"
  is "$label/answered" "[[\"processes\"],\"$answered\"]" "$(losses "$name")"
  case $answered in
    alerted) is "$label/the-moved-one-lives" 0 "$(unharmed "$pid"; echo $?)" ;;
    *) within 10 dead "$pid"; is "$label/the-moved-one-dies" 0 $? ;;
  esac
  case $answered in
    frozen) within 5 grep -q 'frozen 1' "$cgroots/runtime/$name/cgroup.events"; is "$label/rest-is-frozen" 0 $? ;;
    killed) within 10 dead "$stays"; is "$label/rest-dies" 0 $? ;;
    *) is "$label/rest-is-not-frozen" 0 "$(cat "$cgroots/runtime/$name/cgroup.freeze")" ;;
  esac
  [[ $answered == killed ]] || is "$label/rest-lives" 0 "$(unharmed "$stays"; echo $?)"
  kill -9 "$pid" "$stays" 2>/dev/null
  wait "$pid" "$stays" 2>/dev/null
  sbpf detach "$name"
  within 10 rmdir "$cgroots/runtime/$name"
done
kill $watch
wait $watch 2>/dev/null
# Who was moved out before a watch began is answered by the next.
printf 'version: 1\nname: early\non_loss: alert\n' >"$tmp/early.yaml"
mkdir "$cgroots/runtime/early"
sleep 1000 & pid=$!
servers+=($pid)
move "$pid" runtime/early
sbpf attach --cgroup "$cgroots/runtime/early" --name early --policy "$tmp/early.yaml" >/dev/null; is watch/early/attach-exit 0 $?
move "$pid" outside
sbpf watch --json </dev/null >"$watched" 2>"$tmp/watch.err" & watch=$!
within 20 is_answered early; is watch/early/told 0 $?
is watch/early/answered '[["processes"],"alerted"]' "$(losses early)"
kill $watch $pid
wait $watch $pid 2>/dev/null
sbpf detach early
within 10 rmdir "$cgroots/runtime/early"

# ---- one sandbox in another: whoever leaves the inner one is told of, though the outer one still holds it ----
mkdir -p "$cgroots/runtime/inner"
sbpf attach --cgroup "$cgroots/runtime" --name nest --policy no-network >/dev/null; is nested/outer-exit 0 $?
sbpf attach --cgroup "$cgroots/runtime/inner" --name nested --policy no-network >/dev/null; is nested/inner-exit 0 $?
sleep 1000 & within=$!
servers+=($within)
move "$within" runtime/inner
quiet nested/nothing-told-before events_of nested
move "$within" runtime
is nested/event "[$within,\"allowed\"]" "$(events_of nested)"
quiet nested/outer-holds-it events_of nest
sbpf detach nested
sbpf detach nest
kill $within
wait $within 2>/dev/null
within 10 rmdir "$cgroots/runtime/inner"

kill_all
within 10 rmdir "$cgroots/runtime"
within 10 rmdir "$cgroots/outside"
end_all
finish
