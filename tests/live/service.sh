#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbpfd: readiness, its API and whom it refuses, policies that change, and what is left when it or its watch dies.
. "$(dirname "$0")/lib.sh"
socket=/run/sbpf/api.sock
keep_loaded
ask() { curl -s -m 90 --unix-socket "$socket" "$@"; }
code() { ask -o "$tmp/body" -w '%{http_code}' "$@"; }
url=http://sbpf
field() { json "$1" <"$tmp/body"; }

cat >"$tmp/notify.py" <<'P'
import os, socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    for line in s.recv(4096).decode().splitlines():
        print(time.monotonic(), line, flush=True)
P
python3 -IS "$tmp/notify.py" "$tmp/notify.sock" >"$tmp/notify" &
servers+=($!)
mkdir -p /etc/sbpf/policies
cat >"$tmp/sbpfd.yaml" <<P
limits: {connections: 4, receive_seconds: 3, request_seconds: 240, watch_seconds: 20}
P
allow() { printf 'version: 1\nname: %s\nnetwork: {connect: [{address: 127.0.0.1, ports: [%s], protocol: tcp}]}\n' "$1" "$2"; }
allow web 7001 >/etc/sbpf/policies/web.yaml
within 60 test -S "$tmp/notify.sock"
start() {
  NOTIFY_SOCKET=$tmp/notify.sock sbpfd --config "$tmp/sbpfd.yaml" >>"$tmp/log" 2>&1 &
  daemon=$!
}

# ---- configuration ----
printf 'limits: {conections: 3}\n' >"$tmp/bad.yaml"
out=$(sbpfd --check-config --config "$tmp/bad.yaml" 2>&1); is config/bad-exit 2 $?
has config/place "bad.yaml:1:10: limits.conections" "$out"
has config/hint 'did you mean "connections"' "$out"

# ---- readiness ----
start
within 120 grep -q READY=1 "$tmp/notify"; is ready/told 0 $?
has ready/after-a-pass "sandboxes: 1 active" "$(grep 'STATUS=.*sandboxes' "$tmp/notify" | head -1)"
is ready/health 200 "$(code $url/healthz)"
within 30 sh -c "[ \$(grep -c WATCHDOG=1 $tmp/notify) -ge 3 ]"; is watchdog/petted 0 $?
is socket/mode "660 root sbpf" "$(stat -c '%a %U %G' $socket)"
is socket/of-root "600 root root" "$(stat -c '%a %U %G' ${socket%/*}/root.sock)"
sbpfd --config "$tmp/sbpfd.yaml" 2>"$tmp/second"; is socket/second-one 125 $?
has socket/second-why "another sbpfd" "$(cat "$tmp/second")"
# Root's socket has its name from the directory.
printf 'socket: %s/other.sock\n' ${socket%/*} >"$tmp/other.yaml"
sbpfd --config "$tmp/other.yaml" 2>"$tmp/second"; is socket/beside-it 125 $?
has socket/beside-it-why "another sbpfd serves ${socket%/*}/root.sock" "$(cat "$tmp/second")"
is socket/of-root-still-answers 200 "$(code --unix-socket ${socket%/*}/root.sock http://root/healthz)"

# ---- reading ----
is list/code 200 "$(code $url/v1/sandboxes)"
is list/keeper active "$(field "[s['isolation'] for s in d['sandboxes'] if s['name'] == 'keeper'][0]")"
is status/code 200 "$(code $url/v1/sandboxes/keeper)"
is status/active True "$(field 'd["isolation_active"]')"
is status/none 404 "$(code $url/v1/sandboxes/nobody)"
is status/none-code no_such_sandbox "$(field 'd["error"]["code"]')"
is policies/code 200 "$(code $url/v1/policies)"
is policies/valid True "$(field "[p['valid'] for p in d['policies'] if p['name'] == 'web'][0]")"
is path/none 404 "$(code $url/v2)"
is path/method 405 "$(code -X POST $url/healthz)"
is path/name 400 "$(code $url/v1/sandboxes/..%2f)"
has metrics/active 'sbpf_sandboxes{state="active"} 1' "$(ask $url/metrics)"

# ---- changing ----
serve tcp 127.0.0.1 7001
serve tcp 127.0.0.1 7002
box=$cgroots/box
mkdir "$box"
inside() { sh -c "echo \$\$ >$box/cgroup.procs && exec \"\$@\"" sh "$@"; }
try() { [[ $(inside "$probe" connect tcp 127.0.0.1 "$1" 2>/dev/null) == 0 ]] && echo yes || echo no; }
body='{"cgroup": "'$box'", "policy": "web", "name": "box"}'
is attach/before "yes yes" "$(try 7001) $(try 7002)"
is attach/code 201 "$(code -d "$body" $url/v1/sandboxes)"
is attach/active True "$(field 'd["isolation_active"]')"
is attach/after "yes no" "$(try 7001) $(try 7002)"
is attach/again 409 "$(code -d "$body" $url/v1/sandboxes)"
is attach/unknown-key 400 "$(code -d '{"polcy": "web"}' $url/v1/sandboxes)"
is attach/path-as-name 400 "$(code -d '{"cgroup": "'"$box"'", "policy": "../x", "name": "b"}' $url/v1/sandboxes)"
is swap/text 200 "$(code -X PUT -d "$(jq -n --arg t "$(allow text 7002)" '{policy_text: $t}')" $url/v1/sandboxes/box/policy)"
is swap/after "no yes" "$(try 7001) $(try 7002)"
is swap/invalid 400 "$(code -X PUT -d '{"policy_text": "version: 7"}' $url/v1/sandboxes/box/policy)"
has swap/place "policy_text:1:" "$(cat "$tmp/body")"
is swap/invalid-after "no yes" "$(try 7001) $(try 7002)"
is swap/back 200 "$(code -X PUT -d '{"policy": "web"}' $url/v1/sandboxes/box/policy)"

# ---- what is open already, and forbidden by the policy to come ----
sh -c "echo \$\$ >$box/cgroup.procs; exec sleep infinity" 3>>/srv/held & holder=$!
narrow=$(printf 'version: 1\nname: narrow\nextends: [runtime-files]\nfilesystem: {default: read}\n')
narrow() { code -X PUT -d "$(jq -n --arg text "$narrow" --argjson more "$1" '{policy_text: $text} + $more')" $url/v1/sandboxes/box/policy; }
within 20 grep -q $holder "$box/cgroup.procs"; is open/start 0 $?
is open/refused 409 "$(narrow '{}')"
is open/refused-code open_files "$(field 'd["error"]["code"]')"
is open/refused-so 409 "$(narrow '{"already_open": "refuse"}')"
is open/unchanged "yes no" "$(try 7001) $(try 7002)"
is open/unknown 400 "$(narrow '{"already_open": "close"}')"
is open/kept "200 degraded" "$(narrow '{"already_open": "keep"}') $(field 'd["isolation"]')"
is open/kept-process 0 "$(kill -0 $holder; echo $?)"
is open/back 200 "$(code -X PUT -d '{"policy": "web"}' $url/v1/sandboxes/box/policy)"
is open/evicted "200 active" "$(narrow '{"already_open": "evict"}') $(field 'd["isolation"]')"
wait $holder; is open/evicted-process 137 $?
is open/back-again 200 "$(code -X PUT -d '{"policy": "web"}' $url/v1/sandboxes/box/policy)"
mkdir -p $cgroots/connected
sh -c "echo \$\$ >$cgroots/connected/cgroup.procs; exec python3 -IS -c 'import socket, time; s = socket.create_connection((\"127.0.0.1\", 7002)); print(1, flush=True); time.sleep(600)'" >"$tmp/connected" & servers+=($!)
within 20 grep -q 1 "$tmp/connected"; is open/connected 0 $?
attach() { code -d "$(jq -n --arg cgroup $cgroots/connected --argjson more "$1" '{cgroup: $cgroup, name: "connected", policy: "web", keep: false} + $more')" $url/v1/sandboxes; }
is open/attach-refused "409 open_sockets" "$(attach '{}') $(field 'd["error"]["code"]')"
is open/attach-evicts 201 "$(attach '{"already_open": "evict"}')"
is open/attach-control 200 "$(code -X DELETE "$url/v1/sandboxes/connected?kill=true")"

# ---- policies that change ----
generation() { code $url/v1/sandboxes/box >/dev/null; field 'd["policy"]["generation"]'; }
reaches() { [[ "$(try 7001) $(try 7002)" == "$1" ]]; }
is reload/before "yes no" "$(try 7001) $(try 7002)"
allow web 7002 >/etc/sbpf/policies/.new && mv /etc/sbpf/policies/.new /etc/sbpf/policies/web.yaml
within 60 reaches "no yes"; is reload/rename 0 $?
before=$(generation)
echo 'version: 9' >/etc/sbpf/policies/web.yaml
within 60 sh -c "curl -s --unix-socket $socket $url/metrics | grep -q '^sbpf_policy_errors_total 1'"; is reload/invalid-counted 0 $?
is reload/invalid-generation "$before" "$(generation)"
is reload/invalid-shown invalid_policy "$(field 'd["policy_error"]["code"]')"
is reload/invalid-holds "no yes" "$(try 7001) $(try 7002)"
# A file half written, whose beginning is a valid policy.
exec 9>/etc/sbpf/policies/web.yaml
printf 'version: 1\nname: web\n' >&9
sleep 1
is reload/half "no yes" "$(try 7001) $(try 7002)"
busy() { echo "$(code "$@") $(field 'd["error"]["code"]')"; }
is reload/half-no-swap "409 busy" "$(busy -X PUT -d '{"policy": "web"}' $url/v1/sandboxes/box/policy)"
is reload/half-no-attach "409 busy" "$(busy -d "$body" $url/v1/sandboxes)"
printf 'network: {connect: [{address: 127.0.0.1, ports: [7001], protocol: tcp}]}\n' >&9
exec 9>&-
within 60 reaches "yes no"; is reload/whole 0 $?
is reload/whole-swap 200 "$(code -X PUT -d '{"policy": "web"}' $url/v1/sandboxes/box/policy)"
is reload/whole-attach "409 already_attached" "$(busy -d "$body" $url/v1/sandboxes)"
# As Kubernetes does it: NAME.yaml -> ..data/NAME.yaml, ..data -> ..1, and ..data renamed over.
cd /etc/sbpf/policies && mkdir ..1 ..2 && allow web 7001 >..1/web.yaml && allow web 7002 >..2/web.yaml
ln -s ..1 ..data && ln -sf ..data/web.yaml web.yaml
sleep 1
is reload/link-same "yes no" "$(try 7001) $(try 7002)"
ln -s ..2 ..new && mv -T ..new ..data
cd /root || exit
within 60 reaches "no yes"; is reload/link-swapped 0 $?
# Its file is gone; and one comes that forbids what is open in there: the last one holds, and why is shown.
shows() { code $url/v1/sandboxes/box >/dev/null; [[ $(field 'd.get("policy_error", {}).get("code")') == "$1" ]]; }
p=/etc/sbpf/policies
allow other 7001 >$p/other.yaml
mv $p/web.yaml $p/.web
within 30 shows no_such_policy; is reload/gone-is-shown 0 $?
is reload/gone-holds "no yes" "$(try 7001) $(try 7002)"
sh -c "echo \$\$ >$box/cgroup.procs; exec sleep infinity" 3>>/srv/held & holder=$!
within 20 grep -q $holder "$box/cgroup.procs"
sed 's/name: narrow/name: web/' <<<"$narrow" >$p/.new && mv $p/.new $p/web.yaml
within 30 shows open_files; is reload/failed-is-shown 0 $?
is reload/failed-holds "no yes" "$(try 7001) $(try 7002)"
kill $holder
rm $p/other.yaml; mv $p/.web $p/web.yaml; within 30 shows None; is reload/follows-again 0 $?

# ---- SO-4: swapped by requests and by files under a loop of connects; a connection that is revoked ends ----
flip() { # flip PORT…: the file, replaced as a whole
  printf 'version: 1\nname: flip\nnetwork: {connect: [{address: 127.0.0.1, ports: [%s]}]}\n' "$1" >/etc/sbpf/policies/.new
  mv /etc/sbpf/policies/.new /etc/sbpf/policies/flip.yaml
}
cat >"$tmp/held.py" <<'P'
import socket
s, held = socket.create_server(("127.0.0.1", 7003)), []
while True:
    held.append(s.accept())
P
cat >"$tmp/flow.py" <<'P'
import socket, time
s = socket.create_connection(("127.0.0.1", 7003))
print("connected", flush=True)
try:
    while True:
        s.sendall(b"x")
        time.sleep(0.1)
except OSError as e:
    print("errno", e.errno)
P
python3 -IS "$tmp/held.py" &
servers+=($!)
flip '7101, 7003'
sleep 1
is load/begin 200 "$(code -X PUT -d '{"policy": "flip"}' $url/v1/sandboxes/box/policy)"
inside python3 -ISu "$tmp/flow.py" >"$tmp/flow" & flow=$!
within 30 grep -q connected "$tmp/flow"; is load/flow 0 $?
mkfifo "$tmp/hold"
inside "$probe" hammer 127.0.0.1 7101 7102 <"$tmp/hold" >"$tmp/hammer" & hammer=$!
exec 9>"$tmp/hold"
swapped=$(generation)
first=$swapped
other="$(jq -n '{policy_text: "version: 1\nname: other\nnetwork: {connect: [{address: 127.0.0.1, ports: [7102, 7003]}]}\n"}')"
for _ in {1..5}; do
  [[ $(code -X PUT -d "$other" $url/v1/sandboxes/box/policy) == 200 ]] && swapped=$((swapped + 1))
  [[ $(code -X PUT -d '{"policy": "flip"}' $url/v1/sandboxes/box/policy) == 200 ]] && swapped=$((swapped + 1))
done
is load/by-requests $((first + 10)) $swapped
is_generation() { [[ $(generation) == "$1" ]]; }
for ports in '7102, 7003' '7101, 7003' '7102, 7003'; do
  flip "$ports"
  swapped=$((swapped + 1))
  within 60 is_generation $swapped || break
done
is load/by-files $swapped "$(generation)"
is load/flow-goes-on connected "$(cat "$tmp/flow")"
flip 7101
within 60 grep -q errno "$tmp/flow"
# ECONNABORTED; or EPERM, when it sends something in between.
case $(paste -sd' ' "$tmp/flow") in
  'connected errno 103' | 'connected errno 1') ok load/revoked-flow-ends ;;
  *) not_ok load/revoked-flow-ends "$(paste -sd' ' "$tmp/flow")" ;;
esac
wait $flow
exec 9>&-
wait $hammer
read -r _ a _ b _ both _ neither _ wrong <"$tmp/hammer"
# A pair of connects may straddle a flip: both or neither of it is then right. More than one for a flip is not.
if ((a > 0 && b > 0 && both + neither <= 14 && wrong == 0)); then ok load/never-both-never-neither
else not_ok load/never-both-never-neither "$(cat "$tmp/hammer")"; fi
is load/end 200 "$(code -X PUT -d '{"policy": "web"}' $url/v1/sandboxes/box/policy)"
is load/as-before "no yes" "$(try 7001) $(try 7002)"

# ---- whom it refuses ----
as() { setpriv --reuid "$1" --regid "$2" --groups "${3:-$2}" curl -s -m 60 -o "$tmp/answer" -w '%{http_code}' --unix-socket "$socket" "${@:4}"; }
chmod 777 "$tmp"
nobody=$(id -u nobody) nogroup=$(id -g nobody) readers=$(getent group sbpf | cut -d: -f3)
is refuse/mode 000 "$(as "$nobody" "$nogroup" "$nogroup" $url/healthz)"
chmod 666 $socket
is refuse/others 403 "$(as "$nobody" "$nogroup" "$nogroup" $url/healthz)"
chmod 660 $socket
rm -f "$tmp/answer"
is refuse/member-reads 200 "$(as "$nobody" "$nogroup" "$readers" $url/v1/sandboxes)"
is refuse/member-changes 403 "$(as "$nobody" "$nogroup" "$readers" -X DELETE $url/v1/sandboxes/box)"
rm -f "$tmp/answer"
cat >"$tmp/open.yaml" <<P
version: 1
name: open
network: {dangerously_allow_all: true}
P
cat >"$tmp/talk.py" <<'P'
import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
    s.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
    print(s.recv(100).split()[1].decode())
except OSError as e:
    print(e.errno)
P
cat >"$tmp/other.py" <<'P'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
while True:
    c = s.accept()[0]
    c.recv(100)
    c.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
    c.close()
P
mkdir "$tmp/sbpf"
for other in "$tmp/other.sock" "$tmp/sbpf/"{api.sock,root.sock,api.sockets}; do
  python3 -IS "$tmp/other.py" "$other" >/dev/null &
  servers+=($!)
  within 60 test -S "$other"
done
boxed() { sbpf run -q --policy "$1" -- python3 -IS "$tmp/talk.py" "$2" 2>/dev/null; }
is sandboxed/outside-control 200 "$(python3 -IS "$tmp/talk.py" $socket)"
is sandboxed/no-network 1 "$(boxed no-network $socket)"
is sandboxed/other-socket-control 200 "$(boxed "$tmp/open.yaml" "$tmp/other.sock")"
is sandboxed/service-control 200 "$(python3 -IS "$tmp/talk.py" "$tmp/sbpf/api.sock")"
is sandboxed/service 1 "$(boxed "$tmp/open.yaml" "$tmp/sbpf/api.sock")"
is sandboxed/service-of-root-control 200 "$(python3 -IS "$tmp/talk.py" "$tmp/sbpf/root.sock")"
is sandboxed/service-of-root 1 "$(boxed "$tmp/open.yaml" "$tmp/sbpf/root.sock")"
is sandboxed/beside-service-control 200 "$(boxed "$tmp/open.yaml" "$tmp/sbpf/api.sockets")"
# Where the kernel does not know it by its name, the service knows whose cgroup it is.
is sandboxed/allow-all 1 "$(boxed "$tmp/open.yaml" $socket)"
mv $socket $socket.moved
is sandboxed/moved 403 "$(boxed "$tmp/open.yaml" $socket.moved)"
mv $socket.moved $socket
out=$(head -c 400000 /dev/zero | code --data-binary @- $url/v1/sandboxes); is limit/body 413 "$out"
cat >"$tmp/slow.py" <<'P'
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"GET /healthz HTTP/1.1\r\n")
s.settimeout(60)
start = time.monotonic()
print("closed" if s.recv(100) == b"" and time.monotonic() - start > 2 else "answered")
P
is limit/slow closed "$(python3 -IS "$tmp/slow.py" $socket)"
cat >"$tmp/many.py" <<'P'
import socket, sys
all = []
codes = []
for i in range(12):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    all.append(s)
s.settimeout(30)
print(s.recv(100).split()[1].decode())
P
is limit/connections 429 "$(python3 -IS "$tmp/many.py" $socket)"
sleep 4
# Whoever fills the queue shuts out who comes by it, and nobody else.
cat >"$tmp/fill.py" <<'P'
import errno, os, socket, sys
def connect(path):
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(False)
    return s, errno.errorcode.get(s.connect_ex(path), "in")
os.setgroups([int(sys.argv[2])])
os.setresuid(4711, 4711, 0)
held = []
while not held or held[-1][1] == "in":
    held.append(connect(sys.argv[1]))
print(held[-1][1], connect(os.path.dirname(sys.argv[1]) + "/root.sock")[1])
os.setresuid(0, 0, 0)
print(connect(sys.argv[1])[1], connect(os.path.dirname(sys.argv[1]) + "/root.sock")[1])
P
kill -STOP $daemon
is queue/full "EAGAIN EACCES | EAGAIN in" "$(python3 -IS "$tmp/fill.py" $socket "$(getent group sbpf | cut -d: -f3)" | paste -sd'|' | sed 's/|/ | /')"
kill -CONT $daemon
is queue/root-is-served 200 "$(curl -s -m 60 -o "$tmp/body" -w '%{http_code}' --unix-socket ${socket%/*}/root.sock $url/healthz)"
within 30 sh -c "[ \$(curl -s -o /dev/null -w '%{http_code}' --unix-socket $socket $url/healthz) = 200 ]"; is queue/served-again 0 $?

# ---- events ----
# Functions: the text of a `sh -c` would be found as a process by its own pattern.
runs() { pgrep -f "$1" >/dev/null; }
ended() { ! runs "$1"; }
timeout 30 curl -sN --unix-socket $socket $url/v1/sandboxes/box/events >"$tmp/events" &
stream=$!
within 30 runs 'sbpf events box'
try 7001 >/dev/null
within 25 grep -q '"port":7001' "$tmp/events"; is events/streamed 0 $?
kill $stream
within 20 ended 'sbpf events box'; is events/child-ends 0 $?

# ---- deaths ----
watcher=$(pgrep -P $daemon -f 'sbpf watch')
kill -9 "$watcher"
within 30 sh -c "curl -s --unix-socket $socket $url/metrics | grep -q '^sbpf_watch_restarts_total 1'"; is watch/restart-counted 0 $?
within 60 sh -c "[ \$(curl -s -o /dev/null -w '%{http_code}' --unix-socket $socket $url/healthz) = 200 ]"; is watch/well-again 0 $?
kill -9 $daemon
wait $daemon 2>/dev/null
is crash/confined "no yes" "$(try 7001) $(try 7002)"
within 30 ended 'sbpf watch'; is crash/no-leftovers 0 $?
: >"$tmp/notify"
start
within 60 grep -q READY=1 "$tmp/notify"; is crash/ready-again 0 $?
is crash/follows web "$(code $url/v1/sandboxes/box >/dev/null; field 'd["follows"]')"
allow web 7001 >/etc/sbpf/policies/..2/web.yaml.new && mv /etc/sbpf/policies/..2/web.yaml.new /etc/sbpf/policies/..2/web.yaml
touch -h /etc/sbpf/policies/web.yaml
within 60 reaches "yes no"; is crash/still-follows 0 $?

# ---- one is taken down and another attached by its name, before the watch looks ----
watcher=$(pgrep -P $daemon -f 'sbpf watch')
stopped() { kill -STOP "$watcher" && { flock -n /run/sbpf.lock true || ! kill -CONT "$watcher"; }; }
anew() { # BODY NAME
  within 20 stopped
  is "$2" "200 201" "$(code -X DELETE $url/v1/sandboxes/box) $(code -d "$1" $url/v1/sandboxes)"
  kill -CONT "$watcher"
}
passes() { ask $url/metrics | grep -oP '^sbpf_watch_late_seconds_count \K.*'; }
later() { (($(passes) >= begin + 3)); }
anew "$body" anew/same-cgroup
begin=$(passes); within 30 later
allow web 7002 >/etc/sbpf/policies/..2/web.yaml.new && mv /etc/sbpf/policies/..2/web.yaml.new /etc/sbpf/policies/..2/web.yaml
touch -h /etc/sbpf/policies/web.yaml
within 60 reaches "no yes"; is anew/follows 0 $?
# ---- another policy by `sbpf swap`: it stays, whatever becomes of the file ----
allow own 7001 >"$tmp/own.yaml"
sbpf swap --policy "$tmp/own.yaml" box >/dev/null; is cli-swap/code 0 $?
allow web 7003 >/etc/sbpf/policies/..2/web.yaml.new && mv /etc/sbpf/policies/..2/web.yaml.new /etc/sbpf/policies/..2/web.yaml
touch -h /etc/sbpf/policies/web.yaml
within 30 grep -q "follows its policy's file no longer" "$tmp/log"; is cli-swap/told 0 $?
is cli-swap/stays "yes no" "$(try 7001) $(try 7002)"
is cli-swap/follows None "$(code $url/v1/sandboxes/box >/dev/null; field 'd.get("follows")')"
mkdir "$box.2"
anew "$(jq -c --arg c "$box.2" '.cgroup = $c' <<<"$body")" anew/other-cgroup
begin=$(passes); within 30 later
is anew/list "200 ['$box.2']" "$(code $url/v1/sandboxes) $(field "[s['cgroup'] for s in d['sandboxes'] if s['name'] == 'box']")"
is detach/code 200 "$(code -X DELETE $url/v1/sandboxes/box)"
is detach/after "yes yes" "$(try 7001) $(try 7002)"
is detach/again 404 "$(code -X DELETE $url/v1/sandboxes/box)"
kill -TERM $daemon
wait $daemon; is end/code 0 $?
has end/told STOPPING=1 "$(tr -d '\0' <"$tmp/notify")"
is end/no-socket no "$([[ -e $socket || -e ${socket%/*}/root.sock ]] && echo yes || echo no)"
none end/no-leftovers pgrep -f 'sbpf watch'
rmdir "$box" "$box.2"
cp "$tmp/log" /dev/stderr
end_all
finish
