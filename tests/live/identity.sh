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
  run "$q" -- sh -c "$how"; is "exact/allowed-${how:0:4}" 0 $?
  rm -f $w/exact/build
done

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

# ---- while it runs: at a mount elsewhere, at a swap, when a cgroup is taken in ----
p=$(rules live <<<"write: [$w/live, $w/live/tests/unit]")
mkdir -p $w/live $w.other
plant="until [ -e $w/live/go ]; do sleep 0.1; done; ln -s $w.secret $w/live/tests; touch $w/live/planted
until [ -e $w/live/look ]; do sleep 0.1; done; cat $w/live/tests/unit/key >$w/live/read; touch $w/live/looked; sleep infinity"
started live --policy "$p" -- sh -c "$plant" </dev/null >/dev/null 2>"$tmp/live.err"; is live/start 0 $?
touch $w/live/go
within 20 test -e $w/live/planted; is live/planted 0 $?
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
