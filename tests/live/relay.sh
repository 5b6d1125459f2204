#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who relays into a sandbox's own network: what a swap takes from the relay, what it can bear, and what becomes of its end.
. "$(dirname "$0")/lib.sh"
ip link set lo up
to=93.184.216.34 other=93.184.216.35
for address in $to $other; do ip addr add $address/32 dev lo; done
# Takes connections, and reads none before it is told to; then it tells how much came, and how that ended. Closes none.
cat >"$tmp/late.py" <<'P'
import os, resource, select, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if len(sys.argv) > 4: server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(sys.argv[4]))
server.bind((sys.argv[1], int(sys.argv[2])))
server.listen(1000)
print("ready", flush=True)
held, seen = {}, 0
while True:
    reads = os.path.exists(sys.argv[3])
    for ready in select.select([server, *(held if reads else [])], [], [], 0.2)[0]:
        if ready is server:
            held[server.accept()[0]] = 0
            print("visit", flush=True)
            continue
        try:
            data = ready.recv(65536)
            held[ready] += len(data)
            if data: continue
            print("all", held[ready], flush=True)
        except OSError as e:
            print("cut", flush=True)
        del held[ready]
P
# late NAME ADDRESS PORT [BUFFER]: its output in $tmp/NAME, and it reads once there is $tmp/NAME.reads
late() {
  python3 -IS "$tmp/late.py" "$2" "$3" "$tmp/$1.reads" "${@:4}" >"$tmp/$1" 2>&1 & servers+=($!)
  within 30 grep -q ready "$tmp/$1"
}
echoes() { # echoes ADDRESS PORT
  socat "TCP-LISTEN:$2,bind=$1,fork,reuseaddr,backlog=200" EXEC:cat & servers+=($!)
  within 30 eval "ss -tln | grep -q '$1:$2 '"
}
late slow $to 443 4096
late wide $to 444
echoes $other 443
keep_loaded
network() { # network NAME LOOPBACK ENTRY…
  { printf 'version: 1\nname: %s\nnetwork:\n  loopback: %s\n  connect:\n' "$1" "$2"; printf '    - %s\n' "${@:3}"; } | policy "$1"
}
both="{cidr: 93.184.216.0/24, ports: [443, 444], protocol: tcp}" one="{address: $other, ports: [443, 444], protocol: tcp}"
private=$(network private private "$both") host=$(network host host "$both") fewer=$(network fewer private "$one")
none=$(policy none <<<$'version: 1\nname: none')
relay_of() { cat "$cgroots/sbpf-resolver/$1.relay/cgroup.procs"; }
visitors() { grep -c visit "$tmp/slow"; }

# ---- a swap ends what is on its way ----
# sends NAME POLICY COMMAND…: a program that sends a megabyte and closes the socket, then COMMAND, then it is read
sent='import socket, sys, time
c = socket.create_connection(("'$to'", 443))
if len(sys.argv) > 1: c = socket.create_connection(("'$to'", 443), source_address=(sys.argv[1], 0))
c.sendall(b"z" * 1000000); c.close(); print("sent", flush=True); time.sleep(1000)'
sends() {
  rm -f "$tmp/slow.reads"
  local before
  before=$(wc -l <"$tmp/slow")
  started "$1" -q -p "$2" -- python3 -ISc "$sent" </dev/null >"$tmp/$1.out" 2>&1
  within 60 grep -q sent "$tmp/$1.out"; is "held/$1/sent" 0 $?
  "${@:3}"
  touch "$tmp/slow.reads"
  within 30 eval "tail -n +$((before + 1)) '$tmp/slow' | grep -q 'all\|cut'"
  end="$(tail -n +$((before + 1)) "$tmp/slow" | grep -o 'all 1000000\|all\|cut')"
  sbpf kill "$1" >/dev/null
}
sends control "$private" true; is held/control/read "all 1000000" "$end"
swapped() { ended=$(sbpf swap "$1" -p "$2" 2>&1); is "held/$1/swap" 0 $?; }
for name in host private; do
  sends $name "${!name}" swapped $name "$none"; is "held/$name/cut" cut "$end"
  has "held/$name/told" "ended tcp connection to $to:443" "$ended"
done
sends fewer "$private" swapped fewer "$fewer"; is held/fewer/cut cut "$end"
# One that bound its own loopback is no server.
bound=$(sed 's/^c = .*//' <<<"$sent")
started bound -q -p "$private" -- python3 -ISc "$bound" 127.0.0.1 </dev/null >"$tmp/bound.out" 2>&1
within 60 grep -q sent "$tmp/bound.out"; is held/bound/sent 0 $?
has held/bound/told "ended tcp connection to $to:443" "$(sbpf swap bound -p "$fewer" 2>&1)"
sbpf kill bound >/dev/null

# ---- what a client of UDP had is ended, and what it asks for later is new ----
cat >"$tmp/answers.py" <<'P'
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 443))
print("ready", flush=True)
while True: s.sendto(b"host", s.recvfrom(100)[1])
P
python3 -IS "$tmp/answers.py" $to >"$tmp/answers" & servers+=($!)
within 30 grep -q ready "$tmp/answers"
udp="{cidr: 93.184.216.0/24, ports: [443], protocol: udp}"
datagrams=$(network datagrams private "$udp") fewer_datagrams=$(network fewer-datagrams private "{address: $other, ports: [443], protocol: udp}")
mkfifo "$tmp/ask" "$tmp/answer"
exec 8<>"$tmp/ask" 9<>"$tmp/answer"
started udp -q -p "$datagrams" -- python3 -ISc 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)
for _ in sys.stdin:
    try: s.sendto(b"hi", ("'$to'", 443)); print(s.recv(10).decode(), flush=True)
    except OSError as e: print(e.errno, flush=True)' <"$tmp/ask" >"$tmp/answer" 2>/dev/null
asks_again() { echo >&8; read -r -t 20 -u 9 got; echo "$got"; }
is udp/answered host "$(asks_again)"
sbpf swap udp -p "$fewer_datagrams" >"$tmp/ended" 2>&1; is udp/swap 0 $?
has udp/told "ended udp connection to $to:443" "$(cat "$tmp/ended")"
is udp/denied 1 "$(asks_again)"
sbpf swap udp -p "$datagrams" >/dev/null 2>&1; is udp/back 0 $?
is udp/answered-again host "$(asks_again)"
sbpf kill udp >/dev/null
# A connected one sends unasked. That it is bound to its own loopback makes it no server.
started bound-udp -q -p "$datagrams" -- python3 -ISc 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); s.bind(("127.0.0.1", 0)); s.connect(("'$to'", 443))
for _ in sys.stdin:
    try: s.send(b"hi"); print(s.recv(10).decode(), flush=True)
    except OSError as e: print(e.errno, flush=True)' <"$tmp/ask" >"$tmp/answer" 2>/dev/null
is udp/bound host "$(asks_again)"
sbpf swap bound-udp -p "$fewer_datagrams" >/dev/null 2>&1
is udp/bound-is-ended 0 "$([[ $(asks_again) =~ ^(89|103)$ ]]; echo $?)" # EDESTADDRREQ, ECONNABORTED
sbpf kill bound-udp >/dev/null

# ---- and what waits to be accepted, with nobody inside who has it ----
waiting='import socket
for _ in range(6):
    c = socket.create_connection(("'$to'", 443)); c.sendall(b"secret"); c.close()
print("sent")'
queued() { # queued NAME COMMAND…
  started "$1" -q -p "$private" -- sleep 10000 </dev/null >/dev/null 2>&1
  kill -STOP "$(relay_of "$1")"
  is "queued/$1/sent" sent "$(sbpf exec -q "$1" -- python3 -ISc "$waiting" </dev/null 2>/dev/null)"
  before=$(visitors)
  "${@:2}"
  kill -CONT "$(relay_of "$1")"
}
swap_queued() { sbpf swap "$1" -p "$fewer" >/dev/null 2>&1; is "queued/$1/swap" 0 $?; }
queued open true
within 30 eval '(($(visitors) == before + 6))'; is queued/control 0 $?
sbpf kill open >/dev/null
queued shut swap_queued shut
is queued/others-go-on "hi" "$(sbpf exec -q shut -- python3 -ISc "import socket
c = socket.create_connection((\"$other\", 443), 20); c.sendall(b'hi'); print(c.recv(10).decode())" 2>/dev/null </dev/null)"
is queued/nobody-visits "$before" "$(visitors)"
sbpf kill shut >/dev/null

# ---- connections that a program has closed, and a host that does not close ----
rm -f "$tmp/slow.reads"
many='import socket
for _ in range(450):
    c = socket.create_connection(("'$to'", 443), 20); c.sendall(b"x"); c.close()
c = socket.create_connection(("'$other'", 443), 20); c.settimeout(20); c.sendall(b"hi"); print(c.recv(10).decode())'
for name in host private; do is "many/$name" hi "$(sbpf run -q -p "${!name}" -- python3 -ISc "$many" 2>&1 </dev/null | tail -1)"; done

# ---- connections that nobody reads, until the relay has no more room ----
full='import resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
held = []
for _ in range(380):
    c = socket.create_connection(("'$to'", 444), 20); c.setblocking(False); held.append(c)
for _ in range(20):
    for c in held:
        try:
            while True: c.send(b"x" * 65536)
        except OSError: pass
print("full", flush=True); time.sleep(1000)'
started full -q -p "$private" -- python3 -ISc "$full" </dev/null >"$tmp/full.out" 2>&1
within 120 grep -q full "$tmp/full.out"; is full/control 0 $?
is full/was-not-killed "oom_kill 0" "$(grep -w oom_kill "$cgroots/sbpf-resolver/full.relay/memory.events")"
is full/serves hi "$(sbpf exec -q full -- python3 -ISc "import socket
c = socket.create_connection((\"$other\", 443), 20); c.sendall(b'hi'); print(c.recv(10).decode())" 2>/dev/null </dev/null)"
sbpf kill full >/dev/null

# ---- where nobody listens it does not connect to itself ----
range=$(cat /proc/sys/net/ipv4/ip_local_port_range)
echo "40000 40007" >/proc/sys/net/ipv4/ip_local_port_range
itself='import socket
told = set()
for _ in range(10):
    for port in range(40000, 40008):
        s = socket.socket(); s.settimeout(5)
        try: s.connect(("127.0.0.1", port)); s.recv(10); told.add("reached")
        except ConnectionError: told.add("reset")
        except OSError: told.add("reached")
print(*told)'
is itself/control connected "$(python3 -ISc 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 40001)); s.connect(("127.0.0.1", 40001)); print("connected")')"
is itself/private reset "$(sbpf run -q -p "$(network itself private '{address: 127.0.0.1, ports: [40000-40007], protocol: tcp}')" -- python3 -ISc "$itself" </dev/null 2>/dev/null)"
echo "$range" >/proc/sys/net/ipv4/ip_local_port_range

# ---- its end: nobody takes its place ----
takes='import socket, sys
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
try: s.bind(("0.0.0.0", int(sys.argv[1]))); s.listen(); print("taken")
except OSError as e: print(e.errno)'
asks="import socket
try: print(socket.create_connection((\"$other\", 443), 20).getpeername()[0])
except OSError as e: print(e.errno)"
inside() { sbpf exec -q box -- python3 -ISc "$@" </dev/null 2>/dev/null; }
started box -q -p "$private" -- sleep 10000 </dev/null >/dev/null 2>"$tmp/box.err"
is end/control taken "$(inside "$takes" 8443)"
is end/before 98 "$(inside "$takes" 443)" # EADDRINUSE
is end/reached $other "$(inside "$asks")"
kill -9 "$(relay_of box)"
within 20 eval '[[ $(inside "$asks") == 111 ]]'; is end/refused 0 $? # ECONNREFUSED
is end/not-taken 98 "$(inside "$takes" 443)"
is end/still-refused 111 "$(inside "$asks")"
sbpf kill box >/dev/null

# ---- a host without IPv6: a name that has such an address, too, is reached by the other one ----
dnsmasq --no-daemon --no-resolv --no-hosts --listen-address=127.0.0.1 --bind-interfaces --user=root --pid-file= \
  --host-record=a.example,$other,2606:4700::1111 >/dev/null 2>&1 & servers+=($!)
echo "nameserver 127.0.0.1" >/etc/resolv.conf
within 30 getent hosts a.example >/dev/null
by_name=$(network by-name private '{host: a.example, ports: [443], protocol: tcp}')
both_ways='import socket
for family, _, _, _, to in socket.getaddrinfo("a.example", 443, 0, socket.SOCK_STREAM) + [(socket.AF_INET6, 0, 0, "", ("2606:4700::1111", 443))]:
    try: s = socket.socket(family); s.settimeout(20); s.connect(to); print(to[0])
    except OSError as e: print(e.errno)'
ip -6 route flush default
ip -6 addr flush dev dummy0 2>/dev/null
is no-ipv6/control 101 "$(python3 -ISc "$both_ways" | tail -1)" # ENETUNREACH
is no-ipv6/private 101 "$(sbpf run -q -p "$by_name" -- python3 -ISc "$both_ways" 2>/dev/null </dev/null | tail -1)"
has no-ipv6/reached $other "$(sbpf run -q -p "$by_name" -- python3 -ISc "$both_ways" 2>/dev/null </dev/null)"

# ---- where a listed port is the one at which names are asked for, that is said ----
echo "nameserver 127.0.0.53" >/etc/resolv.conf
asked=$(network asked private '{host: a.example, ports: [443], protocol: tcp}' '{address: 8.8.8.8, ports: [53]}')
out=$(sbpf run -q -p "$asked" -- true 2>&1 </dev/null); is names/port-53 125 $?
has names/port-53-is-named "host names are asked of 127.0.0.53 port 53 here" "$out"
echo "nameserver 127.0.0.1" >/etc/resolv.conf

# ---- a user's run: the end of its relay is not that of its resolver ----
. "$here/users_world.sh"
start
user sbpf run -q --name kept -p "$by_name" -- sleep 1000 </dev/null >/dev/null 2>&1 & servers+=($!)
within 120 exists u4242-kept
name='import socket
try: print(socket.create_connection(("a.example", 443), 20).getpeername()[0])
except OSError as e: print(e.errno)'
by_user() { user sbpf exec -q u4242-kept -- python3 -ISc "$@" </dev/null 2>/dev/null; }
within 60 eval '[[ $(by_user "$name") == "$other" ]]'; is users/reached 0 $?
kill -9 "$(relay_of u4242-kept)"
within 20 eval '[[ $(by_user "$name") == 111 ]]'; is users/refused 0 $?
has users/resolves $other "$(by_user 'import socket; print(socket.getaddrinfo("a.example", 443))')"
is users/not-taken 98 "$(by_user "$takes" 443)"
is users/active active "$(sbpf status u4242-kept --json | json 'd["isolation"]')"
sbpf kill u4242-kept >/dev/null
within 30 eval '[[ ! -e $cgroots/sbpf-resolver ]]'
kill $daemon; wait $daemon 2>/dev/null
clean
is left-behind "" "$(left_behind)"
finish
