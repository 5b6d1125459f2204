#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which file a rule means: links that the untrusted side planted, in this run or an earlier one, lead no rule; what the host
# makes anew has the rules of what was there.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
keep_loaded
w=/srv/planted
mkdir -p $w $w.secret/unit $w.code
chmod 755 $w
echo key | tee $w.secret/key >$w.secret/unit/key
# rules NAME: filesystem rules from stdin, with what programs need
rules() { { printf 'version: 1\nname: %s\nextends: [runtime-files]\nfilesystem:\n' "$1"; sed 's/^/  /'; } | policy "$1"; }
run() { sbpf run -q --policy "$@" 2>"$tmp/said"; }
# refused NAME LINK WHY: the last run ended so
refused() {
  is "$1/code" 2 $code
  has "$1/says" "leads through the symbolic link $2" "$(cat "$tmp/said")"
  has "$1/why" "$3" "$(cat "$tmp/said")"
  has "$1/hint" "name the target instead" "$(cat "$tmp/said")"
}
writes='lies where the sandbox may write' uid_1000='belongs to uid 1000'

# ---- a tree that brings a link ----
p=$(rules brought <<<"write: [$w/brought]
protect: [$w/brought/tests]")
mkdir -p $w/brought/tests
echo test >$w/brought/tests/key
is brought/control-directory test "$(run "$p" -- cat $w/brought/tests/key)"
rm -r $w/brought/tests
ln -s $w.secret $w/brought/tests
is brought/control-without key "$(cat $w/brought/tests/key)"
is brought/nothing-ran "" "$(run "$p" -- cat $w/brought/tests/key)"
run "$p" -- cat $w/brought/tests/key; code=$?
refused brought "$w/brought/tests -> $w.secret" "$writes"
named=$(rules named <<<"write: [$w/brought]
protect: [$w.secret]")
is brought/named-by-its-target key "$(run "$named" -- cat $w/brought/tests/key)"

# ---- one that an earlier run plants ----
p=$(rules earlier <<<"write: [$w/earlier, $w/earlier/build]")
first=$(rules first <<<"write: [$w/earlier]")
mkdir -p $w/earlier/build
run "$p" -- touch $w/earlier/build/f; is earlier/control-directory 0 $?
run "$first" -- sh -c "rm -r $w/earlier/build && ln -s $w.secret $w/earlier/build"; is earlier/planted 0 $?
touch $w/earlier/build/by-root; is earlier/control-without 0 "$([[ -e $w.secret/by-root ]]; echo $?)"
run "$p" -- touch $w/earlier/build/new; code=$?
refused earlier "$w/earlier/build -> $w.secret" "$writes"
is earlier/nothing-written no "$([[ -e $w.secret/new ]] && echo yes || echo no)"

# ---- another user's, in a place that no rule lets be written ----
ln -s $w.secret $w/theirs
chown -h 1000:1000 $w/theirs
for rule in "read: [$w/theirs]" "write: [$w/theirs/unit]" "deny: [$w/theirs/unit/key]"; do
  p=$(rules theirs <<<"$rule")
  run "$p" -- true; code=$?
  refused "theirs/${rule%%:*}" "$w/theirs -> $w.secret" "$uid_1000"
done
{ printf 'version: 1\nname: exec\nprocess: {exec: {allow: [/usr, %s]}}\n' "$w/theirs/unit"; } | policy exec >/dev/null
run "$tmp/exec.yaml" -- true; code=$?
refused theirs/exec "$w/theirs -> $w.secret" "$uid_1000"
printf 'version: 1\nname: unix\nnetwork: {unix: [%s]}\n' "$w/theirs/unit" | policy unix >/dev/null
run "$tmp/unix.yaml" -- true; code=$?
refused theirs/unix "$w/theirs -> $w.secret" "$uid_1000"
chown -h 0:0 $w/theirs
p=$(rules ours <<<"read: [$w/theirs]")
is ours/followed key "$(run "$p" -- cat $w/theirs/unit/key)"
is ours/what-it-leads-to key "$(run "$p" -- cat $w.secret/key)"
is ours/readlink $w.secret "$(run "$p" -- readlink $w/theirs)"

# ---- a workspace that is itself a link of root's ----
ln -s $w.code $w/workspace
p=$(rules workspace <<<"write: [$w/workspace]")
run "$p" -- sh -c "cd $w/workspace && echo built >out"; is workspace/written 0 $?
is workspace/there built "$(cat $w.code/out)"
run "$p" -- ln -sfn $w.secret $w/workspace 2>/dev/null; is workspace/not-replaced $w.code "$(readlink $w/workspace)"
run "$p" -- rm $w/workspace 2>/dev/null; is workspace/not-removed $w.code "$(readlink $w/workspace)"

# ---- a link by the very name that a rule lets be written ----
mkdir $w/exact $w/own
p=$(rules exact <<<"write: [$w/exact/build, $w/own]")
in_exact() { run "$p" -- sh -c "$1 && echo done" 2>/dev/null; }
is exact/control-file done "$(in_exact "touch $w/exact/build")"
rm $w/exact/build
is exact/control-directory done "$(in_exact "mkdir $w/exact/build")"
rmdir $w/exact/build
is exact/symlink "" "$(in_exact "ln -s $w.secret $w/exact/build")"
is exact/control-own done "$(in_exact "ln -s $w.secret $w/own/link")"
is exact/rename "" "$(in_exact "mv -T $w/own/link $w/exact/build")"
is exact/hard-link "" "$(in_exact "ln -P $w/own/link $w/exact/build")"
is exact/nothing-there no "$([[ -L $w/exact/build ]] && echo yes || echo no)"
q=$(rules wide <<<"write: [$w/exact, $w/own]")
for how in "ln -s $w.secret $w/exact/build" "ln -P $w/own/link $w/exact/build" "mv -T $w/own/link $w/exact/build"; do
  run "$q" -- sh -c "$how"; is "exact/allowed-${how:0:5}" 0 $?
  rm -f $w/exact/build
done

# ---- by a name on a rule's path, where files are not judged or all may be written; in this run, for the next one ----
mkdir -p $w/free/build $w/host
printf 'version: 1\nname: sockets\nnetwork: {unix: [%s, %s]}\n' $w/free/agent.sock $w/free/way/agent.sock | policy sockets >/dev/null
printf 'version: 1\nname: most\nfilesystem: {default: write, deny: [%s], write: [%s]}\n' $w.secret $w/free/build | policy most >/dev/null
printf 'version: 1\nname: beside\nfilesystem: {default: write, deny: [%s]}\n' $w.secret | policy beside >/dev/null
ln -s $w/host $w/way
printf 'version: 1\nname: way\nnetwork: {unix: [%s/agent.sock]}\n' $w/way | policy way >/dev/null
# plants POLICY COMMAND: exit code, and what the program says
plants() { run "$tmp/$1.yaml" -- sh -c "$2" 2>/dev/null; echo $?; }
# exchange ONE OTHER: a file and a link, with each other, as a shell does it
exchange() { echo "rm -f $name && touch $name && python3 -IS -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).renameat2(-100, b\"$1\", -100, b\"$2\", 2) and 1)'"; }
for how in sockets:$w/free/agent.sock sockets:$w/free/way most:$w/free/build; do
  name=${how#*:} said=free/${how%%:*}-${how##*/}
  [[ -d $name ]] && rmdir $name
  is $said/symlink 1 "$(plants ${how%%:*} "ln -s $w.secret $name")"
  is $said/rename 1 "$(plants ${how%%:*} "ln -s $w.secret $w/free/beside && mv -T $w/free/beside $name")"
  is $said/hard-link 1 "$(plants ${how%%:*} "ln -P $w/free/beside $name")"
  is $said/exchange 1 "$(plants ${how%%:*} "$(exchange $w/free/beside $name)")"
  is $said/exchange-back 1 "$(plants ${how%%:*} "$(exchange $name $w/free/beside)")"
  is $said/nothing-there no "$([[ -L $name ]] && echo yes || echo no)"
  is $said/control-exchange 0 "$(plants beside "$(exchange $w/free/beside $name) && rm $name")"
  is $said/control-file 0 "$(plants ${how%%:*} "touch $name && rm $name")"
  is $said/control-other-policy 0 "$(plants beside "ln -s $w.secret $name && rm $name")"
  rm -f $w/free/beside
done
is free/way/replaced 1 "$(plants way "ln -sfn $w.secret $w/way")"
is free/way/stays $w/host "$(readlink $w/way)"

# ---- in a directory that another user owns, or that all may write ----
mkdir -p $w/users/proj $w/users/all
ln -s $w.secret $w/users/proj/data
ln -s $w.secret $w/users/all/data
p=$(rules users <<<"read: [$w/users/proj/data]")
is users/control key "$(run "$p" -- cat $w/users/proj/data/key)"
chown 1000:1000 $w/users/proj
run "$p" -- true; code=$?
refused users/owner "$w/users/proj/data -> $w.secret" "lies below $w/users/proj"
chmod 777 $w/users/all
p=$(rules users <<<"read: [$w/users/all/data]")
run "$p" -- true; code=$?
refused users/all "$w/users/all/data -> $w.secret" "lies below $w/users/all"
chmod 1777 $w/users/all
is users/sticky key "$(run "$p" -- cat $w/users/all/data/key)"

# ---- one that it made under the policy before ----
mkdir -p $w/swapped/out
was=$(rules was <<<"write: [$w/swapped]") next=$(rules next <<<"read: [$w/swapped/data]
write: [$w/swapped/out]")
started swapped --policy "$was" -- sh -c "ln -s $w.secret $w/swapped/data; touch $w/swapped/planted; sleep infinity" </dev/null >/dev/null 2>&1; is swapped/start 0 $?
within 20 test -e $w/swapped/planted
sbpf swap swapped --policy "$next" 2>"$tmp/said"; code=$?
refused swapped "$w/swapped/data -> $w.secret" "lies where the policy before let the sandbox write"
rm $w/swapped/data
ln -s $w.secret $w/swapped.link
other=$(rules other <<<"read: [$w/swapped.link]
write: [$w/swapped]")
sbpf swap swapped --policy "$other" >/dev/null; is swapped/another-link 0 $?
sbpf kill swapped

# ---- one in a directory that it moved to where a rule's path goes on, where files are not judged ----
mkdir -p $w/moved $w/old
ln -s $w.code $w/old/bin
exec_rules() { printf 'version: 1\nname: %s\nprocess: {exec: {allow: [/usr, /bin, /lib, /lib64, %s]}}\n' "$1" "$2" | policy "$1"; }
runs=$(exec_rules runs "$w/moved/tools/bin, $w/old/bin") more=$(exec_rules more "$w/moved/tools/bin, $w/old/bin, $w/new/bin")
move="mkdir $w/moved/x; ln -s $w.code $w/moved/x/bin; mv $w/moved/x $w/moved/tools"
started moved -q --policy "$runs" -- sh -c "$move; touch $w/moved/done; sleep infinity" </dev/null >/dev/null 2>&1; is moved/runs/start 0 $?
within 20 test -e $w/moved/done
is moved/runs/control-moved $w.code "$(readlink $w/moved/tools/bin)"
sbpf swap moved --policy "$runs" 2>"$tmp/said"; code=$?
refused moved/runs "$w/moved/tools/bin -> $w.code" "was not there under the policy before, which let the sandbox write there"
rm -r $w/moved/*
sbpf swap moved --policy "$runs" >/dev/null 2>&1; is moved/runs/control-without 0 $?
mkdir $w/new
ln -s $w.code $w/new/bin
sbpf swap moved --policy "$more" >/dev/null 2>&1; is moved/runs/new-rule-by-a-link-of-the-hosts 0 $?
sbpf swap moved --policy "$runs" >/dev/null 2>&1; is moved/runs/link-that-was-followed 0 $?
sbpf kill moved
# Where files are judged, nothing is moved there.
printf 'version: 1\nname: default\nfilesystem: {default: write, deny: [%s]}\n' "$w/moved/tools/bin" | policy default >/dev/null
run "$tmp/default.yaml" -- sh -c "$move"; is moved/default/denied 1 $?
has moved/default/says "'$w/moved/tools': Permission denied" "$(cat "$tmp/said")"
rm -r $w/moved/*

# ---- the root of an attached process is its own to change; the rules' is that of its mount namespace ----
mkdir -p $w/root/srv/planted.secret
box=$cgroots/rooted
mkdir -p "$box"
deny=$(printf 'version: 1\nname: deny\nfilesystem: {default: write, deny: [%s]}\n' $w.secret | policy deny)
cat >"$tmp/rooted.py" <<'P'
import os, sys
top, key, new = os.open("/", os.O_PATH), sys.argv[1].lstrip("/"), sys.argv[2]
def look():
    try:
        os.close(os.open(key, os.O_RDONLY, dir_fd=top))
        print(0, flush=True)
    except OSError as e:
        print(e.errno, flush=True)
look()
for line in sys.stdin:
    if line.strip() == "chroot":
        os.chroot(new)
    look()
P
mkfifo "$tmp/rooted.in" "$tmp/rooted.out"
exec {to}<>"$tmp/rooted.in" {from}<>"$tmp/rooted.out"
unshare -m sh -c "echo \$\$ >$box/cgroup.procs; exec python3 -IS $tmp/rooted.py $w.secret/key $w/root" <"$tmp/rooted.in" >"$tmp/rooted.out" & servers+=($!)
looks() { local answer=none; [[ -n $1 ]] && echo "$1" >&$to; read -r -t 20 -u $from answer; echo "$answer"; }
is rooted/control 0 "$(looks "")"
sbpf attach --cgroup "$box" --name rooted --policy "$deny" >/dev/null; is rooted/attached 0 $?
is rooted/denied 13 "$(looks look)"
is rooted/after-chroot 13 "$(looks chroot)"
sbpf swap rooted --policy "$deny" >/dev/null; is rooted/swap 0 $?
is rooted/after-the-swap 13 "$(looks look)"
sbpf swap rooted --policy "$open_policy" >/dev/null
is rooted/allowed 0 "$(looks look)"
sbpf detach rooted
echo 1 >"$box/cgroup.kill"
exec {to}>&- {from}>&-
within 10 rmdir "$box"

# ---- a container whose root is another user of the host ----
box=$cgroots/mapped
mkdir -p "$box" $w.mnt
deny=$(printf 'version: 1\nname: mapped\nfilesystem: {default: write, deny: [/way/key]}\n' | policy mapped)
# contained OWNER: a process with a root of its own that this user owns, and a link there
contained() {
  unshare -m sh -ec "echo \$\$ >$box/cgroup.procs; mount -t tmpfs none $w.mnt; cd $w.mnt; mkdir old d usr; echo key >d/key; ln -s d way
    mount --rbind /usr usr; for l in bin lib lib64; do ln -s usr/\$l \$l; done; chown -h 100000 way; chown $1 .
    pivot_root . old; touch /ready; exec sleep infinity" </dev/null & servers+=($!)
  within 20 eval 'test -e /proc/$(head -n 1 $box/cgroup.procs)/root/ready'
}
empties() { echo 1 >"$box/cgroup.kill"; within 10 eval '[[ -z $(cat $box/cgroup.procs) ]]'; }
contained 0
sbpf attach --cgroup "$box" --name mapped --policy "$deny" 2>"$tmp/said"; code=$?
refused mapped/of-another "/way -> d" "belongs to uid 100000"
empties
contained 100000
sbpf attach --cgroup "$box" --name mapped --policy "$deny" >"$tmp/said" 2>&1; is mapped/attached 0 $?
sbpf detach mapped
empties
within 10 rmdir "$box"

# ---- the same directory by another path ----
mkdir -p $w/twice/deep/tree $w.mnt
mount --bind $w/twice/deep/tree $w.mnt
ln -s $w.secret $w/twice/deep/tree/link
p=$(rules twice <<<"write: [$w/twice]
read: [$w.mnt/link]")
run "$p" -- true; code=$?
refused twice "$w.mnt/link -> $w.secret" "$writes"
umount $w.mnt
mkdir $w.mnt/sub
p=$(rules once <<<"write: [$w/twice]
read: [$w.mnt/link]")
ln -s $w.secret $w.mnt/link
is once/control key "$(run "$p" -- cat $w.mnt/link/key)"

# ---- while it runs: at a mount elsewhere, at a swap, when a cgroup is taken in. Who made it is another sandbox of root's. ----
p=$(rules live <<<"write: [$w/live, $w/live/tests/unit]")
mkdir -p $w/live $w.other
plant="ln -s $w.secret $w/live/tests || touch $w/live/planted-none
until [ -e $w/live/look ]; do sleep 0.1; done; cat $w/live/tests/unit/key >$w/live/read; touch $w/live/looked; sleep infinity"
started live --policy "$p" -- sh -c "$plant" </dev/null >/dev/null 2>"$tmp/live.err"; is live/start 0 $?
within 20 test -e $w/live/planted-none; is live/none-by-itself 0 $?
ln -s $w.secret $w/live/tests
before=$(sbpf status live --json | jq .policy.generation)
mount -t tmpfs none $w.other
within 20 grep -q "does not reach what was mounted: .*leads through the symbolic link $w/live/tests" "$tmp/live.err"; is live/said 0 $?
is live/old-one-stands "$before" "$(sbpf status live --json | jq .policy.generation)"
sbpf swap live --policy "$p" 2>"$tmp/said"; code=$?
refused live/swap "$w/live/tests -> $w.secret" "$writes"
is live/after-the-swap "$before" "$(sbpf status live --json | jq .policy.generation)"
touch $w/live/look
within 20 test -e $w/live/looked; is live/looked 0 $?
is live/nothing-read "" "$(cat $w/live/read)"
rm $w/live/tests
sbpf swap live --policy "$p" >/dev/null; is live/swap-without-it 0 $?
sbpf kill live
box=$cgroots/planted
inhabit "$box"
ln -s $w.secret $w/live/tests
sbpf attach --cgroup "$box" --name box --policy "$p" 2>"$tmp/said"; code=$?
refused attach "$w/live/tests -> $w.secret" "$writes"
is attach/nothing-left keeper "$(sbpf list | paste -sd' ')"
umount $w.other
echo 1 >"$box/cgroup.kill"
within 10 rmdir "$box"

# ---- names with the same hash ----
# The hash is no secret, and goes through two words so that one takes back what the other did.
twin() {
  python3 -ISc 'import os, sys
name = bytearray(os.fsencode(sys.argv[1]))
for byte, bits in (7, 0x80), (12, 4), (15, 0x80): name[int(sys.argv[2]) + byte] ^= bits
sys.stdout.buffer.write(bytes(name))' "$1" "$2"
}
mkdir $w/names
long=$(printf 'n%.0s' {1..64}) longest=$(printf 'n%.0s' {1..255})
for at in agent-output.svc:0 "$long:0" "$long:48" "$longest:224"; do
  name=${at%:*} said=names/${#name}-${at#*:}
  p=$(rules names <<<"read: [$w/names]
write: [$w/names/$name]")
  q=$(rules wide <<<"write: [$w/names]")
  twin=$(twin "$name" "${at#*:}")
  run "$p" -- touch "$w/names/$name"; is $said/control-itself 0 $?
  run "$p" -- touch "$w/names/$twin" 2>/dev/null; is $said/twin 1 $?
  is $said/not-there no "$([[ -e $w/names/$twin ]] && echo yes || echo no)"
  run "$q" -- touch "$w/names/$twin"; is $said/allowed 0 $?
  rm -f "$w/names/$name" "$w/names/$twin"
done
cat >"$tmp/abstract.py" <<'P'
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    if sys.argv[1] == "serve":
        s.bind(b"\0" + os.fsencode(sys.argv[2]))
        s.listen()
        print("ready", flush=True)
        while True: s.accept()
    s.connect(b"\0" + os.fsencode(sys.argv[2]))
    print(0)
except OSError as e:
    print(e.errno)
P
cp "$tmp/abstract.py" /srv/abstract.py
connects() { sbpf run -q --policy "$1" -- python3 -IS /srv/abstract.py connect "$2" 2>/dev/null; }
for at in socket-of-a-job1:0 "${long:0:64}:48"; do
  name=${at%:*} said=abstract/${#name} twin=$(twin "${at%:*}" "${at#*:}")
  python3 -IS /srv/abstract.py serve "$twin" >"$tmp/ready" & servers+=($!)
  within 20 grep -q ready "$tmp/ready"
  printf 'version: 1\nname: unix\nnetwork: {unix: ["@%s"]}\n' "$name" | policy unix >/dev/null
  is $said/twin 1 "$(connects "$tmp/unix.yaml" "$twin")"
  is $said/control-without 0 "$(python3 -IS /srv/abstract.py connect "$twin")"
  python3 -IS /srv/abstract.py serve "$name" >"$tmp/ready" & servers+=($!)
  within 20 grep -q ready "$tmp/ready"
  is $said/allowed 0 "$(connects "$tmp/unix.yaml" "$name")"
done

# ---- directories that the host removes and makes anew ----
hands_of free env
box open "$open_policy"
seven=1/2/3/4/5/6/7
made() { mkdir -p $w/anew/{near,far}/$seven/8/9; for at in near far/$seven/8/9 far/$seven/8 near/1 far/1 near/$seven; do echo text >$w/anew/$at/f; done; }
made
p=$(rules anew <<<"write: [$w/anew]
deny: [$w/anew/near/$seven, $w/anew/far/$seven/8/9]")
box anew "$p"
check() {
  denied "$1/near" anew r $w/anew/near/$seven/f
  denied "$1/far" anew r $w/anew/far/$seven/8/9/f
  allowed "$1/beside" anew w $w/anew/near/1/f
  allowed "$1/beside-far" anew w $w/anew/far/1/f
}
check anew/before
allowed anew/before/eighth anew r $w/anew/far/$seven/8/f
rm -r $w/anew/{near,far}
made
check anew/after
denied anew/after/out-of-reach anew r $w/anew/far/$seven/8/f
sbpf swap anew --policy "$p" >/dev/null; is anew/swap 0 $?
check anew/again
allowed anew/again/eighth anew r $w/anew/far/$seven/8/f
end anew open
kill "$pid_free"
clean
is left-behind "" "$(left_behind)"
finish
