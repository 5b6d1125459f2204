#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is mounted later is denied until the policy was looked up again, which `sbpf watch` has done where no supervisor does it: for
# cgroups that were taken in, in containers, for users' runs, and after a swap.
. "$(dirname "$0")/lib.sh"
. "$here/users_world.sh"
keep_loaded
runtime=$cgroots/mounts.runtime
w=/srv/mounts
mkdir -p "$runtime" $w/{open,shut}
rules() { # rules NAME RULES
  printf 'version: 1\nname: %s\nextends: [runtime-files]\nfilesystem: {default: deny, %s}\n' "$1" "$2" | policy "$1"
}
first=$(rules first "read: [$w], deny: [$w/shut]")
second=$(rules second "read: [$w/open], write: [$w/swapped]")
confine() { inhabit "$runtime/$1" && sbpf attach --cgroup "$runtime/$1" --name "$1" --policy "$first" >/dev/null; }
inside() { sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$runtime/$1" "${@:2}" 2>/dev/null; }
reads() { [[ $(inside "$1" cat "$2") == text ]]; }
writes() { inside "$1" sh -c "echo text >$2"; }
mounted() { mkdir -p "$1" && mount -t tmpfs later "$1" && echo text >"$1/f"; }

# ---- without a watch it stays denied; one that starts finds it ----
confine att; is attached/start 0 $?
mounted $w/before; is attached/control text "$(cat $w/before/f)"
reads att $w/before/f; is attached/denied-at-first 1 $?
start
within 60 reads att $w/before/f; is attached/reached-by-a-new-watch 0 $?

# ---- while it watches; what the policy denies stays denied, and rights are those of the place ----
mounted $w/open/later
mounted $w/shut/later
within 60 reads att $w/open/later/f; is attached/reached 0 $?
reads att $w/shut/later/f; is attached/denied 1 $?
writes att $w/open/later/g; is attached/not-written 2 $?
is attached/control-written 0 "$(echo text >$w/open/later/g; echo $?)"
is attached/active active "$(sbpf status att --json | jq -r .isolation)"

# ---- another policy, by a swap ----
mkdir $w/swapped
sbpf swap att --policy "$second" >/dev/null 2>&1; is swapped/swap 0 $?
mounted $w/swapped/later
within 60 writes att $w/swapped/later/f; is swapped/reached 0 $?
reads att $w/before/f; is swapped/not-by-the-first-policy 1 $?

# ---- a container's own mount namespace ----
mkdir -p "$runtime/box"
unshare -m sh -c "echo \$\$ >$runtime/box/cgroup.procs; exec sleep infinity" & member=$!
servers+=($member)
within 20 grep -q 'populated 1' "$runtime/box/cgroup.events"
sbpf attach --cgroup "$runtime/box" --name box --policy "$first" >/dev/null; is container/attach 0 $?
in_its_mounts() { nsenter -t $member -m "$@"; }
in_its_mounts mount -t tmpfs own $w/open
in_its_mounts sh -c "echo text >$w/open/f"
reads_there() { [[ $(in_its_mounts sh -c "echo \$\$ >$runtime/box/cgroup.procs; exec cat $w/open/f" 2>/dev/null) == text ]]; }
reads_there; is container/denied-at-first 1 $?
within 60 reads_there; is container/reached 0 $?

# ---- a user's run, whose rule leads through a link of that user's ----
cat >"$tmp/user.yaml" <<P
version: 1
name: user
extends: [runtime-files]
filesystem: {default: deny, read: [$w/way]}
P
mkdir -m 755 $w/user $w/user/later
ln -s $w/user $w/way
chown -h 4242:4242 $w/way
user sbpf run -q --name run --policy "$tmp/user.yaml" -- sh -c "until [ \"\$(cat $w/user/later/f 2>/dev/null)\" = text ]; do sleep 0.3; done; echo reached" >"$tmp/user.out" 2>"$tmp/user.err" & run=$!
servers+=($run)
within 60 [ -d "$cgroots/sbpf/u4242-run" ]; is user/started 0 $?
mounted $w/user/later
within 60 grep -q reached "$tmp/user.out"; is user/reached 0 $?

# ---- a mount namespace that a program inside made is not the policy's, whoever else ends ----
mkdir -p $w.secret $w.own
echo text >$w.secret/f
own=$(rules own "read: [$w.own]")
inhabit "$runtime/own"; honest=$sleeper
looks="mount --bind $w.secret $w.own; while :; do cat $w.own/f 2>/dev/null; sleep 0.5; done"
sh -c 'echo $$ >"$0/cgroup.procs"; exec setpriv --reuid 4242 --regid 4242 --clear-groups unshare -Urm sh -c "$1"' "$runtime/own" "$looks" >"$tmp/own" 2>/dev/null </dev/null &
servers+=($!)
within 20 grep -q text "$tmp/own"; is own/control 0 $?
sbpf attach --cgroup "$runtime/own" --name own --policy "$own" --keep-open-sockets >/dev/null 2>&1; is own/attach 0 $?
sleep 2
before=$(wc -l <"$tmp/own")
kill -9 $honest
mounted $w/open/own
sleep 14
is own/denied "$before" "$(wc -l <"$tmp/own")"
# Nor at a swap, while another process has the host's.
inhabit "$runtime/own"
sbpf swap own --policy "$own" >/dev/null 2>&1; is own/swap 0 $?
sleep 3
is own/denied-after-a-swap "$before" "$(wc -l <"$tmp/own")"
sbpf kill own 2>/dev/null

# ---- a link that came since leads nothing: below a directory that was moved to a name on a rule's path ----
mkdir -p $w.evil
cp /bin/true $w.evil/prog
printf 'version: 1\nname: programs\nprocess: {exec: {allow: [/usr, /bin, /lib, /lib64, %s.app/bin]}}\n' $w | policy programs >/dev/null
inhabit "$runtime/programs"
sbpf attach --cgroup "$runtime/programs" --name programs --policy "$tmp/programs.yaml" >/dev/null; is link/attach 0 $?
inside programs sh -c "mkdir $w.moved && ln -s $w.evil $w.moved/bin && mv $w.moved $w.app"; is link/moved 0 $?
$w.app/bin/prog; is link/control 0 $?
mounted $w/open/again
sleep 14
inside programs $w.app/bin/prog; is link/refused 126 $?
text=/run/sbpf-policies/$(stat -c %i "$runtime/programs")
sed -i "1i link $w.app/bin" "$text"; is link/forged-control 0 $?
mounted $w/open/once-more
sleep 14
inside programs $w.app/bin/prog; is link/refused-still 126 $?

# ---- a process whose leader ended has its mounts still ----
mkdir -p $w.leader $w.view "$runtime/leader"
echo text >$w.view/f
cat >"$tmp/leader.py" <<'P'
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).syscall(60, 0)
P
unshare -m sh -c "echo \$\$ >$runtime/leader/cgroup.procs; mount --bind $w.view $w.leader; exec python3 $tmp/leader.py" & leader=$!
servers+=($leader)
ended() { grep -q '^State:.Z' /proc/$leader/status; }
within 20 ended; is leader/control 0 $?
thread=$(ls /proc/$leader/task | tail -1)
sbpf attach --cgroup "$runtime/leader" --name leader --policy "$(rules leader "read: [$w.leader]")" >/dev/null; is leader/attach 0 $?
is leader/its-own-mounts text "$(nsenter -t "$thread" -m sh -c "echo \$\$ >$runtime/leader/cgroup.procs; exec cat $w.leader/f" 2>&1)"
sbpf kill leader 2>/dev/null

# ---- whoever writes another text there changes no policy ----
printf 'version: 1\nname: forged\nfilesystem: {default: write}\n' >"/run/sbpf-policies/$(stat -c %i "$runtime/att")"; is forged/control 0 $?
mounted $w/open/forged
sleep 12
reads att $w/open/forged/f; is forged/stays-denied 1 $?
sbpf swap att --policy "$second" >/dev/null 2>&1; is forged/swap 0 $?
reads att $w/open/forged/f; is forged/mended 0 $?
file=/run/sbpf-policies/$(stat -c %i "$runtime/att")
for kind in mkfifo mkdir; do # in the file's place: nobody waits for it
  rm -f "$file"
  $kind "$file"
  timeout 60 sbpf swap att --policy "$second" >/dev/null 2>&1; is forged/$kind 0 $?
done
rmdir "$file"
sbpf swap att --policy "$second" >/dev/null 2>&1; is forged/written-again text "$([[ -f $file ]] && echo text)"

# ---- where what is inside may mount, nothing is looked at again: its rule would go where it says ----
printf 'version: 1\nname: unix\nnetwork: {unix: [%s]}\n' $w/open | policy unix >/dev/null
inhabit "$runtime/unix"
sbpf attach --cgroup "$runtime/unix" --name unix --policy "$tmp/unix.yaml" >/dev/null; is unix/attach 0 $?
mounted $w/open/for-unix
within 60 reads att $w/open/for-unix/f; is unix/control 0 $?
sleep 12
is unix/generation 1 "$(sbpf status unix --json | jq .policy.generation)"
sbpf detach unix
sbpf detach att
is gone/no-text no "$([[ -e /run/sbpf-policies/$(stat -c %i "$runtime/att") ]] && echo yes || echo no)"
kill -9 $member $sleeper
finish
