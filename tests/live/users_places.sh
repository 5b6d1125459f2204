#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a run of who is not root has of its own: places, /proc, IPC, a loopback. And sbpf-enter, which makes them, by itself.
. "$(dirname "$0")/lib.sh"
. "$here/users_world.sh"
printf 'limits: {runs_per_user: 8}\n' >"$tmp/sbpfd.yaml"
keep_loaded
start
cp "$here/loopback.py" /srv/loopback.py
chmod 644 /srv/loopback.py
mkdir -p /workspace && chmod 1777 /workspace
for place in /tmp /var/tmp /dev/shm; do
  echo "of the host" >$place/hosts
  chmod 644 $place/hosts
done
cd /
shared=$(policy shared <<<$'version: 1\nname: shared\nextends: [runtime-files]\nfilesystem: {write: [/tmp, /var/tmp, /dev/shm]}')
own=$(policy own <<<$'version: 1\nname: own\nextends: [runtime-files]\nfilesystem: {write: [/workspace], private: [/tmp, /var/tmp]}')
under() { user sbpf run -q -p "$@" </dev/null 2>&1 | grep -vE '^sbpf: (isolation active|AUDIT ONLY|loopback)'; return "${PIPESTATUS[0]}"; }
# end_run NAME: by its owner
end_run() {
  user curl -s -m 60 -o /dev/null --unix-socket $socket -X DELETE $url/v1/sandboxes/"$1"
  within 60 gone "$1"
}
host_mounts() { cut -d' ' -f5- /proc/self/mountinfo | sort | md5sum; }
mounts_before=$(host_mounts)

# ---- places ----
for place in /tmp /var/tmp; do
  is "there$place/control" "of the host" "$(under "$shared" -- cat $place/hosts)"
  is "there$place/not-the-hosts" "cat: $place/hosts: No such file or directory" "$(under "$own" -- cat $place/hosts)"
  is "there$place/empty" 0 "$(under "$own" -- sh -c "ls -A $place | wc -l")"
  is "there$place/written" mine "$(under "$own" -- sh -c "echo mine >$place/hosts && cat $place/hosts")"
  is "there$place/host-keeps-its-own" "of the host" "$(cat $place/hosts)"
  is "there$place/like-the-hosts" "$(stat -c '%a %u %g' $place)" "$(under "$own" -- stat -c '%a %u %g' $place)"
done
is there/dev-shm-as-well "cat: /dev/shm/hosts: No such file or directory" "$(under "$shared" -- cat /dev/shm/hosts)"
is there/dev-shm-control "of the host" "$(user cat /dev/shm/hosts)"
audited=$(policy audited <<<$'version: 1\nname: audited\nmode: audit\nextends: [runtime-files]\nfilesystem: {private: [/tmp]}')
is there/an-audit-changes-nothing "of the host" "$(under "$audited" -- cat /tmp/hosts)"
is there/stays "umount: /tmp: umount failed: Permission denied." "$(under "$own" -- umount /tmp)"

# A working directory that was removed would lead into the host's places.
install -d -o 4242 /dev/shm/was /dev/shm/was/here
echo "of the host" >/dev/shm/was/f
gone_directory() { (cd /dev/shm/was/here && rmdir /dev/shm/was/here && under "$1" -- cat ../f); }
out=$(cd /dev/shm/was/here && user cat ../f); is gone-directory/control "of the host" "$out"
out=$(gone_directory "$(policy nofiles <<<$'version: 1\nname: nofiles')"); is gone-directory/code 125 $?
has gone-directory/said "the working directory is not there any more" "$out"

# ---- a workspace ----
mkdir -p /srv/jobs/{a,b} /srv/elsewhere
for job in a b; do echo "text of $job" >/srv/jobs/$job/f; done
echo elsewhere >/srv/elsewhere/f
chown -R 4242:4242 /srv/jobs
workspace=$(policy workspace <<<$'version: 1\nname: workspace\nextends: [runtime-files]\nfilesystem: {write: [/workspace]}')
in_job() { under "$workspace" --workspace "/srv/jobs/$1" -- "${@:2}"; }
is workspace/control "cat: /workspace/f: No such file or directory" "$(under "$workspace" -- cat /workspace/f)"
is workspace/a "text of a" "$(in_job a cat /workspace/f)"
is workspace/b "text of b" "$(in_job b cat f)"
is workspace/written "done made" "$(in_job a sh -c 'echo made >made && echo done' | xargs) $(cat /srv/jobs/a/made)"
is workspace/not-the-next "ls: cannot access 'made': No such file or directory" "$(in_job b ls made)"
is workspace/host-keeps-its-own "" "$(ls -A /workspace)"
user ln -s /srv/elsewhere /srv/jobs/a/led
linked=$(policy linked <<<$'version: 1\nname: linked\nextends: [runtime-files]\nfilesystem: {read: [/workspace, /workspace/led]}')
out=$(under "$linked" --workspace /srv/jobs/a -- cat led/f); is workspace/link 2 $?
has workspace/link-said "lies in /workspace" "$out"
user ln -s /srv/jobs/a /srv/jobs/link
out=$(under "$workspace" --workspace "" -- echo ran); is workspace/none-given 2 $?
out=$(sbpf run -q --socket $socket -p "$workspace" --workspace /srv/jobs/a -- true 2>&1); is workspace/of-root-by-sbpfd 2 $?
out=$(under "$workspace" --workspace / -- cat /workspace/tmp/hosts); is workspace/all-of-the-host 2 $?
has workspace/all-of-the-host-said "of which the sandbox has its own" "$out"
out=$(in_job link true); is workspace/by-a-link 2 $?
has workspace/by-a-link-said "is no directory that is reached without symbolic links" "$out"
mkdir -p /root/hidden && chmod 700 /root
out=$(under "$workspace" --workspace /root/hidden -- true); is workspace/unreachable 2 $?
has workspace/unreachable-said "Permission denied" "$out"

# What the caller has else stays the caller's.
is caller/limits "500 700 022 2 in" "$(echo in | user sh -c 'ulimit -Sn 500; ulimit -Hn 700; umask 022; exec "$@"' sh nice -n 2 sbpf run -q -p "$own" -- sh -c 'echo $(ulimit -Sn) $(ulimit -Hn) $(umask | cut -c2-) $(nice) $(cat)' 2>/dev/null)"
is caller/groups "$readers" "$(under "$own" -- id -G | tr ' ' '\n' | grep -x "$readers")"
is caller/environment "HOME=/x PATH" "$(user env -i HOME=/x SECRET=1 PATH="$PATH" sbpf run -q -p "$own" -- env 2>/dev/null | grep -E '^(HOME|SECRET|PATH)' | sed 's/^PATH=.*/PATH/' | sort | xargs)"

# ---- processes and IPC ----
user sleep 4444 &
servers+=($!)
is proc/control 1 "$(user pgrep -xfc 'sleep 4444')"
is proc/not-there 0 "$(under "$own" -- pgrep -xfc 'sleep 4444')"
is proc/itself-alone 1 "$(under "$own" -- python3 -ISc 'import os; print(len([p for p in os.listdir("/proc") if p.isdigit()]))')"
segment=$(user ipcmk -M 4096 | grep -o '[0-9]*$')
is ipc/control 1 "$(user ipcs -m | grep -c "^0x[0-9a-f]* $segment ")"
is ipc/not-there 0 "$(under "$own" -- ipcs -m | grep -c "^0x")"
user ipcrm -m "$segment"

# ---- a loopback of its own ----
try() { user python3 -IS /srv/loopback.py "$@" </dev/null 2>&1; }
in_network() { under "$1" -- python3 -IS /srv/loopback.py "${@:2}"; }
serve tcp 127.0.0.1 7001
serve tcp 127.0.0.1 7002
private=$(policy private <<<$'version: 1\nname: private\nnetwork: {loopback: private, connect: [{address: 127.0.0.1, ports: [7001], protocol: tcp}]}')
alone=$(policy alone <<<$'version: 1\nname: alone\nnetwork: {loopback: private}')
none=$(policy none <<<$'version: 1\nname: none')
mine=(own,127.0.0.1,0 own,127.0.0.1,7777 own,0.0.0.0,0 own,::1,80 ownudp,127.0.0.1,0)
each() { printf "%s $1\n" "${mine[@]}"; }
is loopback/control "$(printf '%s own\n' "${mine[@]/own,::1,80/own,::1,8080}")" "$(try "${mine[@]/own,::1,80/own,::1,8080}")"
is loopback/denied "$(each EPERM)" "$(in_network "$none" "${mine[@]}")"
is loopback/private "$(each own)" "$(in_network "$private" "${mine[@]}")"
is loopback/alone "$(each own)" "$(in_network "$alone" "${mine[@]}")"
knock() { under "$1" -- "$probe" connect tcp 127.0.0.1 "$2" >/dev/null; echo $?; }
is hosts/control 0 "$(user "$probe" connect tcp 127.0.0.1 7002 >/dev/null; echo $?)"
is hosts/not-there ECONNREFUSED "$(in_network "$private" tcp,127.0.0.1,7002 | cut -d' ' -f2)"
is hosts/visits 1 "$(visits tcp 127.0.0.1 7002)"
is hosts/listed 0 "$(knock "$private" 7001)"
within 30 eval '[[ $(visits tcp 127.0.0.1 7001) == 1 ]]'; is hosts/listed-visits 1 "$(visits tcp 127.0.0.1 7001)"
is hosts/unlisted-alone ECONNREFUSED "$(in_network "$alone" tcp,127.0.0.1,7001 | cut -d' ' -f2)"
started_by=user_sbpf
started serves -p "$private" -- python3 -ISc 'import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 7100)); s.listen()
a = socket.socket(socket.AF_UNIX); a.bind("\0of-the-run"); a.listen()
time.sleep(1000)' >/dev/null 2>"$tmp/serves"; is serves/runs 0 $?
is serves/said private "$(json 'd["loopback"]' <<<"$started_as")"
hasnt serves/not-closed "loopback: closed" "$(cat "$tmp/serves")"
within 30 eval '[[ $(user sbpf exec -q u4242-serves -- python3 -IS /srv/loopback.py tcp,127.0.0.1,7100 2>/dev/null) != *REFUSED* ]]'
is serves/reached-by-exec 0 "$(user sbpf exec -q u4242-serves -- "$probe" connect tcp 127.0.0.1 7100 >/dev/null 2>&1; echo $?)"
is serves/not-by-the-host ECONNREFUSED "$(python3 -IS /srv/loopback.py tcp,127.0.0.1,7100 2>&1 | cut -d' ' -f2)"
is serves/not-by-another ECONNREFUSED "$(in_network "$private" tcp,127.0.0.1,7100 | cut -d' ' -f2)"
is serves/not-abstract "abstract,of-the-run,0 ECONNREFUSED" "$(try abstract,of-the-run,0)"
relay=$(cat $cgroots/sbpf-resolver/u4242-serves.relay/cgroup.procs)
has serves/relay-is-the-users $'Uid:\t4242\t4242' "$(cat "/proc/$relay/status")"
end_run u4242-serves; is serves/ends 0 $?
within 60 eval '[[ ! -e /proc/$relay && ! -e $cgroots/sbpf-resolver/u4242-serves.relay ]]'; is serves/relay-ends 0 $?

# Who comes to sbpfd without places of its own gets none of the host's in their stead.
cp "$here/users.py" "$tmp/users.py"
is raw/host-things "connect done; bind done; read of t; host-things: 201 True; connect Operation not permitted; bind Operation not permitted; read of t; host-things: 201 True; connect Operation not permitted; bind Operation not permitted; read Permission denied" \
  "$(user python3 -IS "$tmp/users.py" $socket host-things 2>&1 | sed 's/ $//' | paste -sd'~' | sed 's/~/; /g')"

# Nor are places its own that another process is in.
is raw/shared-places "network/alone 201 private; connect Connection refused; network/shared 201 closed; connect Operation not permitted; places/alone 201 host; connect Operation not permitted; places/shared 400 process_unfit" \
  "$(user python3 -IS "$tmp/users.py" $socket beside=/opt/sbpf/bin/sbpf-enter 2>&1 | paste -sd'~' | sed 's/~/; /g')"

# ---- exec is where the run is ----
started box -q -p "$own" -- sh -c 'cd /tmp; echo of-the-run >here; exec sleep 1000' >/dev/null 2>&1; is exec/runs 0 $?
in_box() { user sbpf exec -q u4242-box "$@" </dev/null 2>&1; }
within 30 eval '[[ $(in_box -- ls /tmp) == here ]]'
is exec/place of-the-run "$(in_box -- cat here)"
is exec/directory /tmp "$(in_box -- pwd)"
is exec/not-the-hosts "cat: /tmp/hosts: No such file or directory" "$(in_box -- cat /tmp/hosts)"
is exec/proc 0 "$(in_box -- pgrep -xfc 'sleep 4444')"
is exec/proc-of-the-run 1 "$(in_box -- pgrep -xfc 'sleep 1000')"
end_run u4242-box; is exec/ends 0 $?
unset started_by

# ---- runs that go on together share nothing ----
interpreter=$(policy interpreter <<<$'version: 1\nname: interpreter\nextends: [code-interpreter]\nprocess: {limits: {timeout: 10m, cpu: 2}}')
eight=()
for n in 1 2 3 4 5 6 7 8; do
  as $((4242 + n % 2)) "$readers" sbpf run -q -p "$interpreter" -- python3 -ISc 'import os, socket, sys, time
n = sys.argv[1]
for place in ("/tmp", "/var/tmp", "/dev/shm"):
    open(f"{place}/{n}", "w").write(n)
taken = socket.socket(); taken.bind(("127.0.0.1", 9000)); taken.listen()
named = socket.socket(socket.AF_UNIX); named.bind("\0taken")
print("up", flush=True)
while not os.path.exists("/workspace/go"): time.sleep(0.2)
there = [f for place in ("/tmp", "/var/tmp", "/dev/shm") for f in os.listdir(place) if len(f) == 1]
print(*there, len([p for p in os.listdir("/proc") if p.isdigit()]))' "$n" </dev/null >"$tmp/eight.$n" 2>"$tmp/eight.$n.err" &
  eight+=($!)
done
eight_go_on /workspace/go
for n in 1 2 3 4 5 6 7 8; do is "eight/$n-sees-its-own-alone" "$n $n $n 1" "$(grep -v up "$tmp/eight.$n")"; done
is eight/nothing-outside 0 "$(ls -d /tmp/[1-8] /var/tmp/[1-8] /dev/shm/[1-8] 2>/dev/null | wc -l)"
is host/mounts-as-before "$mounts_before" "$(host_mounts)"

# ---- sbpf-enter by itself ----
enter=/opt/sbpf/bin/sbpf-enter
alone_in() { user $enter "$@" </dev/null 2>&1; }
is enter/control "of the host" "$(user cat /tmp/hosts)"
is enter/places "/bin/cat: /tmp/hosts: No such file or directory" "$(alone_in --private /tmp -- /bin/cat /tmp/hosts)"
out=$(alone_in --private /etc --network -- /bin/cat /proc/self/status)
has enter/uid $'Uid:\t4242\t4242\t4242\t4242' "$out"
has enter/capabilities $'CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000' "$out"
has enter/no-ambient $'CapAmb:\t0000000000000000' "$out"
has enter/no-new-privileges $'NoNewPrivs:\t1' "$out"
# What it hides from a set-user-id program would fool that one: none gets its rights any more.
cp /bin/cat /srv/setuid-cat && chmod 4755 /srv/setuid-cat
echo secret >/srv/of-root && chmod 600 /srv/of-root
is enter/setuid-control secret "$(user /srv/setuid-cat /srv/of-root 2>&1)"
is enter/setuid "/srv/setuid-cat: /srv/of-root: Permission denied" "$(alone_in -- /srv/setuid-cat /srv/of-root)"
is enter/again "sbpf-enter: error: cannot make a mount and an IPC namespace for the sandbox: Operation not permitted" \
  "$(alone_in -- $enter -- /bin/true)"
is enter/host-mounts "$mounts_before" "$(host_mounts)"
mkdir -p /root/hidden && chmod 700 /root
has enter/unreachable "cannot make /root/hidden private" "$(alone_in --private /root/hidden -- /bin/true)"
ln -sfn /etc /tmp/link
is enter/by-a-link root "$(alone_in --private /tmp/link -- /usr/bin/stat -c %U /etc/passwd)"
has enter/preload-control "cannot be preloaded" "$(user sh -c "LD_PRELOAD=/srv/nowhere.so exec /bin/echo ran" 2>&1)"
out=$(user sh -c "LD_PRELOAD=/srv/nowhere.so exec $enter -- /bin/echo ran" 2>&1); is enter/preload ran "$out"
for pid in 1 $$ "$daemon"; do
  has "enter/in-process-of-root/$([[ $pid == 1 ]] && echo init || ([[ $pid == $$ ]] && echo this || echo sbpfd))" \
    "error: process $pid is in no sandbox of this user's" "$(alone_in --in "$pid:$(stat -Lc %i /proc/$pid/ns/mnt)" -- /bin/true)"
done
started_by=user_sbpf
started box -q -p "$own" -- sleep 1000 >/dev/null 2>&1; is enter/box-runs 0 $?
unset started_by
pid=$(members $cgroots/sbpf/u4242-box | head -1) mounts=$(stat -Lc %i "/proc/$(members $cgroots/sbpf/u4242-box | head -1)/ns/mnt")
is enter/in-own 0 "$(alone_in --in "$pid:$mounts" -- /bin/true; echo $?)"
has enter/in-anothers "error: process $pid is in no sandbox of this user's" "$(other $enter --in "$pid:$mounts" -- /bin/true 2>&1)"
has enter/in-other-mounts "ended, or left it" "$(alone_in --in "$pid:1" -- /bin/true)"
end_run u4242-box
has enter/as-root "for a user other than root" "$($enter -- /bin/true 2>&1)"
for words in "" "--private relative -- /bin/true" "--in 5 -- /bin/true" "--in 0:5 -- /bin/true" "--report 1 -- /bin/true" "--other -- /bin/true" \
  "--in 5:5 --network -- /bin/true" "--private /tmp"; do
  # shellcheck disable=SC2086
  out=$(alone_in $words); is "enter/usage/${words:-nothing}" "2 usage: sbpf-enter" "$? $(grep -o "^usage: sbpf-enter" <<<"$out")"
done
is enter/command-not-there "sbpf-enter: error: cannot execute /bin/nowhere: No such file or directory" "$(alone_in -- /bin/nowhere)"

# ---- where it cannot help ----
as_sandbox() { user setpriv --no-new-privs sbpf run -q -p "$@" </dev/null 2>&1; }
out=$(as_sandbox "$own" -- echo ran); is without/no-new-privs 125 $?
has without/no-new-privs-said "the caller has no_new_privs" "$out"
setcap -r $enter
out=$(user sbpf run -q -p "$own" -- echo ran 2>&1); is without/capabilities 125 $?
has without/capabilities-said "setcap cap_net_admin,cap_sys_chroot,cap_sys_admin+ep" "$out"
hasnt without/capabilities-ran $'\nran' "$out"
mv $enter $enter.away
out=$(user sbpf run -q -p "$own" -- echo ran 2>&1); is without/helper 125 $?
has without/helper-said "sbpf-enter is not beside sbpf" "$out"
out=$(user sbpf run -q -p "$shared" -- echo ran 2>&1); is without/nothing-asked 0 $?
has without/nothing-asked-warned "shares /proc and the IPC namespace with your others" "$out"
has without/nothing-asked-ran ran "$out"

kill $daemon
wait $daemon 2>/dev/null
cat "$tmp/log" >&2
end_all
finish
