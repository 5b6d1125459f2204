#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbpfd when things go wrong: a configuration that is refused, a request that takes too long, a watch that hangs, a second
# reader, a sandbox that loses something, and its own death. What it answers, and how the sandbox stands.
. "$(dirname "$0")/lib.sh"
socket=/run/sbpf/api.sock
url=http://sbpf
ask() { curl -s -m 120 --unix-socket "$socket" "$@"; }
code() { ask -o "$tmp/body" -w '%{http_code}' "$@"; }
field() { json "$1" <"$tmp/body"; }
why() { field 'd["error"]["code"]'; }
answers() { [[ $(code "${@:2}") == "$1" ]]; }
metric() { ask $url/metrics | awk -v name="$1" '$1 == name { print $2 }'; }
is_metric() { [[ $(metric "$1") == "$2" ]]; }
uptime_ms() { awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime; }

cat >"$tmp/notify.py" <<'P'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    for line in s.recv(4096).decode().splitlines():
        print(line, flush=True)
P
python3 -IS "$tmp/notify.py" "$tmp/notify.sock" >"$tmp/notify" &
servers+=($!)
# The executable, but for a watch that does not begin while $tmp/hold is there, and the fault that $tmp/fault names.
cat >"$tmp/sbpf" <<P
#!/bin/bash
[[ \$1 != watch ]] || while [[ -e $tmp/hold ]]; do sleep 0.2; done
[[ \$1 != attach || ! -e $tmp/fault ]] || . "$tmp/fault"
exec $(command -v sbpf) "\$@"
P
chmod 755 "$tmp/sbpf"
config() { printf 'sbpf: %s\n%s\n' "$tmp/sbpf" "$1" >"$tmp/sbpfd.yaml"; }
usual='limits: {request_seconds: 240, watch_seconds: 20}'
config "$usual"
allow() { printf 'version: 1\nname: %s\non_loss: alert\nnetwork: {connect: [{address: 127.0.0.1, ports: [%s], protocol: tcp}]}\n' "$1" "$2"; }
mkdir -p /etc/sbpf/policies
allow one 7001 >/etc/sbpf/policies/one.yaml
allow two 7002 >/etc/sbpf/policies/two.yaml
within 60 test -S "$tmp/notify.sock"
start() {
  NOTIFY_SOCKET=$tmp/notify.sock sbpfd --config "$tmp/sbpfd.yaml" >>"$tmp/log" 2>&1 &
  daemon=$!
}
told() { grep -c "^$1" "$tmp/notify"; }
told_times() { (($(told "$1") >= $2)); }

serve tcp 127.0.0.1 7001
serve tcp 127.0.0.1 7002
box=$cgroots/box
mkdir "$box"
inside() { sh -c "echo \$\$ >$box/cgroup.procs && exec \"\$@\"" sh "$@"; }
# The errnos of both connects: 0, or 1 for EPERM.
seen() { echo "$(inside "$probe" connect tcp 127.0.0.1 7001) $(inside "$probe" connect tcp 127.0.0.1 7002)"; }
runs() { pgrep -f "$1" >/dev/null; }
ended() { ! runs "$1"; }
one="0 1" two="1 0" free="0 0"

start
within 300 told_times READY=1 1; is ready 0 $?
is control/free "$free" "$(seen)"
body='{"cgroup": "'$box'", "policy": "one", "name": "box"}'

# ---- AB-3: any hook that is missing refuses the attach, and leaves nothing (faults.sh has all of them, by `sbpf run`) ----
# repaired_since LINES HOOK: has the watch said since then that it attached this hook again?
repaired_since() { tail -n "+$(($1 + 1))" "$tmp/log" | grep -q "sandbox box has its hooks again .*\"$2\""; }
# refused FAULT LEFT: the sandboxes of LEFT are there before and afterwards; without any, the programs are loaded anew (stubs,
# which the kernel has verified sooner), and nothing of them stays either.
refused() {
  local hook=${1#*:} answer said
  echo "export LD_PRELOAD=$shim SBPF_FAULT=$1" >"$tmp/fault"
  [[ -n $2 ]] || echo "export SBPF_STUBS=1 SBPF_STUB=$slow_programs" >>"$tmp/fault"
  # Not assigned: the watch would attach what is missing, and be as soon as the look back. It may be as soon as that all the same, on
  # a busy machine: it says so, and then nothing was shown.
  for _ in 1 2 3 4 5; do
    said=$(wc -l <"$tmp/log")
    answer=$(code -d "${body%\}}, \"keep\": false}" $url/v1/sandboxes)
    [[ $answer == 201 ]] && within 5 repaired_since "$said" "${hook%@*}" || break
    ask -o /dev/null -X DELETE $url/v1/sandboxes/box
  done
  is "AB-3/$1" 500 "$answer"
  has "AB-3/$1/named" "${hook%@*}" "$(field 'd["error"]["message"]')"
  rm "$tmp/fault"
  is "AB-3/$1/none" "404 404" "$(code $url/v1/sandboxes/box) $(ask -o /dev/null -w '%{http_code}' -X DELETE $url/v1/sandboxes/box)"
  is "AB-3/$1/free" "$free" "$(seen)"
  if [[ -z $2 ]]; then is "AB-3/$1/left" "" "$(freed; left_behind)"; else is "AB-3/$1/left" "$2" "$(ls $pins/sandboxes)"; fi
}
clean
for hook in file_open task_alloc connect4; do
  refused "load:$hook@1" ""
  refused "attach:$hook@1" ""
done
keep_loaded
for hook in connect4 connect6 sendmsg4 sendmsg6 bind4 bind6 sock_create; do
  refused "attach:$hook@1" keeper
  refused "lie:$hook@1" keeper
done
is attach 201 "$(code -d "$body" $url/v1/sandboxes)"
is attach/confined "$one" "$(seen)"

# ---- SIGHUP ----
hups=1
# reload CONFIG: until the service has said that it is done
reload() {
  config "$1"
  hups=$((hups + 1))
  kill -HUP $daemon
  within 60 told_times READY=1 $hups
}
is hup/metrics-before 200 "$(code $url/metrics)"
groupadd -r soakers 2>/dev/null
reload "metrics: false
group: soakers
$usual"
is hup/valid 0 $?
is hup/valid-told 1 "$(told RELOADING=1)"
is hup/valid-applied "404 no_such_path" "$(code $url/metrics) $(why)"
is hup/valid-group "660 root soakers" "$(stat -c '%a %U %G' $socket)"
reload "metrics: true
limits: {conections: 1}"
is hup/invalid 0 $?
is hup/invalid-told 2 "$(told RELOADING=1)"
has hup/invalid-says "sbpfd.yaml:3:10: limits.conections" "$(cat "$tmp/log")"
is hup/invalid-leaves-what-was "404 660 root soakers" "$(code $url/metrics) $(stat -c '%a %U %G' $socket)"
is hup/invalid-serves 200 "$(code $url/v1/sandboxes)"
reload "group: nobody-has-it
$usual"
has hup/no-group "there is no group nobody-has-it" "$(cat "$tmp/log")"
is hup/no-group-leaves-what-was 404 "$(code $url/metrics)"
reload "$usual"
is hup/back "200 660 root sbpf" "$(code $url/metrics) $(stat -c '%a %U %G' $socket)"

# ---- a request that takes too long: somebody holds the host's lock ----
reload 'limits: {request_seconds: 4, watch_seconds: 20}'
exec 7>/run/sbpf.lock
flock 7
begin=$(uptime_ms)
is late/code 504 "$(code -X PUT -d '{"policy": "two"}' $url/v1/sandboxes/box/policy)"
took=$(($(uptime_ms) - begin))
is late/why time "$(why)"
has late/hint "limits.request_seconds" "$(cat "$tmp/body")"
is late/not-before yes "$( ((took >= 4000)) && echo yes || echo "$took ms")"
within 20 ended 'sbpf swap'; is late/ended 0 $?
is late/delete 504 "$(code -X DELETE "$url/v1/sandboxes/box?kill=true")"
exec 7>&-
is late/as-before "$one" "$(seen)"
reload "$usual"
is late/status 200 "$(code $url/v1/sandboxes/box)"
is late/active "True one 1" "$(field '"%s %s %d" % (d["isolation_active"], d["policy"]["name"], d["policy"]["generation"])')"
is late/again 200 "$(code -X PUT -d '{"policy": "two"}' $url/v1/sandboxes/box/policy)"
is late/again-seen "$two" "$(seen)"

# ---- a second reader of events ----
timeout 60 curl -sN --unix-socket $socket $url/v1/sandboxes/box/events >"$tmp/first" &
stream=$!
within 30 runs 'sbpf events box'
inside "$probe" connect tcp 127.0.0.1 7001 >/dev/null
within 30 grep -q '"port":7001' "$tmp/first"; is reader/first 0 $?
is reader/second-code 200 "$(code $url/v1/sandboxes/box/events)"
has reader/second-sees-the-same '"port":7001' "$(cat "$tmp/body")"
kill $stream
wait $stream 2>/dev/null
within 20 ended 'sbpf events box'; is reader/first-ends 0 $?
is reader/none 404 "$(code $url/v1/sandboxes/nobody/events)"

# ---- DELETE, with somebody inside ----
inside sleep infinity &
sleeper=$!
servers+=($sleeper)
within 20 grep -q 'populated 1' "$box/cgroup.events"
is delete/bad-query "400 bad_query" "$(code -X DELETE "$url/v1/sandboxes/box?kill=1") $(why)"
is delete/still-there 200 "$(code $url/v1/sandboxes/box)"
is delete/leaves-processes 200 "$(code -X DELETE "$url/v1/sandboxes/box?kill=false")"
kill -0 $sleeper 2>/dev/null; is delete/process-goes-on 0 $?
is delete/unconfined "$free" "$(seen)"
is delete/attach-again 201 "$(code -d "$body" $url/v1/sandboxes)"
is delete/confined-again "$one" "$(seen)"
is delete/kill 200 "$(code -X DELETE "$url/v1/sandboxes/box?kill=true")"
wait $sleeper 2>/dev/null; is delete/killed 137 $?
has delete/empty "populated 0" "$(cat "$box/cgroup.events")"
is delete/gone "404 no_such_sandbox" "$(code $url/v1/sandboxes/box) $(why)"
is delete/kill-again 404 "$(code -X DELETE "$url/v1/sandboxes/box?kill=true")"
is delete/free "$free" "$(seen)"
# Kernels may kill for good whom clone3 starts in a cgroup that was killed once, as a canary is.
is delete/killed-once "201 True" "$(code -d "$body" $url/v1/sandboxes) $(field 'd["isolation_active"]')"
is delete/killed-once-confined "$one" "$(seen)"
is delete/killed-once-verified 0 "$(sbpf verify box >/dev/null; echo $?)"
is delete/killed-once-nothing-left "" "$(find "$box" -mindepth 1 -type d)"
is delete/killed-once-swap 200 "$(code -X PUT -d '{"policy": "two"}' $url/v1/sandboxes/box/policy)"

# ---- a watch that hangs ----
reload 'limits: {request_seconds: 240, watch_seconds: 6}'
watcher=$(pgrep -P $daemon -f 'sbpf watch')
touch "$tmp/hold" # the next one waits, so that there is time to look
kill -STOP "$watcher"
begin=$(uptime_ms)
within 4 answers 503 $url/healthz; is stalled/health-at-once 0 $?
within 60 answers 503 $url/v1/sandboxes; is stalled/list 0 $?
took=$(($(uptime_ms) - begin))
is stalled/not-before-its-time yes "$( ((took >= 3000)) && echo yes || echo "$took ms")"
is stalled/why watch_stalled "$(why)"
pets=$(told WATCHDOG=1)
is stalled/attach "503 watch_stalled" "$(code -d "$body" $url/v1/sandboxes) $(why)"
is stalled/swap "503 watch_stalled" "$(code -X PUT -d '{"policy": "one"}' $url/v1/sandboxes/box/policy) $(why)"
is stalled/delete "503 watch_stalled" "$(code -X DELETE $url/v1/sandboxes/box) $(why)"
is stalled/health "503 False" "$(code $url/healthz) $(field 'd["ok"]')"
is stalled/status-asks-the-kernel "200 True" "$(code $url/v1/sandboxes/box) $(field 'd["isolation_active"]')"
is stalled/confined "$two" "$(seen)"
within 30 sh -c "! kill -0 $watcher 2>/dev/null"; is stalled/killed 0 $?
sleep 2
is stalled/no-watchdog "$pets" "$(told WATCHDOG=1)"
is stalled/counted 1 "$(metric sbpf_watch_restarts_total)"
has stalled/logged "it made no pass for" "$(cat "$tmp/log")"
rm "$tmp/hold"
within 90 answers 200 $url/v1/sandboxes; is stalled/list-again 0 $?
is stalled/active-again active "$(field "[s['isolation'] for s in d['sandboxes'] if s['name'] == 'box'][0]")"
within 60 told_times WATCHDOG=1 $((pets + 1)); is stalled/watchdog-again 0 $?
reload "$usual"
is stalled/swap-again 200 "$(code -X PUT -d '{"policy": "one"}' $url/v1/sandboxes/box/policy)"

# ---- its own death: confined all along, and known again soon ----
kill -9 $daemon
wait $daemon 2>/dev/null
is killed/confined "$one" "$(seen)"
is killed/no-answer 000 "$(code $url/healthz)"
: >"$tmp/notify"
begin=$(uptime_ms)
start
within 300 told_times READY=1 1; is killed/ready 0 $?
took=$(($(uptime_ms) - begin))
# On hardware within a second; emulation is ten times slower.
if ((took <= 15000)); then ok killed/in-time; else not_ok killed/in-time "$took ms"; fi
echo "# adopted after $took ms"
is killed/adopted "200 active one" "$(code $url/v1/sandboxes) $(field "['%s %s' % (s['isolation'], s['follows']) for s in d['sandboxes'] if s['name'] == 'box'][0]")"
hups=1

# ---- a sandbox that loses something ----
box_is() { code $url/v1/sandboxes >/dev/null; [[ $(field "[s['isolation'] for s in d['sandboxes'] if s['name'] == 'box'][0]") == "$1" ]]; }
is loss/counters-before "0 0 2 0" "$(metric 'sbpf_losses_total{on_loss="alert"}') $(metric sbpf_restored_total) $(metric 'sbpf_sandboxes{state="active"}') $(metric 'sbpf_sandboxes{state="inactive"}')"
sbpf break-glass --reason faults --for 30m 2>/dev/null
rm "$pins/sandboxes/box/sock_create"
within 30 is_metric 'sbpf_losses_total{on_loss="alert"}' 1; is loss/counted 0 $?
within 30 is_metric 'sbpf_sandboxes{state="inactive"}' 1; is loss/gauge 0 $?
is loss/other-kinds "0 0" "$(metric 'sbpf_losses_total{on_loss="kill"}') $(metric 'sbpf_losses_total{on_loss="freeze"}')"
within 30 box_is inactive; is loss/list 0 $?
is loss/status "200 False" "$(code $url/v1/sandboxes/box) $(field 'd["isolation_active"]')"
has loss/logged "sandbox box lost a part of its isolation" "$(cat "$tmp/log")"
sbpf break-glass --close 2>/dev/null
within 60 is_metric sbpf_restored_total 1; is loss/restored 0 $?
within 30 is_metric 'sbpf_sandboxes{state="inactive"}' 0; is loss/gauge-again 0 $?
is loss/once 1 "$(metric 'sbpf_losses_total{on_loss="alert"}')"
is loss/confined-again "$one" "$(seen)"
# A window that was used leaves the guard in doubt until `sbpf unload`: what is asked for is done, and the answer says what
# it lacks.
is loss/swap "500 less_isolation" "$(code -X PUT -d '{"policy": "two"}' $url/v1/sandboxes/box/policy) $(why)"
is loss/swap-lacks "degraded break-glass" "$(field '"%s %s" % (d["sandbox"]["isolation"], d["sandbox"]["degraded"][0]["what"])')"
is loss/swap-seen "$two" "$(seen)"
is loss/detach 200 "$(code -X DELETE $url/v1/sandboxes/box)"
is loss/free "$free" "$(seen)"

kill -TERM $daemon
wait $daemon; is end/code 0 $?
rmdir "$box"
cp "$tmp/log" /dev/stderr
clean # also of the window that was used
is left/nothing "" "$(left_behind)"
finish
