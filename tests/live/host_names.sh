#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Policies with host names: real clients and servers of DNS, and what a sandbox tries beside.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
hands=$(cat "$here/host_names.py")
EPERM=1 NXDOMAIN=rcode3 NOERROR=rcode0

. "$here/host_names_world.sh"
mapfile -t plain < <(hosts a.example '*.w.example' ttl0.example rebind.example lan.example meta.example zero.example leads.example alias.example)
plain+=('{host: a.example, ports: [80, 8400-8499, 7]}' '{cidr: 10.9.0.0/16, ports: [1]}')
box held "$(names held enforce "${plain[@]}")"
has held/active "isolation active ($((hooks_here + 4))/$((hooks_here + 4)) hooks)" "$(cat "$tmp/held.err")"
printf 'version: 1\nname: all\nnetwork: {dangerously_allow_all: true}\n' | policy all >/dev/null
box all "$tmp/all.yaml"
hands_of none env

# ---- the resolver is nobody ----
resolver=$(pgrep -x sbpf-resolver)
is process/one 1 "$(wc -w <<<"$resolver")"
state=$(cat "/proc/$resolver/status")
has process/user $'Uid:\t65534\t65534\t65534\t65534' "$state"
has process/no-capabilities $'CapBnd:\t0000000000000000' "$state"
has process/no-new-privileges $'NoNewPrivs:\t1' "$state"
has process/filtered $'Seccomp:\t2' "$state"
is process/cgroup 0::/sbpf-resolver/held "$(grep ^0:: "/proc/$resolver/cgroup")"
limits_of() { (cd "$cgroots/sbpf-resolver/held" && cat pids.max memory.max cpu.max ../cpu.weight | xargs); }
is process/limits "1 134217728 25000 100000 10" "$(limits_of)"
widen="echo max >$cgroots/sbpf-resolver/held/pids.max"
is process/limits-control nothing "$(ask none sh "$widen")"
echo 1 >"$cgroots/sbpf-resolver/held/pids.max"
has process/limits-stay "not permitted" "$(ask held sh "$widen")"
is process/limits-as-they-were "1 134217728 25000 100000 10" "$(limits_of)"
quiet process/descriptors find "/proc/$resolver/fd" -lname '/*' ! -lname /dev/null ! -lname /run/sbpf-resolver.lock -printf '%l '
port=$(ss -Hlnup | awk '/sbpf-resolver/ && $4 ~ /^127/ { sub(/.*:/, "", $4); print $4 }')

# ---- a name opens its addresses, at its ports, once it was asked for ----
is open/before $EPERM "$(ask held connect $good 443)"
is open/name 0 "$(ask held get a.example 443)"
is open/after 0 "$(ask held connect $good 443)"
is open/range 0 "$(ask held connect $good 8444)"
is open/other-port $EPERM "$(ask held connect $good 22)"
is open/other-port-in-the-middle 111 "$(ask held connect $good 8445)"
is open/other-address $EPERM "$(ask held connect $good_w 443)"
is open/v6 0 "$(ask held connect $good6 443)"
is open/udp 0 "$(ask held send $good 443)"
is open/alias 0 "$(ask held get alias.example 443)"
is open/bind-for-asking 0 "$(ask held bind 0.0.0.0 0)"
is open/bind-port $EPERM "$(ask held bind 0.0.0.0 7777)"
is open/bind-address $EPERM "$(ask held bind 127.0.0.1 0)"
is open/star 0 "$(ask held get x.w.example 443)"
is open/star-two-labels gai-2 "$(ask held look x.y.w.example)"
is open/star-itself gai-2 "$(ask held look w.example)"
has open/case $good "$(ask held sh 'dig +short A.eXample')"
has open/other-type-control secret "$(ask none sh 'dig +short txt a.example')"
is open/other-type nothing "$(ask held sh 'dig +short txt a.example')"
is open/https-type nothing "$(ask held sh 'dig +short type65 a.example')"

# ---- clients, with each kind of resolv.conf ----
cat >"$tmp/musl.c" <<'C'
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
int main(int n, char **name) {
  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
  char text[64];
  int wrong = getaddrinfo(name[1], 0, &hints, &found);
  if (wrong) return puts(gai_strerror(wrong)), 1;
  puts(inet_ntop(AF_INET, &((struct sockaddr_in *)found->ai_addr)->sin_addr, text, sizeof text));
}
C
musl-gcc -static -o "$tmp/musl" "$tmp/musl.c"
chmod 755 "$tmp" "$tmp/musl"
node_c_ares="node -e \"require('dns').resolve4('a.example', (e, a) => console.log(e ? e.code : a[0]))\""
dnspython="python3 -c \"import dns.resolver; print(dns.resolver.resolve('a.example', 'A')[0])\""
go="GODEBUG=netdns=go hey -n 1 -c 1 http://a.example/page"
few() {
  has "$1/glibc" $good "$(ask held sh 'getent ahostsv4 a.example')"
  has "$1/dig" $good "$(ask held sh 'dig +short a.example')"
  has "$1/dig-tcp" $good "$(ask held sh 'dig +short +tcp a.example')"
}
clients() {
  few "$1"
  has "$1/c-ares" $good "$(ask held sh "$node_c_ares")"
  has "$1/dnspython" $good "$(ask held sh "$dnspython")"
  has "$1/go" "[200]" "$(ask held sh "$go")"
  has "$1/musl" $good "$(ask held sh "$tmp/musl a.example")"
  has "$1/curl" "it works" "$(ask held sh 'curl -sS http://a.example/page')"
}
resolve_by 9.9.9.9; clients plain
resolve_by 127.0.0.53; clients systemd
resolve_by 127.0.0.11; clients docker
resolve_by 2606:4700:4700::1111; clients v6
resolve_by 9.9.9.9 2606:4700:4700::1111 127.0.0.53; clients several

# ---- a name that is refused: each C library asks once, and says that there is no such name ----
for address in 9.9.9.9 2606:4700:4700::1111; do
  resolve_by $address
  of=${address//:/-}
  is "refused/$of-glibc" gai-2 "$(ask held look "glibc-$of.evil.example")"
  has "refused/$of-musl" "does not resolve" "$(ask held sh "$tmp/musl musl-$of.evil.example")"
  has "refused/$of-search" "$good" "$(ask held sh "echo 'search inner.evil.example' >>/etc/resolv.conf; echo 'options ndots:5' >>/etc/resolv.conf; $tmp/musl a.example")"
  events=$(sbpf events held --json)
  for libc in glibc musl; do
    is "refused/$of-$libc-asks" "$([[ $libc == glibc ]] && echo 2 || echo 1)" \
      "$(jq "select(.reason == \"name\" and .name == \"$libc-$of.evil.example\") | .times" <<<"$events" | awk '{ n += $1 } END { print n + 0 }')"
  done
done

# ---- who answered is who was asked ----
for address in 9.9.9.9 127.0.0.53 ::ffff:9.9.9.9 2606:4700:4700::1111 ::1; do
  is "origin/recvfrom-$address" "$NOERROR $address 53" "$(ask held ask $address a.example)"
  is "origin/udp-$address" "$address 53" "$(ask held peer udp $address)"
  is "origin/tcp-$address" "$address 53" "$(ask held peer tcp $address)"
done
# Somebody else on this host, who sends to a socket that has asked, is who he is.
asker=$(ask held asker 9.9.9.9 asker)
echo x | socat -u - "UDP4-SENDTO:127.0.0.1:$asker,bind=127.0.0.1:7878"
is origin/of-another "127.0.0.1 7878" "$(ask held sender asker)"

# ---- systemd-resolved as the upstream ----
if [[ -x /lib/systemd/systemd-resolved ]]; then
  mkdir -p /run/systemd/resolve /etc/systemd/resolved.conf.d
  chown systemd-resolve:systemd-resolve /run/systemd/resolve
  printf '[Resolve]\nDNS=127.0.0.1\nDNSSEC=no\nLLMNR=no\nMulticastDNS=no\nCache=no\n' >/etc/systemd/resolved.conf.d/test.conf
  /lib/systemd/systemd-resolved >"$tmp/resolved" 2>&1 & servers+=($!)
  resolve_by 127.0.0.53
  if within 30 eval 'dig +short @127.0.0.53 a.example | grep -q '$good; then
    server=127.0.0.53
    box resolved "$(names resolved enforce "$(hosts a.example)")"
    is systemd-resolved/allowed 0 "$(ask resolved get a.example 443)"
    is systemd-resolved/refused gai-2 "$(ask resolved look evil.example)"
    end resolved
    server=127.0.0.1
  else
    skip systemd-resolved/allowed "does not run here: $(tail -1 "$tmp/resolved" | tr -d :)"
  fi
else
  skip systemd-resolved/allowed "is not in this guest"
fi
resolve_by 127.0.0.1

# ---- attacks: each works outside and under a policy that allows all ----
# attack NAME WANTED-OUTSIDE WANTED-HELD ORDER…
attack() {
  local name=$1 open=$2 denied=$3
  shift 3
  has "$name/control-open" "$open" "$(ask none "$@")"
  has "$name/allowed-elsewhere" "$open" "$(ask all "$@")"
  has "$name/denied" "$denied" "$(ask held "$@")"
}
before=$(asked evil.example)
attack other-name $evil gai-2 look evil.example
is other-name/asked-nobody $((before + 4)) "$(asked evil.example)"  # A and AAAA of the two controls
attack rebinding 0 gai-5 get rebind.example 443
attack rebinding-by-cname 0 gai- get leads.example 443
attack private-address 0 gai-5 get lan.example 443
attack metadata 169.254.169.254 gai-5 look meta.example
attack any-address 0.0.0.0 gai-5 look zero.example
is rebinding/opens-nothing $EPERM "$(ask held connect 127.0.0.1 443)"
before=$(wc -l <"$tmp/foreign")
attack foreign-resolver "$NOERROR $evil 53" "$NXDOMAIN $evil 53" ask $evil leak.evil.example
attack foreign-resolver-by-tcp status:.NOERROR status:.NXDOMAIN sh "dig +tcp @$evil leak.evil.example | tr ' ' ."
is foreign-resolver/asked-nobody $((before + 4)) "$(wc -l <"$tmp/foreign")"
attack dns-over-tls 0 $EPERM connect $evil 853
attack dns-over-https 0 $EPERM connect $evil 443
attack mdns 0 $EPERM send 127.0.0.1 5353
is own-port/denied $EPERM "$(ask held connect 127.0.0.1 "$port")"

before=$(asked w.example) begun=$SECONDS
flood=$(ask held flood w.example 900)
after=$(asked w.example)
if [[ $flood == answered\ [1-9]*dropped\ [1-9]* ]]; then ok exfiltration/some-dropped; else not_ok exfiltration/some-dropped "$flood"; fi
if ((after - before <= 200 + 50 * (SECONDS - begun + 1) && after - before <= 500)); then ok exfiltration/limited; else
  not_ok exfiltration/limited "$((after - before)) asked in $((SECONDS - begun)) s: $flood"; fi
for round in 1 2 3; do sleep 4; ask held flood w.example 300 >/dev/null; done
is exfiltration/names-an-hour 500 "$(grep -o 'query\[A\] [^ ]*w.example' "$tmp/dnsmasq" | sort -u | wc -l)"
sleep 1
is exfiltration/known-names-go-on $good_w "$(ask held look x.w.example)"
is exfiltration/exact-names-go-on $good "$(ask held sh 'getent ahostsv4 a.example' | cut -d' ' -f1)"
sleep 4
is malformed/sent 0 "$(ask held malform 1500)"
sleep 5
is malformed/goes-on 0 "$(ask held get a.example 443)"
is malformed/same-process "$resolver" "$(pgrep -x sbpf-resolver)"

# ---- answers that are wrong, and large ones ----
server=127.0.0.9
box strange "$(names strange enforce "$(hosts '*.odd.example')")"
for what in junk loop cut other slow chain-17 chain-2700; do
  is "answer/$what" "rcode2 127.0.0.1 53" "$(ask strange ask 127.0.0.1 $what.odd.example)"
done
is answer/chain-16 $good_x "$(ask strange look chain-16.odd.example)"
is answer/other-opens-nothing $EPERM "$(ask strange connect $evil 443)"
is answer/beside 0 "$(ask strange get beside.odd.example 443)"
is answer/beside-opens-nothing $EPERM "$(ask strange connect $evil 443)"
is answer/mixed $good_x "$(ask strange look mixed.odd.example)"
is answer/mixed-opens-nothing $EPERM "$(ask strange connect 127.0.0.1 443)"
is answer/64-kilobytes 4000 "$(ask strange sh 'dig +time=60 +tries=1 +short big.odd.example | grep -c ^1[.]1[.]')"
is answer/64-kilobytes-open 111 "$(ip addr add 1.1.15.159/32 dev lo; ask strange connect 1.1.15.159 443)"
end strange
server=127.0.0.1

# ---- events ----
is events/asked-again gai-2 "$(ask held look evil.example)" # after names in their hundreds
events=$(sbpf events held --json)
by() { jq -r "select(.reason == \"$1\") | [.name, .verdict, .address] | @tsv" <<<"$events"; }
has events/answered $'a.example\tallowed\t'$good "$(by name_answered)"
has events/refused $'evil.example\tdenied' "$(by name)"
has events/withheld $'rebind.example\tdenied\t127.0.0.1' "$(by name_withheld)"
has events/allow-with 'host: "evil.example"' "$(jq -r 'select(.reason == "name") | .allow' <<<"$events")"

# ---- time: 60 s at least, whatever the server says; a use goes on with it ----

is ttl/asked 0 "$(ask held get ttl0.example 443)"
is ttl/asked-and-not-used $good_w "$(ask held look x.w.example)"
is ttl/connected 0 "$(ask held look a.example >/dev/null; ask held connect $good 7 past)"
sleep 35
is ttl/still 0 "$(ask held connect $good_x 443)"
sleep 30
is ttl/over $EPERM "$(ask held connect $good_w 443)"
is ttl/prolonged 0 "$(ask held connect $good_x 443)"
is ttl/again 0 "$(ask held get x.w.example 443)"
# No new connection; one that was made goes on, over a swap too, while the policy has the name.
is ttl/no-new-one $EPERM "$(ask held connect $good 7)"
is ttl/goes-on 0 "$(ask held echo past)"
names past enforce '{host: "*.example", ports: [7]}' >/dev/null
for to in held past held; do
  sbpf swap held --policy "$tmp/$to.yaml" >/dev/null 2>&1; is ttl/swap-to-$to 0 $?
  is ttl/goes-on-after-$to 0 "$(ask held echo past)"
  is ttl/no-new-one-after-$to $EPERM "$(ask held connect $good 7)"
done
names others enforce '{host: "*.w.example", ports: [7]}' >/dev/null
sbpf swap held --policy "$tmp/others.yaml" >/dev/null 2>&1; is ttl/swap-to-other-names 0 $?
is ttl/ends 103 "$(ask held echo past)"
sbpf swap held --policy "$tmp/held.yaml" >/dev/null 2>&1; is ttl/swap-back 0 $?

# ---- an address that the policy lists ----
box lan "$(names lan enforce "$(hosts lan.example)" "$(hosts rebind.example)" '{cidr: 10.1.0.0/16, ports: [443]}')"
is listed/opens 0 "$(ask lan get lan.example 443)"
is listed/others-do-not gai-5 "$(ask lan look rebind.example)"
# Over a swap it stays open while the policy lists it, and no longer.
names listed enforce "$(hosts lan.example)" '{cidr: 10.1.2.0/24, ports: [443]}' >/dev/null
names unlisted enforce "$(hosts lan.example)" '{cidr: 10.2.0.0/16, ports: [9]}' >/dev/null
sbpf swap lan --policy "$tmp/listed.yaml" >/dev/null 2>&1; is listed/swap 0 $?
is listed/stays-open 0 "$(ask lan connect 10.1.2.3 443)"
sbpf swap lan --policy "$tmp/unlisted.yaml" >/dev/null 2>&1; is listed/swap-to-unlisted 0 $?
is listed/unlisted-closes $EPERM "$(ask lan connect 10.1.2.3 443)"
end lan

# ---- a rule for an address goes before; who has no names has no resolver ----
names direct enforce "$(hosts a.example)" "{address: $evil, ports: [53]}" >/dev/null
echo '  bind: [{address: 127.0.0.1, ports: [0]}]' >>"$tmp/direct.yaml"
box direct "$tmp/direct.yaml"
is direct/by-address "$NOERROR $evil 53" "$(ask direct ask $evil evil.example)"
is direct/by-resolver "$NXDOMAIN 127.0.0.1 53" "$(ask direct ask 127.0.0.1 evil.example)"
# Who asks is not kept to loopback, where its other datagrams could not leave; a stream without a port is a server's.
is direct/asks-from-any-address 0.0.0.0 "$(ask direct bound udp 0.0.0.0)"
is direct/serves-loopback 127.0.0.1 "$(ask direct bound tcp 0.0.0.0)"
end direct
printf 'version: 1\nname: nothing\n' | policy nothing >/dev/null
box nothing "$tmp/nothing.yaml"
is without/no-bind $EPERM "$(ask nothing bind 0.0.0.0 0)"
is without/denied $EPERM "$(ask nothing ask 127.0.0.1 a.example)"
has without/hooks "($hooks_here/$hooks_here hooks)" "$(cat "$tmp/nothing.err")"
out=$(sbpf swap nothing --policy "$tmp/held.yaml" 2>&1); is without/swap 2 $?
has without/swap-says-why "host names" "$out"
end nothing

# ---- audit ----
box told "$(names told audit "$(hosts a.example)")"
is audit/other-name 0 "$(ask told get evil.example 443)"
is audit/name 0 "$(ask told get a.example 443)"
events=$(sbpf events told --json)
has audit/told $'evil.example\taudit' "$(by name)"
hasnt audit/not-told $good "$(by no_rule)"
end told

# ---- swap and attach ----
is swap/flow 0 "$(ask held look a.example >/dev/null; ask held connect $good 7 flow)"
sbpf swap held --policy "$tmp/held.yaml" >"$tmp/swap" 2>&1; is swap/same 0 $?
is swap/same-flow 0 "$(ask held echo flow)"
is swap/same-opened 0 "$(ask held connect $good 443)"
# Other names: what stays allowed stays open, with its connections; the rest closes; the resolver knows.
is swap/before-opened $good_w "$(ask held look x.w.example)"
is swap/before-other gai-2 "$(ask held look evil.example)"
is swap/before-port 0 "$(ask held connect $good 8444)"
sbpf swap held --policy "$(names other enforce "$(hosts evil.example)" '{host: "*.example", ports: [7, 443]}')" >"$tmp/swap" 2>&1
is swap/other 0 $?
has swap/other-active "isolation active" "$(cat "$tmp/swap")"
before=$(asked a.example)
is swap/kept-opened 0 "$(ask held connect $good 443)"
is swap/kept-flow 0 "$(ask held echo flow)"
is swap/kept-unasked "$before" "$(asked a.example)"
is swap/gone-opened $EPERM "$(ask held connect $good_w 443)"
is swap/gone-name gai-2 "$(ask held look x.w.example)"
is swap/gone-port $EPERM "$(ask held connect $good 8444)"
is swap/new-name 0 "$(ask held get evil.example 443)"
is swap/names-again 0 "$(ask held get a.example 443)"
# A policy that is wrong, or cannot be enforced, changes nothing.
sbpf swap held --policy "$(names wrong enforce '{host: "a..example", ports: [1]}')" 2>/dev/null; is swap/wrong 2 $?
is swap/wrong-changes-nothing 0 "$(ask held get evil.example 443)"
started nameless -q --policy no-network -- sleep 1000
out=$(sbpf swap nameless --policy "$tmp/held.yaml" 2>&1); is swap/without-resolver 2 $?
has swap/without-resolver-says-why "it has no resolver" "$out"
sbpf kill nameless; wait $started
# Under load: what both allow stays open, what neither allows never opens, names are answered all the time.
for i in {1..8}; do
  for to in held other; do sbpf swap held --policy "$tmp/$to.yaml" >/dev/null 2>&1; echo $?; done
done >"$tmp/swaps" &
swapper=$!
tries=0 open=0 never=0 found=0
while kill -0 $swapper 2>/dev/null; do
  tries=$((tries + 1))
  [[ $(ask held connect $good 443) == 0 ]] && open=$((open + 1))
  [[ $(ask held connect $evil 853) == "$EPERM" ]] && never=$((never + 1))
  [[ $(ask held ask 127.0.0.53 a.example) == "$NOERROR 127.0.0.53 53" ]] && found=$((found + 1))
done
wait $swapper; is swap/load-swaps "16 0" "$(sort "$tmp/swaps" | uniq -c | xargs)"
is swap/load "true $tries $tries $tries" "$( ((tries > 0)) && echo true) $open $never $found"
is swap/load-flow 0 "$(ask held echo flow)"
out=$(sbpf swap held --policy "$tmp/nothing.yaml" 2>&1); is swap/none 0 $?
has swap/none-ends-flow "ended tcp connection to $good:7" "$out"
is swap/none-flow 103 "$(ask held echo flow)"
is swap/none-opened $EPERM "$(ask held connect $good 443)"
is swap/none-asks $EPERM "$(ask held ask 127.0.0.1 a.example)"
sbpf swap held --policy "$tmp/held.yaml" >/dev/null 2>&1; is swap/and-back 0 $?
is swap/and-back-opened $EPERM "$(ask held connect $good 443)"
is swap/and-back-asks 0 "$(ask held get a.example 443)"
mkdir "$cgroots/given"
out=$(sbpf attach --cgroup "$cgroots/given" --policy "$tmp/held.yaml" 2>&1); is attach/refused 2 $?
has attach/says-why "host names need a resolver" "$out"
rmdir "$cgroots/given"
end held

# ---- without the resolver: nothing new opens, and status says so ----
box alone "$(names alone enforce "$(hosts a.example)" "$(hosts ttl0.example)")"
is gone/before 0 "$(ask alone get a.example 443)"
is gone/active true "$(sbpf status alone --json | jq .isolation_active)"
kill -9 "$(pgrep -x sbpf-resolver)"
within 10 grep -q "the resolver ended" "$tmp/alone.err"; is gone/told 0 $?
has gone/asks "gai-" "$(ask alone look ttl0.example)"
is gone/opened-stays 0 "$(ask alone connect $good 443)"
status=$(sbpf status alone --json)
is gone/degraded '["names"]' "$(jq -c '[.degraded[].what]' <<<"$status")"
sbpf verify alone --json >"$tmp/verify"
is gone/hooks-hold "$((hooks_here + 4)) denied" "$(jq -r '[.effective[].hooks[].canary] | "\(length) \(unique | join(" "))"' "$tmp/verify")"
end alone
box orphan "$(names orphan enforce "$(hosts a.example)")"
kill -9 "$pid_orphan"
within 10 eval '! pgrep -x sbpf-resolver >/dev/null'; is orphan/resolver-ends 0 $?
sbpf kill orphan
wait "$pid_orphan" 2>/dev/null
sbpf run -q --policy no-network -- true; is orphan/next-run 0 $?
is orphan/collected no "$([[ -e $cgroots/sbpf-resolver/orphan ]] && echo yes || echo no)"

# ---- in another network namespace: the resolver is there ----
ip netns add inner
inside=(nsenter --net=/run/netns/inner)
"${inside[@]}" ip link set lo up
"${inside[@]}" ip addr add $good/32 dev lo
"${inside[@]}" dnsmasq --no-daemon --no-resolv --no-hosts --listen-address=127.0.0.1 --bind-interfaces --user=root --pid-file= \
  --host-record=inner.example,$good --host-record=outer.example,$good >/dev/null 2>&1 & servers+=($!)
"${inside[@]}" "$probe" listen tcp $good 443 /dev/null >"$tmp/inner.ready" & servers+=($!)
within 30 grep -q ready "$tmp/inner.ready"
within 30 "${inside[@]}" getent hosts inner.example >/dev/null
hands_of inner "${inside[@]}" sbpf run --name inner --policy "$(names inner-names enforce "$(hosts inner.example)")" --
within 300 grep -q '^sbpf: ' "$tmp/inner.err"
before=$(wc -l <"$tmp/dnsmasq")
is netns/control-open 0 "$("${inside[@]}" "$probe" connect tcp $good 443 >/dev/null; echo $?)"
is netns/unasked $EPERM "$(ask inner connect $good 443)"
is netns/opens 0 "$(ask inner get inner.example 443)"
is netns/other gai-2 "$(ask inner look outer.example)"
is netns/outside-hears-nothing "$before" "$(wc -l <"$tmp/dnsmasq")"
end inner

# ---- ten thousand names ----
mapfile -t lots < <(hosts $(seq -f 'n%g.many.example' 10000))
box many "$(names many enforce "${lots[@]}")"
for n in 1 5000 10000; do is "many/n$n" 0 "$(ask many get "n$n.many.example" 443)"; done
is many/none gai-2 "$(ask many look n10001.many.example)"
end many

# ---- a host without IPv6 ----
sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.lo.disable_ipv6=1
box four "$(names four enforce "$(hosts a.example)")"
has no-ipv6/active "isolation active" "$(cat "$tmp/four.err")"
ask four look a.example >/dev/null
is no-ipv6/v4 0 "$(ask four connect $good 443)"
is no-ipv6/v6 $EPERM "$(ask four ask ::1 a.example)"
end four
sysctl -qw net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.lo.disable_ipv6=0
sbpf run -q --policy "$(sed 's/127.0.0.1/""/; /dns:/d' "$tmp/four.yaml" | policy nobody)" -- true 2>/dev/null; is upstream/of-the-host 0 $?
echo "# nobody" >/etc/resolv.conf
out=$(sbpf run --policy "$tmp/nobody.yaml" -- true 2>&1); is upstream/none 125 $?
has upstream/names-the-way "dns: {resolver" "$out"
end all
kill_all
is process/no-cgroup-left "" "$(find "$cgroots/sbpf-resolver" -mindepth 1 -type d 2>/dev/null)"
finish
