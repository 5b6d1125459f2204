#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sandboxes of who is not root: `sbpf run` by way of sbpfd, what that refuses, and that nothing is left when either dies.
. "$(dirname "$0")/lib.sh"
. "$here/users_world.sh"
fake=/tmp/users-$$.sock
mkdir -p /etc/sbpf/policies
keep_loaded
ask() { as "$1" "$readers" curl -s -m 90 -o /dev/null -w '%{http_code}' --unix-socket $socket "${@:2}"; }
start

# ---- what a user's run is ----
serve tcp 127.0.0.1 7001
serve tcp 127.0.0.1 7002
out=$(user sbpf run -- sh -c 'echo out; exit 7' 2>"$tmp/err"); is run/code 7 $?
is run/output out "$out"
has run/active "isolation active ($hooks_here/$hooks_here hooks) policy=no-network" "$(cat "$tmp/err")"
has run/cgroup "$cgroots/sbpf/u4242-" "$(cat "$tmp/err")"
is run/stdin in "$(echo in | user sbpf run -q -- cat 2>/dev/null)"
cat >"$tmp/allow.yaml" <<P
version: 1
name: allow
network: {connect: [{address: 127.0.0.1, ports: [7001], protocol: tcp}]}
P
try() { user sbpf run -q --policy "$1" -- "$probe" connect tcp 127.0.0.1 "$2" 2>/dev/null; }
is network/control 0 "$(user "$probe" connect tcp 127.0.0.1 7001)"
is network/none 1 "$(try no-network 7001)"
is network/allowed 0 "$(try "$tmp/allow.yaml" 7001)"
is network/not-allowed 1 "$(try "$tmp/allow.yaml" 7002)"
is network/visits "2 0" "$(visits tcp 127.0.0.1 7001) $(visits tcp 127.0.0.1 7002)"
out=$(SECRET=1 user sbpf run -q -- sh -c 'grep -E "^(Uid|CapPrm|CapEff|NoNewPrivs|Seccomp):" /proc/self/status; env; ls /proc/self/fd' 2>/dev/null)
has process/uid $'Uid:\t4242\t4242\t4242\t4242' "$out"
has process/capabilities $'CapPrm:\t0000000000000000\nCapEff:\t0000000000000000' "$out"
has process/no-new-privs $'NoNewPrivs:\t1\nSeccomp:\t2' "$out"
hasnt process/environment SECRET "$out"
is process/descriptors "0 1 2 3" "$(sed -n '/^[0-9]$/p' <<<"$out" | xargs)"  # 3: of ls
echo hidden >"$tmp/hidden"
cat >"$tmp/files.yaml" <<P
version: 1
name: files
filesystem: {default: read, deny: [$tmp/hidden]}
P
is files/control hidden "$(user cat "$tmp/hidden")"
has files/denied "cat: $tmp/hidden: Permission denied" "$(user sbpf run -q --policy "$tmp/files.yaml" -- cat "$tmp/hidden" 2>&1)"
is files/denied-prints-nothing "exit 1" "$(user sbpf run -q --policy "$tmp/files.yaml" -- cat "$tmp/hidden" 2>/dev/null; echo "exit $?")"
is files/others out "$(user sbpf run -q --policy "$tmp/files.yaml" -- echo out 2>/dev/null)"
mkdir $cgroots/few
echo +pids +memory +cpu >$cgroots/cgroup.subtree_control
echo 30 >$cgroots/few/pids.max
echo 100M >$cgroots/few/memory.max
echo 50000 100000 >$cgroots/few/cpu.max
limit() { sh -c "echo \$\$ >$cgroots/few/cgroup.procs; exec \"\$@\"" sh setpriv --reuid 4242 --regid 4242 --groups "$readers" sbpf run -q --policy "$1" -- sh -c "cd $cgroots/\$(cut -d: -f3 /proc/self/cgroup) && cat pids.max memory.max cpu.max" 2>/dev/null | xargs; }
for n in 12 64; do printf 'version: 1\nname: n\nprocess: {limits: {processes: %s}}\n' $n >"$tmp/$n.yaml"; done
is limits/of-the-policy "12 104857600 50000 100000" "$(limit "$tmp/12.yaml")"
is limits/of-its-slice "30 104857600 50000 100000" "$(limit "$tmp/64.yaml")"
is limits/of-its-slice-alone "30 104857600 50000 100000" "$(limit no-network)"
within 20 rmdir $cgroots/few
user sbpf run -q -- /nowhere 2>/dev/null; is exec/not-found 127 $?
user sbpf run -q --timeout 2s -- sh -c 'setsid sleep 7177 & sleep 7177' 2>/dev/null; is timeout/code 124 $?
is timeout/nothing-runs 0 "$(ended 'sleep 7177'; echo $?)"
user sbpf run -q --status-fd 3 -- sleep 5 3>"$tmp/status" 2>/dev/null; is lasts/past-receive-seconds 0 $?
is lasts/status "True 0" "$(head -1 "$tmp/status" | json 'd["isolation_active"]') $(tail -1 "$tmp/status" | json 'd["exit"]["code"]')"
# What was denied is told at the end, and meanwhile to its owner.
out=$(user sbpf run --status-fd 3 -- "$probe" connect tcp 127.0.0.1 7001 2>&1 3>"$tmp/status"); is denials/code 1 $?
has denials/told "sbpf: denied connect tcp 127.0.0.1:7001" "$out"
has denials/what-would-allow-it "allow with: network: {connect:" "$out"
is denials/counted "1 0" "$(tail -1 "$tmp/status" | json 'str(d["exit"]["denials"]) + " " + str(d["exit"]["lost_events"])')"
is denials/control "" "$(user sbpf run --policy "$tmp/allow.yaml" -- "$probe" connect tcp 127.0.0.1 7001 2>&1 >/dev/null | grep denied)"
is denials/quiet "" "$(user sbpf run -q -- "$probe" connect tcp 127.0.0.1 7001 2>&1 >/dev/null | grep denied)"
# With --events each is told as it comes, and once.
mkfifo "$tmp/hold"
chmod 666 "$tmp/hold"
try() { echo "$probe connect tcp 127.0.0.1 $1;"; }
user sbpf run --events --status-fd 3 -- sh -c "$(try 7001) read -r _ <$tmp/hold; $(try 7002) $(try 7003)" >"$tmp/said" 2>&1 3>"$tmp/status" & run=$!
within 60 grep -q 'sbpf: denied connect tcp 127.0.0.1:7001' "$tmp/said"; is told/while-it-runs 0 $?
kill -0 $run; is told/it-runs 0 $?
echo >"$tmp/hold"
wait $run; is told/code 1 $?
is told/each-once "7001 7002 7003" "$(jq -r 'select(.event).event.port' <"$tmp/status" | xargs)"
user sbpf run -q --events --status-fd 3 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do '"$(try 7001)"' done' 2>/dev/null 3>"$tmp/equal"
is told/equals-are-counted 10 "$(jq -s 'map(select(.event).event.times) | add' <"$tmp/equal")"
is told/all-are-counted 3 "$(tail -1 "$tmp/status" | json 'd["exit"]["denials"]')"
started_by=user_sbpf
started own -- sh -c "$probe connect tcp 127.0.0.1 7001; exec sleep 1000" >/dev/null 2>&1; is own/started 0 $?
unset started_by
denied_own() { user sbpf events u4242-own | grep -q "denied connect tcp 127.0.0.1:7001"; }
within 60 denied_own; is own/events 0 $?
has own/events-allow "allow with: network: {connect:" "$(user sbpf events u4242-own)"
is own/events-json '["denied","127.0.0.1",7001]' "$(user sbpf events u4242-own --json | jq -c '[.verdict, .address, .port]' | head -1)"
is own/events-as-root "$(sbpf events u4242-own --json | jq -c '[.boot_ns, .text]')" "$(user sbpf events u4242-own --json | jq -c '[.boot_ns, .text]')"
is own/list u4242-own "$(user sbpf list)"
is own/list-of-root $'keeper\nu4242-own' "$(sbpf list | sort)"
is own/status "0 u4242-own active" "$(out=$(user sbpf status u4242-own); echo "$? $out")"
is own/status-json "active true" "$(user sbpf status u4242-own --json | jq -r '"\(.isolation) \(.isolation_active)"')"
is own/list-of-another "exit 0, ''" "$(out=$(as 4243 "$readers" sbpf list 2>&1); echo "exit $?, '$out'")"
out=$(as 4243 "$readers" sbpf events u4242-own 2>&1); is own/events-of-another 125 $?
has own/events-of-another-named "are for root and for whose run it is" "$out"
user sbpf events keeper >/dev/null 2>&1; is own/events-of-roots 125 $?
user sbpf status nowhere >/dev/null 2>&1; is own/status-of-none 3 $?
user sbpf events u4242-own --follow >"$tmp/followed" & follower=$!
within 20 grep -q 'denied connect' "$tmp/followed"; is own/follow 0 $?
sbpf kill u4242-own >/dev/null
wait $started 2>/dev/null
within 20 sh -c "! kill -0 $follower 2>/dev/null"; is own/follow-ends 0 $?
wait $follower 2>/dev/null
within 20 gone u4242-own
is left/no-sandbox keeper "$(sbpf list)"
is left/no-entry "{}" "$(jq -c .runs /run/sbpf/service.json)"

# ---- whom and what it refuses ----
out=$(as 4244 4244 sbpf run -- true 2>&1); is refuse/not-in-group 125 $?
has refuse/not-in-group-hint "usermod -aG sbpf" "$out"
out=$(user sbpf run --socket "$tmp/none.sock" -- true 2>&1); is refuse/no-service 125 $?
has refuse/no-service-hint "systemctl start sbpfd" "$out"
as 4242 "$readers" python3 -IS -c 'import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); time.sleep(60)' "$fake" &
servers+=($!)
within 20 test -S "$fake"
out=$(user sbpf run --socket "$fake" -- true 2>&1); is refuse/fake-service 125 $?
has refuse/fake-service-why "uid 4242" "$out"
# One that root serves is believed, but for which policy is in force and where the program is: `answers SHA256 ACTIVE [CGROUP]`.
answers() {
  rm -f "$fake"
  python3 -IS -c '
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
server.listen()
client = server.accept()[0]
request = b""
while b"\r\n\r\n" not in request: request += client.recv(65536)
if len(sys.argv) > 4:
    while not request.endswith(b"}"): request += client.recv(65536)
    with open(sys.argv[4] + "/cgroup.procs", "w") as procs: procs.write(str(json.loads(request.split(b"\r\n\r\n")[1])["pid"]))
body = json.dumps({"sandbox": "u4242-fake", "isolation": "active", "isolation_active": sys.argv[3] == "yes", "hooks_attached": 1, "hooks_total": 1,
                   "degraded": [], "cgroup": "/none", "mode": "enforce", "policy": {"name": "no-network", "sha256": sys.argv[2]}}).encode()
client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
client.recv(1)' "$fake" "$@" &
  servers+=($!)
  within 20 test -S "$fake"
}
asked=$(sbpf policy show no-network | sed -n 's/^# sha256: //p')
ran() { rm -f /tmp/users-ran; user sbpf run --socket "$fake" -- touch /tmp/users-ran 2>&1; echo "$? $([[ -e /tmp/users-ran ]] && echo ran)"; }
pretended=$cgroots/pretended/sbpf/u4242-fake
mkdir -p "$pretended"
answers "$asked" yes "$pretended"; is answers/control "0 ran" "$(ran | tail -1)"
answers "$asked" yes; out=$(ran)
is answers/not-moved "125 " "${out##*$'\n'}"
has answers/not-moved-why "in no sandbox" "$out"
answers "$(tr 0-9a-f 1-9a-f0 <<<"$asked")" yes; out=$(ran)
is answers/another-policy "125 " "${out##*$'\n'}"
has answers/another-policy-why "another policy in force" "$out"
answers "$asked" no; out=$(ran)
is answers/not-verified "125 " "${out##*$'\n'}"
has answers/not-verified-why "did not verify" "$out"
out=$(user sbpf run -- sbpf run -- true 2>&1); is refuse/from-inside 125 $?
printf 'version: 1\nname: root\nprocess: {capabilities: [NET_RAW]}\n' >"$tmp/root.yaml"
out=$(user sbpf run --policy "$tmp/root.yaml" -- true 2>&1); is refuse/needs-root 2 $?
has refuse/needs-root-why process.capabilities "$out"
is refuse/user 2 "$(user sbpf run --user 0:0 -- true 2>/dev/null; echo $?)"
cp "$here/users.py" "$tmp"
user python3 -IS "$tmp/users.py" $socket pid=1 pid=$daemon no-new-privs threads grandchild descriptor user-namespace itself gone dead policies body inside limit >"$tmp/said" 2>&1
while read -r name wanted; do
  is "refuse/$name" "$wanted" "$(sed -n "s|^$name: ||p" "$tmp/said" | sort -u)"
done <<'W'
stranger 403 not_your_process
no-new-privs 400 process_unfit
threads 400 process_unfit
grandchild 403 not_your_process
descriptor 400 process_unfit
user-namespace 400 process_unfit
itself 403 not_your_process
gone 400 process_gone
dead 400 process_gone
policy/user 400 needs_root
policy/capabilities 400 needs_root
policy/new-privileges 400 needs_root
policy/secrets 400 needs_root
policy/invalid 400 invalid_policy
body/no-pid 400 bad_body
body/key 400 bad_body
body/name 400 bad_body
inside/first 201 True
inside/again 400 process_unfit
limit/3 429 too_many_runs
W
# A policy whose file is half written, though what is there is a valid one.
by_name() { user python3 -IS "$tmp/users.py" $socket policy=half; }
exec 9>/etc/sbpf/policies/half.yaml
printf 'version: 1\nname: half\n' >&9
within 20 sh -c "curl -s --unix-socket $socket $url/v1/policies | grep -q half"; is refuse/half-is-there 0 $?
is refuse/half "policy=half: 409 busy" "$(by_name)"
exec 9>&-
whole() { [[ $(by_name) == "policy=half: 201 True" ]]; }
within 20 whole; is refuse/half-control 0 $?
none refuse/strangers-live grep -h sbpf/u4242 /proc/1/cgroup /proc/$daemon/cgroup

# ---- owners ----
user sbpf run -q --name mine -- sleep 7178 2>/dev/null &
mine=$!
within 60 exists u4242-mine
within 60 pgrep -f 'sleep 7178' >/dev/null
is owner/reads 200 "$(ask 4242 $url/v1/sandboxes/u4242-mine)"
is owner/others-read 200 "$(ask 4243 $url/v1/sandboxes/u4242-mine)"
is owner/others-end 403 "$(ask 4243 -X DELETE $url/v1/sandboxes/u4242-mine)"
is owner/others-end-by-kill 403 "$(ask 4243 -X DELETE "$url/v1/sandboxes/u4242-mine?kill=true")"
is owner/others-sandbox 403 "$(ask 4242 -X DELETE $url/v1/sandboxes/keeper)"
is owner/swap 403 "$(ask 4242 -X PUT -d '{"policy": "no-network"}' $url/v1/sandboxes/u4242-mine/policy)"
is owner/runs-on 0 "$(exists u4242-mine; echo $?)"
is owner/ends 200 "$(ask 4242 -X DELETE $url/v1/sandboxes/u4242-mine)"
wait $mine; is owner/client-ends 137 $?

# Events are their owner's and root's; reading takes them away from who comes later.
user sbpf run -q --name seen -- sh -c 'while sleep 0.2; do "$0" connect tcp 127.0.0.1 7002; done' "$probe" >/dev/null 2>&1 &
seen=$!
# Whose it is the service says once it runs, and that it is there once the watch has seen it.
is_seen() { jq -e '.runs["u4242-seen"].cgroup_id > 0' /run/sbpf/service.json && curl -s --unix-socket $socket $url/v1/sandboxes | grep u4242-seen; }
within 60 eval 'is_seen >/dev/null'
events_code() { as "$1" "$readers" timeout 20 curl -sN -o "$tmp/events-$1" -w '%{http_code}' --unix-socket $socket $url/v1/sandboxes/"$2"/events; }
chmod 777 "$tmp"
is events/of-others 403 "$(events_code 4243 u4242-seen)"
is events/of-root 403 "$(events_code 4242 keeper)"
is events/of-nobody 403 "$(events_code 4243 none)"
has events/of-others-says-why not_permitted "$(cat "$tmp/events-4243")"
events_code 4242 u4242-seen >/dev/null & stream=$!
within 40 grep -q '"port":7002' "$tmp/events-4242"; is events/of-owner 0 $?
pkill -P $stream 2>/dev/null; wait $stream 2>/dev/null
timeout 20 curl -sN --unix-socket $socket $url/v1/sandboxes/u4242-seen/events >"$tmp/events-0" &
within 40 grep -q '"port":7002' "$tmp/events-0"; is events/of-root-too 0 $?
is events/owner-ends 200 "$(ask 4242 -X DELETE $url/v1/sandboxes/u4242-seen)"
wait $seen 2>/dev/null

# What one user holds leaves the others', and root's, alone.
cat >"$tmp/hold.py" <<'P'
import socket, sys, time
held, turned = [], 0
for i in range(int(sys.argv[2])):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(sys.argv[1])
    s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    turned += b" 429 " in s.recv(100)
    held.append(s)
    print(turned, flush=True)
time.sleep(60)
P
printf 'limits: {receive_seconds: 60, request_seconds: 240, watch_seconds: 20, runs_per_user: 2, connections: 12, connections_per_user: 5}\n' >"$tmp/sbpfd.yaml"
kill -HUP $daemon
sleep 1
is connections/control "200 200" "$(ask 4243 $url/healthz) $(curl -s -o /dev/null -w '%{http_code}' --unix-socket $socket $url/healthz)"
user python3 -IS "$tmp/hold.py" $socket 9 >"$tmp/held" & holds=$!
within 40 grep -q 4 "$tmp/held"; is connections/of-one-are-limited 0 $?
is connections/another-user 200 "$(ask 4243 $url/healthz)"
is connections/the-same-user 429 "$(ask 4242 $url/healthz)"
as 4243 "$readers" python3 -IS "$tmp/hold.py" $socket 5 >"$tmp/held3" & holds3=$!
within 40 sh -c "[ \$(wc -l <$tmp/held3) = 5 ]"; is connections/of-another-user 0 "$(tail -1 "$tmp/held3")"
as 4245 "$readers" python3 -IS "$tmp/hold.py" $socket 5 >"$tmp/held5" & holds5=$!
within 40 grep -q 3 "$tmp/held5"; is connections/of-all-users-are-limited 0 $?
is connections/root 200 "$(curl -s -m 20 -o /dev/null -w '%{http_code}' --unix-socket $socket $url/healthz)"
python3 -IS "$tmp/hold.py" $socket 8 >"$tmp/held0" & holds0=$!
within 40 sh -c "[ \$(wc -l <$tmp/held0) = 8 ]"; is connections/root-has-its-own 0 "$(tail -1 "$tmp/held0")"
pkill -f hold.py
wait $holds $holds3 $holds5 $holds0 2>/dev/null
free_again() { [[ $(ask 4242 $url/healthz) == 200 ]]; }
within 20 free_again; is connections/free-again 0 $?
# Runs have limits of their own: what connects them does not count among the connections.
printf 'limits: {receive_seconds: 3, request_seconds: 240, watch_seconds: 20, runs_per_user: 2, runs: 2, connections: 2, connections_per_user: 2}\n' >"$tmp/sbpfd.yaml"
read_again() { (($(grep -c 'configuration was read again' "$tmp/log") > before)); }
before=$(grep -c 'configuration was read again' "$tmp/log")
kill -HUP $daemon
within 20 read_again; is runs/configuration 0 $?
once() { as "$1" "$readers" python3 -IS "$tmp/users.py" $socket once=; }
is runs/control "once=: 201 True" "$(once 4243)"
for name in one two; do
  user python3 -IS "$tmp/users.py" $socket stay=$name >"$tmp/said.$name" 2>&1 &
  within 60 grep -q 201 "$tmp/said.$name"; is runs/$name 0 $?
done
is runs/are-no-connections 200 "$(ask 4242 $url/healthz)"
is runs/of-all-users-are-limited "once=: 429 too_many_runs" "$(once 4243)"
pkill -f 'users.py.*stay='
for name in one two; do within 20 gone u4242-$name; is runs/$name-ends 0 $?; done
is runs/free-again "once=: 201 True" "$(once 4243)"
printf 'limits: {receive_seconds: 3, request_seconds: 240, watch_seconds: 20, runs_per_user: 2}\n' >"$tmp/sbpfd.yaml"
kill -HUP $daemon

# The service ends what has a user's name, so root's sandboxes have none of them.
is owner/name-by-root 2 "$(sbpf run -q --name u4242-rooted -- true 2>"$tmp/err"; echo $?)"
has owner/name-by-root-why "a name for a user's run" "$(cat "$tmp/err")"
mkdir "$cgroots/rooted"
is owner/name-by-attach 2 "$(sbpf attach --cgroup "$cgroots/rooted" --name u4242-rooted --policy no-network >/dev/null 2>&1; echo $?)"
rmdir "$cgroots/rooted"

# ---- deaths ----
user sbpf run -q --name dies -- sh -c 'setsid sleep 7179 & setsid -w sleep 7179' 2>/dev/null &
within 60 exists u4242-dies
within 60 pgrep -f 'sleep 7179' >/dev/null
kill -TERM "$(pgrep -f '^sbpf run -q --name dies' | head -1)"
within 20 ended 'sleep 7179'; is signal/all-ended 0 $?
within 20 gone u4242-dies; is signal/gone 0 $?
user python3 -IS "$tmp/users.py" $socket stay=killed >"$tmp/said" 2>&1 &
within 60 grep -q 201 "$tmp/said"
within 20 sh -c "[ \$(wc -l <$cgroots/sbpf/u4242-killed/cgroup.procs) = 2 ]"; is killed/runs 0 $?
inside=$(cat $cgroots/sbpf/u4242-killed/cgroup.procs)
kill -9 "$(pgrep -f 'users.py.*stay=killed' | head -1)"
before=${EPOCHREALTIME/./}
within 20 gone u4242-killed; is killed/gone 0 $?
is killed/soon 0 "$(((${EPOCHREALTIME/./} - before) / 5000000))"
echo "gone after $((${EPOCHREALTIME/./} - before)) us" >&2
# shellcheck disable=SC2086
none killed/processes ps -o pid= $inside

user sbpf run -q --name own -- sh -c 'setsid sleep 7180 & sleep 7180' 2>"$tmp/err" &
client=$!
user python3 -IS "$tmp/users.py" $socket stay=lost >"$tmp/said" 2>&1 &
within 60 grep -q 201 "$tmp/said"
within 60 pgrep -f 'sleep 7180' >/dev/null
kill -9 $daemon
wait $daemon 2>/dev/null
wait $client; is service-killed/client 125 $?
has service-killed/told "sbpfd went away" "$(cat "$tmp/err")"
is service-killed/confined 0 "$(grep -q . $cgroots/sbpf/u4242-lost/cgroup.procs; echo $?)"
# What a service that was killed in the middle leaves: a name, and a cgroup without a sandbox. And a name that is another's.
mkdir $cgroots/sbpf/u4242-half $cgroots/sbpf/u4242-other
# Moved when they run: nothing is executed there, where no sandbox is.
sleep 7181 &
half=$!
sleep 7182 &
other=$!
within 20 pgrep -f 'sleep 7182' >/dev/null
echo $half >$cgroots/sbpf/u4242-half/cgroup.procs
echo $other >$cgroots/sbpf/u4242-other/cgroup.procs
jq '.runs += {"u4242-half": {uid: 4242, cgroup_id: 0}, "u4242-other": {uid: 4242, cgroup_id: 1}}' /run/sbpf/service.json >"$tmp/state"
cp "$tmp/state" /run/sbpf/service.json
start
for name in own lost half; do
  within 30 gone u4242-$name; is service-killed/$name 0 $?
done
within 20 ended 'sleep 718[01]'; is service-killed/all-ended 0 $?
is service-killed/others-stay 0 "$(kill -0 $other; echo $?)"
kill $other
wait $other 2>/dev/null
rmdir $cgroots/sbpf/u4242-other 2>/dev/null
is service-killed/again 0 "$(user sbpf run -q -- true 2>/dev/null; echo $?)"
is service-killed/no-entry "{}" "$(jq -c .runs /run/sbpf/service.json)"
kill $daemon
wait $daemon; is end/code 0 $?
cat "$tmp/log" >&2
rm -f "$fake"
end_all
finish
