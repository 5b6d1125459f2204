#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A send that is refused leaves no open port behind: the kernel binds a UDP socket before it asks whether the datagram may go.
. "$(dirname "$0")/lib.sh"
keep_loaded
ip link set lo up
cat >"$tmp/sends.py" <<'P'
# Sends in one way, then waits for somebody outside. Prints the errno of the send, and what came.
import errno, os, socket, sys, time
how, work = sys.argv[1:3]
family = socket.AF_INET6 if how in ("inet6", "mapped", "unspec") else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM)
s.settimeout(2)
error = 0
try:
    if how == "sendto":
        s.sendto(b"x", ("192.0.2.7", 9))
    elif how == "empty":
        s.sendto(b"", ("192.0.2.7", 9))
    elif how == "sendmsg":
        s.sendmsg([b"x"], [], 0, ("192.0.2.7", 9))
    elif how == "nobody":
        s.send(b"x")
    elif how == "inet6":
        s.sendto(b"x", ("2001:db8::7", 9))
    elif how == "mapped":
        s.sendto(b"x", ("::ffff:192.0.2.7", 9))
    elif how == "port":
        s.sendto(b"x", ("127.0.0.1", 7001))
    elif how == "corked":
        s.sendmsg([b"x"], [], socket.MSG_MORE, ("192.0.2.7", 9))
    elif how == "again":
        for port in (9, 10):
            try:
                s.sendto(b"x", ("192.0.2.7", port))
            except OSError as e:
                error = e.errno
except OSError as e:
    error = e.errno
with open(work + "/port.new", "w") as f:
    f.write(str(s.getsockname()[1]))
os.rename(work + "/port.new", work + "/port")
try:
    got = s.recv(100).decode()
except OSError:
    got = "nothing"
print(error, got)
P
# heard HOW COMMAND…: what it prints, while somebody outside sends to the port that the socket got, if it got one
heard() {
  local how=$1 port=
  shift
  rm -f "$tmp/port"
  "$@" python3 -IS "$tmp/sends.py" "$how" "$tmp" >"$tmp/said" 2>/dev/null & local sender=$!
  within 60 test -e "$tmp/port"
  port=$(cat "$tmp/port")
  [[ $port != 0 ]] && python3 -c 'import socket, sys
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    s = socket.socket(family, socket.SOCK_DGRAM)
    try: s.sendto(b"word", (address, int(sys.argv[1])))
    except OSError: pass' "$port"
  wait $sender
  echo "$(cat "$tmp/said")$([[ $port == 0 ]] && echo ', no port')"
}
allow=$(policy allow <<<$'version: 1\nname: allow\nnetwork: {connect: [{address: 192.0.2.7, ports: [9, 10], protocol: udp}, {address: "2001:db8::7", ports: [9], protocol: udp}, {address: 127.0.0.1, ports: [7001], protocol: udp}]}')
open=$(policy open <<<$'version: 1\nname: open\nnetwork: {dangerously_allow_all: true}')
audit=$(policy audit <<<$'version: 1\nname: audit\nmode: audit')
EPERM=1 EDESTADDRREQ=89
for how in sendto empty sendmsg inet6 mapped port corked again; do
  has "$how/control" word "$(heard $how)"
  is "$how/denied" "$EPERM nothing, no port" "$(heard $how sbpf run -q --policy no-network --)"
  has "$how/all-allowed" word "$(heard $how sbpf run -q --policy "$open" --)"
  has "$how/audited" word "$(heard $how sbpf run -q --policy "$audit" --)"
  has "$how/allowed" word "$(heard $how sbpf run -q --policy "$allow" --)"
done
# To nobody: the same answer as the kernel's, which binds the socket first.
is nobody/control "$EDESTADDRREQ word" "$(heard nobody)"
for policy in no-network "$allow"; do
  is "nobody/$(basename "$policy" .yaml)" "$EDESTADDRREQ nothing, no port" "$(heard nobody sbpf run -q --policy "$policy" --)"
done
out=$(sbpf run --policy no-network -- python3 -c 'import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.7", 9))' 2>&1)
has event/says-where "denied send udp 192.0.2.7:9" "$out"
has event/says-what-allows "{address: 192.0.2.7, ports: [9], protocol: udp}" "$out"
finish
