#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `sbpf learn` of commands that ask for names: the policy lists the names, never the addresses that they led to.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
hands=$(cat "$here/host_names.py")
EPERM=1
keep_loaded
. "$here/host_names_world.sh"
mkdir -p /srv/job
cat >/srv/job/get <<'P'
import socket, sys
# get NAME PORT…: connects to the name at each port
for port in sys.argv[2:]:
    try:
        socket.create_connection((socket.getaddrinfo(sys.argv[1], None, socket.AF_INET)[0][4][0], int(port)), 20).close()
    except OSError as error:
        sys.exit(str(error))
P
get() { echo python3 -IS /srv/job/get "$@"; }
# base NAME NETWORK: what Python needs, and this network
base() {
  policy "$1" <<P
version: 1
name: $1
extends: [runtime-files]
network: {$2}
filesystem: {read: [/srv/job]}
P
}
own=$(base own 'loopback: private, connect: []') hosts=$(base hosts 'connect: []')
learn() { sbpf learn "$@" </dev/null 2>&1; }
run() { sbpf run "$@" </dev/null 2>&1; }
# shellcheck disable=SC2046
is control/without-a-policy 0 "$($(get a.example 443 80) >/dev/null; echo $?)"

for kind in own hosts; do
  learnt=$tmp/$kind-learnt.yaml
  # shellcheck disable=SC2046
  is $kind/control 1 "$(run -q -p "${!kind}" -- $(get a.example 443) >/dev/null; echo $?)"
  # shellcheck disable=SC2046
  out=$(learn -p "${!kind}" -o "$learnt" -- $(get a.example 443 80)); is $kind/code 0 $?
  has $kind/green "sbpf: green: of 3 runs" "$out"
  has $kind/guess "sbpf: opened: a.example: port 443," "$out"
  text=$(cat "$learnt")
  has $kind/name "{host: \"a.example\", ports: [443], protocol: tcp}" "$text"
  has $kind/port "{host: \"a.example\", ports: [80], protocol: tcp}" "$text"
  hasnt $kind/no-address $good "$text"
  hasnt $kind/no-name-server 53 "$text"
  hasnt $kind/no-seed invalid "$text"
  # shellcheck disable=SC2046
  out=$(run -p "$learnt" -- $(get a.example 443 80)); is $kind/runs 0 $?
  is $kind/no-denials 0 "$(grep -c '^sbpf: denied' <<<"$out")"
  # shellcheck disable=SC2046
  has $kind/other-name "Name or service not known" "$(run -q -p "$learnt" -- $(get evil.example 443))"
  # shellcheck disable=SC2046
  has $kind/other-address "Operation not permitted" "$(run -q -p "$learnt" -- $(get $evil 443))"
  # shellcheck disable=SC2046
  is $kind/control-other 0 "$($(get evil.example 443) >/dev/null; echo $?)"
done

# ---- who asks for no name ----
# shellcheck disable=SC2046
out=$(learn -p "$own" -o "$tmp/none.yaml" -- $(get $good 443)); is none/code 0 $?
has none/address "address: $good, ports: [443]" "$(cat "$tmp/none.yaml")"
hasnt none/no-seed invalid "$(cat "$tmp/none.yaml")$out"
out=$(learn -p "$own" -- true); is none/true 0 $?
has none/nothing "allows all that was asked for" "$out"

# ---- a name that is nobody's is asked for below the domains of resolv.conf, too ----
cp /etc/resolv.conf "$tmp/resolv.conf"
echo "search w.example" >>/etc/resolv.conf
# shellcheck disable=SC2046
out=$(learn -p "$own" -o "$tmp/search.yaml" -- $(get a.example 443)); is search/code 0 $?
is search/names 1 "$(grep -c 'host:' "$tmp/search.yaml")"
has search/name "{host: \"a.example\", ports: [443]" "$(cat "$tmp/search.yaml")"
cp "$tmp/resolv.conf" /etc/resolv.conf

# ---- a host whose server answers for what nobody has; a zone that leads to another's address ----
is lies/control $good "$(getent ahostsv4 nothing.invalid | awk '{ print $1; exit }')"
for port in 443 80; do
  # shellcheck disable=SC2046
  out=$(learn -p "$own" -o "$tmp/lies.yaml" -- $(get nothing.invalid $port)); is lies/$port 1 $?
  is lies/$port-not-learnt no "$([[ -e $tmp/lies.yaml ]] && echo yes || echo no)"
  hasnt lies/$port-not-advised "host:" "$out"
done
zone=$(names zone enforce "$(hosts a.example)" "$(hosts '*.zone.example')")
box zone "$zone" --events
is zone/name 0 "$(ask zone get a.example 443)"
is zone/another 0 "$(ask zone get x.zone.example 443)"
is zone/denied $EPERM "$(ask zone connect $good 80)"
is zone/by-address "network: {connect: [{address: $good, ports: [80], protocol: tcp}]}" "$(sbpf events zone --json | jq -r 'select(.verdict == "denied" and .port == 80) | .allow' | tail -1)"
end zone

# ---- where no resolver can be had, it learns without ----
: >/etc/resolv.conf
out=$(learn -p "$own" -o "$tmp/nobody.yaml" -- cat "$tmp/page"); code=$?
is nobody/code 1 $code
# shellcheck disable=SC2046
out=$(learn -p "$own" -o "$tmp/nobody.yaml" -- $(get $good 443)); is nobody/address 0 $?
has nobody/has-it "address: $good" "$(cat "$tmp/nobody.yaml")"
cp "$tmp/resolv.conf" /etc/resolv.conf

# ---- advice of a run: by the name that led there ----
named=$(names named enforce "$(hosts a.example)")
box named "$named" --events
is advice/name 0 "$(ask named get a.example 443)"
is advice/denied $EPERM "$(ask named connect $good 80)"
is advice/denied-udp $EPERM "$(ask named send $good 123)"
is advice/elsewhere $EPERM "$(ask named connect $evil 80)"
told() { sbpf events named --json | jq -r "select(.verdict == \"denied\" and .address == \"$1\" and .port == $2) | .allow" | tail -1; }
is advice/tcp "network: {connect: [{host: \"a.example\", ports: [80], protocol: tcp}]}" "$(told $good 80)"
is advice/udp "network: {connect: [{host: \"a.example\", ports: [123], protocol: udp}]}" "$(told $good 123)"
is advice/by-address "network: {connect: [{address: $evil, ports: [80], protocol: tcp}]}" "$(told $evil 80)"
end named
end_all
finish
