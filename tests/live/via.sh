#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Connections that a policy leads to a proxy: the proxy learns whom they are for, clients need not know, and nothing gets
# past it.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
hands=$(cat "$here/flows.py")
ECONNREFUSED=111 ECONNABORTED=103

python3 "$here/echo.py" 7001 7002 >"$tmp/echo" & servers+=($!)
mkdir "$tmp/www" && echo served >"$tmp/www/page"
python3 -m http.server --bind 127.0.0.1 --directory "$tmp/www" 7003 >"$tmp/http" 2>&1 & servers+=($!)
declare -A proxies
proxy() { # proxy PORT
  python3 "$here/proxy.py" "$1" >"$tmp/proxy.$1" 2>&1 & proxies[$1]=$!
  servers+=($!)
  within 30 grep -q ready "$tmp/proxy.$1"
}
proxy 7000
proxy 7009
within 30 grep -q ready "$tmp/echo"
within 30 curl -s -o /dev/null http://127.0.0.1:7003/
led() { sed 1d "$tmp/proxy.$1" | jq -r "$2"; } # led PORT FIELD: of all connections that the proxy had

# leads NAME PROXY-PORT: 7001 and 7003 go to the proxy, 7002 does not
leads() {
  policy "$1" <<Y
version: 1
name: $1
network:
  record_flows: true
  connect:
    - {cidr: 127.0.0.0/8, ports: [7001, 7003], protocol: tcp, via: {address: 127.0.0.1, port: $2}}
    - {address: "::1", ports: [7001], protocol: tcp, via: {address: "::1", port: $2}}
    - {address: 127.0.0.1, ports: [7002], protocol: tcp}
Y
}
through=$(leads through 7000)
other=$(leads other 7009)
nobody=$(leads nobody 7999)
plain=$(policy plain <<'Y'
version: 1
name: plain
network: {connect: [{address: 127.0.0.1, ports: [7001-7003], protocol: tcp}]}
Y
)

keep_loaded

# ---- clients that know of no proxy ----
is control/page served "$(sbpf run -q --policy "$plain" -- curl -s http://127.0.0.1:7003/page)"
is control/proxy-had-none 1 "$(wc -l <"$tmp/proxy.7000")" # the line that says it is ready
is curl/page served "$(sbpf run -q --name curl --policy "$through" -- curl -s --noproxy '*' http://127.0.0.1:7003/page)"
is curl/origin 127.0.0.1:7003 "$(led 7000 '"\(.origin.address):\(.origin.port)"')"
is curl/proxy 127.0.0.1:7000 "$(led 7000 '"\(.proxy.address):\(.proxy.port)"')"
is curl/sandbox curl "$(led 7000 .sandbox)"
is python/page served "$(sbpf run -q --policy "$through" -- python3 -c '
import urllib.request
print(urllib.request.urlopen("http://127.0.0.1:7003/page").read().decode().strip())')"
is python/origin 7003 "$(led 7000 .origin.port | tail -1)"
is proxy-itself/refused 1 "$(sbpf run -q --policy "$through" -- "$probe" connect tcp 127.0.0.1 7000)"
out=$(sbpf explain --policy "$through" connect 127.0.0.5:7001); has explain/names-the-proxy "via: {address: 127.0.0.1, port: 7000}" "$out"

# ---- sockets: led, not led, over IPv6 ----
box held "$through"
is held/led 0 "$(ask held tcp a 7001)"
is held/led-echo 0 "$(ask held echo a)"
is held/mapped 0 "$(ask held tcp6 m 7001)"
is held/mapped-echo 0 "$(ask held echo m)"
is held/mapped-origin 127.0.0.1:7001 "$(led 7000 '"\(.origin.address):\(.origin.port)"' | tail -1)"
before=$(led 7000 .own_port | wc -l)
is held/direct 0 "$(ask held tcp b 7002)"
is held/direct-echo 0 "$(ask held echo b)"
is held/direct-is-not-led "$before" "$(led 7000 .own_port | wc -l)"
# What is recorded is whom it is for, not the proxy.
flows() { sbpf events held --json | jq -r 'select(.reason == "flow") | "\(.address):\(.port)"' | paste -sd' '; }
out=$(flows)
has held/recorded 127.0.0.1:7001 "$out"
has held/recorded-direct 127.0.0.1:7002 "$out"
hasnt held/recorded-no-proxy :7000 "$out"

# ---- the question ----
client=$(ss -Htn state established "( dport = :7000 )" | awk '{ print $3; exit }')
is origin/text 127.0.0.1:7001 "$(sbpf origin "$client")"
is origin/sandbox held "$(sbpf origin "$client" --json | jq -r .sandbox)"
direct=$(ss -Htn state established "( dport = :7002 )" | awk '{ print $3; exit }')
out=$(sbpf origin "$direct" 2>&1); is origin/of-one-not-led 125 $?
has origin/says-so "no connection from" "$out"
sbpf origin nonsense 2>/dev/null; is origin/usage 2 $?
is origin/inside 125 "$(sbpf run -q --policy "$through" -- sbpf origin "$client" 2>/dev/null; echo $?)"

# What was led and is not any more is no connection to end.
is again/led 0 "$(ask held tcp r 7001)"
is again/direct 0 "$(ask held again r 7002)"
is again/echo 0 "$(ask held echo r)"

# ---- another policy: what it leads elsewhere ends ----
out=$(sbpf swap held --policy "$through" 2>&1); hasnt swap/same-ends-nothing ended "$out"
is swap/same-goes-on 0 "$(ask held echo a)"
out=$(sbpf swap held --policy "$other" 2>&1); has swap/says-so "ended tcp connection to 127.0.0.1:7001" "$out"
for name in a m; do is "swap/$name-has-ended" $ECONNABORTED "$(ask held receive "$name")"; done
is swap/b-goes-on 0 "$(ask held echo b)"
is swap/again-goes-on 0 "$(ask held echo r)"
# Nor when it is over.
out=$(sbpf events held --json | jq -r 'select(.reason == "flow_ended") | "\(.address):\(.port)"' | paste -sd' ')
has swap/recorded-end 127.0.0.1:7001 "$out"
hasnt swap/recorded-end-no-proxy :7000 "$out"
is swap/led-to-the-other 0 "$(ask held tcp c 7001)"
is swap/other-proxy 0 "$(within 30 eval '[ "$(led 7009 .origin.port)" = 7001 ]'; echo $?)"
out=$(sbpf swap held --policy "$plain" 2>&1); has swap/direct-now "ended tcp connection to 127.0.0.1:7001" "$out"
is swap/plain 0 "$(ask held tcp d 7001)"
out=$(sbpf swap held --policy "$through" 2>&1); has swap/led-again "ended tcp connection to 127.0.0.1:7001" "$out"
is swap/d-has-ended $ECONNABORTED "$(ask held receive d)"

# ---- without its proxy nothing is reached ----
kill "${proxies[7000]}"; wait "${proxies[7000]}" 2>/dev/null
is dead-proxy/refused $ECONNREFUSED "$(ask held tcp e 7001)"
is dead-proxy/page 7 "$(sbpf run -q --policy "$nobody" -- curl -s -o /dev/null http://127.0.0.1:7003/page; echo $?)"
is dead-proxy/direct-goes-on 0 "$(ask held echo b)"
sbpf kill held 2>/dev/null
proxy 7000

# ---- a cgroup that is attached to, where sends are judged as well ----
mkdir "$cgroots/guest"
hands_of guest bash -c "echo \$\$ >'$cgroots/guest/cgroup.procs'; exec \"\$@\"" bash
sbpf attach --cgroup "$cgroots/guest" --policy "$through" --name guest >"$tmp/attach" 2>&1; is attach/exit 0 $?
cat "$tmp/attach"
is attach/led 0 "$(ask guest tcp a 7001)"
is attach/echo 0 "$(ask guest echo a)"
is attach/origin guest "$(led 7000 .sandbox | tail -1)"
is attach/direct 0 "$(ask guest tcp b 7002)"
is attach/direct-echo 0 "$(ask guest echo b)"
out=$(sbpf swap guest --policy "$other" 2>&1)
is attach/swap-ends 1 "$(ask guest echo a)"
is attach/swap-goes-on 0 "$(ask guest echo b)"
sbpf detach guest 2>/dev/null
is detached/not-led 0 "$(ask guest tcp c 7001)"
is detached/echo 0 "$(ask guest echo c)"
kill "$pid_guest"; wait "$pid_guest" 2>/dev/null
within 10 rmdir "$cgroots/guest"
kill_all
finish
