#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `sbpf exec --policy`: a program in a sandbox that runs, which may less than the rest of it.
. "$(dirname "$0")/lib.sh"
keep_loaded
mkdir -p /srv/agent/inner /srv/shared /srv/closed
echo "of the agent" >/srv/agent/f
echo "of the tool" >/srv/agent/inner/f
echo "closed to both" >/srv/closed/f
cat >/srv/shared/connect.py <<'P'
import socket, sys
s = socket.socket()
s.settimeout(5)
try:
    s.connect((sys.argv[1], int(sys.argv[2])))
    print(0)
except OSError as e:
    print(e.errno)
P
serve tcp 127.0.0.1 7011
serve tcp 127.0.0.1 7012
cd /
agent=$(policy agent <<P
version: 1
name: agent
extends: [runtime-files]
filesystem: {read: [/srv/shared], write: [/srv/agent]}
network: {connect: [{address: 127.0.0.1, ports: [7011]}]}
process: {capabilities: [CHOWN, KILL], limits: {open_files: 77, processes: 50}}
P
)
# tool NAME [FILES [NETWORK [PROCESS]]]: a policy of this name
tool() {
  printf 'version: 1\nname: %s\nextends: [runtime-files]\nfilesystem: {read: [/srv/shared]%s}\nnetwork: {%s}\nprocess: {%s}\n' \
    "$1" "${2:+, $2}" "${3:-}" "${4:-}" | policy "$1"
}
narrow=$(tool narrow 'write: [/srv/agent/inner]')
wide=$(tool wide 'write: [/srv/agent, /srv/closed]' 'dangerously_allow_all: true' 'capabilities: [CHOWN, SYS_TIME], limits: {open_files: 99}')
started agent -q -p "$agent" -- sleep 10000 >/dev/null 2>&1; is agent/runs 0 $?
first=$(members "$cgroots/sbpf/agent" | head -1)
# by POLICY COMMAND…: in the sandbox, under this policy, too; `-` is none
by() {
  local policy=$1
  shift
  if [[ $policy == - ]]; then sbpf exec -q agent -- "$@" </dev/null 2>&1; else sbpf exec -q -p "$policy" agent -- "$@" </dev/null 2>&1; fi
}
inner() { ls -d "$cgroots"/sbpf/"${1:-agent}"/exec-* 2>/dev/null; }
inner_is_there() { [[ -n $(inner "$@") ]]; }
all_gone() { [[ -z $(inner) && $(sbpf list | sort | paste -sd' ') == "agent keeper" ]]; }

# ---- files, network, processes: both policies are asked ----
for who in - "$wide" "$narrow"; do
  name=$(basename "$who" .yaml)
  refused="Permission denied"
  is "files/$name/inner" "of the tool" "$(by "$who" cat /srv/agent/inner/f)"
  is "files/$name/agents" "$([[ $name == narrow ]] && echo "cat: /srv/agent/f: $refused" || echo "of the agent")" "$(by "$who" cat /srv/agent/f)"
  is "files/$name/closed" "cat: /srv/closed/f: $refused" "$(by "$who" cat /srv/closed/f)"
  before=$(visits tcp 127.0.0.1 7011)
  is "network/$name/open-to-the-agent" "$([[ $name == narrow ]] && echo 1 || echo 0)" "$(by "$who" python3 -IS /srv/shared/connect.py 127.0.0.1 7011)"
  is "network/$name/heard" $((before + ($([[ $name == narrow ]] && echo 0 || echo 1)))) "$(visits tcp 127.0.0.1 7011)"
  is "network/$name/closed" 1 "$(by "$who" python3 -IS /srv/shared/connect.py 127.0.0.1 7012)"
  is "signals/$name" "$([[ $name == - ]] && echo 0 || echo 1)" "$(by "$who" python3 -ISc "import os
try: print(os.kill($first, 0) or 0)
except OSError as e: print(e.errno)")"
done
is network/nobody-heard-of-the-closed-one 0 "$(visits tcp 127.0.0.1 7012)"
is closed/control "closed to both" "$(cat /srv/closed/f)"
is signals/its-own 0 "$(by "$narrow" sh -c 'sleep 100 & kill $!; echo $?')"

# ---- it begins by both ----
field() { awk -v f="$1:" '$1 == f { print $2 }'; }
started_by_one=$(by - cat /proc/self/status) by_both=$(by "$wide" cat /proc/self/status) by_narrow=$(by "$narrow" cat /proc/self/status)
is begins/control 0000000000000021 "$(field CapEff <<<"$started_by_one")"
is begins/capabilities-of-both 0000000000000001 "$(field CapEff <<<"$by_both")"
is begins/bounding-set-of-both 0000000000000001 "$(field CapBnd <<<"$by_both")"
is begins/no-capabilities 0000000000000000 "$(field CapEff <<<"$by_narrow")"
is begins/same-filters "$(field Seccomp_filters <<<"$started_by_one")" "$(field Seccomp_filters <<<"$by_narrow")"
cat >"$tmp/filter.json" <<'J'
{"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64"],
 "syscalls": [{"names": ["sched_setaffinity"], "action": "SCMP_ACT_ERRNO", "errnoRet": 5}]}
J
filtered=$(tool filtered 'write: [/srv/agent]' '' "seccomp: $tmp/filter.json")
affinity='import os
try: print(os.sched_setaffinity(0, {0}) or 0)
except OSError as e: print(e.errno)'
is begins/filter-control 0 "$(by "$narrow" python3 -ISc "$affinity")"
is begins/filter 5 "$(by "$filtered" python3 -ISc "$affinity")"
is begins/and-the-sandboxs-filter 1 "$(by "$filtered" python3 -ISc 'import ctypes
libc = ctypes.CDLL(None, use_errno=True); libc.unshare(0x10000000); print(ctypes.get_errno())')"
is begins/limit 77 "$(by "$wide" sh -c 'ulimit -n')"
is begins/smaller-limit 33 "$(by "$(tool few '' '' 'limits: {open_files: 33}')" sh -c 'ulimit -n')"
started as-user -q -p "$(tool as-user '' '' 'user: {uid: 1234, gid: 1234}')" -- sleep 10000 >/dev/null 2>&1
out=$(sbpf exec -p "$(tool as-root '' '' 'user: {uid: 0, gid: 0}')" as-user -- id -u 2>&1 </dev/null); is begins/no-other-user 2 $?
has begins/no-other-user-named "run as user 1234" "$out"
is begins/same-user 1234 "$(sbpf exec -q -p "$narrow" as-user -- id -u 2>&1 </dev/null)"
sbpf kill as-user >/dev/null
is begins/user "1234 1234" "$(by "$(tool user '' '' 'user: {uid: 1234, gid: 1234}')" sh -c 'echo $(id -u) $(id -g)')"
is begins/environment inner "$(by "$(tool env '' '' 'env: {set: {OF: inner}}')" sh -c 'echo $OF')"
is begins/places "$(readlink /proc/$first/ns/mnt /proc/$first/ns/ipc | paste -sd' ')" "$(by "$narrow" readlink /proc/self/ns/mnt /proc/self/ns/ipc | paste -sd' ')"
is begins/cgroup 1 "$(by "$narrow" cat /proc/self/cgroup | grep -c '^0::/sbpf/agent/exec-[0-9]*-[0-9]*$')"

# ---- how it ends ----
by "$narrow" sh -c 'exit 7'; is end/code 7 $?
by "$narrow" sh -c 'kill -9 $$'; is end/signal 137 $?
by "$narrow" nowhere >/dev/null; is end/not-found 127 $?
cp /bin/true /srv/agent/program
by - /srv/agent/program; is end/program-control 0 $?
by "$narrow" /srv/agent/program >/dev/null; is end/program-denied 126 $?
out=$(sbpf exec -p "$narrow" agent -- cat /srv/agent/f 2>&1 </dev/null)
has end/active "isolation active" "$out"
has end/denial "denied read /srv/agent/f" "$out"
has end/remedy "filesystem: {read: [/srv/agent/f]}" "$out"
has end/denied-by-the-sandbox "denials in agent meanwhile: sbpf events agent" "$(sbpf exec -p "$wide" agent -- cat /srv/closed/f 2>&1 </dev/null)"
out=$(sbpf exec -p "$(tool short '' '' 'limits: {timeout: 2s}')" agent -- sleep 1000 2>&1 </dev/null); is end/timeout 124 $?
has end/timeout-is-said "timed out" "$out"
by - sh -c 'sleep 10001 >/dev/null 2>&1 &'
within 30 pgrep -fx "sleep 10001" >/dev/null; is left-running/control 0 $?
by "$narrow" sh -c 'sleep 10002 >/dev/null 2>&1 & echo $!' >/dev/null; is left-running/code 0 $?
pgrep -fx "sleep 10002"; is left-running/killed 1 $?
within 30 all_gone; is left-running/nothing-is-left 0 $?
# begin SECONDS [OPTION…]: `sleep SECONDS` under the narrow policy, in the background, as process $waits
begin() {
  sbpf exec -p "$narrow" "${@:2}" agent -- sleep "$1" </dev/null 2>"$tmp/said" & waits=$!
  within 60 pgrep -fx "sleep $1" >/dev/null
}
begin 10003; is signal/begins 0 $?
name=$(basename "$(inner)")
is status/active active "$(sbpf status "$name" --json | json 'd["isolation"]')"
is status/listed "agent $name keeper" "$(sbpf list | sort | paste -sd' ')"
has status/not-entered "name the sandbox that it is in" "$(sbpf exec "$name" -- true 2>&1)"
is status/the-sandbox-has-both 2 "$(cat "$cgroots/sbpf/agent/cgroup.procs" "$(inner)/cgroup.procs" | grep -c "$(pgrep -fx 'sleep 10003')\|^$first\$")"
kill -TERM $waits; wait $waits; is signal/forwarded 143 $?

# ---- what becomes of it meanwhile ----
cat >/srv/shared/writes.sh <<'S'
until echo again >/srv/agent/inner/again 2>/dev/null; do sleep 0.1; done
echo could
until ! echo more >/srv/agent/inner/again 2>/dev/null; do sleep 0.1; done
echo cannot
S
sbpf exec -q -p "$narrow" agent -- sh /srv/shared/writes.sh </dev/null >"$tmp/writes" 2>&1 & waits=$!
within 30 grep -q could "$tmp/writes"; is swap/control 0 $?
less=$(tool less)
sbpf swap -p "$less" agent --evict >/dev/null 2>&1
within 30 grep -q cannot "$tmp/writes"; is swap/of-the-sandbox-takes-away 0 $?
wait $waits; is swap/ended 0 $?
sbpf swap -p "$agent" agent >/dev/null
# Detached, it would have the rights of the sandbox.
begin 10007
sbpf detach "$(basename "$(inner)")" >/dev/null
wait $waits; is detach/ends-it 137 $?
# Killed, it leaves the program confined, until the sandbox ends.
begin 10005
kill -KILL $waits; wait $waits 2>/dev/null
pgrep -fx "sleep 10005" >/dev/null; is killed/program-goes-on 0 $?
is killed/it-is-confined active "$(sbpf status "$(basename "$(inner)")" --json | json 'd["isolation"]')"
sbpf kill "$(basename "$(inner)")" >/dev/null
within 30 eval '! pgrep -fx "sleep 10005" >/dev/null'; is killed/it-can-be-ended 0 $?
# Once such a program has ended, the next command removes what is left.
begin 5
kill -KILL $waits; wait $waits 2>/dev/null
within 30 eval '! pgrep -fx "sleep 5" >/dev/null'
by "$narrow" true
within 30 all_gone; is killed/ended-ones-are-collected 0 $?
for _ in {1..12}; do
  sbpf exec -q -p "$narrow" agent -- sleep 10008 </dev/null 2>/dev/null & waits=$!
  sleep 0.$((RANDOM % 9))
  kill -TERM $waits; wait $waits
done 2>/dev/null
by "$narrow" true
within 30 all_gone; is killed/early-ones-are-collected 0 $?

# ---- what is refused, and leaves nothing ----
refuses() { # refuses NAME CODE WHY POLICY [SANDBOX]
  local out code
  out=$(sbpf exec -p "$4" "${5:-agent}" -- touch /srv/agent/ran 2>&1 </dev/null); code=$?
  is "refused/$1" "$2" $code
  has "refused/$1-why" "$3" "$out"
}
refuses limit 125 "process.limits.memory" "$(tool limited '' '' 'limits: {memory: 100MiB}')"
refuses smaller-limit 125 "process.limits.processes" "$(tool fewer '' '' 'limits: {processes: 49}')"
is refused/limit-that-holds 0 "$(by "$(tool held '' '' 'limits: {processes: 50, timeout: 5m}')" true; echo $?)"
refuses names 2 "host names need a resolver" "$(tool named '' 'connect: [{host: example.org, ports: [443]}]')"
echo secret >"$tmp/secret"; chmod 600 "$tmp/secret"
refuses secrets 2 "process.secrets" "$(tool secretive '' '' "secrets: [{name: TOKEN, file: $tmp/secret}]")"
refuses syntax 2 "wrong.yaml:" "$(policy wrong <<<$'version: 1\nname: wrong\nfilesystem: {reed: [/srv]}')"
refuses via 2 "\`via\` is for" "$(tool via '' 'connect: [{address: 192.0.2.1, ports: [443], protocol: tcp, via: {address: 127.0.0.1, port: 7011}}]')"
refuses empty 2 "it is empty" ""
refuses nobody 125 nobody "$narrow" nobody
# Which way a link of the sandbox's leads is its own choice.
ln -s /srv/closed /srv/shared/of-root
by - ln -s /srv/closed /srv/agent/link
refuses planted-link 2 "/srv/agent/link" "$(tool linked 'write: [/srv/agent/link]')"
is refused/root-link-control "of the tool" "$(by "$(tool rooted 'write: [/srv/shared/of-root, /srv/agent/inner]')" cat /srv/agent/inner/f)"
is refused/nothing-ran no "$([[ -e /srv/agent/ran ]] && echo yes || echo no)"
within 30 all_gone; is refused/nothing-is-left 0 $?
for _ in {1..5}; do by "$narrow" true || echo "not ok again: $?"; done
is again/nothing-is-left "0 agent keeper" "$(within 30 all_gone; echo $? $(sbpf list | sort))"

# For the watch its end is no loss.
sbpf watch --json </dev/null >"$tmp/watch" 2>/dev/null & watch=$!
within 60 grep -q '"pass"' "$tmp/watch"
by "$narrow" sleep 1
passes=$(passes_in "$tmp/watch")
within 30 eval '(($(passes_in "$tmp/watch") >= passes + 3))'; is watch/looks 0 $?
is watch/no-loss 0 "$(grep -c '"loss"' "$tmp/watch")"
kill $watch

# ---- in the sandbox's own loopback and places ----
own=$(policy own <<<$'version: 1\nname: own\nextends: [runtime-files]\nfilesystem: {read: [/srv/shared], private: [/tmp]}\nnetwork: {loopback: private}')
cp "$probe" /usr/local/bin/probe_of_exec
started own -q -p "$own" -- sh -c 'echo mine >/tmp/mark; probe_of_exec listen tcp 127.0.0.1 7013 /tmp/log' >/dev/null 2>&1; is own/runs 0 $?
of_own() { sbpf exec -q -p "$1" own -- "${@:2}" </dev/null 2>&1; }
lists=$(tool lists '' 'loopback: private, connect: [{address: 127.0.0.1, ports: [7013]}]')
within 30 eval '[[ $(of_own "$lists" python3 -IS /srv/shared/connect.py 127.0.0.1 7013) == 0 ]]'; is own/loopback-listed 0 $?
is own/loopback-is-closed 1 "$(of_own "$own" python3 -IS /srv/shared/connect.py 127.0.0.1 7013)"
is own/loopback-denied 1 "$(of_own "$narrow" python3 -IS /srv/shared/connect.py 127.0.0.1 7013)"
sbpf kill own >/dev/null
# What is relayed into it is not open to a program whose policy does not list it.
relayed=$(policy relayed <<<$'version: 1\nname: relayed\nextends: [runtime-files]\nfilesystem: {read: [/srv/shared], private: [/tmp]}\nnetwork: {loopback: private, connect: [{address: 127.0.0.1, ports: [7011, 7012], protocol: tcp}]}')
started own -q -p "$relayed" -- sh -c 'echo mine >/tmp/mark; exec sleep 10000' >/dev/null 2>&1
before=$(visits tcp 127.0.0.1 7011)
is own/relayed-control 0 "$(sbpf exec -q own -- python3 -IS /srv/shared/connect.py 127.0.0.1 7011 </dev/null 2>&1)"
is own/relayed-denied 1 "$(of_own "$own" python3 -IS /srv/shared/connect.py 127.0.0.1 7011)"
is own/relayed-other-denied 1 "$(of_own "$(tool other '' 'loopback: private, connect: [{address: 127.0.0.1, ports: [7012], protocol: tcp}]')" python3 -IS /srv/shared/connect.py 127.0.0.1 7011)"
is own/relayed-listed 0 "$(of_own "$relayed" python3 -IS /srv/shared/connect.py 127.0.0.1 7011)"
within 10 eval '(($(visits tcp 127.0.0.1 7011) == before + 2))'; is own/relayed-heard 0 $?
is own/place mine "$(of_own "$own" cat /tmp/mark)"
is own/place-denied "/usr/bin/cat: /tmp/mark: Permission denied" "$(of_own "$(policy bare <<<$'version: 1\nname: bare\nfilesystem: {read: [/usr, /lib, /lib64, /etc/ld.so.cache]}')" /usr/bin/cat /tmp/mark)"
out=$(sbpf exec -p "$own" agent -- true 2>&1 </dev/null)
has own/closed-is-said "loopback: closed" "$out"
is own/closed 1 "$(by "$own" python3 -IS /srv/shared/connect.py 127.0.0.1 7011)"

# ---- with the sandbox it ends ----
begin 10006
sbpf kill agent >/dev/null
wait $waits; is ended/code 137 $?
has ended/said "sandbox agent ended" "$(cat "$tmp/said")"

# ---- a loss is answered by its own policy ----
started agent -q -p "$agent" -- sleep 10000 >/dev/null 2>&1; is loss/control 0 $?
begin 10004
name=$(basename "$(inner)")
lose_hook "$name" connect4
within 20 grep -q "ISOLATION LOST" "$tmp/said"; is loss/told 0 $?
within 20 grep -q 'frozen 1' "$(inner)/cgroup.events"; is loss/frozen 0 $?
is loss/the-sandbox-is-not frozen=0 "frozen=$(grep -c 'frozen 1' "$cgroots/sbpf/agent/cgroup.events")"
sbpf kill "$name" >/dev/null; wait $waits; is loss/ended 137 $?
end_all
finish
