#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Events that matter survive: equal denials are told as one with their number, a flood takes nothing from another sandbox and no
# first of its kind from its own, and reading takes nothing away from who reads later.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
hands=$(cat "$here/flood.py")
keep_loaded
none=$(policy none <<<$'version: 1\nname: none\nfilesystem: {default: write, deny: ['"$tmp/no"']}')
touch "$tmp/no"
# of NAME FILTER: what jq makes of its events
of() { (set -o pipefail; sbpf events "$1" --json | jq -c "$2"); }
counted() { sbpf status "$1" --json | jq ".$2"; }
size() { du -sb "/run/sbpf-events/$(sbpf status "$1" --json | jq .cgroup_id)" | cut -f1; }

# ---- without anybody who reads: `attach` ----
mkdir "$cgroots/flooded" "$cgroots/other"
hands_of flooded sh -c 'echo $$ >"$0/cgroup.procs"; shift; exec "$@"' "$cgroots/flooded" -
hands_of other sh -c 'echo $$ >"$0/cgroup.procs"; shift; exec "$@"' "$cgroots/other" -
is control/one-port 0 "$(ask flooded port 7000 1)"
for name in flooded other; do sbpf attach --cgroup "$cgroots/$name" --name $name --policy "$none" >/dev/null; is $name/attach 0 $?; done
quiet control/no-event-before of flooded 'select(.verdict == "denied")'

# Equal ones: told as one, with how many they were.
is equal/denied 0 "$(ask flooded port 7001 20000)"
is equal/number 20000 "$(of flooded 'select(.port == 7001) | .times' | jq -s add)"
is equal/few-events true "$( (($(of flooded 'select(.port == 7001)' | wc -l) < 200)) && echo true)"
is equal/none-lost '0 0' "$(counted flooded '| .lost_events | "\(.ring_full) \(.rate_limit)"' | tr -d '"')"
is equal/repeated true "$(counted flooded '| .repeated_events > 19000')"
is equal/next-one-is-told 0 "$(ask flooded port 7002 1)"
is equal/it-is-there 1 "$(of flooded 'select(.port == 7002) | .times')"

# Different ones, more than anything holds. Each kind that comes later for the first time is told all the same.
is different/denied 0 "$(ask flooded ports 10000 40000)"
is different/some-are-lost true "$(counted flooded '| .lost_events.ring_full + .lost_events.rate_limit > 10000')"
is different/rate-is-limited true "$(counted flooded '| .lost_events.rate_limit > 1000')"
is kinds/raw 1 "$(ask flooded raw)"
is kinds/file 13 "$(ask flooded file "$tmp/no")"
is kinds/bind 1 "$(ask flooded bind 7005)"
is kinds/signal 1 "$(ask flooded signal $$)"
is other/denied 0 "$(ask other ports 20000 100)"
told=$(of flooded '[.hook, .reason]' | sort -u)
for kind in socket_class fs_rule no_rule guard; do has "kinds/$kind" "\"$kind\"" "$told"; done
is kinds/errnos-of-files '["denied",13]' "$(of flooded 'select(.reason == "fs_rule") | [.verdict, .errno]' | sort -u)"
is kinds/errnos-of-networks '["denied",1]' "$(of flooded 'select(.port == 7001) | [.verdict, .errno]' | sort -u)"
is kinds/who-is-signalled "[$$,23]" "$(of flooded 'select(.hook == "task_kill") | [.target_pid, .signal]' | sort -u)"
is kinds/v6 1 "$(ask flooded port6 7011)"
is kinds/v6-is-told '["connect6","::1"]' "$(of flooded 'select(.port == 7011) | [.hook, .address]')"
sleep 1.1 # past the second of the flood, in which no more of its kind is told
sh -c 'echo $$ >"$0/cgroup.procs"; exec setpriv --reuid 65534 --clear-groups "$@"' "$cgroots/flooded" "$probe" connect udp 127.0.0.1 7012; is kinds/of-another-user 1 $?
is kinds/whose-it-was 65534 "$(of flooded 'select(.port == 7012) | .uid')"
is kinds/generation "$(sbpf status flooded --json | jq .policy.generation)" "$(of flooded 'select(.verdict == "denied") | .generation' | sort -u)"
has kinds/path "$tmp/no" "$(of flooded 'select(.reason == "fs_rule") | .path')"
is other/each-is-there 100 "$(of other 'select(.verdict == "denied") | .port' | sort -u | wc -l)"
is other/none-lost '0 0' "$(counted other '| .lost_events | "\(.ring_full) \(.rate_limit)"' | tr -d '"')"

# Every denial is told, is counted as one more of its equals, or is counted as lost.
sum=$(($(of flooded 'select(.verdict == "denied")' | wc -l) + $(counted flooded '| .repeated_events + .lost_events.ring_full + .lost_events.rate_limit')))
is sum/of-all "$(counted flooded denials)" "$sum"

# ---- what is allowed and recorded leaves room for what is denied ----
recorded=$(policy recorded <<<$'version: 1\nname: recorded\nnetwork: {record_flows: true, connect: [{address: 127.0.0.1, ports: [7001]}]}')
mkdir "$cgroots/recorded"
hands_of recorded sh -c 'echo $$ >"$0/cgroup.procs"; shift; exec "$@"' "$cgroots/recorded" -
sbpf attach --cgroup "$cgroots/recorded" --name recorded --policy "$recorded" >/dev/null; is recorded/attach 0 $?
is recorded/allowed 0 "$(ask recorded port 7001 1000)"
is recorded/denied 0 "$(ask recorded ports 21000 20)"
is recorded/flows-are-there true "$( (($(of recorded 'select(.reason == "flow")' | wc -l) > 20)) && echo true)"
is recorded/each-denial-is-there 20 "$(of recorded 'select(.verdict == "denied") | .port' | sort -u | wc -l)"
# Nor do equal ones take the room of new ones, without a reader.
for round in 1 2 3 4 5; do is "again/$round" 0 "$(ask recorded ports 22000 30)"; sleep 1.1; done
is again/new-ones 0 "$(ask recorded ports 23000 20)"
is again/each-new-one-is-there 20 "$(of recorded 'select(.port >= 23000) | .port' | sort -u | wc -l)"
sbpf detach recorded >/dev/null 2>&1

# ---- reading takes nothing away, and its room is bounded ----
is twice/there-are-some true "$( (($(of flooded . | wc -l) > 0)) && echo true)"
is twice/the-same "$(of flooded '[.hook, .port, .pid, .times]' | sha256sum)" "$(of flooded '[.hook, .port, .pid, .times]' | sha256sum)"
sbpf events flooded --follow --json >"$tmp/first" & servers+=($!)
sbpf events flooded --follow --json >"$tmp/second" & servers+=($!)
is followers/denied 0 "$(ask flooded port 7003 1)"
for reader in first second; do
  within 30 grep -q '"port":7003' "$tmp/$reader"; is "followers/$reader" 0 $?
done
before=$(counted flooded events)
for round in {1..30}; do # more than the log holds twice
  is "long/$round" 0 "$(ask flooded ports $((25000 + round * 1000)) 1000)"
  sleep 0.8
  (($(counted flooded events) > before + 5000)) && break
done
is long/bounded true "$( (($(size flooded) < 280000)) && echo true)"
is long/begins-anew true "$( (($(of flooded 'select(.port >= 10000 and .port < 20000)' | wc -l) < 600)) && echo true)"
has long/first-stays "$tmp/no" "$(of flooded 'select(.reason == "fs_rule") | .path')"
none long/no-reader-is-shut-out grep -h busy "$tmp/first" "$tmp/second"
is long/one-more 0 "$(ask flooded port 7006 1)"
for reader in first second; do
  within 30 grep -q '"port":7006' "$tmp/$reader"; is "long/$reader-goes-on" 0 $?
done

# Who reads and is stopped keeps nobody waiting.
sbpf events flooded --follow >/dev/null & stopped=$!
sleep 1
kill -STOP $stopped
is stopped/denied 0 "$(ask flooded port 7004 1)"
out=$(timeout 20 sbpf events flooded --json); is stopped/others-read 0 $?
has stopped/it-is-told '"port":7004' "$out"
kill -KILL $stopped; wait $stopped 2>/dev/null

# ---- the watch makes room where nobody reads ----
sbpf watch </dev/null >/dev/null 2>&1 & watch=$!
servers+=($watch)
for round in 1 2 3 4 5 6; do is "watched/$round" 0 "$(ask other ports $((40000 + round * 60)) 60)"; sleep 1.5; done
is watched/each-is-there 360 "$(of other 'select(.port > 40000) | .port' | sort -u | wc -l)"
is watched/none-lost '0 0' "$(counted other '| .lost_events | "\(.ring_full) \(.rate_limit)"' | tr -d '"')"
kill $watch

# ---- what cannot be kept is told ----
directory=/run/sbpf-events/$(sbpf status other --json | jq .cgroup_id)
rm -r "$directory"
mkdir -p "$directory/latest"
is unwritable/denied 0 "$(ask other port 7001 2)"
out=$(sbpf events other 2>&1); is unwritable/exit 125 $?
has unwritable/says-why "cannot be written" "$out"
rmdir "$directory/latest"
is unwritable/later 0 "$(ask other port 7009 1)"
has unwritable/goes-on 7009 "$(sbpf events other --json)"
# A disk that takes a part of them: what comes later is read all the same.
mount -t tmpfs -o size=8k tmpfs "$directory"
is part/denied 0 "$(ask other ports 50000 100)"
sbpf events other >/dev/null 2>&1; is part/exit 125 $?
mount -o remount,size=1m "$directory"
is part/later 0 "$(ask other port 7010 1)"
has part/goes-on '"port":7010' "$(sbpf events other --json)"
umount -l "$directory"

# ---- its end ----
id=$(sbpf status flooded --json | jq .cgroup_id)
is end/there 0 "$(test -d "/run/sbpf-events/$id"; echo $?)"
sbpf detach flooded >/dev/null; sbpf detach other >/dev/null
is end/gone 1 "$(test -e "/run/sbpf-events/$id"; echo $?)"

# ---- `run` counts all at its end ----
cat >"$tmp/again.py" <<'P'
import socket
for i in range(3000):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try: s.connect(("127.0.0.1", 7001))
    except PermissionError: pass
P
for how in "" --events; do
  sbpf run -q $how --policy no-network --status-fd 3 -- python3 "$tmp/again.py" 3>"$tmp/status"
  is "run/each-is-counted${how}" 3000 "$(tail -n 1 "$tmp/status" | jq .exit.denials)"
done
sbpf run -q --policy no-network --status-fd 3 -- python3 -c '
import socket
for i in range(5000):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try: s.connect(("127.0.0.1", 10000 + i))
    except PermissionError: pass' 3>"$tmp/status"
# Told slowly enough, each is an event; of more than the log keeps, which nobody read, the oldest are lost, and counted.
sbpf run --policy no-network --status-fd 3 -- python3 -c '
import socket, time
for i in range(3500):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try: s.connect(("127.0.0.1", 10000 + i))
    except PermissionError: pass
    if i % 350 == 349: time.sleep(1)' 3>"$tmp/dropped" 2>"$tmp/said"
is run/drops "3500 true" "$(tail -n 1 "$tmp/dropped" | jq -r '.exit | "\(.denials + .lost_events) \(.lost_events > 0)"')"
has run/drops-says-so "events were lost: these are not all denials" "$(cat "$tmp/said")"
is run/loses "5000 true" "$(tail -n 1 "$tmp/status" | jq -r '.exit | "\(.denials + .lost_events) \(.lost_events > 0)"')"
cat >"$tmp/slow.py" <<'P'
import socket, time
for i in range(400):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try: s.connect(("127.0.0.1", 10000 + i))
    except PermissionError: pass
    time.sleep(0.01)
P
sbpf run -q --policy no-network --status-fd 3 -- python3 "$tmp/slow.py" 3>"$tmp/status"
is run/makes-room "400 0" "$(tail -n 1 "$tmp/status" | jq -r '.exit | "\(.denials) \(.lost_events)"')"

# ---- the line that would allow it: a name that is YAML allows its file and nothing else ----
mkdir "$tmp/none"
touch "$tmp/none/f"
hidden=$(policy hidden <<<$'version: 1\nname: hidden\nfilesystem: {default: read, deny: ['"$tmp/none"']}')
forged=$'x}, "default": write, \'y #'
touch "$tmp/none/$forged" "$tmp/none/x], default: write, deny: [" "$tmp/none/"$'a\xff' "$tmp/none/$(printf 'n%.0s' {1..60})"
forge() { sbpf run -q --name forged --policy "$hidden" --status-fd 3 --events -- python3 -c 'import sys
try: open(sys.argv[1].encode("utf8", "surrogateescape"))
except PermissionError: pass' "$1" 3>"$tmp/forged"; jq -r 'select(.event.path?) | .event.allow' <"$tmp/forged" | tail -1; }
printf 'version: 1\nname: forged\n%s\n' "$(forge "$tmp/none/$forged")" >"$tmp/forged.yaml"
is forged/line "filesystem: {read: [\"$tmp/none/x}, \\\"default\\\": write, 'y #\"]}" "$(tail -1 "$tmp/forged.yaml")"
is forged/that-file 0 "$(sbpf explain --policy "$tmp/forged.yaml" open "$tmp/none/$forged" r >/dev/null; echo $?)"
is forged/no-other 1 "$(sbpf explain --policy "$tmp/forged.yaml" open "$tmp/none/f" r >/dev/null; echo $?)"
forged='x], default: write, deny: ['
printf 'version: 1\nname: forged\n%s\n' "$(forge "$tmp/none/$forged")" >"$tmp/forged.yaml"
is forged/pattern "filesystem: {read: [\"$tmp/none/x\\\\], default: write, deny: \\\\[\"]}" "$(tail -1 "$tmp/forged.yaml")"
is forged/pattern-itself 0 "$(sbpf explain --policy "$tmp/forged.yaml" open "$tmp/none/$forged" r >/dev/null; echo $?)"
is forged/pattern-no-other 1 "$(sbpf explain --policy "$tmp/forged.yaml" open "$tmp/none/f" r >/dev/null; echo $?)"
is forged/not-text "" "$(forge "$tmp/none/"$'a\xff')"
is forged/not-whole "" "$(forge "$tmp/none/$(printf 'n%.0s' {1..60})")"
hasnt forged/no-raw-byte $'\xff' "$(sbpf run --policy "$hidden" -- cat "$tmp/none/"$'a\xff' 2>&1 | grep -a 'sbpf: denied')"
finish
