#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a sandbox tries to get past its resolver, or through it. Each attack works outside and in a sandbox that may reach
# all; in the sandbox with names it is refused as it says, and nobody outside hears of it.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
. "$here/host_names_world.sh"
hands=$(cat "$here/host_names_query.py")
EPERM=1

held=$(names held enforce '{host: a.example, ports: [443], protocol: tcp}' '{host: "*.w.example", ports: [443]}')
server=127.0.0.9
odd=$(names strange enforce '{host: "**.odd.example", ports: [443]}')
printf 'version: 1\nname: all\nnetwork: {dangerously_allow_all: true}\n' | policy all >/dev/null
box held "$held"
box strange "$odd"
box all "$tmp/all.yaml"
hands_of none env
heard() { cat "$tmp/foreign" "$tmp/foreign6" | wc -l; }

# asks NAME DENIED ORDER…: a question that reaches a server of somebody else's, outside
asks() {
  local name=$1 denied=$2 before where
  shift 2
  for where in none all; do
    before=$(heard)
    ask $where "$@" >/dev/null
    is "$name/$([[ $where == none ]] && echo control-open || echo allowed-elsewhere)" $((before + 1)) "$(heard)"
  done
  before=$(heard)
  is "$name/denied" "$denied" "$(ask held "$@")"
  is "$name/unheard" "$before" "$(heard)"
}
refused='rcode3 0' empty='rcode0 0' # no such name; a name without addresses

# ---- another name, by each way to ask ----
for by in udp connected sendmsg mapped tcp; do asks "other-name/$by" "$refused" query $evil $by plain secret.evil.example; done
for by in udp connected tcp; do asks "other-name/v6-$by" "$refused" query $good6 $by plain secret.evil.example; done

# ---- names that are nearly allowed ----
long=$(printf 'x%.0s' {1..63})
asks near/upper-case "$refused" query $evil udp plain SECRET.EVIL.EXAMPLE
asks near/below-exact "$refused" query $evil udp plain secret.a.example
asks near/ends-alike "$refused" query $evil udp plain secretw.example
asks near/begins-alike "$refused" query $evil udp plain a.example.evil.example
asks near/two-labels "$refused" query $evil udp plain secret.x.w.example
asks near/parent "$refused" query $evil udp plain w.example
asks near/top "$refused" query $evil udp plain example
asks near/long "$refused" query $evil udp plain $long.$long.$long.evil.example
asks near/dot-in-label "$refused" query $evil udp dotted secret.x.w.example
asks near/nul-in-label "$refused" query $evil udp nul x.w.example

# ---- questions that are not for addresses, of a name that is allowed ----
for kind in 2 5 6 10 12 15 16 33 35 43 48 64 65 99 257; do asks "type/$kind" "$empty" query $evil udp plain a.example $kind; done
asks class/chaos 'rcode5 0' query $evil udp plain a.example 1 3
asks class/hesiod 'rcode5 0' query $evil udp plain a.example 1 4
asks form/two-questions 'rcode1 0' query $evil udp two secret.evil.example
asks form/notify 'rcode4 0' query $evil udp notify a.example
asks form/status 'rcode4 0' query $evil udp status a.example

# ---- what an allowed question could carry out ----
# carries NAME PATTERN FORM ASKED-NAME: it is in what the upstream hears outside, and not in what it hears of the sandbox
carries() {
  local name=$1 pattern=$2 form=$3 asked=$4
  for where in none all strange; do
    : >"$tmp/odd"
    is "$name/$where-answered" "rcode0 1" "$(ask $where query 127.0.0.9 udp "$form" "$asked")"
    case $where in
      none) is "$name/control-open" 1 "$(grep -c "$pattern" "$tmp/odd")" ;;
      all) is "$name/allowed-elsewhere" 1 "$(grep -c "$pattern" "$tmp/odd")" ;;
      strange) is "$name/denied" "1 0" "$(wc -l <"$tmp/odd") $(grep -c "$pattern" "$tmp/odd")" ;;
    esac
  done
}
carries carry/option option65001 option x.odd.example
carries carry/letter-case SeCrEt plain SeCrEt.odd.example
carries carry/flag-ad '0x..2' ad x.odd.example
carries carry/flag-cd '0x..1' cd x.odd.example
carries carry/flag-z '0x..4' z x.odd.example

# ---- answers that lead where nobody may go ----
leads() { # leads NAME HEXADECIMAL-ADDRESS TYPE
  is "leads/$1/control-open" "rcode0 1" "$(ask none query 127.0.0.9 udp plain "is-$2.odd.example" "$3")"
  is "leads/$1/allowed-elsewhere" "rcode0 1" "$(ask all query 127.0.0.9 udp plain "is-$2.odd.example" "$3")"
  is "leads/$1/denied" "$empty" "$(ask strange query 127.0.0.9 udp plain "is-$2.odd.example" "$3")"
}
is leads/public/allowed "rcode0 1" "$(ask strange query 127.0.0.9 udp plain is-5db8d822.odd.example 1)"
leads this-host 00000000 1
leads ten 0a000001 1
leads shared 64400001 1
leads loopback 7f000001 1
leads metadata a9fea9fe 1
leads link-local a9fe0101 1
leads private-b ac100001 1
leads private-c c0a80001 1
leads benchmark c6120001 1
leads multicast e0000001 1
leads reserved f0000001 1
leads broadcast ffffffff 1
leads v6-any 00000000000000000000000000000000 28
leads v6-loopback 00000000000000000000000000000001 28
leads v6-mapped 00000000000000000000ffff7f000001 28
leads v6-compatible 0000000000000000000000007f000001 28
leads v6-nat64 0064ff9b00000000000000007f000001 28
leads v6-6to4 20027f00000100000000000000000000 28
leads v6-teredo 20010000000000000000000000000001 28
leads v6-unique-local fd000000000000000000000000000001 28
leads v6-metadata fd000ec2000000000000000000000254 28
leads v6-link-local fe800000000000000000000000000001 28
leads v6-site-local fec00000000000000000000000000001 28
leads v6-multicast ff020000000000000000000000000001 28

# ---- an address inside that the policy lists is open as it is listed, at no other port of the name ----
for where in "127.0.0.1 8444" "10.1.2.3 8444"; do
  # shellcheck disable=SC2086
  serve tcp $where
done
server=127.0.0.9
box listed "$(names listed enforce '{host: "**.odd.example", ports: [443, 8444]}' '{address: 127.0.0.1, ports: [443], protocol: tcp}' \
  '{cidr: 10.1.0.0/16, ports: [443], protocol: tcp}')"
for where in "single 127.0.0.1 7f000001" "network 10.1.2.3 0a010203"; do
  read -r kind address digits <<<"$where"
  is "listed/$kind/answered" "rcode0 1" "$(ask listed query 127.0.0.9 udp plain "is-$digits.odd.example" 1)"
  is "listed/$kind/as-listed" 0 "$(ask listed connect "$address" 443)"
  for way in "port connect 8444" "protocol send 443"; do
    read -r what how port <<<"$way"
    is "listed/$kind/$what/control-open" 0 "$(ask none "$how" "$address" "$port")"
    is "listed/$kind/$what/allowed-elsewhere" 0 "$(ask all "$how" "$address" "$port")"
    is "listed/$kind/$what/denied" $EPERM "$(ask listed "$how" "$address" "$port")"
  done
done
end listed

# ---- beside the resolver ----
# goes NAME ORDER…: EPERM in the sandbox
goes() {
  local name=$1
  shift
  is "$name/control-open" 0 "$(ask none "$@")"
  is "$name/allowed-elsewhere" 0 "$(ask all "$@")"
  is "$name/denied" $EPERM "$(ask held "$@")"
}
goes beside/unasked connect $good 443
ask held query 127.0.0.53 udp plain a.example >/dev/null
is beside/asked 0 "$(ask held connect $good 443)"
goes beside/other-port connect $good 8444
goes beside/other-protocol send $good 443
goes beside/other-family connect $good6 443
goes beside/tls connect $evil 853
goes beside/https connect $evil 443
goes beside/multicast-dns send $evil 5353
goes beside/llmnr send $evil 5355
goes beside/netbios send $evil 137
ask strange query 127.0.0.9 udp plain is-2d21209c.odd.example >/dev/null
is beside/opened-for-another 0 "$(ask strange connect $evil 443)"
goes beside/opened-for-another connect $evil 443

# ---- a swap to other names, and one back: at each step, what both allow is open ----
crash=$tests/../bin/crash_shim.so
both=$(names both enforce '{host: evil.example, ports: [443]}' '{host: "*.example", ports: [443]}')
is swap/control 0 "$(ask held connect $good 443)"
SBPF_KILL_COUNT=$tmp/points LD_PRELOAD=$crash sbpf swap held --policy "$both" >/dev/null 2>&1
points=$(cat "$tmp/points") open=0
stopped() { [[ $(stat_field $swapper 1) == [TZ] ]]; }
for ((step = 1; step <= points; step++)); do
  if ((step % 2)); then to=$held; else to=$both; fi
  (SBPF_STOP_AT=$step LD_PRELOAD=$crash exec sbpf swap held --policy "$to" >/dev/null 2>&1) & swapper=$!
  within 30 stopped
  [[ $(stat_field $swapper 1)$(ask held connect $good 443) == T0 ]] && open=$((open + 1))
  kill -CONT $swapper
  wait $swapper
done
((points > 5)); is swap/steps 0 $?
is swap/open-at-each $points $open
sbpf swap held --policy "$held" >/dev/null 2>&1; is swap/back 0 $?

# ---- a record says by which name it got there ----
sed -i 's/^network:/&\n  record_flows: true/' "$(server=127.0.0.1; names recorded enforce "$(hosts a.example)")"
box recorded "$tmp/recorded.yaml"
is recorded/asked 'rcode0 1' "$(ask recorded query 127.0.0.53 udp plain a.example)"
is recorded/connect 0 "$(ask recorded connect $good 443)"
is recorded/name "a.example $good 443" "$(sbpf events recorded --flows --json | jq -r 'select(.reason == "flow" and .port == 443) | "\(.name) \(.address) \(.port)"')"
# What its supervisor cannot take is counted.
lost() { sbpf status recorded --json | jq .lost_events.ring_full; }
is lost/none 0 "$(lost)"
kill -STOP "$pid_recorded"
asked=$(for i in {1..400}; do ask recorded query 127.0.0.53 udp plain secret.evil.example; done | grep -cx "$refused")
((asked > 300)); is lost/asked 0 $? # some are dropped for their rate
kill -CONT "$pid_recorded"
counted() { ask recorded query 127.0.0.53 udp plain secret.evil.example >/dev/null; (($(lost) > 0)); }
within 30 counted; is lost/counted 0 $?
end recorded

# ---- what a resolver that was taken over could do: the calls that its filter lets through, by the filter itself ----
resolver_of() { pgrep -x sbpf-resolver | while read -r pid; do if grep -qx "0::/sbpf-resolver/$1" "/proc/$pid/cgroup"; then echo "$pid"; fi; done; }
sbpf break-glass --reason names --for 5m 2>/dev/null; is filter/glass 0 $?
python3 -IS "$here/host_names_filter.py" "$(resolver_of held)" >"$tmp/filter"; is filter/read 0 $?
is filter/one "filters 1" "$(grep ^filters "$tmp/filter")"
# filtered OUTCOME NAME…: under the filter, where the call is not EPERM without it
filtered() { for name in "${@:2}"; do is "filter/$name" "$1" "$(awk -v n="$name" '$1 == n { print ($2 == 1 ? "no control" : $3 == $2 ? "as without" : $3) }' "$tmp/filter")"; done; }
filtered "as without" inet inet6 bpf-lookup bpf-update bpf-delete bpf-next
filtered $EPERM unix netlink packet bpf-create bpf-load bpf-pin bpf-get bpf-by-id bpf-link open exec fork kill trace unlink mount

# ---- what a name opened is open for an hour at most, however much it is used ----
boottime() { python3 -ISc 'import time; print(time.clock_gettime_ns(time.CLOCK_BOOTTIME))'; }
from=$(boottime)
is opened/asked 'rcode0 1' "$(ask held query 127.0.0.53 udp plain fresh.w.example)"
to=$(boottime)
for id in $(bpftool -j map show | jq '.[] | select(.name == "sbpf_opened").id'); do bpftool -j map dump id "$id"; done | jq -c '.[].value' |
  python3 -ISc 'import json, sys
begin, end = map(int, sys.argv[1:])
values = [bytes(int(b, 16) for b in json.loads(line)) for line in sys.stdin]
lasts = [int.from_bytes(value[8:16], "little") - 3600 * 10**9 for value in values if b"fresh.w.example" in value]
print("an hour" if lasts and all(begin <= last <= end for last in lasts) else lasts)' "$from" "$to" >"$tmp/lasts"
is opened/for-an-hour "an hour" "$(cat "$tmp/lasts")"
sbpf break-glass --close 2>/dev/null
end held strange all
kill_all
finish
