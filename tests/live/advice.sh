#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is printed of a denial: who follows it to the letter is done in one step, and has opened no more than was asked for.
. "$(dirname "$0")/lib.sh"
keep_loaded
mkdir -p /opt/tools /srv/work /srv/data/{many,few,.keys}
cp /bin/true /opt/tools/tool
cp /bin/true /opt/tools/other
for i in {1..5}; do for d in many .keys; do echo "text $i" >/srv/data/$d/$i; done; done
for i in 1 2; do echo "text $i" >/srv/data/few/$i; done
serve tcp 127.0.0.1 7001
# The profile's limits are for a real processor.
roomy=$(policy roomy <<<$'version: 1\nname: roomy\nextends: [untrusted]\nprocess: {limits: {timeout: 5m, cpu: 2}}')

changes_in() { # each change that a run printed, with a 036 behind it
  awk '/^  allow with: / { end(); change = substr($0, 15); next }
    /^              / && change != "" { change = change "\n" substr($0, 15); next }
    { end() }
    END { end() }
    function end() { if (change != "") printf "%s\036", change; change = "" }'
}
# follow NAME POLICY COMMAND…: runs it, puts each change that was printed over the policy, and so on until none is printed. Sets
# steps, code, changes (of all steps, in lines) and followed, the last policy. `options` are those of sbpf run.
options=()
follow() {
  local name=$1 change out n=0
  followed=$2 changes=''
  for steps in {0..5}; do
    out=$(sbpf run "${options[@]}" -p "$followed" -- "${@:3}" 2>&1); code=$?
    out=$(changes_in <<<"$out" | tr '\n' '\035')
    [[ -n $out ]] || return
    while IFS= read -r -d $'\036' change; do
      changes+=$(tr '\035' '\n' <<<"$change")$'\n'
      followed=$(printf 'version: 1\nname: followed\nextends: [%s]\n%s\n' "$followed" "$(tr '\035' '\n' <<<"$change")" | policy "$name.$n")
      n=$((n + 1))
    done <<<"$out"
  done
}
ends_with() { sbpf run -q -p "$followed" -- "$@" >/dev/null 2>&1; echo $?; }

# ---- a program elsewhere: to be read, and to be run ----
is program/control 0 "$(/opt/tools/tool; echo $?)"
follow program "$roomy" /opt/tools/tool
is program/steps "1 0" "$steps $code"
is program/change $'process: {exec: {allow: [/opt/tools/tool]}}\nfilesystem: {read: [/opt/tools/tool]}' "${changes%$'\n'}"
is program/not-the-next-one 126 "$(ends_with /opt/tools/other)"

# ---- one that it made itself: the key that decides ----
made='cp /bin/true /srv/work/made && exec /srv/work/made'
work=$(policy work <<<"version: 1
name: work
extends: [$roomy]
filesystem: {write: [/srv/work]}")
is made/control 0 "$(sh -c "$made"; echo $?)"
follow made "$work" sh -c "$made"
is made/steps "1 0" "$steps $code"
is made/change 'process: {exec: {allow: [/srv/work/made], deny_writable: false}}' "${changes%$'\n'}"
is made/again 0 "$(ends_with sh -c "$made")"
is made/not-the-next-one 126 "$(ends_with sh -c 'cp /bin/true /srv/work/more && exec /srv/work/more')"
listed=$(policy listed <<<"version: 1
name: listed
extends: [$work]
process: {exec: {allow: [/srv/work]}}")
follow listed "$listed" sh -c "$made"
is listed/steps "1 0" "$steps $code"
is listed/change 'process: {exec: {deny_writable: false}}' "${changes%$'\n'}"

# ---- several files of one directory; not where secrets are, and not of a few ----
follow many "$roomy" cat /srv/data/many/{1..5}
is many/steps "1 0" "$steps $code"
is many/change 'filesystem: {read: [/srv/data/many]}' "${changes%$'\n'}"
has many/all-are-counted "and of 4 more in /srv/data/many, all of which this opens:" "$(sbpf run -p "$roomy" -- cat /srv/data/many/{1..5} 2>&1)"
is many/is-not-write 2 "$(ends_with sh -c 'echo x >/srv/data/many/1')"
is many/not-beside 1 "$(ends_with cat /srv/data/few/1)"
follow few "$roomy" cat /srv/data/few/{1,2}
is few/steps "1 0" "$steps $code"
is few/change $'filesystem: {read: [/srv/data/few/1]}\nfilesystem: {read: [/srv/data/few/2]}\nfilesystem: {read: [/srv/data/few/1, /srv/data/few/2]}' "${changes%$'\n'}"
has few/at-once "sbpf: to allow all of these at once:" "$(sbpf run -p "$roomy" -- cat /srv/data/few/{1,2} 2>&1)"
follow hidden "$roomy" cat /srv/data/.keys/{1..5}
is hidden/steps "1 0" "$steps $code"
is hidden/each-by-its-name 5 "$(grep -c 'read: \[/srv/data/.keys/[1-5]\]' <<<"$changes")"
# What a rule beneath denies is no part of the directory: it is told by its own name.
shut=$(policy shut <<<"version: 1
name: shut
extends: [$roomy]
filesystem: {deny: [/srv/data/many/3]}")
follow shut "$shut" cat /srv/data/many/{1..5}
is shut/steps "1 0" "$steps $code"
has shut/by-its-name "read: [/srv/data/many/3]" "$changes"

# ---- by the names of the sandbox, where it has a workspace of its own ----
mkdir -p /srv/job/den
echo text >/srv/job/den/a
options=(--workspace /srv/job)
built=$(policy built <<<"version: 1
name: built
extends: [$roomy]
filesystem: {deny: [/workspace/den]}
process: {exec: {allow: [/workspace]}}")
follow built "$built" sh -c 'cp /bin/true made && exec /workspace/made'
is workspace/steps "1 0" "$steps $code"
is workspace/change 'process: {exec: {deny_writable: false}}' "${changes%$'\n'}"
follow den "$built" cat den/a
is workspace/denied-steps "1 0" "$steps $code"
is workspace/denied-change 'filesystem: {read: [/workspace/den/a]}' "${changes%$'\n'}"
sbpf run -q --workspace /srv/job -n aside -p "$built" -- sh -c 'cat den/a; exec sleep 1000' >/dev/null 2>&1 & servers+=($!)
told_aside() { sbpf events aside --json | grep -q '"path":"/workspace/den/a"'; }
within 60 told_aside; is workspace/events 0 $?
sbpf kill aside >/dev/null
options=()

# ---- endpoints ----
host=$(policy host <<<$'version: 1\nname: host\nextends: [no-network]\nnetwork: {loopback: host}')
follow endpoint "$host" "$probe" connect tcp 127.0.0.1 7001
is endpoint/steps "1 0" "$steps $code"
is endpoint/visits 1 "$(visits tcp 127.0.0.1 7001)"

# ---- what takes a protection away is no advice ----
raw='import socket
socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'
is relaxation/control 0 "$(python3 -IS -c "$raw" >/dev/null 2>&1; echo $?)"
out=$(sbpf run -p "$roomy" --events --status-fd 3 -- python3 -IS -c "$raw" 2>&1 3>"$tmp/status")
has relaxation/said "  only a relaxation allows it: network: {dangerously_allow_sockets: [raw]}" "$out"
hasnt relaxation/no-advice "allow with" "$out"
is relaxation/json '["","network: {dangerously_allow_sockets: [raw]}"]' \
  "$(jq -c 'select(.event.reason == "socket_class").event | [.allow, .relaxation]' <"$tmp/status" | head -1)"

# ---- what stops nothing is told to nobody ----
for where in /dev/stderr /proc/self/fd/2; do
  out=$(sbpf run -p "$roomy" -- sh -c "echo marker >$where" 2>&1 </dev/null); is "nothing$where" 0 $?
  is "nothing$where/said" $'sbpf: isolation active\nmarker' "$(sed 's/active .*/active/' <<<"$out")"
done
out=$(sbpf run -p "$roomy" -- sh -c 'echo 0x33 >/proc/self/coredump_filter || echo refused; echo x >/proc/self/attr/current || echo refused' 2>&1 </dev/null)
is nothing/settings 2 "$(grep -c ^refused <<<"$out")"
hasnt nothing/settings-said coredump_filter "$(grep ^sbpf: <<<"$out")"
# A name's look-up is no wish for UDP, where TCP is what the policy lists or was asked for.
printf '192.0.2.7 two.example\n2001:db8::5 two.example\n' >>/etc/hosts
both=$(policy both <<<$'version: 1\nname: both\nnetwork: {connect: [{cidr: 192.0.2.0/24, ports: [7002], protocol: tcp}, {cidr: "2001:db8::/32", ports: [7002], protocol: tcp}]}')
looked='import socket; print(len(socket.getaddrinfo("two.example", 7002, 0, socket.SOCK_STREAM)))'
out=$(sbpf run -p "$both" --events -- python3 -ISc "$looked" 2>&1 </dev/null)
is nothing/look-up 2 "$(grep -x 2 <<<"$out")"
has nothing/look-up-was-denied "denied connect udp 192.0.2.7:7002" "$out" # as it happened
is nothing/look-up-said 0 "$(sbpf run -p "$both" -- python3 -ISc "$looked" 2>&1 </dev/null | grep -c 'denied connect udp')"
finish
