# SPDX-License-Identifier: Apache-2.0
# Shared by the live tests: the contract of tests/vm/README, servers, and policies.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tests=$(cd "$here/.." && pwd)
probe=$tests/probe
at_once=$tests/at_once
shim=$tests/../bin/fault_shim.so
# For SBPF_STUB (fault_shim.c): what takes the kernel long to verify, where a test shows nothing of what the programs do. sock_create is
# not among them: the kernel gives a cgroup its storage by a program that uses it.
slow_programs=connect4,connect6,sendmsg4,sendmsg6,bind4,bind6,recvmsg4,recvmsg6,getpeername4,sbpf_open_files,sbpf_mapped_files
pins=/sys/fs/bpf/sbpf
cgroots=$(awk '$9 == "cgroup2" || $8 == "cgroup2" { print $5; exit }' /proc/self/mountinfo)
tmp=$(mktemp -d /tmp/live.XXXXXX)
# How many hooks sbpf has on this kernel; said here again, so that one that gets lost is noticed.
case $(uname -r) in
  6.1.*) hooks_here=63 ;;
  6.12.*) hooks_here=66 ;;
  *) hooks_here=67 ;;
esac
cases=0 failed=0
servers=()

ok() { echo "ok $1"; cases=$((cases + 1)); }
not_ok() { echo "not ok $1: ${2//$'\n'/ | }"; cases=$((cases + 1)); failed=$((failed + 1)); }
skip() { echo "skip $1: $2"; cases=$((cases + 1)); }

# is NAME WANTED GOT
is() { if [[ $2 == "$3" ]]; then ok "$1"; else not_ok "$1" "wanted '$2', got '$3'"; fi; }
# has NAME NEEDLE HAYSTACK
has() { if [[ $3 == *"$2"* ]]; then ok "$1"; else not_ok "$1" "no '$2' in '${3:0:600}'"; fi; }
# An empty haystack is no answer: what never ran says nothing either.
hasnt() {
  if [[ -z $3 ]]; then not_ok "$1" "there is nothing that could have '$2'"
  elif [[ $3 != *"$2"* ]]; then ok "$1"
  else not_ok "$1" "'$2' in '${3:0:600}'"; fi
}
# quiet NAME COMMAND…: it ends with 0 and prints nothing.
quiet() {
  local out code
  out=$("${@:2}" 2>&1); code=$?
  is "$1" "exit 0, ''" "exit $code, '$out'"
}
# none NAME COMMAND…: grep or its like looked, and found nothing: that is 1, where 2 says that it could not look.
none() {
  local out code
  out=$("${@:2}" 2>&1); code=$?
  is "$1" "exit 1, ''" "exit $code, '$out'"
}

# serve PROTO ADDRESS PORT: a server that logs its visitors to $tmp/PROTO-ADDRESS-PORT.log
serve() {
  local log=$tmp/$1-$2-$3.log
  : >"$log"
  "$probe" listen "$1" "$2" "$3" "$log" >"$tmp/ready" &
  servers+=($!)
  until grep -q ready "$tmp/ready"; do sleep 0.05; done
}
visits() { wc -l <"$tmp/$1-$2-$3.log"; }

# eight_go_on: the eight processes ${eight[@]}, which have said `up` in $tmp/eight.N, go on by the file FILE, and end
eight_go_on() { # eight_go_on FILE
  all_up() { [[ $(cat "$tmp"/eight.? | grep -c up) == 8 ]]; }
  within 300 all_up; is eight/run-together 0 $?
  touch "$1"
  wait "${eight[@]}"
}

is_stopped() { grep -q '^State:.T' "/proc/$1/status"; }

# policy NAME: from stdin, into $tmp/NAME.yaml; prints the path
policy() { cat >"$tmp/$1.yaml"; echo "$tmp/$1.yaml"; }

# new_events NAME OPTION…: the lines of `sbpf events NAME` that it did not print before
new_events() {
  local seen=$tmp/seen.$1 lines code
  lines=$(sbpf events "$@"); code=$?
  [[ -n $lines ]] && tail -n +$(($(cat "$seen" 2>/dev/null || echo 0) + 1)) <<<"$lines"
  [[ -n $lines ]] && wc -l <<<"$lines" >"$seen"
  return $code
}

# For policies of tests whose programs need root's powers inside: set-user-id programs, other users' files, mounts.
powers='process: {seccomp: dangerously_unconfined, capabilities: dangerously_all, dangerously_allow_new_privileges: true}'

# within SECONDS COMMAND…: until it succeeds
within() {
  local end=$((SECONDS + $1)) polls=0
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    if ((polls++ < 40)); then sleep 0.05; else sleep 0.3; fi # what takes long is asked seldom
  done
}

# hear_log FILE: what is said to syslog(3), from now on. The server keeps nothing of this shell open: others wait for an end.
hear_log() {
  rm -f /dev/log
  python3 -c 'import os, socket, sys
os.closerange(3, 256)
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind("/dev/log")
with open(sys.argv[1], "ab", buffering=0) as file:
    while True:
        file.write(log.recv(4096) + b"\n")' "$1" &
  servers+=($!)
  within 30 test -S /dev/log
}

# members CGROUP…: the numbers of their processes. One that ends just then is a 0 in the kernel's list, and `kill 0` is for the
# caller and all beside it.
members() { cat "${@/%//cgroup.procs}" | grep -vx 0; }

# ---- within a second ----
# `mark [OUTPUT]` before the deed, `in_time NAME [OUTPUT]` once it was answered. Where the guest's time is its instructions
# (scripts/vm --icount, --idle-skips) a second is exact. Elsewhere it is as long as the emulation takes, and what counts is the passes of `sbpf watch --json >OUTPUT`: one may have looked already when the deed was done, the next one sees it. The supervisor of a
# run tells of no passes: without OUTPUT nothing is said of its time there.
time_is_counted() { [[ ${SBPF_CLOCK:-host} != host ]]; }
uptime_ms() {
  local up _
  read -r up _ </proc/uptime
  echo $((10#${up/./} * 10))
}
# stat_field PID N: a field of its /proc/PID/stat, counted from its state, which is 1. Nothing once it is gone.
stat_field() { awk -v n="$2" '{ sub(/.*\) /, ""); print $n }' "/proc/$1/stat" 2>/dev/null; }
passes_in() { grep -c '^{"pass"' "$1"; }
mark() {
  marked_ms=$(uptime_ms)
  marked_lines=$([[ -z ${1:-} ]] || wc -l <"$1")
}
in_time() {
  local took passes
  if time_is_counted; then
    took=$(($(uptime_ms) - marked_ms))
    if ((took <= 1000)); then ok "$1/within-a-second"; else not_ok "$1/within-a-second" "$took ms"; fi
  elif [[ -n ${2:-} ]]; then
    # Up to the loss, where it is one: this shell may be slow to see it.
    passes=$(tail -n "+$((marked_lines + 1))" "$2" | awk '/^[{]"loss"/ { exit } /^[{]"pass"/ { n++ } END { print n + 0 }')
    if ((passes <= 2)); then ok "$1/within-two-passes"; else not_ok "$1/within-two-passes" "$passes passes"; fi
  fi
}

# ---- sandboxes that are waited for ----
# started NAME [OPTION…] -- COMMAND…: `sbpf run` in the background, as process $started; true once its isolation is active, and
# false once it has ended without. Its status, as JSON, is $started_as.
started() {
  local name=$1
  shift
  rm -f "$tmp/$name.status"
  mkfifo "$tmp/$name.status"
  # <&0: what runs in the background would read from /dev/null.
  ${started_by:-sbpf} run --name "$name" --status-fd 3 "$@" <&0 3>"$tmp/$name.status" &
  started=$!
  servers+=($started)
  exec {started_fd}<"$tmp/$name.status"
  started_as=''
  read -r -u "$started_fd" started_as # and it stays open: whoever writes more to nobody warns of it
  [[ $started_as == *'"isolation_active":true'* ]]
}

# hex NUMBER: its eight bytes, as bpftool takes them
# policy_map CGROUP_ID: the number of the map of the policy in force
policy_map() {
  bpftool -j map lookup pinned "$pins/maps/policies" key $(hex "$1") | python3 -ISc 'import json, sys
value = json.load(sys.stdin)["value"]
print(int.from_bytes(bytes(int(b, 16) for b in value), "little") if isinstance(value, list) else value)'
}
hex() { printf '%016x' "$1" | sed 's/../& /g' | awk '{ for (i = 8; i > 0; i--) printf "0x%s ", $i }'; }
# hold_canaries: none runs until release_canaries
hold_canaries() {
  python3 -c 'import fcntl, time
lock = open("/run/sbpf-canaries.lock", "a")
fcntl.lockf(lock, fcntl.LOCK_EX)
open("'"$tmp"'/turn", "w")
time.sleep(1000)' & turn=$!
  within 60 test -e "$tmp/turn"
}
release_canaries() {
  kill $turn
  wait $turn 2>/dev/null
}
# forged_policy MAP_ID: a map with the policy's entries and one more, as the next generation, pinned at /sys/fs/bpf/more
forged_policy() {
  bpftool -j map show id "$1" >"$tmp/own.json"
  bpftool -j map dump id "$1" >"$tmp/entries.json"
  python3 -ISc '
import json, sys
own, entries = (json.load(open(path)) for path in sys.argv[1:3])
print("map create /sys/fs/bpf/more type hash key", own["bytes_key"], "value", own["bytes_value"], "entries", len(entries) + 1, "name sbpf_policy")
for entry in entries:
    if not any(int(byte, 16) for byte in entry["key"]): entry["value"][12] = hex(int(entry["value"][12], 16) + 1)
more = {"key": ["0xff"] * own["bytes_key"], "value": ["0"] * own["bytes_value"]}
for entry in entries + [more]: print("map update pinned /sys/fs/bpf/more key", *entry["key"], "value", *entry["value"])
print("map freeze pinned /sys/fs/bpf/more")' "$tmp/own.json" "$tmp/entries.json" >"$tmp/more"
  bpftool batch file "$tmp/more" >/dev/null
}
json() { python3 -ISc 'import json,sys; d=json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }

# proves PID: has this watch a canary, or one that waits for its turn? Without a start of pgrep, which reads of every process, for
# those who ask many times a second.
proves() {
  local child children=''
  { read -r children; } 2>/dev/null </proc/$1/task/$1/children
  for child in $children; do
    [[ $(readlink /proc/$child/fd/* 2>/dev/null) == *canaries.lock* ]] && return
  done
  return 1
}

# lose_hook SANDBOX HOOK: detaches it, behind sbpf's back
lose_hook() {
  sbpf break-glass --reason test --for 5m 2>/dev/null
  "$tests/tamper" link-detach "$(bpftool -j link show pinned "$pins/sandboxes/$1/$2" | json 'd["id"]')" >/dev/null
  sbpf break-glass --close 2>/dev/null
}

# inhabit CGROUP: makes it, and a process that sleeps in it, whose number is in $sleeper.
inhabit() {
  mkdir -p "$1"
  sh -c "echo \$\$ >$1/cgroup.procs; exec sleep infinity" & sleeper=$!
  servers+=($sleeper)
  within 20 grep -q 'populated 1' "$1/cgroup.events"
}

# A sandbox that stays until clean(), so that the programs do: to load them anew for each run takes most of a test's time.
# With a limit, so that the kernel's switches for limits stay as they are, too: emulation does not stand it well when code
# is rewritten that another processor runs.
keep_loaded() {
  printf 'version: 1\nname: keeper\nprocess: {limits: {cpu: 1}}\n' >"$tmp/keeper.yaml"
  started keeper -q --policy "$tmp/keeper.yaml" -- sleep infinity </dev/null >/dev/null 2>&1
}

# Nothing of sbpf is in the kernel: no pin, no cgroup, no program, no map of ours.
left_behind() {
  local left='' programs='' maps='' links=''
  [[ -e $pins ]] && left+=" pins"
  [[ -e ${pins}_new ]] && left+=" pins_new"
  [[ -e $cgroots/sbpf ]] && left+=" cgroup"
  [[ -e $cgroots/sbpf-resolver ]] && left+=" resolvers' cgroup"
  programs=$(bpftool prog show 2>/dev/null) && maps=$(bpftool map show 2>/dev/null) && links=$(bpftool link show 2>/dev/null) ||
    left+=" what bpftool does not tell"
  [[ $programs == *'name hook_'* ]] && left+=" programs"
  [[ $maps =~ name\ (sandboxes|policies|rings|sbpf_) ]] && left+=" maps"
  [[ -n $links ]] && left+=" links"
  echo "$left"
}
nothing_left() { [[ -z $(left_behind) ]]; }
# Programs are freed after a grace period, which a loaded machine makes long.
freed() { within 180 nothing_left; }
# Ends all sandboxes. The programs stay, for the next test of the same boot: to load them takes up to a minute.
kill_all() {
  local name
  for name in $(sbpf list 2>/dev/null); do sbpf kill "$name" >/dev/null 2>&1; done
}
# The same, and nothing of a sandbox is left.
sandboxes_left() { ls "$pins/sandboxes" "$pins/building" 2>/dev/null | grep -v : | grep .; find "$cgroots/sbpf" -mindepth 1 -type d ! -name .alive 2>/dev/null; }
no_sandbox_left() { [[ -z $(sandboxes_left) ]]; }
end_all() {
  kill_all
  within 60 no_sandbox_left
  is left-behind "" "$(sandboxes_left)"
}
# end_runtime CGROUP: what runs in the cgroups right below it and in every sandbox ends, and they are removed.
end_runtime() {
  local pid
  for pid in $(members "$1"/*); do kill -9 "$pid"; done
  kill_all
  within 20 sh -c "! grep -q 'populated 1' $1/cgroup.events"
  rmdir "$1"/* "$1" 2>/dev/null
}

clean() {
  kill_all
  sbpf unload >/dev/null 2>&1
  freed
}

finish() {
  local pid
  for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null; done
  rm -rf "$tmp"
  echo "done $cases"
  ((failed == 0))
  exit
}
