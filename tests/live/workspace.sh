#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `run --workspace`: /workspace is that directory, for this sandbox alone.
. "$(dirname "$0")/lib.sh"
keep_loaded
mkdir -p /workspace /srv/jobs/{a,b}/tests
chmod 755 /srv/jobs /srv/jobs/*
for one in a b; do echo "text of $one" >/srv/jobs/$one/f; echo test >/srv/jobs/$one/tests/t; done
echo "text of the host" >/workspace/f
# The profile's limits are for a real processor.
roomy=$(policy roomy <<<$'version: 1\nname: roomy\nextends: [untrusted]\nfilesystem: {protect: [/workspace/tests]}\nprocess: {limits: {timeout: 5m, cpu: 2}}')
in_job() { sbpf run -q -p "$roomy" --workspace "/srv/jobs/$1" "${@:2}" 2>&1 | grep -v '^sbpf: isolation active'; }

# ---- what is there ----
is there/control "text of the host" "$(sbpf run -q -p "$roomy" -- cat /workspace/f 2>/dev/null)"
is there/a "text of a" "$(in_job a -- cat /workspace/f)"
is there/b "text of b" "$(in_job b -- cat /workspace/f)"
is there/begins-in-it "/workspace text of a" "$(in_job a -- sh -c 'echo "$(pwd) $(cat f)"')"
is there/relative "text of b" "$(cd /srv/jobs && sbpf run -q -p "$roomy" --workspace b -- cat f 2>/dev/null)"
is there/from-a-place-of-its-own "text of b" "$(cd /dev/shm && sbpf run -q -p "$roomy" --workspace /srv/jobs/b -- cat f 2>/dev/null)"
is there/written new "$(in_job a -- sh -c 'echo new >/workspace/made'; cat /srv/jobs/a/made)"
is there/as-a-user "text of a" "$(in_job a -u 1000:1000 -- cat f)"
is there/not-the-hosts "f" "$(ls /workspace)"
none=$(policy none <<<$'version: 1\nname: none\nextends: [runtime-files]')
is there/policy-decides "cat: /workspace/f: Permission denied" "$(sbpf run -q -p "$none" --workspace /srv/jobs/a -- cat /workspace/f 2>&1 | grep '^cat')"

# ---- nothing of another one ----
in_job a --name first -- sh -c 'echo mine >/workspace/first; sleep 1000' >/dev/null 2>&1 & run=$!
servers+=($run)
within 60 test -e /srv/jobs/a/first; is two/first-runs 0 $?
is two/same-time "f tests" "$(in_job b -- sh -c 'echo $(ls /workspace)')"
is two/not-by-its-name "cat: /srv/jobs/a/first: Permission denied" "$(in_job b -- cat /srv/jobs/a/first)"
is two/own-name-control mine "$(in_job a -- cat /srv/jobs/a/first)"
is two/host-has-no-mount 0 "$(grep -c ' /workspace ' /proc/self/mountinfo)"
for name in /workspace /srv/jobs/a; do
  is "protected$name/read" test "$(in_job a -- cat $name/tests/t)"
  has "protected$name/write" "Permission denied" "$(in_job a -- sh -c "echo x >$name/tests/t")"
done
is protected/stays test "$(cat /srv/jobs/a/tests/t)"

# ---- a policy that comes later ----
other=$(policy other <<<"version: 1
name: other
extends: [$roomy]
filesystem: {deny: [/workspace/f]}")
mkfifo /srv/jobs/b/{go,said}
chmod 666 /srv/jobs/b/{go,said}
in_job b --name later -- sh -c 'while read -r _ <go; do { cat f 2>/dev/null || echo denied; } >said; done' >/dev/null 2>&1 &
servers+=($!)
within 60 sbpf status later >/dev/null 2>&1
ask_later() { timeout 60 sh -c 'echo go >/srv/jobs/b/go; cat /srv/jobs/b/said'; }
is swap/control "text of b" "$(ask_later)"
sbpf swap later --policy "$other" >/dev/null 2>&1; is swap/done 0 $?
is swap/denied denied "$(ask_later)"
sbpf kill later >/dev/null 2>&1

# ---- from inside it stays where it is ----
strong=$(policy strong <<<"version: 1
name: strong
filesystem: {read: [/], write: [/workspace]}
$powers")
is inside/control 0 "$(unshare -m sh -c 'mount --bind /srv/jobs/a /workspace && umount /workspace'; echo $?)"
out=$(sbpf run -q -p "$strong" --workspace /srv/jobs/a -- sh -c 'umount /workspace; cat /workspace/f' 2>&1)
has inside/umount-is-refused "umount: /workspace" "$out"
has inside/still-there "text of a" "$out"
out=$(sbpf run -q -p "$strong" --workspace /srv/jobs/a -- sh -c 'mount --bind /srv/jobs/b /workspace; cat /workspace/f' 2>&1)
has inside/mount-is-refused "mount: /workspace" "$out"
has inside/still-a "text of a" "$out"

# ---- a link that an earlier program left leads no rule out of it ----
mkdir -p /srv/vault /srv/jobs/l
chmod 700 /srv/vault
echo secret >/srv/vault/s
linked=$(policy linked <<<$'version: 1\nname: linked\nextends: [runtime-files]\nfilesystem: {read: [/workspace/in]}')
writes=$(policy writes <<<$'version: 1\nname: writes\nextends: [runtime-files]\nfilesystem: {write: [/workspace]}')
ln -s /srv/vault /workspace/in
is link/control-of-the-hosts secret "$(sbpf run -q -p "$linked" -- cat /workspace/in/s 2>/dev/null)"
rm /workspace/in
sbpf run -q -p "$writes" --workspace /srv/jobs/l -- ln -s /srv/vault in 2>/dev/null; is link/left "/srv/vault" "$(readlink /srv/jobs/l/in)"
out=$(sbpf run -q -p "$linked" --workspace /srv/jobs/l -- cat in/s 2>&1); is link/code 2 $?
has link/says "which lies in /workspace" "$out"
hasnt link/not-read secret "$out"
byname=$(policy byname <<<$'version: 1\nname: byname\nextends: [runtime-files]\nfilesystem: {read: [/srv/jobs/l/in]}')
out=$(sbpf run -q -p "$byname" --workspace /srv/jobs/l -- cat in/s 2>&1); is link/by-its-other-name 2 $?

# ---- what is none ----
ln -s /srv/jobs/a /srv/link
mkdir /srv/theirs && chown 1000 /srv/theirs && ln -s /srv/jobs /srv/theirs/jobs
before=$(sbpf list)
refused() { # refused NAME DIR CODE WORDS
  local out code
  out=$(sbpf run -q -p "$roomy" --workspace "$2" -- sh -c 'echo it ran' 2>&1); code=$?
  is "refused/$1/code" "$3" $code
  has "refused/$1/says" "$4" "$out"
  hasnt "refused/$1/nothing-ran" "it ran" "$out"
}
refused link /srv/link 2 "/srv/link is no directory that is reached without symbolic links"
refused link-on-the-way /srv/theirs/jobs/a 2 "realpath"
refused file /srv/jobs/a/f 2 "is no directory"
refused empty "" 2 "is no directory"
refused kernel /proc 2 "is an interface of the kernel"
refused unlisted /sys/kernel/security 2 "is an interface of the kernel"
refused missing /srv/jobs/none 2 "No such file or directory"
rm -r /workspace
ln -s /etc /workspace
refused place-is-a-link /srv/jobs/a 125 "cannot mount the workspace on /workspace"
rm /workspace
touch /workspace
refused place-is-a-file /srv/jobs/a 125 "cannot mount the workspace on /workspace"
rm /workspace
is refused/nothing-is-left "$before" "$(sbpf list)"
is made/there "text of a" "$(in_job a -- cat /workspace/f)"
is made/empty "755 0 root" "$(stat -c '%a' /workspace) $(ls -A /workspace | wc -l) $(stat -c %U /workspace)"
sbpf kill first >/dev/null 2>&1
finish
