#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# BF-4, I10: a secret reaches the program, and nothing and nobody else. Two random secrets are looked for all the time: one
# that sandboxes get, which must be in no place, and one that is planted in each place, which must be found there.
. "$(dirname "$0")/lib.sh"
look=$here/secrets.py
src=/srv/secrets
clean # what is loaded keeps root, too, from looking into maps and memory
mkdir -p $src "$tmp/logs" "$tmp/cores"
chmod 711 "$tmp"
random() { tr -dc A-Za-z0-9 </dev/urandom | head -c 48; }
for name in real piped planted; do
  (umask 077 && random >$src/$name)
  echo >>$src/$name
done
sum() { sha256sum <"$1" | cut -d' ' -f1; }
echo "$tmp/cores/core.%e.%p" >/proc/sys/kernel/core_pattern
ulimit -c unlimited
python3 "$look" watch "$tmp/watched" $src/real $src/piped $src/planted >"$tmp/watching" & watcher=$!
servers+=($watcher)
within 60 test -s "$tmp/watching"
touch "$tmp/watched"

# ---- control: each place is really looked at ----
(exec -a "x$(cat $src/planted)" sleep 300) &
servers+=($!)
within 60 grep -q "^cmdline $src/planted" "$tmp/watched"; is control/cmdline 0 $?
A="$(base64 <$src/planted)" sleep 300 &
servers+=($!)
within 60 grep -q "^environ $src/planted" "$tmp/watched"; is control/environ 0 $?
xxd -p -c 200 $src/planted >"$tmp/logs/planted" 2>/dev/null || od -An -v -tx1 $src/planted | tr -d ' \n' >"$tmp/logs/planted"
echo "planted $(cat $src/planted)" >/dev/kmsg
bpftool map create /sys/fs/bpf/planted type array key 4 value 64 entries 1 name planted
# shellcheck disable=SC2046
bpftool map update pinned /sys/fs/bpf/planted key 0 0 0 0 value $(head -c 48 $src/planted | od -An -v -tu1) $(printf '0 %.0s' {1..16})
python3 -c "import os; held = open('$src/planted').read(); os.abort()" 2>/dev/null
python3 -c "held = open('$src/planted').read(); import time; time.sleep(300)" &
holder=$!
servers+=($!)
python3 "$look" sweep "$tmp" $src/planted >"$tmp/found"
for place in file kernel-log map core; do
  is "control/$place" yes "$(grep -q "^$place " "$tmp/found" && echo yes || echo no)"
done
held() { python3 "$look" memory "$1" "$2" | grep -q memory; }
within 60 held $holder $src/planted; is control/memory 0 $?
rm -f "$tmp/logs/planted" "$tmp/cores"/* /sys/fs/bpf/planted

# Two secrets, under rules for files.
both=$(policy both <<P
version: 1
name: both
on_loss: alert
filesystem:
  read: [/usr, /bin, /lib, /lib64, /etc, /proc, /dev/null, $here]
  deny: [/run]
process:
  env: {allow: [PATH]}
  secrets:
    - {name: KEY, file: $src/real}
    - {name: PIPE, stdin: true, as: fd}
P
)

# ---- killed while it holds one; nothing is loaded yet, so that root may read its memory ----
mkfifo "$tmp/stdin"
sbpf run -q --policy "$both" -- true <"$tmp/stdin" >/dev/null 2>&1 &
supervisor=$!
exec {fifo}>"$tmp/stdin"
cat $src/piped >&$fifo
within 60 held $supervisor $src/piped; is core/control-holds-it-now 0 $?
is core/locked yes "$(awk '/VmLck/ && $2 > 0 { print "yes" }' /proc/$supervisor/status)"
kill -SEGV $supervisor
wait $supervisor 2>/dev/null; is core/killed 139 $?
none core/none-while-it-holds compgen -G "$tmp/cores/core*"
exec {fifo}>&-

# ---- what is wrong with a source stops it, and nothing runs ----
refuse() { # refuse NAME EXIT NEEDLE SOURCE [OPTION…]
  local name=$1 wanted=$2 needle=$3 source=$4 out
  shift 4
  printf 'version: 1\nname: one\nprocess: {secrets: [{name: KEY, %s}]}\n' "$source" >"$tmp/one.yaml"
  out=$(sbpf run --policy "$tmp/one.yaml" "$@" -- touch "$tmp/ran" 2>&1 </dev/null)
  is "source/$name/exit" "$wanted" $?
  has "source/$name/says" "$needle" "$out"
  echo "$out" >>"$tmp/logs/refused"
}
ln -s $src/real $src/link
mkfifo $src/fifo
: >$src/empty
head -c 65537 /dev/zero >$src/large
for mode in 440 404 420 402; do install -m $mode $src/real $src/mode-$mode; done
install -m 400 -o 1000 $src/real $src/owned
chmod 400 $src/empty $src/large $src/fifo
refuse missing 125 "No such file" "file: $src/none"
refuse link 125 "symbolic link" "file: $src/link"
refuse fifo 125 "not a regular file" "file: $src/fifo"
refuse directory 125 "not a regular file" "file: $src"
refuse empty 125 "is empty" "file: $src/empty"
refuse large 125 "larger than 64 KiB" "file: $src/large"
refuse owner 125 "belongs to uid 1000" "file: $src/owned"
for mode in 440 404 420 402; do refuse "mode-$mode" 125 "chmod 0400" "file: $src/mode-$mode"; done
refuse no-credentials 125 CREDENTIALS_DIRECTORY "credential: key"
refuse empty-stdin 125 "is empty" "stdin: true"
refuse in-the-environment 2 "belongs to a secret" "file: $src/real" --env KEY=x
refuse its-variable 2 "belongs to a secret" "file: $src/real" --env KEY_FILE=/x
is source/nothing-ran no "$([[ -e $tmp/ran ]] && echo yes || echo no)"
printf 'version: 1\nname: one\nprocess: {secrets: [{name: KEY, credential: key.real}]}\n' >"$tmp/one.yaml"
mkdir $src/credentials
install -m 400 $src/real $src/credentials/key.real
mkdir "$cgroots/others"
out=$(sbpf attach --cgroup "$cgroots/others" --policy "$tmp/one.yaml" 2>&1); is source/attach 2 $?
has source/attach-says "starts no program" "$out"
rmdir "$cgroots/others"

# ---- a program with both ----
powerful=$(policy powerful <<P
version: 1
name: powerful
$powers
P
)
sbpf run --policy "$both" --name secret-box --status-fd 3 --events -- \
  python3 "$look" program "$(sum $src/real)" "$(sum $src/piped)" <$src/piped >"$tmp/logs/out" 2>"$tmp/logs/err" 3>"$tmp/logs/status" &
supervisor=$!
within 300 grep -q variables "$tmp/logs/out"; is program/runs 0 $?
echo secret-box >"$tmp/known" # the sandbox's name is in a map and in the supervisor's memory
says() { has "program/${1%% *}" "$1" "$(cat "$tmp/logs/out" "$tmp/logs/err")"; }
says "path /run/sbpf/secrets/KEY"
says "file True"
says "mode 0o100400 True"
is program/directory "directory KEY" "$(grep directory "$tmp/logs/out")"
says "mounted 15" # read-only, nosuid, nodev, noexec
for verb in write remove create; do
  is "program/$verb" yes "$(grep -qE "^$verb (EACCES|EROFS)$" "$tmp/logs/out" && echo yes || grep "^$verb" "$tmp/logs/out")"
done
says "beside EACCES"
says "fd True True"
says "descriptors True"
says "stdin True"
is program/variables "variables KEY_FILE PATH PIPE_FD" "$(sed -n '/variables/s/ LC_CTYPE//p;/variables/{/LC_CTYPE/!p}' "$tmp/logs/out" | head -1)"
pid=$(head -1 "$cgroots/sbpf/secret-box/cgroup.procs")
sbpf status secret-box --json >"$tmp/logs/status-json" 2>&1
sbpf events secret-box --json >"$tmp/logs/events-json" 2>&1

# ---- who else can get at it ----
at=/proc/$pid/root/run/sbpf/secrets/KEY
is others/host-root-can "$(sum $src/real)" "$(sum $at)"
is others/host-root-by-namespace "$(sum $src/real)" "$(nsenter -t "$pid" -m sha256sum /run/sbpf/secrets/KEY | cut -d' ' -f1)"
quiet others/not-in-the-hosts-namespace ls -A /run/sbpf/secrets
cat >"$tmp/attack" <<P
ls -A /run/sbpf/secrets
cat $at /proc/$pid/environ
cat /proc/$pid/fd/* /proc/$pid/cwd/../run/sbpf/secrets/KEY
nsenter -t $pid -m cat /run/sbpf/secrets/KEY
nsenter --mount=/proc/$pid/ns/mnt cat /run/sbpf/secrets/KEY
mount -t proc proc /mnt && cat /mnt/$pid/root/run/sbpf/secrets/KEY
echo end
P
is others/control-attack-as-root yes "$(bash "$tmp/attack" 2>/dev/null | grep -aqFf $src/real && echo yes)"
umount /mnt
is others/another-sandbox end "$(sbpf run -q --policy "$powerful" -- bash "$tmp/attack" </dev/null 2>/dev/null)"
is others/a-second-uid end "$(setpriv --reuid 1000 --regid 1000 --clear-groups bash "$tmp/attack" 2>/dev/null)"

# ---- sbpf's memory and maps, which its guards open for break-glass only ----
sbpf break-glass --reason "to look for a secret" --for 30m 2>/dev/null
held() { python3 "$look" memory "$1" "$2" 2>&1; }
quiet supervisor/forgot-the-file held $supervisor $src/real
quiet supervisor/forgot-stdin held $supervisor $src/piped
has supervisor/control-memory "memory" "$(held $supervisor "$tmp/known")"
quiet supervisor/maps python3 "$look" sweep "$tmp" $src/real $src/piped
has supervisor/control-maps map "$(python3 "$look" sweep "$tmp/logs" "$tmp/known")"
sbpf break-glass --close 2>/dev/null

# ---- it is killed, and dumps core ----
kill -SEGV $supervisor
wait $supervisor 2>/dev/null
is core/of-the-supervisor yes "$(compgen -G "$tmp/cores/core.sbpf.*" >/dev/null && echo yes || echo no)"
is core/the-sandbox-goes-on yes "$([[ -d /proc/$pid ]] && echo yes || echo no)"
mounted_by() { grep -ls 'sbpf/secrets' /proc/[0-9]*/mountinfo; echo looked; }
has gone/control-mounted "/proc/$pid/mountinfo" "$(mounted_by)"
sbpf kill secret-box >/dev/null 2>&1
is gone/no-mount-left looked "$(mounted_by)"
sbpf unload >/dev/null 2>&1 # after break-glass nothing starts otherwise
is program/credential "$(sum $src/real)" "$(CREDENTIALS_DIRECTORY=$src/credentials sbpf run -q --policy "$tmp/one.yaml" -- sh -c 'sha256sum <$KEY_FILE' </dev/null 2>>"$tmp/logs/refused" | cut -d' ' -f1)"

printf 'version: 1\nname: user\nprocess: {user: {uid: 1000, gid: 1000}, secrets: [{name: KEY, file: %s}]}\n' $src/real >"$tmp/user.yaml"
is program/of-a-user "$(sum $src/real) 1000 400" "$(sbpf run -q --policy "$tmp/user.yaml" -- sh -c 'echo $(sha256sum <$KEY_FILE | cut -d" " -f1) $(stat -c "%u %a" $KEY_FILE)' </dev/null 2>>"$tmp/logs/refused")"

# ---- all the while, nowhere ----
kill -0 $watcher; is nowhere/watched-to-the-end 0 $?
none nowhere/processes grep -v planted "$tmp/watched"
quiet nowhere/places python3 "$look" sweep /tmp $src/real $src/piped
cp $src/planted /run/planted
is nowhere/run /run/planted "$(grep -rlaF -f $src/real -f $src/piped -f $src/planted /run /var/log /var/tmp /dev/shm 2>/dev/null)"
rm /run/planted
clean
is left-behind "" "$(left_behind)"
rm -rf $src
finish
