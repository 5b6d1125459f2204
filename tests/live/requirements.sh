#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The founding requirements, with real programs and both controls each: BF-1, BF-1b, BF-2, LC-1, LC-2, AB-5, X-1, X-2.
. "$(dirname "$0")/lib.sh"

# Every port on one kernel; the others take every port that anything here listens on.
case $(uname -r) in 6.12.*) last_port=65535 ;; *) last_port=19000 ;; esac

allow8000=$(policy allow8000 <<'P'
version: 1
name: allow8000
network: {connect: [{address: 127.0.0.1, ports: [8000], protocol: tcp}]}
P
)
open=$(policy open <<'P'
version: 1
name: open
network: {dangerously_allow_all: true}
P
)

# ---- BF-1: real clients are refused at once, and the server never hears of them ----
mkdir "$tmp/www"
echo payload >"$tmp/www/file"
(cd "$tmp/www" && exec python3 -u -m http.server 8000 --bind 127.0.0.1) >"$tmp/http.log" 2>&1 &
servers+=($!)
within 60 curl -sf -o /dev/null http://127.0.0.1:8000/file
requests() { grep -c '"GET ' "$tmp/http.log"; }

cat >"$tmp/get.py" <<'P'
import urllib.request, urllib.error
try:
    print("got", urllib.request.urlopen("http://127.0.0.1:8000/file", timeout=30).read().decode().strip())
except urllib.error.URLError as e:
    print("errno", e.reason.errno)
P
cat >"$tmp/get.js" <<'P'
require("http").get("http://127.0.0.1:8000/file", r => r.on("data", d => console.log("got " + String(d).trim())))
  .on("error", e => console.log("errno " + -e.errno));
P
client() { # client NAME [sbpf run options… --]
  local name=$1
  shift
  case $name in
    # Its own messages do not say which errno it got.
    curl) "$@" strace -f -qq -e trace=connect -e signal=none curl -sS --max-time 30 http://127.0.0.1:8000/file 2>&1 | sed 's/.*htons(8000).* EPERM .*/errno 1/' ;;
    python) "$@" python3 "$tmp/get.py" ;;
    node) "$@" node "$tmp/get.js" ;;
  esac 2>&1
}
for name in curl python node; do
  before=$(requests)
  has "BF-1/$name/control-open" payload "$(client $name)"
  has "BF-1/$name/allowed" payload "$(client $name sbpf run -q --policy "$allow8000" --)"
  is "BF-1/$name/server-heard-the-allowed" $((before + 2)) "$(requests)"
  before=$(requests)
  out=$(client $name sbpf run -q --policy no-network --)
  hasnt "BF-1/$name/denied" payload "$out"
  has "BF-1/$name/denied-errno" "errno 1" "$out"
  is "BF-1/$name/server-heard-nothing" "$before" "$(requests)"
done

# The denial explains itself (AB-5): what it prints is a policy line, and with that line the program gets through.
out=$(sbpf run --policy no-network -- "$probe" connect tcp 127.0.0.1 8000 2>&1)
has AB-5/denial-names-the-endpoint "connect tcp 127.0.0.1:8000" "$out"
line=$(sed -n 's/.*allow with: *//p' <<<"$out" | head -1)
has AB-5/denial-names-the-line "127.0.0.1" "$line"
printf 'version: 1\nname: mended\n%s\n' "$line" >"$tmp/mended.yaml"
is AB-5/the-line-allows-it 0 "$(sbpf run -q --policy "$tmp/mended.yaml" -- "$probe" connect tcp 127.0.0.1 8000 2>&1 | tail -1)"

# ---- BF-1b: any uid, and through a set-user-id program ----
cp "$probe" "$tmp/probe" && cp "$probe" "$tmp/suid" && chmod 4755 "$tmp/suid" && chmod 755 "$tmp"
allow8000_powers=$(policy allow8000_powers <<P
version: 1
name: allow8000-powers
network: {connect: [{address: 127.0.0.1, ports: [8000], protocol: tcp}]}
$powers
P
)
no_network_powers=$(policy no_network_powers <<P
version: 1
name: no-network-powers
extends: [no-network]
$powers
P
)
as() { local uid=$1; shift; setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"; }
for uid in 0 1000; do
  is "BF-1b/uid-$uid/control-open" 0 "$(as $uid "$probe" connect tcp 127.0.0.1 8000)"
  is "BF-1b/uid-$uid/allowed" 0 "$(sbpf run -q --policy "$allow8000_powers" -- setpriv --reuid $uid --regid $uid --clear-groups "$probe" connect tcp 127.0.0.1 8000)"
  is "BF-1b/uid-$uid/denied" 1 "$(sbpf run -q --policy "$no_network_powers" -- setpriv --reuid $uid --regid $uid --clear-groups "$probe" connect tcp 127.0.0.1 8000)"
  is "BF-1b/uid-$uid/by-option/allowed" 0 "$(sbpf run -q --policy "$allow8000" --user $uid:$uid -- "$tmp/probe" connect tcp 127.0.0.1 8000)"
  is "BF-1b/uid-$uid/by-option/denied" 1 "$(sbpf run -q --policy no-network --user $uid:$uid -- "$tmp/probe" connect tcp 127.0.0.1 8000)"
done
is BF-1b/set-user-id/control-open 0 "$(as 1000 "$tmp/suid" connect tcp 127.0.0.1 8000)"
is BF-1b/set-user-id/allowed 0 "$(sbpf run -q --policy "$allow8000_powers" -- setpriv --reuid 1000 --regid 1000 --clear-groups "$tmp/suid" connect tcp 127.0.0.1 8000)"
is BF-1b/set-user-id/denied 1 "$(sbpf run -q --policy "$no_network_powers" -- setpriv --reuid 1000 --regid 1000 --clear-groups "$tmp/suid" connect tcp 127.0.0.1 8000)"

# ---- BF-2: only the policy's environment arrives ----
envp=$(policy env <<'P'
version: 1
name: env
process: {env: {allow: [PATH, GIVEN], set: {CI: "1"}}}
P
)
has BF-2/control-inherits canary-7f3 "$(OPENAI_API_KEY=canary-7f3 env)"
out=$(OPENAI_API_KEY=canary-7f3 GIVEN=yes sbpf run -q --policy "$envp" -- env)
hasnt BF-2/secret-stays-out canary-7f3 "$out"
has BF-2/allowed-name-arrives GIVEN=yes "$out"
has BF-2/explicit-value-arrives CI=1 "$out"
out=$(OPENAI_API_KEY=canary-7f3 sbpf run -q --policy no-network -- env)
has BF-2/default-ran PATH= "$out"
hasnt BF-2/default-keeps-it-out canary-7f3 "$out"
allow_key=$(policy allow_key <<'P'
version: 1
name: allow-key
process: {env: {allow: [PATH, OPENAI_API_KEY]}}
P
)
has BF-2/allowing-policy canary-7f3 "$(OPENAI_API_KEY=canary-7f3 sbpf run -q --policy "$allow_key" -- env)"

# ---- LC-1, LC-2: exactly the proxy and the resolver, on five addresses, TCP and UDP ----
# Bystanders of each address and protocol, the report's API on port 8000 among them (above).
serve tcp 127.0.0.1 18443
serve tcp 127.0.0.53 53
serve udp 127.0.0.53 53
serve udp 127.0.0.1 8000
serve tcp ::1 8000
serve udp ::1 8000
serve tcp 127.0.0.2 8000
serve udp 127.0.0.2 8000
is LC-1/control-open-api 0 "$("$probe" connect tcp 127.0.0.1 8000)"
is LC-1/control-open-bystander 0 "$("$probe" connect tcp ::1 8000)"
before=$(requests) visits_before=$(cat "$tmp"/udp-127.0.0.1-8000.log "$tmp"/*-::1-8000.log "$tmp"/*-127.0.0.2-8000.log | wc -l)
# Where the profile lets programs be: its files are what runtimes need, and this.
mkdir -p /workspace
cp "$probe" /workspace/probe
# Over the host's loopback; without that, the sandbox has one of its own (live/loopback.sh).
interpreter=$(policy interpreter <<<$'version: 1\nname: interpreter\nextends: [code-interpreter]\nnetwork: {loopback: host}')
out=$(sbpf run -q --policy "$interpreter" -- /workspace/probe scan $last_port)
has LC-1/scan-was-whole "scanned $((last_port * 10))" "$out"
# 127.0.0.1 is also reached as the mapped address; the resolver's 127.0.0.53 is none of the five.
is LC-1/exactly-the-proxy "tcp 127.0.0.1 18443 open
tcp ::ffff:127.0.0.1 18443 open" "$(grep -v scanned <<<"$out")"
for protocol in tcp udp; do
  is "LC-1/resolver-$protocol" 0 "$(sbpf run -q --policy "$interpreter" -- /workspace/probe connect $protocol 127.0.0.53 53)"
  is "LC-1/resolver-other-port-$protocol" 1 "$(sbpf run -q --policy "$interpreter" -- /workspace/probe connect $protocol 127.0.0.53 54)"
done
is LC-2/api-heard-nothing "$before" "$(requests)"
is LC-2/bystanders-heard-nothing "$visits_before" "$(cat "$tmp"/udp-127.0.0.1-8000.log "$tmp"/*-::1-8000.log "$tmp"/*-127.0.0.2-8000.log | wc -l)"
is LC-1/allowing-policy 0 "$(sbpf run -q --policy "$open" -- "$probe" connect tcp ::1 8000)"

# ---- X-1: the first instruction is confined, of 10,000 programs: 9,900 that one sandbox starts, and 100 that `run` does ----
many=9900 runs=100
kill "${servers[0]}" 2>/dev/null
wait "${servers[0]}" 2>/dev/null
serve tcp 127.0.0.1 8000
is X-1/control-open "exit 0: 20, exit 1: 0, other: 0" "$("$probe" storm 20 "$at_once")"
is X-1/allowed "exit 0: 20, exit 1: 0, other: 0" "$(sbpf run -q --policy "$allow8000" -- "$probe" storm 20 "$at_once")"
before=$(visits tcp 127.0.0.1 8000)
started x1 -q --policy no-network -- sleep 1000 </dev/null
is "X-1/denied-$many-started-inside" "exit 0: 0, exit 1: $many, other: 0" "$(sbpf run -q --policy no-network -- "$probe" storm $many "$at_once")"
through=0
for ((i = 0; i < runs; i++)); do
  sbpf run -q --policy no-network -- "$at_once"
  [[ $? == 1 ]] || through=$((through + 1))
done
is "X-1/denied-$runs-of-run" 0 "$through"
is X-1/server-heard-nothing "$before" "$(visits tcp 127.0.0.1 8000)"
sbpf kill x1 && wait $started 2>/dev/null

# ---- X-2: kill -9 of the supervisor leaves the workload running and confined ----
# It connects when it is asked to, so that denials can be counted.
mkfifo "$tmp/ask" "$tmp/answer"
cat >"$tmp/loop.sh" <<P
while read -r _; do $probe connect tcp 127.0.0.1 8000; done
P
exec 7<>"$tmp/ask" 8<>"$tmp/answer"
connects() { local errno; echo >&7; read -r -t 60 -u 8 errno; echo "$errno"; }
# counters: all that status says of the policy in force and of what was denied
counters() { sbpf status orphan --json | jq -c '[.policy.generation, .policy.sha256, .denied, .lost_events]'; }
before=$(visits tcp 127.0.0.1 8000)
started orphan -q --policy no-network -- sh "$tmp/loop.sh" <"$tmp/ask" >"$tmp/answer" 7>&- 8>&-
supervisor=$started
for n in 1 2 3; do is X-2/denied-before-$n 1 "$(connects)"; done
counted=$(counters)
is X-2/denials-are-counted 3 "$(jq '.[2].connect4' <<<"$counted")"
kill -9 $supervisor
wait $supervisor 2>/dev/null
is X-2/counters-unchanged "$counted" "$(counters)"
for n in 1 2; do is X-2/still-denied-after-kill-9-$n 1 "$(connects)"; done
is X-2/counters-go-on "$(jq -c '.[2].connect4 = 5' <<<"$counted")" "$(counters)"
has X-2/list-shows-it orphan "$(sbpf list)"
is X-2/status-still-active True "$(sbpf status orphan --json | json 'd["isolation_active"]')"
has X-2/verify-holds "active" "$(sbpf verify orphan)"
sbpf kill orphan
none X-2/kill-ends-it pgrep -f "$tmp/loop.sh"
is X-2/server-heard-nothing "$before" "$(visits tcp 127.0.0.1 8000)"
quiet X-2/list-forgets-it sbpf list

end_all
finish
