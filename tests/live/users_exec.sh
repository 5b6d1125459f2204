#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `sbpf exec` of who is not root, into a run of their own, by way of sbpfd.
. "$(dirname "$0")/lib.sh"
. "$here/users_world.sh"
mkdir -p /etc/sbpf/policies
chmod 755 "$tmp"
keep_loaded
start
mkdir -p /srv/theirs
chown 4242:4242 /srv/theirs
echo hidden >/srv/theirs/hidden
cd /srv/theirs
serve tcp 127.0.0.1 7001
box=$(policy box <<<$'version: 1\nname: box\nfilesystem: {default: read, deny: [/srv/theirs/hidden], write: [/srv/theirs]}\nprocess: {env: {allow: [PATH], set: {FROM: policy}}}')
started_by=user_sbpf
started box -q -p "$box" -- sleep 10000 >/dev/null 2>&1; is box/runs 0 $?
started open -q -p "$(policy open <<<$'version: 1\nname: open')" -- sleep 10000 >/dev/null 2>&1; is open/runs 0 $?
unset started_by
in_box() { user sbpf exec -q "$@" </dev/null 2>&1; }

# ---- it is confined as the sandbox is ----
is files/control hidden "$(user cat /srv/theirs/hidden)"
is files/open hidden "$(in_box u4242-open -- cat /srv/theirs/hidden)"
is files/denied "cat: /srv/theirs/hidden: Permission denied" "$(in_box u4242-box -- cat /srv/theirs/hidden)"
is files/allowed done "$(in_box u4242-box -- sh -c 'echo x >/srv/theirs/new && echo done')"
is network/control 0 "$(user "$probe" connect tcp 127.0.0.1 7001 >/dev/null; echo $?)"
is network/denied 1 "$(in_box u4242-box -- "$probe" connect tcp 127.0.0.1 7001 >/dev/null; echo $?)"
is network/visits 1 "$(visits tcp 127.0.0.1 7001)"
is cgroup "0::/sbpf/u4242-box" "$(in_box u4242-box -- cat /proc/self/cgroup)"
out=$(in_box u4242-box -- cat /proc/self/status)
has process/uid $'Uid:\t4242\t4242\t4242\t4242' "$out"
has process/capabilities $'CapPrm:\t0000000000000000\nCapEff:\t0000000000000000' "$out"
has process/no-new-privs $'NoNewPrivs:\t1\nSeccomp:\t2' "$out"
is process/environment "FROM=policy PATH" "$(SECRET=1 in_box u4242-box -- env | sed 's/^PATH=.*/PATH/' | xargs)"
is process/directory /srv/theirs "$(in_box u4242-box -- pwd)"
in_box u4242-box -- sh -c 'exit 7'; is end/code 7 $?
is end/stdin in "$(echo in | user sbpf exec -q u4242-box -- cat)"
in_box u4242-box -- nowhere >/dev/null; is end/not-found 127 $?
has end/said "isolation active ($hooks_here/$hooks_here hooks) policy=box" "$(user sbpf exec u4242-box -- true 2>&1)"
# Not with the client's connection, as a run does, but with the sandbox.
in_box u4242-box -- sh -c 'sleep 7177 >&- 2>&- &'
is left-behind/lives 1 "$(pgrep -xfc 'sleep 7177')"

# ---- who is in the sandbox does not look into it on its way ----
cat >/srv/theirs/spy.py <<'PY'
import os
seen = open("/srv/theirs/seen", "a", buffering=1)
print("spies", file=seen)
while True:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = open(f"/proc/{pid}/environ", "rb").read()
        except OSError:
            continue
        for word in ("CALLERS", "GIVEN"):
            if word.encode() in text:
                print(word, file=seen)
PY
(user sbpf exec -q u4242-box -- python3 -IS /srv/theirs/spy.py >/dev/null 2>&1 &)
within 60 grep -qs spies /srv/theirs/seen; is spy/looks 0 $?
for _ in 1 2 3 4 5; do CALLERS=secret user sbpf exec -q u4242-box -- true; done
in_box --env GIVEN=1 u4242-box -- sleep 2
has spy/control GIVEN "$(cat /srv/theirs/seen)"
hasnt spy/sees-nothing-of-the-caller CALLERS "$(cat /srv/theirs/seen)"

# ---- by root, too ----
is root/into-a-users "4242 /srv/theirs" "$(sbpf exec -q u4242-box -- sh -c 'echo $(id -u) $(pwd)' 2>&1)"
is root/confined "cat: /srv/theirs/hidden: Permission denied" "$(sbpf exec -q u4242-box -- cat /srv/theirs/hidden 2>&1)"

# ---- and the policy in force is told ----
text=$(user sbpf status u4242-box --show-policy)
has policy/text $'\nname: box\n' "$text"
is policy/as-root "$text" "$(sbpf status u4242-box --show-policy)"
is policy/valid 0 "$(policy again <<<"$text" >/dev/null; sbpf policy check "$tmp/again.yaml" >/dev/null; echo $?)"
is policy/digest "$(sbpf status u4242-box --json | jq -r .policy.sha256)" "$(user sbpf status u4242-box --show-policy --json | jq -r .sha256)"

# ---- whom it refuses ----
# A connection of a user's, for what its client does not ask.
raw() { # raw UID PATH BODY: the HTTP status
  as "$1" "$readers" curl -s -m 90 -o "$tmp/answer" -w '%{http_code}' --unix-socket "$socket" -d "$3" "http://sbpf/v1/sandboxes/$2"
}
touch "$tmp/answer" && chmod 666 "$tmp/answer"
out=$(other sbpf exec u4242-box -- true 2>&1); is refuse/another-user 125 $?
has refuse/another-user-named "are for root and for whose run it is" "$out"
is refuse/another-user-raw 403 "$(raw 4243 u4242-box/processes '{"pid": 1}')"
user sbpf exec keeper -- true >/dev/null 2>&1; is refuse/roots 125 $?
is refuse/roots-raw 403 "$(raw 4242 keeper/processes '{"pid": 1}')"
is refuse/policy-of-another 403 "$(as 4243 "$readers" curl -s -o /dev/null -w '%{http_code}' --unix-socket "$socket" http://sbpf/v1/sandboxes/u4242-box/policy)"
sleep 10000 &
is refuse/process-of-root 403 "$(raw 4242 u4242-box/processes "{\"pid\": $!}")"
has refuse/process-of-root-named not_your_process "$(cat "$tmp/answer")"
user sleep 10000 &
within 20 pgrep -u 4242 -xf 'sleep 10000' >/dev/null
is refuse/no-child 403 "$(raw 4242 u4242-box/processes "{\"pid\": $(pgrep -u 4242 -n -xf 'sleep 10000')}")"
is refuse/no-process 400 "$(raw 4242 u4242-box/processes '{"pid": 4194304}')"
is refuse/no-pid 400 "$(raw 4242 u4242-box/processes '{}')"
is refuse/more-keys 400 "$(raw 4242 u4242-box/processes '{"pid": 1, "name": "mine"}')"
out=$(in_box -u 0:0 u4242-box -- true); is refuse/user 2 $?
has refuse/user-named "--user is for root" "$out"
cp "$here/users.py" "$tmp/users.py"
is refuse/other-mounts "400 process_unfit the process has other mounts than the sandbox's program" "$(user python3 -IS "$tmp/users.py" $socket exec=u4242-box)"
is other-mounts/entered "0" "$(unshare -m setpriv --reuid 4242 --regid 4242 --groups "$readers" sbpf exec -q u4242-box -- true >/dev/null 2>&1; echo $?)"
is refuse/from-inside 125 "$(in_box u4242-open -- sbpf exec u4242-box -- true >/dev/null; echo $?)"
sbpf kill u4242-box >/dev/null
is gone/left-behind 1 "$(within 20 sh -c "! pgrep -xf 'sleep 7177' >/dev/null" && echo 1)"
in_box u4242-box -- true >/dev/null; is gone/code 125 $?
cd /
sbpf kill u4242-open >/dev/null

# ---- learnt by a user ----
echo data >/srv/theirs/data
chmod 644 /srv/theirs/data
base=$(policy base <<<$'version: 1\nname: base\nextends: [runtime-files]')
mkdir "$tmp/theirs"
chown 4242 "$tmp/theirs"
is learn/control "cat: /srv/theirs/data: Permission denied" "$(user sbpf run -q -p "$base" -- cat /srv/theirs/data 2>&1 | grep -v active)"
out=$(user sbpf learn -p "$base" -o "$tmp/theirs/learnt.yaml" -- cat /srv/theirs/data </dev/null 2>&1); is learn/code 0 $?
has learn/green "sbpf: green: of 2 runs" "$out"
is learn/runs data "$(user sbpf run -q -p "$tmp/theirs/learnt.yaml" -- cat /srv/theirs/data 2>/dev/null)"

kill $daemon
wait $daemon 2>/dev/null
cat "$tmp/log" >&2
end_all
finish
