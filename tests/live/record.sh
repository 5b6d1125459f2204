#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Records of flows: each that is allowed, once, with who, whom and how much; and nothing where the policy does not ask.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
hands=$(cat "$here/flows.py")

python3 "$here/echo.py" 7001 7002 >"$tmp/echo" & servers+=($!)
python3 "$here/proxy.py" 7000 >"$tmp/proxy" 2>&1 & servers+=($!)
within 30 grep -q ready "$tmp/echo"
within 30 grep -q ready "$tmp/proxy"
keep_loaded

records() { # records NAME BOOLEAN
  policy "$1" <<Y
version: 1
name: $1
network:
  record_flows: $2
  connect:
    - {address: 127.0.0.1, ports: [7001, 7002]}
    - {address: 127.0.0.5, ports: [7002], protocol: tcp, via: {address: 127.0.0.1, port: 7000}}
  bind: [{address: 127.0.0.1, ports: [7100], protocol: tcp}]
Y
}
told=$(records told true)
untold=$(records untold false)
# flows NAME FILTER: of what was recorded since the last look
flows() { (set -o pipefail; new_events "$1" --flows --json | jq -rc "$2"); }

box quiet "$untold"
is control/connect 0 "$(ask quiet tcp a 7001)"
is control/echo 0 "$(ask quiet echo a)"
is control/denied 1 "$(ask quiet tcp x 7009)"
is control/only-the-denial '["denied",7009]' "$(flows quiet '[.verdict, .port]')"
is control/no-hook 0 "$(sbpf status quiet --json | jq '[.. | objects | select(.name? == "sock_ops")] | length')"
out=$(sbpf swap quiet --policy "$told" 2>&1); is control/swap-cannot-begin 2 $?
has control/swap-says-why "cannot begin to record" "$out"
sbpf kill quiet 2>/dev/null

box loud "$told"
is loud/hook-is-read-back true "$(sbpf status loud --json | jq '[.. | objects | select(.name? == "sock_ops")][0].attached')"
is loud/verified 0 "$(sbpf verify loud >/dev/null; echo $?)"
flows loud . >/dev/null
python=$(readlink -f "$(command -v python3)")
is tcp/connect 0 "$(ask loud tcp a 7001)"
is tcp/echo 0 "$(ask loud echo a)"
line=$(flows loud .)
is tcp/one-record 1 "$(wc -l <<<"$line")"
is tcp/what '["allowed","flow","tcp","127.0.0.1",7001,"loud"]' "$(jq -c '[.verdict, .reason, .protocol, .address, .port, .sandbox]' <<<"$line")"
is tcp/exe "$python" "$(jq -r .exe <<<"$line")"
is tcp/comm python3 "$(jq -r .comm <<<"$line")"
is tcp/pid "$(cat "$cgroots/sbpf/loud/cgroup.procs")" "$(jq -r .pid <<<"$line")"
id=$(jq -r .flow <<<"$line")
is tcp/close 0 "$(ask loud close a)"
line=$(flows loud .)
is ended/what "[\"flow_ended\",\"127.0.0.1\",7001,$id]" "$(jq -c '[.reason, .address, .port, .flow]' <<<"$line")"
# Four bytes each way, and what begins and ends a connection.
is ended/bytes true "$(jq '.sent >= 4 and .sent <= 6 and .received >= 4 and .received <= 5' <<<"$line")"

is ended6/connect 0 "$(ask loud tcp6 m 7001)"
is ended6/close 0 "$(ask loud close m)"
is ended6/whom '["flow",7001] ["flow_ended",7001]' "$(flows loud '[.reason, .port]' | paste -sd' ')"

# ---- the same for others, and at a glance ----
is ocsf/connect 0 "$(ask loud tcp o 7001)"
is ocsf/denied 1 "$(ask loud tcp x 7009)"
ocsf=$(new_events loud --ocsf)
is ocsf/classes '[[400101,1],[400105,2]]' "$(jq -sc 'map([.type_uid, .action_id])' <<<"$ocsf")"
is ocsf/where '["127.0.0.1",7009,"EPERM","loud"]' \
  "$(jq -sc '.[1] | [.dst_endpoint.ip, .dst_endpoint.port, .status_detail, .actor.process.container.name]' <<<"$ocsf")"
is ocsf/close 0 "$(ask loud close o)"
flows loud . >/dev/null
is top/once "active told" "$(sbpf top --once --interval 0.2 | awk '$1 == "loud" { print $2, $4 }')"
screen=$( (sleep 5; printf q; sleep 1) | timeout 60 script -qec "sbpf top --interval 0.5" /dev/null); is top/q-ends-it 0 $?
has top/shows-it loud "$screen"
is top/gives-the-terminal-back $'\e[?1049l' "$(grep -o $'\e\[?1049l' <<<"$screen")"

is udp/connected 0 "$(ask loud udp u 7001)"
is udp/echo 0 "$(ask loud echo u)"
is udp/sender 0 "$(ask loud sender s)"
for n in 1 2 3; do is "udp/send-$n" 0 "$(ask loud send s 7001)"; done
is udp/once-for-each-socket '["connect4","udp",7001] ["sendmsg4","udp",7001]' "$(flows loud '[.hook, .protocol, .port]' | paste -sd' ')"
is udp/send-elsewhere 0 "$(ask loud send s 7002)"
is udp/send-back 0 "$(ask loud send s 7001)"
is udp/once-for-each-in-turn "7002 7001" "$(flows loud .port | paste -sd' ')"

is led/connect 0 "$(ask loud tcp5 p 7002)"
is led/origin '["127.0.0.5",7002]' "$(flows loud 'select(.reason == "flow") | [.address, .port]')"

is accept/listen 0 "$(ask loud listen l 7100)"
python3 -c 'import socket
s = socket.create_connection(("127.0.0.1", 7100)); s.sendall(b"word"); s.recv(4)' & servers+=($!)
is accept/accept 0 "$(ask loud accept i l)"
is accept/recorded '["flow_accepted",7100]' "$(flows loud 'select(.hook == "sock_ops") | [.reason, .local_port]')"

# ---- what is denied goes before ----
started many -q --policy "$told" -- python3 -c '
import errno, socket
for i in range(3000):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.1", 7001))
for i in range(20):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try: s.connect(("127.0.0.1", 7009))
    except OSError as e: assert e.errno == errno.EPERM
print("tried", flush=True)
import time; time.sleep(1000)' >"$tmp/many" 2>"$tmp/many.err"
within 300 grep -q tried "$tmp/many"; is flood/tried 0 $?
events=$(sbpf events many --json)
is flood/denials-are-all-there 20 "$(jq -c 'select(.reason == "no_rule") | .times' <<<"$events" | jq -s add)"
is flood/loss-is-counted true "$(sbpf status many --json | jq ".lost_events.ring_full + .lost_events.rate_limit > 0")"
sbpf kill many 2>/dev/null

# ---- each denial is in the ring or counted; and of the rate, too, records leave half ----
lost() { sbpf status half --json | jq ".lost_events.$1"; }
box half "$told"
is ring/denied 0 "$(ask half refused x 8000 400)"
read_out=$(sbpf events half --json | jq -c 'select(.verdict == "denied")' | wc -l)
is ring/each-is-counted "400 0" "$((read_out + $(lost ring_full))) $(lost rate_limit)"
# A reader makes room in the ring. What is left of that second's rate is for denials all the same. All of it is to happen within
# a second, so the plan counts the guest's time in instructions: a busy machine takes none of it.
sbpf events half --follow >"$tmp/half" 2>&1 & servers+=($!)
is rate/one-more 0 "$(ask half refused x 7009 1)"
within 30 grep -q 7009 "$tmp/half"; is rate/is-read 0 $?
sleep 1.1 # a second for which nothing is counted yet
is rate/crowded 0 "$(ask half crowded x 9300 260 7001)"
is rate/no-record 1 "$(lost rate_limit)"
sleep 1.1
before=$(grep -c 'udp.*:7001' "$tmp/half")
is rate/later/connect 0 "$(ask half udp u 7001)"
recorded() { (($(grep -c 'udp.*:7001' "$tmp/half") > before)); }
within 10 recorded; is rate/later/record 0 $?
is rate/later/no-loss 1 "$(lost rate_limit)"
sbpf kill half 2>/dev/null

# ---- the program of a process is not that of a later one with its number ----
mkdir "$cgroots/reused"
hands_of reused bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$cgroots/reused"
sbpf attach --cgroup "$cgroots/reused" --name reused --policy "$told" 2>"$tmp/attach"; is reused/attach 0 $?
cat "$tmp/attach" >&2
is reused/connect 0 "$(ask reused tcp a 7001)"
exe() { sbpf events reused --flows --json | jq -c "select(.reason == \"flow\" and .pid == $pid_reused) | .exe"; }
is reused/control "\"$python\"" "$(exe)"
kill "$pid_reused"; wait "$pid_reused" 2>/dev/null
again=$(python3 -c '
import os, sys, time
for i in range(1000):
    open("/proc/sys/kernel/ns_last_pid", "w").write(str(int(sys.argv[1]) - 1))
    child = os.fork()
    if not child:
        os.closerange(0, 3)
        time.sleep(1000)
    if child == int(sys.argv[1]):
        break
    os.kill(child, 9)
    os.wait()
print(child)' "$pid_reused")
is reused/same-number "$pid_reused" "$again"
is reused/no-program '""' "$(exe | sed 's/null/""/')"
kill "$again"
sbpf detach reused 2>/dev/null
rmdir "$cgroots/reused"

sbpf swap loud --policy "$untold" 2>/dev/null; is swap/ends-it 0 $?
is swap/connect 0 "$(ask loud tcp z 7001)"
is swap/close 0 "$(ask loud close z)"
python3 -c 'import socket; socket.create_connection(("127.0.0.1", 7100)).recv(4)' & servers+=($!)
is swap/accept 0 "$(ask loud accept j l)"
is swap/denied 1 "$(ask loud udp x 7009)"
is swap/only-the-denial '["denied",7009]' "$(flows loud '[.verdict, .port]')"
sbpf kill loud 2>/dev/null
kill_all
finish
