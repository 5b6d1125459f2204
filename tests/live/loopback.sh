#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A loopback of the sandbox's own (network.loopback: private): everything on it is open to the sandbox, nothing of the host's or of
# another sandbox's is there but what is relayed, and nobody outside reaches what it serves.
. "$(dirname "$0")/lib.sh"
keep_loaded
cp "$here/loopback.py" "$tmp/loopback.py"
chmod 755 "$tmp"
try() { python3 -IS "$tmp/loopback.py" "$@" </dev/null 2>&1; }
# under POLICY ARGUMENT…
under() { sbpf run -q -p "$1" -- python3 -IS "$tmp/loopback.py" "${@:2}" </dev/null 2>/dev/null; }
network() { printf 'version: 1\nname: %s\nnetwork:\n%s\n' "$1" "$2" | policy "$1"; }
# A server of the host's: it answers each client, and counts them. answer PROTO ADDRESS PORT
cat >"$tmp/host.py" <<'P'
import socket, sys
kind, address, port, log = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
if kind == "abstract":
    s = socket.socket(socket.AF_UNIX)
    s.bind("\0" + address)
else:
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
    s.bind((address, port))
if kind != "udp":
    s.listen()
print("ready", flush=True)
while True:
    if kind == "udp":
        data, client = s.recvfrom(100)
        s.sendto(b"host", client)
    else:
        client = s.accept()[0]
        if kind == "echo":
            while data := client.recv(65536):
                client.sendall(data)
        elif kind == "tcp":
            client.recv(100)
            client.sendall(b"host")
        client.close()
    print("visit", file=open(log, "a"))
P
answer() {
  local log=$tmp/$1-$2-$3.log
  : >"$log"
  python3 -IS "$tmp/host.py" "$1" "$2" "$3" "$log" >"$tmp/ready" 2>&1 </dev/null &
  servers+=($!)
  within 30 grep -q ready "$tmp/ready" || echo "not ready: $(cat "$tmp/ready")" >&2
}
for one in "tcp 127.0.0.1 7001" "tcp 127.0.0.1 7002" "tcp ::1 7003" "udp 127.0.0.53 7053" "udp 127.0.0.1 7054" "tcp 127.0.0.2 7004" \
  "tcp ::1 7005" "echo 127.0.0.1 7006" "abstract of-the-host 0"; do answer $one; done
networks() { lsns -t net -n -o NS | sort -u | wc -l; }
before=$(networks)

listed='    - {address: 127.0.0.1, ports: [7001, 7006, 7009], protocol: tcp}
    - {address: "::1", ports: [7005], protocol: tcp}
    - {address: 127.0.0.53, ports: [7053], protocol: udp}'
private=$(network private "  loopback: private"$'\n'"  connect:"$'\n'"$listed")
alone=$(network alone "  loopback: private")
none=$(network none "  connect: []")
any='{cidr: 127.0.0.0/8, ports: [1-65535]}, {address: "::1", ports: [1-65535]}, {address: 0.0.0.0, ports: [1-65535]}, {address: "::", ports: [1-65535]}'
host=$(network host "  loopback: host"$'\n'"  connect: [$any]"$'\n'"  bind: [${any//\[1-/[0-}]"$'\n'"  unix: [\"@of-the-host\"]")

# ---- its own: any address and port of it, and the same is denied without, and open where the host's loopback is ----
mine=(own,127.0.0.1,0 own,127.0.0.1,7777 own,127.9.9.9,0 own,0.0.0.0,0 own,::1,0 own,::,7778 own,::ffff:127.0.0.1,0 ownudp,127.0.0.1,0 ownudp,0.0.0.0,7779 ownudp,::1,0)
each() { printf "%s $1\n" "${mine[@]}"; }
is own/control "$(each own)" "$(try "${mine[@]}")"
is own/denied "$(each EPERM)" "$(under "$none" "${mine[@]}")"
is own/host-allows "$(each own)" "$(under "$host" "${mine[@]}")"
is own/private "$(each own)" "$(under "$private" "${mine[@]}")"
is own/private-alone "$(each own)" "$(under "$alone" "${mine[@]}")"

# Of another protocol, where the policy allows that.
is mptcp/control "mptcp,127.0.0.1,0 own" "$(try mptcp,127.0.0.1,0)"
is mptcp/denied "mptcp,127.0.0.1,0 EPERM" "$(under "$alone" mptcp,127.0.0.1,0)"
is mptcp/private "mptcp,127.0.0.1,0 own" "$(under "$(network mptcp "  loopback: private"$'\n'"  dangerously_allow_sockets: [mptcp]")" mptcp,127.0.0.1,0)"
is mptcp/not-the-hosts "mptcp,127.0.0.1,0 EPERM" "$(under "$(network mptcp-host "  dangerously_allow_sockets: [mptcp]")" mptcp,127.0.0.1,0)"

# ---- the host's: what is not relayed is not there, and has no visit ----
theirs=(tcp,127.0.0.1,7002 tcp,0.0.0.0,7002 tcp,::1,7003 tcp,::ffff:127.0.0.1,7002 tcp,127.0.0.2,7004)
heard() { cat "$tmp"/*-7002.log "$tmp"/*-7003.log "$tmp"/*-7004.log "$tmp"/*-7054.log "$tmp"/abstract-*.log | wc -l; }
was=$(heard)
is host/control "$(printf '%s host\n' "${theirs[@]}")" "$(try "${theirs[@]}")"
is host/control-udp "udp,127.0.0.1,7054 host from 127.0.0.1:7054" "$(try udp,127.0.0.1,7054)"
is host/control-abstract "abstract,of-the-host,0 connected" "$(try abstract,of-the-host,0)"
is host/allowed "$(printf '%s host\n' "${theirs[@]}")" "$(under "$host" "${theirs[@]}")"
is host/allowed-abstract "abstract,of-the-host,0 connected" "$(under "$host" abstract,of-the-host,0)"
within 10 eval "[ \$(heard) = $((was + 13)) ]"; is host/visits $((was + 13)) "$(heard)"
was=$(heard)
for policy in "$private" "$alone"; do
  name=$(basename "$policy" .yaml)
  is "host/$name" "$(printf '%s ECONNREFUSED\n' "${theirs[@]}")" "$(under "$policy" "${theirs[@]}")"
  is "host/$name-abstract" "abstract,of-the-host,0 ECONNREFUSED" "$(under "$policy" abstract,of-the-host,0)"
  is "host/$name-udp" "udp,127.0.0.1,7054 timed out" "$(under "$policy" udp,127.0.0.1,7054 | sed 's/ECONNREFUSED/timed out/')"
done
is host/no-visit "$was" "$(heard)"

# ---- relayed ----
is relayed/tcp "tcp,127.0.0.1,7001 host" "$(under "$private" tcp,127.0.0.1,7001)"
is relayed/tcp6 "tcp,::1,7005 host" "$(under "$private" tcp,::1,7005)"
is relayed/udp "udp,127.0.0.53,7053 host from 127.0.0.53:7053" "$(under "$private" udp,127.0.0.53,7053)"
is relayed/not-in-the-other "tcp,127.0.0.1,7001 ECONNREFUSED" "$(under "$alone" tcp,127.0.0.1,7001)"
is relayed/denied "tcp,127.0.0.1,7001 EPERM" "$(under "$none" tcp,127.0.0.1,7001)"
is relayed/bulk "bulk,127.0.0.1,7006 5000000 same" "$(under "$private" bulk,127.0.0.1,7006)"
is relayed/nobody-listens "tcp,127.0.0.1,7009 ECONNRESET" "$(under "$private" tcp,127.0.0.1,7009)"
is relayed/many "$(for _ in {1..50}; do echo "tcp,127.0.0.1,7001 host"; done)" \
  "$(under "$private" $(for _ in {1..50}; do echo tcp,127.0.0.1,7001; done))"
mine_too=$(network mine-too "  loopback: private
  connect: [{address: 127.0.0.1, ports: [7001-7002], protocol: tcp}]
  bind: [{address: 127.0.0.1, ports: [7002], protocol: tcp}]")
is relayed/not-what-bind-lists $'tcp,127.0.0.1,7001 host\ntcp,127.0.0.1,7002 ECONNREFUSED\nown,127.0.0.1,7002 own' \
  "$(under "$mine_too" tcp,127.0.0.1,7001 tcp,127.0.0.1,7002 own,127.0.0.1,7002)"

# What a program sends before it ends arrives, as it does without a sandbox.
cat >"$tmp/sink.py" <<'P'
import socket
s = socket.create_server(("127.0.0.1", 7006 + 4))
print("ready", flush=True)
while True:
    client, size = s.accept()[0], 0
    try:
        while data := client.recv(65536): size += len(data)
        print(size, flush=True)
    except OSError as e:
        print(e.errno, flush=True)
P
python3 -IS "$tmp/sink.py" >"$tmp/sunk" & servers+=($!)
within 30 grep -q ready "$tmp/sunk"
sink=$(network sink "  loopback: private
  connect: [{address: 127.0.0.1, ports: [7010], protocol: tcp}]")
pour() { "$@" python3 -ISc 'import socket
s = socket.create_connection(("127.0.0.1", 7010)); s.sendall(b"x" * 1000000); s.close()' </dev/null 2>/dev/null; }
pour env
for _ in 1 2 3; do pour sbpf run -q -p "$sink" --; done
within 20 eval '[ $(wc -l <"$tmp/sunk") = 5 ]'
is relayed/all-that-was-sent "ready 1000000 1000000 1000000 1000000" "$(xargs <"$tmp/sunk")"
is relayed/low-ports "own,127.0.0.1,80 own" "$(sbpf run -q -p "$alone" -u 65534 -- python3 -IS "$tmp/loopback.py" own,127.0.0.1,80 </dev/null 2>/dev/null)"

# An audit changes nothing: it tells what the program uses of the host's loopback.
audit=$(sed 's/^name: .*/name: audit\nmode: audit/' "$alone" | policy audit)
out=$(sbpf run -p "$audit" -- python3 -IS "$tmp/loopback.py" tcp,127.0.0.1,7002 2>&1 </dev/null)
has audit/not-changed "tcp,127.0.0.1,7002 host" "$out"
has audit/told "connect tcp 127.0.0.1:7002" "$out"

# ---- beyond loopback ----
out=$(sbpf run -p "$private" -- python3 -IS "$tmp/loopback.py" tcp,192.0.2.1,80 2>&1 </dev/null)
has beyond/denied "tcp,192.0.2.1,80 EPERM" "$out"
has beyond/advice "network: {connect: [{address: 192.0.2.1, ports: [80], protocol: tcp}]}" "$out"
is beyond/interfaces lo "$(sbpf run -q -p "$private" -- sh -c 'ls /proc/sys/net/ipv4/conf; true' 2>/dev/null | grep -vx 'all\|default' | xargs)"

# ---- two at a time, and who is outside ----
for n in 1 2; do
  started "s$n" -q -p "$alone" --env WORD="of-$n" -- python3 -IS "$tmp/loopback.py" serve,127.0.0.1,8888 </dev/null >"$tmp/serves.$n" 2>&1
  is "two/serves-$n" 0 "$(within 30 grep -q serves "$tmp/serves.$n"; echo $?)"
done
is two/not-from-outside "tcp,127.0.0.1,8888 ECONNREFUSED" "$(try tcp,127.0.0.1,8888)"
is two/not-from-another "tcp,127.0.0.1,8888 ECONNREFUSED" "$(under "$alone" tcp,127.0.0.1,8888)"
is two/not-from-who-has-the-hosts "tcp,127.0.0.1,8888 ECONNREFUSED" "$(under "$host" tcp,127.0.0.1,8888)"
# The control: a process of the host in that network.
pid=$(members "$cgroots/sbpf/s1" | head -1)
is two/control "tcp,127.0.0.1,8888 of-1" "$(nsenter -t "$pid" -n python3 -IS "$tmp/loopback.py" tcp,127.0.0.1,8888)"
is two/status private "$(sbpf status s1 --json | json 'd["loopback"]')"

# ---- a process of the host's network in the cgroup has no loopback of the sandbox's: the policy's lists are what is open ----
# joins POLICY-NAME ARGUMENT…: of root's, moved there
joins() { sh -c 'echo $$ >"$0"/cgroup.procs && exec python3 -IS "$@"' "$cgroots/sbpf/$1" "$tmp/loopback.py" "${@:2}" 2>&1 </dev/null; }
started led -q -p "$private" -- sleep infinity </dev/null >/dev/null 2>"$tmp/led.err"
was=$(heard)
is joined/other $'tcp,127.0.0.1,7002 EPERM\nown,127.0.0.1,0 EPERM\nownudp,127.0.0.1,0 EPERM\nudp,127.0.0.1,7054 EPERM' \
  "$(joins led tcp,127.0.0.1,7002 own,127.0.0.1,0 ownudp,127.0.0.1,0 udp,127.0.0.1,7054)"
is joined/listed "tcp,127.0.0.1,7001 host" "$(joins led tcp,127.0.0.1,7001)"
is joined/no-visit "$was" "$(heard)"
# Nor has one of another sandbox's network.
pid=$(members "$cgroots/sbpf/led" | head -1)
is joined/of-another $'own,127.0.0.1,0 EPERM\ntcp,127.0.0.1,8888 EPERM' \
  "$(nsenter -t "$(members "$cgroots/sbpf/s1" | head -1)" -n sh -c 'echo $$ >"$0"/cgroup.procs && exec python3 -IS "$@"' "$cgroots/sbpf/led" "$tmp/loopback.py" own,127.0.0.1,0 tcp,127.0.0.1,8888 2>&1)"
is joined/of-its-own "own,127.0.0.1,0 own" \
  "$(nsenter -t "$pid" -n sh -c 'echo $$ >"$0"/cgroup.procs && exec python3 -IS "$@"' "$cgroots/sbpf/led" "$tmp/loopback.py" own,127.0.0.1,0 2>&1)"

# ---- the relay: a process outside, with nothing but its sockets ----
relay=$(pgrep -x sbpf-relay)
is relay/cgroup 0::/sbpf-resolver/led.relay "$(grep ^0:: "/proc/$relay/cgroup")"
is relay/no-capabilities "0000000000000000 0000000000000000" "$(awk '/^Cap(Prm|Bnd)/ { print $2 }' "/proc/$relay/status" | xargs)"
is relay/seccomp "1 2" "$(awk '/^(NoNewPrivs|Seccomp):/ { print $2 }' "/proc/$relay/status" | xargs)"
quiet relay/descriptors find "/proc/$relay/fd" -lname '/*' ! -lname /dev/null -print
is relay/network "$(readlink /proc/self/ns/net)" "$(readlink "/proc/$relay/ns/net")"
kill -9 "$relay"
is relay/lost "tcp,127.0.0.1,7001 ECONNREFUSED" "$(nsenter -t "$pid" -n sh -c 'echo $$ >"$0"/cgroup.procs && exec python3 -IS "$@"' "$cgroots/sbpf/led" "$tmp/loopback.py" tcp,127.0.0.1,7001 2>&1)"
is relay/lost-is-told 1 "$(within 10 grep -q 'the relay ended' "$tmp/led.err"; grep -c 'the relay ended: nothing is reached beyond the sandbox.s own loopback any more in led' "$tmp/led.err")"
is relay/lost-is-no-loss active "$(sbpf status led --json | json 'd["isolation"]')"
started of-user -q -p "$private" -u 65534 -- sleep infinity </dev/null >/dev/null 2>&1
relay=$(pgrep -n -x sbpf-relay)
is relay/user 65534 "$(stat -c %u "/proc/$relay")"
kill -9 "$started"
is relay/ends-with-its-supervisor 0 "$(within 10 sh -c "! kill -0 $relay 2>/dev/null"; echo $?)"

# ---- a swap takes it and gives it back ----
started swapped -q -p "$alone" -- python3 -IS "$tmp/loopback.py" hold,127.0.0.1,0 own,127.0.0.1,0 </dev/null >"$tmp/swapped" 2>&1
# What is relayed does not become the sandbox's own.
out=$(sbpf swap led -p "$alone" 2>&1); is swap/relayed-is-not-its-own 2 $?
has swap/relayed-is-named "the sandbox began with other ports that are relayed, and these cannot change under a private loopback" "$out"
is swap/relayed-stays private "$(sbpf status led --json | json 'd["policy"]["name"]')"
is swap/holds 0 "$(within 30 grep -q holds "$tmp/swapped"; echo $?)"
other=$(network other "  loopback: private"$'\n'"  bind: [{address: 127.0.0.1, ports: [1]}]")
out=$(sbpf swap swapped -p "$other"); is swap/to-private 0 $?
hasnt swap/to-private-ends-nothing ended "$out"
out=$(sbpf swap swapped -p "$private" 2>&1); is swap/to-more-relayed 2 $?
out=$(sbpf swap swapped -p "$none")
has swap/to-none-ends-it "ended tcp connection to 127.0.0.1" "$out"
is swap/told $'hold,127.0.0.1,0 ECONNABORTED\nown,127.0.0.1,0 EPERM' "$(within 20 grep -q ^own "$tmp/swapped"; grep ,127 "$tmp/swapped" | sed s/ECONNRESET/ECONNABORTED/)"  # by whose end went first
# What a process of another network has is cut as ever.
started led2 -q -p "$private" -- sleep infinity </dev/null >/dev/null 2>&1
sbpf swap led2 -p "$host" >/dev/null; is swap/to-the-hosts 0 $?
joins led2 stay,127.0.0.1,7002 >"$tmp/stays" & servers+=($!)
is swap/stays 0 "$(within 30 grep -q stays "$tmp/stays"; echo $?)"
has swap/ends-what-is-of-another-network "ended tcp connection to 127.0.0.1:7002" "$(sbpf swap led2 -p "$private")"
started back -q -p "$none" -- sleep infinity </dev/null >/dev/null 2>&1
has swap/none-made "loopback: closed" "$(sbpf swap back -p "$alone")"
pid=$(members "$cgroots/sbpf/back" | head -1)
is swap/none-made-opens-nothing $'own,127.0.0.1,0 EPERM\ntcp,127.0.0.1,7002 EPERM' "$(joins back own,127.0.0.1,0 tcp,127.0.0.1,7002)"
is swap/none-made-status closed "$(sbpf status back --json | json 'd["loopback"]')"

# ---- attach starts no program ----
inhabit "$cgroots/outside"
has attach/told "loopback: closed" "$(sbpf attach --cgroup "$cgroots/outside" -p "$private" -n outside)"
is attach/opens-nothing $'own,127.0.0.1,0 EPERM\ntcp,127.0.0.1,7002 EPERM\ntcp,127.0.0.1,7001 host' \
  "$(sh -c 'echo $$ >"$0"/cgroup.procs && exec python3 -IS "$@"' "$cgroots/outside" "$tmp/loopback.py" own,127.0.0.1,0 tcp,127.0.0.1,7002 tcp,127.0.0.1,7001 2>&1)"
sbpf detach outside >/dev/null
kill "$sleeper"

# ---- profiles, as they are and over the host's loopback ----
mkdir -p /workspace
cp "$tmp/loopback.py" /workspace/
for profile in code-interpreter benchmark-task untrusted python-dev node-dev java-dev go-dev rust-dev jupyter browser; do
  slow=$(policy "slow-$profile" <<<"{version: 1, name: slow, extends: [$profile], process: {limits: {timeout: 5m, cpu: 2}}}")
  is "profiles/$profile" $'own,127.0.0.1,0 own\nown,::1,0 own\ntcp,127.0.0.1,7002 ECONNREFUSED\ntcp,192.0.2.1,80 EPERM' \
    "$(sbpf run -q -p "$slow" -- python3 -IS /workspace/loopback.py own,127.0.0.1,0 own,::1,0 tcp,127.0.0.1,7002 tcp,192.0.2.1,80 </dev/null 2>/dev/null)"
done

# ---- nothing is left ----
for name in s1 s2 led led2 of-user swapped back; do sbpf kill "$name" >/dev/null 2>&1; done
within 30 eval "[ \"\$(networks)\" = $before ]"; is left/networks "$before" "$(networks)"
none left/relays pgrep -x sbpf-relay
end_all
finish
