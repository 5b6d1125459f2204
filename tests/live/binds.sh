#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A bind to the wildcard becomes one to loopback where the policy lists the port there, and is refused elsewhere.
. "$(dirname "$0")/lib.sh"
keep_loaded
ip link set lo up
far=192.0.2.84
ip address add $far/32 dev lo
EPERM=1

# network NAME LINES: a policy whose section network is that
network() { policy "$1" <<<$'version: 1\nname: '"$1"$'\nnetwork:\n'"$2"; }
# bound POLICY CASE…: what binds.py prints in a sandbox, and what sbpf says is denied
bound() { sbpf run --policy "$1" -- python3 -IS "$here/binds.py" "${@:2}" </dev/null 2>&1 | grep -v "isolation active"; }
v4=$(network v4 '  bind: [{address: 127.0.0.1, ports: [0, 7300], protocol: tcp}, {address: 127.0.0.1, ports: [7301], protocol: udp}]')
v6=$(network v6 '  bind: [{address: "::1", ports: [7300], protocol: any}]')
both=$(network both '  bind: [{address: 127.0.0.1, ports: [7300], protocol: any}, {address: "::1", ports: [7300], protocol: any}]')
wide=$(network wide '  bind: [{address: 0.0.0.0, ports: [7300], protocol: tcp}, {address: 127.0.0.1, ports: [7300], protocol: tcp}]')
other=$(network other '  bind: [{address: 127.0.0.2, ports: [0, 7300], protocol: any}]')
audit=$(policy audit <<<$'version: 1\nname: audit\nmode: audit\nnetwork: {bind: [{address: 127.0.0.1, ports: [7300], protocol: tcp}]}')

# becomes NAME POLICY CASE WANTED: quietly
becomes() { is "$1" "$3 $4" "$(bound "$2" "$3")"; }
# refused NAME POLICY CASE
refused() { has "$1" "$3 failed bind $EPERM" "$(bound "$2" "$3")"; }
is control "tcp,4,0.0.0.0,7300 is 0.0.0.0 7300" "$(python3 -IS "$here/binds.py" tcp,4,0.0.0.0,7300 </dev/null)"
becomes v4/tcp "$v4" tcp,4,0.0.0.0,7300 "is 127.0.0.1 7300"
becomes v4/udp "$v4" udp,4,0.0.0.0,7301 "is 127.0.0.1 7301"
becomes v4/port-0 "$v4" tcp,4,0.0.0.0,0 "is 127.0.0.1 picked"
refused v4/other-port "$v4" tcp,4,0.0.0.0,7301
refused v4/other-protocol "$v4" udp,4,0.0.0.0,7300
refused v4/other-port-0 "$v4" udp,4,0.0.0.0,0
refused v4/without-v4 "$v6" tcp,4,0.0.0.0,7300
refused v4/other-loopback "$other" tcp,4,0.0.0.0,7300
refused v6/other-loopback "$other" tcp,6,::,7300
becomes v6/on-v4 "$v4" tcp,6,::,7300 "is ::ffff:127.0.0.1 7300"
becomes v6/udp-on-v4 "$v4" udp,6,::,7301 "is ::ffff:127.0.0.1 7301"
becomes v6/on-v6 "$v6" tcp,6,::,7300 "is ::1 7300"
becomes v6/on-both "$both" tcp,6,::,7300 "is ::ffff:127.0.0.1 7300"
becomes v6/mapped "$both" tcp,6,::ffff:0.0.0.0,7300 "is ::ffff:127.0.0.1 7300"
refused v6/mapped-without-v4 "$v6" tcp,6,::ffff:0.0.0.0,7300
refused v6/other-address "$both" tcp,6,::2,7300
refused v6/other-network "$both" tcp,6,2001:db8::,7300
has told/as-it-was-asked "denied bind tcp [::]:7300" "$(bound "$other" tcp,6,::,7300)"
has told/v4-as-it-was-asked "denied bind tcp 0.0.0.0:7300" "$(bound "$other" tcp,4,0.0.0.0,7300)"
becomes v6only/on-v6 "$v6" tcp,6only,::,7300 "is ::1 7300"
becomes v6only/on-both "$both" tcp,6only,::,7300 "is ::1 7300"
becomes v6only/udp-on-both "$both" udp,6only,::,7300 "is ::1 7300"
refused v6only/without-v6 "$v4" tcp,6only,::,7300
# Both sockets of a server that makes one for each family.
is two/for-one-port $'tcp,4,0.0.0.0,7300 is 127.0.0.1 7300\ntcp,6only,::,7300 is ::1 7300' \
  "$(bound "$both" tcp,4,0.0.0.0,7300 tcp,6only,::,7300)"
becomes wide/stays-wide "$wide" tcp,4,0.0.0.0,7300 "is 0.0.0.0 7300"
has audit/changes-nothing "tcp,4,0.0.0.0,7300 is 0.0.0.0 7300" "$(bound "$audit" tcp,4,0.0.0.0,7300)"
has audit/is-told "bind tcp 0.0.0.0:7300" "$(bound "$audit" tcp,4,0.0.0.0,7300)"

# A UDP server on the wildcard, by a rule for that, names the address at which it was asked as the source of its answer.
cat >"$tmp/source.py" <<'P'
# ADDRESS TO FROM: binds ADDRESS, and sends to TO with FROM as the source, without an interface and with lo's. Prints each errno.
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 7310))
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
for index in 0, 1:
    info = struct.pack("i4s4s", index, socket.inet_aton(sys.argv[3]), bytes(4))
    try:
        s.sendmsg([b"word"], [(socket.IPPROTO_IP, 8, info)], 0, (sys.argv[2], 7311))
        print(0, end=" ")
    except OSError as e:
        print(e.errno, end=" ")
P
# source POLICY ADDRESS TO FROM
source() { sbpf run -q --policy "$1" -- python3 -IS "$tmp/source.py" "${@:2}" </dev/null 2>/dev/null; }
to='connect: [{address: 127.0.0.1, ports: [7311], protocol: udp}, {address: 239.255.83.66, ports: [7311], protocol: udp}]'
answers=$(network answers "  bind: [{address: 0.0.0.0, ports: [7310], protocol: udp}]"$'\n'"  $to"$'\n  interfaces: [lo]')
asked=$(network asked "  bind: [{address: 127.0.0.1, ports: [7310], protocol: udp}]"$'\n'"  $to")
ENETUNREACH=101
is source/control "0 0 " "$(python3 -IS "$tmp/source.py" 0.0.0.0 127.0.0.1 $far)"
is source/of-the-host "0 $EPERM " "$(source "$answers" 0.0.0.0 127.0.0.1 $far)"
is source/of-another-host "$ENETUNREACH $EPERM " "$(source "$answers" 0.0.0.0 127.0.0.1 192.0.2.99)"
is source/to-a-group "$EPERM $EPERM " "$(source "$answers" 0.0.0.0 239.255.83.66 $far)"
is source/without-the-rule "$EPERM $EPERM " "$(source "$asked" 0.0.0.0 127.0.0.1 $far)"

# Servers as programs start them, under the profiles for development.
cat >"$tmp/servers.py" <<'P'
import asyncio, socket, sys
async def main():
    for host, port in (("localhost", 8000), (None, 8001), ("localhost", 0), (None, 0)):
        try:
            server = await asyncio.start_server(lambda r, w: w.close(), host, port)
            print(host, port, *sorted(s.getsockname()[0] for s in server.sockets))
            for s in server.sockets if port else ():
                with socket.create_connection(s.getsockname()[:2]): pass
            server.close()
        except OSError as e:
            print(host, port, e.errno)
asyncio.run(main())
P
cat >"$tmp/servers.js" <<'J'
const net = require("net");
const ports = [3001, 0];
const next = () => {
  if (!ports.length) return;
  const port = ports.shift(), server = net.createServer(s => s.end()).on("error", e => { console.log(port, e.code); next(); });
  server.listen(port, () => { console.log(port, server.address().address); server.close(next); });
};
next();
J
wanted=$'localhost 8000 127.0.0.1 ::1\nNone 8001 127.0.0.1 ::1\nlocalhost 0 127.0.0.1 ::1\nNone 0 127.0.0.1 ::1'
on_host() { policy "$1-on-host" <<<"{version: 1, name: $1-on-host, extends: [$1], network: {loopback: host}}"; }
is profiles/python-dev "$wanted" "$(sbpf run -q --policy "$(on_host python-dev)" -- python3 -IS "$tmp/servers.py" 2>"$tmp/err")"
is profiles/node-dev $'3001 ::ffff:127.0.0.1\n0 ::ffff:127.0.0.1' "$(sbpf run -q --policy "$(on_host node-dev)" -- node "$tmp/servers.js" 2>"$tmp/err")"
# On a loopback of the sandbox's own they are where they were asked to be.
wanted=$'localhost 8000 127.0.0.1 ::1\nNone 8001 0.0.0.0 ::\nlocalhost 0 127.0.0.1 ::1\nNone 0 0.0.0.0 ::'
is profiles/python-dev-private "$wanted" "$(sbpf run -q --policy python-dev -- python3 -IS "$tmp/servers.py" 2>"$tmp/err")"
is profiles/node-dev-private $'3001 ::\n0 ::' "$(sbpf run -q --policy node-dev -- node "$tmp/servers.js" 2>"$tmp/err")"

# Who reaches it.
reach() { if timeout 5 bash -c ": </dev/tcp/$1/7300" 2>/dev/null; then echo yes; else echo no; fi; }
# served CASE POLICY…: is the server reached by 127.0.0.1, ::1 and the far address?
served() {
  rm -f "$tmp/go" "$tmp/said"
  mkfifo "$tmp/go"
  "${@:2}" python3 -IS "$here/binds.py" "$1" <"$tmp/go" >"$tmp/said" 2>/dev/null & local server=$!
  exec 7>"$tmp/go"
  within 60 grep -qs " is " "$tmp/said"
  echo "$(reach 127.0.0.1) $(reach ::1) $(reach $far)"
  exec 7>&-
  wait $server
}
is reach/control "yes yes yes" "$(served tcp,6,::,7300)"
inside() { sbpf run -q --policy "$1" -- "${@:2}"; }
is reach/v4 "yes no no" "$(served tcp,4,0.0.0.0,7300 inside "$both")"
is reach/v6 "yes no no" "$(served tcp,6,::,7300 inside "$both")"
is reach/v6only "no yes no" "$(served tcp,6only,::,7300 inside "$both")"

# A sandbox within a sandbox: what both list.
nested() {
  local outer=$1 inner=$2 cgroup=$cgroots/binds
  mkdir -p "$cgroup/inner"
  sbpf attach --name outer --policy "$outer" --cgroup "$cgroup" >/dev/null
  sbpf attach --name inner --policy "$inner" --cgroup "$cgroup/inner" >/dev/null
  (echo $BASHPID >"$cgroup/inner/cgroup.procs" && exec python3 -IS "$here/binds.py" "${@:3}" </dev/null)
  sbpf detach inner >/dev/null 2>&1; sbpf detach outer >/dev/null 2>&1
  rmdir "$cgroup/inner" "$cgroup"
}
is nested/both "tcp,4,0.0.0.0,7300 is 127.0.0.1 7300" "$(nested "$v4" "$both" tcp,4,0.0.0.0,7300)"
is nested/wide-outside "tcp,4,0.0.0.0,7300 is 127.0.0.1 7300" "$(nested "$wide" "$v4" tcp,4,0.0.0.0,7300)"
is nested/wide-inside "tcp,4,0.0.0.0,7300 is 127.0.0.1 7300" "$(nested "$v4" "$wide" tcp,4,0.0.0.0,7300)"
is nested/not-outside "tcp,4,0.0.0.0,7300 failed bind $EPERM" "$(nested "$other" "$v4" tcp,4,0.0.0.0,7300)"
is nested/not-inside "tcp,4,0.0.0.0,7300 failed bind $EPERM" "$(nested "$v4" "$other" tcp,4,0.0.0.0,7300)"
finish
