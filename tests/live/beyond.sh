#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a sandbox with a loopback of its own reaches beyond it: what its policy lists by address, network and name, by the relay.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
hands=$(cat "$here/host_names.py")
EPERM=1 ECONNREFUSED=111
keep_loaded
. "$here/host_names_world.sh"
cp "$here/loopback.py" /srv/loopback.py
# Answers each datagram.
cat >"$tmp/answers.py" <<'P'
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM)
s.bind((sys.argv[1], int(sys.argv[2])))
print("ready", flush=True)
while True:
    data, client = s.recvfrom(100)
    s.sendto(b"host", client)
    print("visit", flush=True)
P
for address in $good $good_w $good6 127.0.0.1; do
  python3 -IS "$tmp/answers.py" $address 5300 >"$tmp/answers-$address" & servers+=($!)
  within 30 grep -q ready "$tmp/answers-$address"
done
# private NAME ENTRY…: a policy with a private loopback that asks dnsmasq
private() {
  { printf 'version: 1\nname: %s\nnetwork:\n  loopback: private\n  dns: {resolver: 127.0.0.1}\n  connect:\n' "$1"
    printf '    - %s\n' "${@:2}"; } | policy "$1"
}
# under POLICY ARGUMENT…: of loopback.py
under() { sbpf run -q -p "$1" -- python3 -IS /srv/loopback.py "${@:2}" </dev/null 2>/dev/null; }
heard() { visits tcp "$1" 443; }
hands_of free env

# ---- names ----
mapfile -t entries < <(hosts a.example '*.w.example' rebind.example)
box named "$(private named "${entries[@]}" "{address: $evil, ports: [853], protocol: tcp}")"
has names/active "isolation active" "$(cat "$tmp/named.err")"
is names/status private "$(sbpf status named --json | json 'd["loopback"]')"
was=$(($(heard $good) + $(heard $good6)))
is names/control 0 "$(ask free connect $good 443)"
is names/before $EPERM "$(ask named connect $good 443)"
is names/by-name 0 "$(ask named get a.example 443)"
is names/after 0 "$(ask named connect $good 443)"
is names/pattern 0 "$(ask named get x.w.example 443)"
is names/v6 0 "$(ask named connect $good6 443)"
is names/other-port $EPERM "$(ask named connect $good 8444)"
is names/other-address $EPERM "$(ask named connect $evil 443)"
has names/other-name gai- "$(ask named look evil.example)"
has names/rebind gai- "$(ask named look rebind.example)"
within 20 eval '(($(heard $good) + $(heard $good6) == was + 4))'; is names/heard $((was + 4)) "$(($(heard $good) + $(heard $good6)))"
is names/others-heard-nothing "0 0" "$(visits tcp $good 8444) $(heard $evil)"
is names/by-address 0 "$(ask named connect $evil 853)"
# The program asks whom resolv.conf names, wherever that is.
for server in 127.0.0.53 10.9.9.9 "2001:db8::53"; do
  resolve_by $server
  is "resolver/$server" "$good" "$(sbpf run -q -p "$(private by "${entries[0]}")" -- getent ahostsv4 a.example 2>/dev/null | awk '{ print $1; exit }')"
  is "resolver/$server-other" "" "$(sbpf run -q -p "$tmp/by.yaml" -- getent ahostsv4 evil.example 2>/dev/null)"
done
resolve_by 127.0.0.1

# ---- its own loopback, at the same ports too, is not the host's ----
own=(own,127.0.0.1,0 own,::1,0 own,0.0.0.0,7777 ownudp,127.0.0.1,0)
is own/control "$(printf '%s own\n' "${own[@]}")" "$(python3 -IS /srv/loopback.py "${own[@]}")"
is own/private "$(printf '%s own\n' "${own[@]}")" "$(under "$tmp/named.yaml" "${own[@]}")"
was=$(visits tcp 127.0.0.1 443)
is own/hosts-control 0 "$(ask free connect 127.0.0.1 443)"
within 10 eval '(($(visits tcp 127.0.0.1 443) == was + 1))'; is own/hosts-control-heard 0 $?
is own/hosts-is-reset $'tcp,127.0.0.1,443 ECONNRESET\ntcp,127.0.0.9,443 ECONNRESET\ntcp,0.0.0.0,443 ECONNRESET\ntcp,::1,443 ECONNRESET' \
  "$(under "$tmp/named.yaml" tcp,127.0.0.1,443 tcp,127.0.0.9,443 tcp,0.0.0.0,443 tcp,::1,443)"
is own/hosts-hears-nothing $((was + 1)) "$(visits tcp 127.0.0.1 443)"
is own/port-is-the-relays "own,127.0.0.1,443 EADDRINUSE" "$(under "$tmp/named.yaml" own,127.0.0.1,443)"
both=$(private both "${entries[0]}" '{address: 127.0.0.1, ports: [443, 8444], protocol: tcp}')
was=$(visits tcp 127.0.0.1 443)
box both "$both"
is own/listed 0 "$(ask both connect 127.0.0.1 443)"
within 10 eval '(($(visits tcp 127.0.0.1 443) == was + 1))'; is own/listed-is-heard 0 $?
is own/listed-and-the-name 0 "$(ask both get a.example 443)"
end both

# ---- networks, UDP, and where answers come from ----
wide=$(private wide '{cidr: 93.184.216.0/24, ports: [443, 5300]}' "{address: \"$good6\", ports: [5300], protocol: udp}")
was=$(heard $good_x)
is networks/tcp 0 "$(sbpf run -q -p "$wide" -- "$probe" connect tcp $good_x 443 >/dev/null 2>&1; echo $?)"
within 10 eval '(($(heard $good_x) == was + 1))'; is networks/heard 0 $?
is networks/outside 1 "$(sbpf run -q -p "$wide" -- "$probe" connect tcp $evil 443 >/dev/null 2>&1; echo $?)"
to=(udp,$good,5300 udp,$good_w,5300 udp,$good6,5300)
answers() { for one in "${to[@]}"; do IFS=, read -r _ address port <<<"$one"; echo "$one host from $address:$port"; done; }
is networks/udp-control "$(answers)" "$(python3 -IS /srv/loopback.py "${to[@]}")"
is networks/udp "$(answers)" "$(under "$wide" "${to[@]}")"
was=$(grep -c visit "$tmp/answers-127.0.0.1")
is networks/udp-not-the-hosts "udp,127.0.0.1,5300 timed out" "$(under "$wide" udp,127.0.0.1,5300)"
is networks/udp-host-hears-nothing "$was" "$(grep -c visit "$tmp/answers-127.0.0.1")"
metadata=$(private metadata '{cidr: 168.0.0.0/7, ports: [80]}')
is networks/metadata-floor "tcp,169.254.169.254,80 EPERM" "$(under "$metadata" tcp,169.254.169.254,80)"
is networks/echo "bulk,$good,7 5000000 same" "$(under "$(private echo "{address: $good, ports: [7], protocol: tcp}")" bulk,$good,7)"
is networks/nobody-there "tcp,$good,8445 ECONNRESET" "$(under "$(private nobody "{address: $good, ports: [8445], protocol: tcp}")" tcp,$good,8445)"
# By the command line.
is networks/option 0 "$(sbpf run -q -p untrusted --connect $good_w:443 --read "$probe" -- true 2>/dev/null; sbpf run -q -p "$(private none "{address: 10.1.2.4, ports: [443], protocol: tcp}")" --connect $good_w:443 -- "$probe" connect tcp $good_w 443 >/dev/null 2>&1; echo $?)"

# ---- another policy ----
names_only=$(private names-only "${entries[@]:0:1}" "{address: $evil, ports: [853], protocol: tcp}")
is swap/held 0 "$(ask named connect $good_w 443 kept)"
sbpf swap named -p "$names_only" >/dev/null; is swap/other-names 0 $?
is swap/denied $EPERM "$(ask named connect $good_w 443)"
is swap/stays 0 "$(ask named get a.example 443)"
sbpf swap named -p "$wide" >/dev/null 2>&1; is swap/other-ports 2 $?

# ---- users ----
. "$here/users_world.sh"
start
is users/name 0 "$(user sbpf run -q -p "$tmp/named.yaml" -- python3 -ISc "import socket; socket.create_connection((\"a.example\", 443), 20)" >/dev/null 2>&1; echo $?)"
is users/other 1 "$(user sbpf run -q -p "$tmp/named.yaml" -- python3 -ISc "import socket; socket.create_connection((\"$evil\", 443), 20)" >/dev/null 2>&1; echo $?)"
is users/own "own,127.0.0.1,0 own" "$(user sbpf run -q -p "$tmp/named.yaml" -- python3 -IS /srv/loopback.py own,127.0.0.1,0 2>/dev/null)"
user sbpf run -q --name kept -p "$tmp/named.yaml" -- sleep 1000 </dev/null >/dev/null 2>&1 & servers+=($!)
within 120 exists u4242-kept
asks='import socket; socket.create_connection(("a.example", 443), 20)'
within 60 eval 'user sbpf exec -q u4242-kept -- python3 -ISc "$asks" </dev/null >/dev/null 2>&1'; is users/exec-goes-there 0 $?
is users/exec-reaches-no-other 1 "$(user sbpf exec -q u4242-kept -- "$probe" connect tcp $evil 443 </dev/null >/dev/null 2>&1; echo $?)"
is users/exec-in-its-network "$(readlink "/proc/$(members "$cgroots/sbpf/u4242-kept" | head -1)/ns/net")" \
  "$(user sbpf exec -q u4242-kept -- readlink /proc/self/ns/net </dev/null 2>&1)"
sbpf kill u4242-kept >/dev/null

# ---- who serves it ----
relay=$(cat "$cgroots/sbpf-resolver/named.relay/cgroup.procs")
kill -9 "$relay"; within 20 eval "[[ ! -e /proc/$relay ]]"
is lost/refused $ECONNREFUSED "$(ask named connect $evil 853)" # by its address: a name may be forgotten by then
within 10 grep -q "the relay ended" "$tmp/named.err"; is lost/told 0 $?
is lost/is-no-loss active "$(sbpf status named --json | json 'd["isolation"]')"
end named
end_all
finish
