#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `filesystem.private`: directories of the sandbox's own, where the host and other sandboxes have theirs.
. "$(dirname "$0")/lib.sh"
keep_loaded
mkdir -p /workspace /srv/own
echo "of the host" >/tmp/hosts
echo "of the host" >/var/tmp/hosts
chmod 644 /tmp/hosts /var/tmp/hosts
cd /
shared=$(policy shared <<<$'version: 1\nname: shared\nextends: [runtime-files]\nfilesystem: {write: [/tmp, /var/tmp]}')
own=$(policy own <<<$'version: 1\nname: own\nextends: [runtime-files]\nfilesystem: {write: [/workspace], private: [/tmp, /var/tmp]}')
again=$(policy again <<<"$(printf 'version: 1\nname: again\nextends: [%s]\nfilesystem: {write: [/tmp]}' "$own")")
under() { sbpf run -q -p "$@" </dev/null 2>&1 | grep -vE '^sbpf: (isolation active|AUDIT ONLY)'; return "${PIPESTATUS[0]}"; }
mounts_there() { grep -cE ' /(var/)?tmp ' /proc/self/mountinfo; }
mounts_before=$(mounts_there)

# ---- what is there ----
for place in /tmp /var/tmp; do
  is "there$place/control" "of the host" "$(under "$shared" -- cat $place/hosts)"
  is "there$place/not-the-hosts" "cat: $place/hosts: No such file or directory" "$(under "$own" -- cat $place/hosts)"
  is "there$place/empty" 0 "$(under "$own" -- sh -c "ls -A $place | wc -l")"
  is "there$place/written" "mine" "$(under "$own" -- sh -c "echo mine >$place/hosts && cat $place/hosts")"
  is "there$place/host-keeps-its-own" "of the host" "$(cat $place/hosts)"
  is "there$place/like-the-hosts" "$(stat -c '%a %u %g' $place)" "$(under "$own" -- stat -c '%a %u %g' $place)"
  is "there$place/as-a-user" "65534" "$(under "$own" -u 65534 -- sh -c "echo x >$place/f && stat -c %u $place/f")"
done
is there/with-its-owner "711 1000 1000" "$(
  mkdir -p /srv/owned && chown 1000:1000 /srv/owned && chmod 711 /srv/owned
  under "$(policy owned <<<$'version: 1\nname: owned\nextends: [runtime-files]\nfilesystem: {private: [/srv/owned]}')" -- stat -c '%a %u %g' /srv/owned)"
is there/shared-again "of the host" "$(under "$again" -- cat /tmp/hosts)"
is there/shared-again-alone "cat: /var/tmp/hosts: No such file or directory" "$(under "$again" -- cat /var/tmp/hosts)"

# ---- who else has it ----
started first -q -p "$own" -- sh -c 'echo of-first | tee /tmp/first >/var/tmp/first; echo up; sleep 1000' >"$tmp/first" 2>/dev/null
within 60 grep -q up "$tmp/first"; is two/runs 0 $?
pid=$(members "$cgroots/sbpf/first" | head -1)
is two/control of-first "$(cat "/proc/$pid/root/tmp/first")"
for place in /tmp /var/tmp; do
  is "two$place/not-the-next" 0 "$(under "$own" -- sh -c "ls -A $place | wc -l")"
  is "two$place/not-the-host" 1 "$(ls $place/first >/dev/null 2>&1 || echo 1)"
done
# By /proc, too: another sandbox is not there.
is two/not-by-proc "ls: cannot access '/proc/$pid/root/tmp': No such file or directory" "$(under "$own" -- ls "/proc/$pid/root/tmp")"
mkdir /tmp/later && mount -t tmpfs later /tmp/later
is two/not-mounted-later 1 "$(ls -d "/proc/$pid/root/tmp/later" >/dev/null 2>&1 || echo 1)"
umount /tmp/later && rmdir /tmp/later

# The host's directory is not open by another mount either, whatever the policy opens elsewhere: in its filesystem it has
# the place's name.
reads=$(policy reads <<<$'version: 1\nname: reads\nfilesystem: {read: [/], private: [/tmp, /var/tmp]}')
writes=$(policy writes <<<$'version: 1\nname: writes\nfilesystem: {write: [/], private: [/tmp, /var/tmp]}')
mkdir /mnt/again /mnt/part
mount --rbind / /mnt/again
mount --bind /var/tmp /mnt/part
for place in /mnt/again/tmp /mnt/again/var/tmp /mnt/part; do
  is "hidden$place/control" "of the host" "$(cat $place/hosts)"
  for policy in own reads writes; do
    is "hidden$place/read/$policy" "cat: $place/hosts: Permission denied" "$(under "$tmp/$policy.yaml" -- cat $place/hosts)"
    is "hidden$place/written/$policy" "touch: cannot touch '$place/new': Permission denied" \
      "$(under "$tmp/$policy.yaml" -- touch $place/new)"
  done
done
is hidden/allowed "of the host" "$(under "$shared" -- cat /mnt/again/var/tmp/hosts)"
umount /mnt/part
umount -R /mnt/again

# Nor by a name that the sandbox gives a directory above it.
mkdir -p /srv/w/{a,c}/own
echo "of the host" >/srv/w/a/own/hosts
chmod -R a+rwX /srv/w
moved=$(policy moved <<<$'version: 1\nname: moved\nextends: [runtime-files]\nfilesystem: {write: [/srv/w], private: [/srv/w/a/own]}')
is moved/control "moved" "$(under "$moved" -- sh -c 'mv /srv/w/c /srv/w/d && echo moved')"
has moved/refused "cannot move '/srv/w/a'" "$(under "$moved" -- mv /srv/w/a /srv/w/b)"
is moved/hidden "cat: /srv/w/a/own/hosts: No such file or directory" "$(under "$moved" -- cat /srv/w/a/own/hosts)"

# In a workspace it lies over what that has there.
mkdir -p /srv/jobs/a/tmp
inner=$(policy inner <<<$'version: 1\nname: inner\nextends: [runtime-files]\nfilesystem: {write: [/workspace], private: [/workspace/tmp]}')
is inner/written "f" "$(under "$inner" --workspace /srv/jobs/a -- sh -c 'echo x >/workspace/tmp/f; ls /workspace/tmp')"
is inner/not-the-hosts 0 "$(ls -A /srv/jobs/a/tmp | wc -l)"
itself=$(policy itself <<<$'version: 1\nname: itself\nextends: [runtime-files]\nfilesystem: {private: [/workspace]}')
out=$(under "$itself" --workspace /srv/jobs/a -- echo ran); is inner/itself 2 $?
has inner/itself-told "the policy itself makes /workspace private" "$out"

# Eight runs of a profile that begin together.
interpreter=$(policy interpreter <<<$'version: 1\nname: interpreter\nextends: [code-interpreter]\nprocess: {limits: {timeout: 10m, cpu: 2}}')
eight=()
for n in 1 2 3 4 5 6 7 8; do
  sbpf run -q -p "$interpreter" -- sh -c '
    for place in /tmp /var/tmp /dev/shm; do echo x >$place/$0; done
    echo up
    until [ -e /workspace/go ]; do sleep 0.2; done
    ls -A /tmp /var/tmp /dev/shm | grep -cE "^[1-8]$"' "$n" </dev/null >"$tmp/eight.$n" 2>"$tmp/eight.$n.err" &
  eight+=($!)
done
eight_go_on /workspace/go
is eight/see-their-own-alone "3 3 3 3 3 3 3 3" "$(grep -hv up "$tmp"/eight.? | xargs)"
is eight/nothing-outside 0 "$(ls -d /tmp/[1-8] /var/tmp/[1-8] /dev/shm/[1-8] 2>/dev/null | wc -l)"

# ---- it stays, and it goes ----
cat >/workspace/unmount.py <<'P'
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    print(name, errno.errorcode[ctypes.get_errno()] if getattr(libc, name)(*args) != 0 else "done")
call("umount2", b"/tmp", 2)
call("mount", b"/var/tmp", b"/tmp", None, 4096, None)
call("unshare", 0x20000)
print(os.path.exists("/tmp/hosts"))
P
strong=$(policy strong <<<"version: 1
name: strong
filesystem: {read: [/], write: [/workspace], private: [/tmp]}
$powers")
is stays/control $'umount2 done\nmount done\nunshare done\nTrue' \
  "$(unshare -m sh -c 'mount -t tmpfs own /tmp && exec python3 -IS /workspace/unmount.py')"
is stays/denied $'umount2 EPERM\nmount EPERM\nunshare EPERM\nFalse' "$(under "$strong" -- python3 -IS /workspace/unmount.py)"
sbpf kill first >/dev/null 2>&1
is goes/mounts "$mounts_before" "$(mounts_there)"
is goes/files "of the host" "$(cat /tmp/hosts)"

# ---- where none can be made ----
# bare COMMAND…: without what this shell has open in /tmp, which `attach` would find
bare() { exec python3 -ISc 'import os, sys; os.closerange(3, 256); os.execvp(sys.argv[1], sys.argv[1:])' "$@"; }
bare sleep 1000 & sleeper=$!
servers+=($sleeper)
mkdir "$cgroots/outside"
echo $sleeper >"$cgroots/outside/cgroup.procs"
in_outside() { sh -c 'echo $$ >"$0"/cgroup.procs && exec "$@"' "$cgroots/outside" "$@" 2>&1; }
attached() { sbpf attach --name outside --policy "$1" --cgroup "$cgroots/outside" >"$tmp/said" 2>&1 || cat "$tmp/said"; }
is attach/control "of the host" "$(in_outside cat /tmp/hosts)"
attached "$shared"
is attach/allowed "of the host" "$(in_outside cat /tmp/hosts)"
sbpf detach outside >/dev/null
attached "$own"
is attach/closed "cat: /tmp/hosts: Permission denied" "$(in_outside cat /tmp/hosts)"
is attach/closed-to-writing "touch: cannot touch '/tmp/new': Permission denied" "$(in_outside touch /tmp/new)"
is attach/advice '"filesystem: {write: [/tmp]}"' "$(sbpf events outside --json | jq -c 'select(.path == "/tmp/new").allow' | sort -u)"
sbpf detach outside >/dev/null
kill $sleeper
# What others mounted there may be shared by others.
for kind in tmpfs bind; do
  mkdir "$cgroots/second.$kind"
  what="mount -t tmpfs own /tmp"; [[ $kind == bind ]] && what="mount --bind /srv/own /tmp"
  bare unshare -m sh -c "$what"' && echo $$ >"$0"/cgroup.procs && exec sleep 1000' "$cgroots/second.$kind" & member=$!
  servers+=($member)
  within 30 grep -q . "$cgroots/second.$kind/cgroup.procs"
  writes_there() { nsenter -t $member -m sh -c 'echo $$ >"$0"/cgroup.procs && echo x >/tmp/new && echo done' "$cgroots/second.$kind" 2>/dev/null || echo denied; }
  is "other/$kind/control" "done" "$(writes_there)"
  sbpf attach --name "second-$kind" --policy "$own" --cgroup "$cgroots/second.$kind" >/dev/null 2>&1; is "other/$kind/attached" 0 $?
  is "other/$kind" denied "$(writes_there)"
  is "other/$kind/the-hosts-by-it" "cat: /tmp/hosts: Permission denied" \
    "$(sh -c 'echo $$ >"$0"/cgroup.procs && exec cat /tmp/hosts' "$cgroots/second.$kind" 2>&1)"
  sbpf detach "second-$kind" >/dev/null
  kill $member
done

# ---- a policy that comes later ----
mkfifo /workspace/{ask,said}
chmod 666 /workspace/{ask,said}
asks='while read -r line </workspace/ask; do sh -c "$line" >/workspace/said 2>&1; done'
asked() { timeout 60 sh -c 'echo "$0" >/workspace/ask; cat /workspace/said' "$1"; }
both=$(policy both <<<"$(printf 'version: 1\nname: both\nextends: [%s]\nfilesystem: {write: [/workspace]}' "$shared")")
started later -q -p "$both" -- sh -c "$asks" >/dev/null 2>&1
is swap/control "of the host" "$(asked 'cat /tmp/hosts')"
sbpf swap later --policy "$own" >/dev/null 2>&1; is swap/done 0 $?
is swap/closed "cat: /tmp/hosts: Permission denied" "$(asked 'cat /tmp/hosts')"
sbpf swap later --policy "$both" >/dev/null 2>&1
is swap/open-again "of the host" "$(asked 'cat /tmp/hosts')"
sbpf kill later >/dev/null 2>&1
started kept -q -p "$own" -- sh -c "$asks" >/dev/null 2>&1
is kept/control "x" "$(asked 'echo x >/tmp/f; cat /tmp/f')"
sbpf swap kept --policy "$both" >/dev/null 2>&1
is kept/its-own-still "x" "$(asked 'cat /tmp/f')"
sbpf swap kept --policy "$own" >/dev/null 2>&1
is kept/and-back "x y" "$(asked 'echo y >>/tmp/f; echo $(cat /tmp/f)')"
sbpf kill kept >/dev/null 2>&1

# Where the caller has another /tmp than the host, as in a unit with PrivateTmp: that is not the sandbox's either.
cat >/srv/unit.yaml <<<$'version: 1\nname: unit\nextends: [runtime-files]\nfilesystem: {write: [/workspace, /tmp]}'
cat >/srv/in_unit <<'S'
#!/bin/sh
exec unshare -m sh -c 'mount -t tmpfs unit /tmp && echo "of the unit" >/tmp/unit && exec sbpf "$@"' sh "$@"
S
chmod 755 /srv/in_unit
started_by=/srv/in_unit started unit -q -p /srv/unit.yaml -- sh -c "$asks" >/dev/null 2>&1
is unit/control "of the unit" "$(asked 'cat /tmp/unit')"
sbpf swap unit --policy "$own" >/dev/null 2>&1
is unit/closed "cat: /tmp/unit: Permission denied" "$(asked 'cat /tmp/unit')"
sbpf kill unit >/dev/null 2>&1

# ---- what is in the way ----
mkdir -p /tmp/job
echo "of the job" >/tmp/job/f
out=$(cd /tmp/job && under "$own" -- echo ran); is way/working-directory 125 $?
has way/working-directory-told "the working directory /tmp/job is not there in a sandbox, which has a /tmp of its own" "$out"
hasnt way/nothing-ran "
ran" "$out"
is way/workspace "of the job" "$(cd /tmp/job && under "$own" --workspace . -- cat f)"
out=$(under "$own" --write /tmp/job -- echo ran); is way/write-below 2 $?
has way/write-below-told "/tmp/job lies in a place that the policy own makes private" "$out"
audit=$(policy audit <<<$'version: 1\nname: audit\nmode: audit\nextends: [runtime-files]\nfilesystem: {private: [/tmp]}')
is way/audit-changes-nothing "of the host" "$(under "$audit" -- cat /tmp/hosts)"
hasnt way/audit-tells-no-denial "/tmp/hosts" "$(sbpf run -p "$audit" -- cat /tmp/hosts 2>&1 >/dev/null)"
missing=$(policy missing <<<$'version: 1\nname: missing\nextends: [runtime-files]\nfilesystem: {private: [/srv/none]}')
is way/missing-is-closed "mkdir: cannot create directory ‘/srv/none’: Permission denied" "$(under "$missing" -- mkdir /srv/none)"
ln -s /srv/own /srv/link
linked=$(policy linked <<<$'version: 1\nname: linked\nextends: [runtime-files]\nfilesystem: {private: [/srv/link]}')
is way/link-is-closed "touch: cannot touch '/srv/link/f': Permission denied" "$(under "$linked" -- touch /srv/link/f)"
out=$(sbpf explain -p "$own" open /tmp/f w); is explain/code 0 $?
has explain/rule "filesystem.private: /tmp" "$out"
has explain/note "in what \`sbpf run\` starts; attached cgroups have no such place" "$out"
end_all
finish
