#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Host names in sandboxes of who is not root: the resolver's parent is what `sbpf adopt` leaves behind.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
. "$here/users_world.sh"
hands=$(cat "$here/host_names.py")
EPERM=1
keep_loaded
. "$here/host_names_world.sh"
cp /etc/resolv.conf "$tmp/resolv.conf"
start
mapfile -t entries < <(hosts a.example rebind.example)
held=$(names held enforce "${entries[@]}")
# user_box NAME POLICY-FILE: as box() of hands.sh
user_box() {
  hands_of "$1" setpriv --reuid 4242 --regid 4242 --groups "$readers" sbpf run --name "$1" --policy "$2" --
  within 300 grep -q '^sbpf: ' "$tmp/$1.err"
}
# Both are forks of one command, and end with their sandbox.
of_adopt() { pgrep -f '^[^ ]*sbpf adopt'; }
keepers() { of_adopt | grep -vxFf <(pgrep -x sbpf-resolver); }
nobody_answers() { ! of_adopt >/dev/null; }
status() { curl -s --unix-socket $socket "$url/v1/sandboxes/u4242-$1"; }

hands_of none setpriv --reuid 4242 --regid 4242 --groups "$readers"
is control/name 0 "$(ask none get a.example 443)"
is control/other-name $evil "$(ask none look evil.example)"
is control/connect 0 "$(ask none connect $good 443)"
is control/other 0 "$(ask none connect $evil 443)"
is control/rebind 127.0.0.1 "$(ask none look rebind.example)"

# ---- a name opens its addresses, and nothing else ----
user_box held "$held"
has held/active "isolation active ($((hooks_here + 4))/$((hooks_here + 4)) hooks) policy=held" "$(cat "$tmp/held.err")"
is held/before $EPERM "$(ask held connect $good 443)"
is held/name 0 "$(ask held get a.example 443)"
is held/after 0 "$(ask held connect $good 443)"
is held/other-port $EPERM "$(ask held connect $good 22)"
is held/other-address $EPERM "$(ask held connect $evil 443)"
has held/other-name gai- "$(ask held look evil.example)"
has held/rebind gai- "$(ask held look rebind.example)"
is held/rebind-address $EPERM "$(ask held connect 127.0.0.1 443)"
is held/status true "$(status held | jq .isolation_active)"
events=$(sbpf events u4242-held --json)
by() { jq -r "select(.reason == \"$1\") | [.name, .verdict, .address] | @tsv" <<<"$events"; }
has held/told $'a.example\tallowed\t'$good "$(by name_answered)"
has held/told-refused $'evil.example\tdenied' "$(by name)"

# ---- who answers ----
resolver=$(pgrep -x sbpf-resolver)
is resolver/one 1 "$(wc -w <<<"$resolver")"
has resolver/user $'Uid:\t65534\t65534\t65534\t65534' "$(cat "/proc/$resolver/status")"
keeper=$(keepers)
is resolver/parent "$keeper" "$(ps -o ppid= "$resolver" | xargs)"
is resolver/parent-streams "/dev/null /dev/null /dev/null" "$(readlink /proc/"$keeper"/fd/{0,1,2} | xargs)"
is resolver/cgroup 0::/sbpf-resolver/u4242-held "$(grep ^0:: "/proc/$resolver/cgroup")"
hasnt resolver/outside u4242-held "$(cat "/proc/$keeper/cgroup")"
is resolver/not-the-users 1 "$(user kill -9 "$keeper" 2>/dev/null; echo $?)"

# ---- another policy ----
other=$(names other enforce "$(hosts evil.example)")
put() { curl -s -o /dev/null -w '%{http_code}' -X PUT --unix-socket $socket -d "$(jq -n --rawfile p "$1" '{policy_text: $p}')" "$url/v1/sandboxes/u4242-held/policy"; }
is swap/code 200 "$(put "$other")"
is swap/new 0 "$(ask held get evil.example 443)"
is swap/old $EPERM "$(ask held connect $good 443)"
has swap/old-name gai- "$(ask held look a.example)"

# ---- it ends with the sandbox ----
is two/second 0 "$(user sbpf run -q --policy "$held" -- getent ahostsv4 a.example >/dev/null 2>&1; echo $?)"
within 20 sh -c '[ "$(pgrep -x sbpf-resolver)" = '"$resolver"' ]'; is two/first-stays 0 $?
kill "$pid_held"
within 20 gone u4242-held; is end/gone 0 $?
within 20 nobody_answers; is end/nobody-answers 0 $?

# ---- deaths ----
user_box alone "$held"
is alone/before 0 "$(ask alone get a.example 443)"
kill -9 "$(pgrep -x sbpf-resolver)"
within 20 nobody_answers; is alone/nobody-answers 0 $?
has alone/asks gai- "$(ask alone look a.example)"
is alone/status false "$(status alone | jq .isolation_active)"
has alone/why "no host name resolves any more" "$(status alone | jq -r '.degraded[].reason')"
is alone/denied $EPERM "$(ask alone connect $evil 443)"
kill "$pid_alone"
within 20 gone u4242-alone; is alone/gone 0 $?
user_box orphan "$held"
kill -9 "$(keepers)"
within 20 nobody_answers; is orphan/nobody-answers 0 $?
is orphan/status false "$(status orphan | jq .isolation_active)"
kill "$pid_orphan"
within 20 gone u4242-orphan; is orphan/gone 0 $?
user_box lost "$held"
kill -9 $daemon
wait $daemon 2>/dev/null
wait "$pid_lost"; is lost/client 125 $?
start
within 30 gone u4242-lost; is lost/gone 0 $?
within 20 nobody_answers; is lost/nobody-answers 0 $?

# ---- what cannot be ----
away() { unshare -n setpriv --reuid 4242 --regid 4242 --groups "$readers" sbpf run "$@" -- true 2>&1; }
out=$(away); is away/control 0 $?
out=$(away --policy "$held"); is away/code 2 $?
has away/why "another network namespace" "$out"
: >/etc/resolv.conf
printf 'version: 1\nname: asks-nobody\nnetwork: {connect: [{host: a.example, ports: [443]}]}\n' >"$tmp/nobody.yaml"
out=$(user sbpf run --policy "$tmp/nobody.yaml" -- true 2>&1); is nobody/code 125 $?
has nobody/why "names nobody" "$out"
cat "$tmp/resolv.conf" >/etc/resolv.conf
is left/sandboxes keeper "$(sbpf list)"
within 20 nobody_answers; is left/nobody-answers 0 $?
is left/no-entry "{}" "$(jq -c .runs /run/sbpf/service.json)"
kill $daemon
wait $daemon; is end/code 0 $?
cat "$tmp/log" >&2
end_all
finish
