#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Filesystem rules on real files: rules and their reports, what the host changes meanwhile, containers, explain.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
generation() { sbpf status "$1" --json | json 'd["policy"]["generation"]'; }
hands_of free env
box open "$open_policy"

# ---- rules, on the disk and on tmpfs ----
for kind in ext4 tmpfs; do
  case $kind in ext4) d=/srv/live ;; tmpfs) d=/run/live ;; esac
  mkdir -p $d/{ro,rw,none} $d/ro/{no,out} $d/rw/{no,dir} $d/rw/no/again
  for file in ro/f ro/no/f ro/out/f rw/f rw/no/f rw/no/again/f rw/keep rw/dir/f none/f; do echo text >$d/$file; done
  p=$(policy "rules_$kind" <<P
version: 1
name: rules
extends: [runtime-files]
filesystem:
  read: [$d/ro, $d/rw/no/again]
  write: [$d/rw, $d/ro/out]
  deny: [$d/ro/no, $d/rw/no]
  protect: [$d/rw/keep, $d/rw/later, $d/rw/dir/later]
P
)
  b=rules_$kind
  box $b "$p"
  has $kind/active "isolation active ($hooks_here/$hooks_here hooks) policy=rules" "$(cat "$tmp/$b.err")"
  # The nearest rule wins.
  allowed $kind/read $b r $d/ro/f
  denied $kind/read-is-not-write $b w $d/ro/f
  denied $kind/read-is-not-create $b create $d/ro/new
  allowed $kind/write-below-read $b w $d/ro/out/f
  denied $kind/deny-below-read $b r $d/ro/no/f
  denied $kind/deny-lists-nothing $b ls $d/ro/no
  denied $kind/deny-below-write $b rw $d/rw/no/f
  allowed $kind/read-below-deny $b r $d/rw/no/again/f
  denied $kind/read-below-deny-only $b w $d/rw/no/again/f
  denied $kind/default $b r $d/none/f
  denied $kind/read-is-not-lease $b lease $d/ro/f
  # What writing is.
  for op in create\ new mkdir\ new symlink\ new; do allowed "$kind/write-${op% new}" $b ${op% new} $d/rw/new; done
  for op in w rw t rm append chmod chown utime lease; do allowed $kind/write-$op $b $op $d/rw/f; done
  allowed $kind/write-mv $b mv $d/rw/f $d/rw/g
  allowed $kind/write-ln $b ln $d/rw/f $d/rw/g
  for op in create mkdir symlink; do denied $kind/denied-$op $b $op $d/none/new; done
  for op in w rw t rm append chmod chown utime; do denied $kind/denied-$op $b $op $d/none/f; done
  denied $kind/denied-mv-out $b mv $d/rw/f $d/none/g
  denied $kind/denied-mv-in $b mv $d/none/f $d/rw/g
  denied $kind/denied-ln $b ln $d/none/f $d/rw/g
  if [[ $kind == ext4 ]]; then
    allowed $kind/write-xattr $b xattr $d/rw/f
    denied $kind/denied-xattr $b xattr $d/none/f
  fi
  # Protected names, also one that appears later.
  allowed $kind/protect-read $b r $d/rw/keep
  for op in w t rm chmod; do denied $kind/protect-$op $b $op $d/rw/keep; done
  denied $kind/protect-holds-its-directory $b mv $d/rw/dir $d/rw/dir2
  denied $kind/protect-cannot-be-made $b create $d/rw/later
  denied $kind/protect-cannot-be-moved-to $b mv $d/rw/f $d/rw/later
  echo text >$d/rw/later
  allowed $kind/protect-appeared-read $b r $d/rw/later
  denied $kind/protect-appeared $b w $d/rw/later
  denied $kind/protect-appeared-rm $b rm $d/rw/later
  end $b
done
d=/srv/live

# ---- reports: what was denied, and the line that allows it ----
out=$(sbpf run --policy "$tmp/rules_ext4.yaml" -- python3 -c "open('$d/none/f', 'w')" 2>&1)
has report/denied 'PermissionError: [Errno 13]' "$out"
has report/run-names-path "denied write $d/none/f (python3, pid " "$out"
has report/run-names-line "allow with: filesystem: {write: [$d/none/f]}" "$out"
box told "$tmp/rules_ext4.yaml"
is report/read-denied $EACCES "$(ask told r $d/none/f)"
sbpf events told --json | grep -F "$d/none/f" | tail -1 >"$tmp/event"
is report/json "denied $d/none/f read fs_default" "$(json '" ".join([d["verdict"], d["path"], d["wanted"], d["reason"]])' <"$tmp/event")"
line=$(json 'd["allow"]' <"$tmp/event")
is report/line "filesystem: {read: [$d/none/f]}" "$line"
is report/rule-denied $EACCES "$(ask told w $d/rw/no/f)"
is report/rule fs_rule "$(sbpf events told --json | grep -F "$d/rw/no/f" | tail -1 | json 'd["reason"]')"
end told
p=$(policy pasted <<P
version: 1
name: pasted
extends: [runtime-files]
$line
P
)
box pasted "$p"
allowed report/line-added pasted r $d/none/f
denied report/line-is-no-more pasted w $d/none/f
end pasted
p=$(policy watched <<P
version: 1
name: watched
mode: audit
filesystem: {read: [/usr]}
P
)
box watched "$p"
for op in r w rm chmod; do allowed audit/$op watched $op $d/none/f; done
hasnt audit/never-called-active "isolation active" "$(cat "$tmp/watched.err")"
is audit/reports "audit write" "$(sbpf events watched --json | grep -F "\"$d/none/f\"" | grep '"write"' | head -1 | json 'd["verdict"] + " " + d["wanted"]')"
end watched

# ---- what the host changes while the sandbox runs ----
h=/srv/host
mkdir -p $h/{shut,open,rw} $h/rw/mnt $h/shut/mnt
for file in shut/f open/f file openfile t1 t2; do echo old >$h/$file; done
ln -s t1 $h/link
p=$(policy host <<P
version: 1
name: host
extends: [runtime-files]
filesystem:
  read: [$h, $h/open]
  write: [$h/openfile, $h/rw]
  deny: [$h/shut, $h/file, $h/link]
P
)
box host "$p"
denied outside/file-before host r $h/file
echo new >$h/file.new
mv -T $h/file.new $h/file
denied outside/file-renamed-over host r $h/file
rm $h/file
echo new >$h/file
denied outside/file-made-again host r $h/file
echo new >$h/openfile.new
mv -T $h/openfile.new $h/openfile
allowed outside/allowed-file-renamed-over host w $h/openfile
mkdir $h/shut.new
echo new >$h/shut.new/f
is outside/the-new-directory-before 0 "$(ask host r $h/shut.new/f)"
mv $h/shut $h/shut.old
mv $h/shut.new $h/shut
denied outside/directory-renamed-over host r $h/shut/f
denied outside/directory-renamed-away host r $h/shut.old/f
rm -r $h/shut
mkdir -p $h/shut/mnt
echo new >$h/shut/f
denied outside/directory-made-again host r $h/shut/f
denied outside/link-before host r $h/link
ln -s t2 $h/link.new
mv -T $h/link.new $h/link
denied outside/link-swapped-old-target host r $h/t1
denied outside/link-itself host readlink $h/link
# A link is followed to what its target may: the new one never had a rule of its own.
allowed outside/new-target host r $h/t2
allowed outside/link-swapped-new-target host r $h/link

# mount_late NAME WHERE: mounts while the supervisor sleeps; denied until it wakes up
mount_late() {
  kill -STOP "$pid_host"
  before=$(generation host)
  mount -t tmpfs late "$2"
  echo text >"$2/f"
  is "$1/control-open" 0 "$(ask free w "$2/f")"
  is "$1/denied-at-first" $EACCES "$(ask host r "$2/f")"
  kill -CONT "$pid_host"
  newer() { (($(generation host) > before)); }
  within 30 newer; is "$1/published-again" 0 $?
  open_reads() { [[ $(ask open r "$there") == 0 ]]; }
  there=$2/f
  within 30 open_reads; is "$1/allowed-elsewhere" 0 $?
}
mount_late mount/in-writable $h/rw/mnt
allowed mount/in-writable/read host r $h/rw/mnt/f
allowed mount/in-writable/write host w $h/rw/mnt/f
mount_late mount/in-denied $h/shut/mnt
denied mount/in-denied/still host r $h/shut/mnt/f
mount_late mount/over-denied $h/shut
denied mount/over-denied/still host r $h/shut/f
mount_late mount/over-readable $h/open
allowed mount/over-readable/read host r $h/open/f
denied mount/over-readable/not-write host w $h/open/f
denied mount/the-rest-holds host r $h/file
# After a swap: whoever publishes again for a mount began with the policy of before, and must not publish that.
after=$(policy after <<P
version: 1
name: after
extends: [runtime-files]
filesystem: {read: [$h]}
P
)
echo text >$h/rw/f
is mount/after-swap/control 0 "$(ask host w $h/rw/f)"
sbpf swap host --policy "$after" >/dev/null 2>&1; is mount/after-swap/swap 0 $?
before=$(generation host)
is mount/after-swap/denied $EACCES "$(ask host w $h/rw/f)"
mkdir $h/rw/later
mount -t tmpfs later $h/rw/later
echo text >$h/rw/later/f
within 30 newer; is mount/after-swap/published-again 0 $?
is mount/after-swap/same-policy after "$(sbpf status host --json | json 'd["policy"]["name"]')"
is mount/after-swap/denied-still $EACCES "$(ask host w $h/rw/f)"
is mount/after-swap/denied-there $EACCES "$(ask host w $h/rw/later/f)"
is mount/after-swap/read-there 0 "$(ask host r $h/rw/later/f)"
umount $h/rw/later
is mount/after-swap/swapped-back 0 "$(sbpf swap host --policy "$p" >/dev/null 2>&1; echo $?)"
umount $h/open $h/shut $h/shut/mnt $h/rw/mnt
host_reads() { [[ $(ask host r $h/openfile) == 0 ]]; }
within 30 host_reads; is mount/unmounted-rules-hold 0 $?
denied mount/unmounted-denied host r $h/shut/f
end host

# ---- a container of another runtime: an overlay as its root ----
c=/srv/ct
mkdir -p $c/{low,up,work,root} $c/low/{usr,proc,dev,tmp,etc,work,shut,work/shut,mnt}
for link in bin lib lib64 sbin; do ln -s usr/$link $c/low/$link; done
for file in work/f work/dirf work/gone work/shut/f shut/f etc/f etc/g; do echo low >$c/low/$file; done
mkdir $c/low/work/dir $c/low/work/dir/below
mkdir -p "$cgroots/ct.runtime/box"
cat >"$tmp/enter" <<P
set -e
echo \$\$ >$cgroots/ct.runtime/box/cgroup.procs
mount --make-rprivate /
mount -t overlay overlay -o lowerdir=$c/low,upperdir=$c/up,workdir=$c/work,redirect_dir=on $c/root
mount --bind /usr $c/root/usr
mount --bind /dev $c/root/dev
mount -t proc proc $c/root/proc
cd $c/root
pivot_root . mnt
cd /
umount -l /mnt
export PATH=/usr/bin:/bin
exec "\$@"
P
# Its files are pipes, as an engine gives them: those of this shell lie outside of the container, where it may do nothing.
piped() { cat | (for fd in "/proc/$BASHPID/fd/"*; do ((${fd##*/} > 2)) && eval "exec ${fd##*/}>&-"; done; "$@" 2> >(cat >&2)) | cat; }
hands_of ct piped unshare -m bash "$tmp/enter"
is container/control-open/read 0 "$(ask ct r /shut/f)"
is container/control-open/write 0 "$(ask ct w /etc/g)"
is container/control-open/root-is-its-own low "$(ask ct cat /work/f)"
p=$(policy container <<'P'
version: 1
name: container
filesystem:
  read: [/usr, /bin, /lib, /lib64, /etc, /dev, /proc]
  write: [/work, /tmp]
  deny: [/shut, /work/shut]
  protect: [/work/keep]
P
)
sbpf attach --cgroup "$cgroots/ct.runtime/box" --name ct --policy "$p" >"$tmp/ct.attach" 2>&1; code=$?
[[ $code == 0 ]] || cat "$tmp/ct.attach"
is container/attach 0 $code
is container/status active "$(sbpf status ct --json | json '"active" if d["isolation_active"] else "not"')"
# in_ct NAME ERRNO OPERATION PATH…
[[ -s $tmp/ct.err ]] && cat "$tmp/ct.err"
in_ct() { is "container/$1" "$2" "$(ask ct "${@:3}")"; }
in_ct read 0 r /work/f
in_ct read-etc 0 r /etc/f
in_ct denied-write-etc $EACCES w /etc/f
in_ct denied-create-etc $EACCES create /etc/new
in_ct denied-chmod-etc $EACCES chmod /etc/f
in_ct denied-xattr-etc $EACCES xattr /etc/f
in_ct denied-rm-etc $EACCES rm /etc/f
in_ct denied-read $EACCES r /shut/f
in_ct denied-list $EACCES ls /shut
in_ct denied-nested $EACCES r /work/shut/f
in_ct denied-nested-write $EACCES w /work/shut/f
in_ct denied-holds $EACCES mv /work/shut /work/moved
is container/nothing-copied-up no "$([[ -e $c/up/etc/f || -e $c/up/shut/f ]] && echo yes || echo no)"
in_ct copy-up 0 append /work/f
is container/copied-up low-more "$(paste -sd- $c/up/work/f)"
in_ct chmod 0 chmod /work/dirf
in_ct utime 0 utime /work/dirf
in_ct create 0 create /work/new
in_ct mkdir 0 mkdir /work/newdir
in_ct symlink 0 symlink /work/newlink
in_ct rename 0 mv /work/f /work/g
in_ct rename-directory 0 mv /work/dir /work/dir2
in_ct link 0 ln /work/f /work/hard
in_ct delete-and-make-again 0 rm /work/dirf
in_ct xattr 0 xattr /work/f
in_ct delete-lower 0 drop /work/gone
is container/whiteout yes "$([[ -c $c/up/work/gone ]] && echo yes || echo no)"
in_ct make-over-whiteout 0 keep /work/gone
in_ct rmdir-lower 0 rmdir /work/dir/below
in_ct denied-protected-name $EACCES create /work/keep
in_ct after-copy-up-read 0 r /work/f
sbpf detach ct; is container/detach 0 $?
is container/open-again 0 "$(ask ct r /shut/f)"
in_ct control-after/protected 0 create /work/keep
in_ct control-after/chmod 0 chmod /etc/f
kill "$pid_ct"
wait "$pid_ct" 2>/dev/null
within 30 grep -q 'populated 0' "$cgroots/ct.runtime/cgroup.events"
rmdir "$cgroots/ct.runtime/box" "$cgroots/ct.runtime"

# ---- what is remembered is one sandbox's: of two whose cgroups share the slot of a directory ----
mkdir -p /srv/slot/d "$cgroots/slot-a"
echo text >/srv/slot/d/f
# As fs_slot() in bpf/fs_cache.h. Cgroups are made until one has a number that leads to the same slot.
python3 - /srv/slot/d "$cgroots/slot-a" "$cgroots/slot-b" <<'P'; is slot/two-cgroups-found 0 $?
import os, sys
number = os.stat(sys.argv[1]).st_ino
slot = lambda path: ((number ^ os.stat(path).st_ino << 32) * 0x9e3779b97f4a7c15 & 0xffffffffffffffff) >> 52
wanted = slot(sys.argv[2])
for _ in range(100000):
    os.mkdir(sys.argv[3])
    if slot(sys.argv[3]) == wanted:
        sys.exit(0)
    os.rmdir(sys.argv[3])
sys.exit(1)
P
for b in slot-a slot-b; do
  hands_of ${b/-/_} bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$cgroots/$b"
  is $b/control-open 0 "$(ask ${b/-/_} r /srv/slot/d/f)"
done
p=$(policy shut_slot <<'P'
version: 1
name: shut_slot
filesystem: {default: write, deny: [/srv/slot]}
P
)
sbpf attach --cgroup "$cgroots/slot-a" --name slot-a --policy "$open_policy" >/dev/null 2>&1; is slot-a/attach 0 $?
sbpf attach --cgroup "$cgroots/slot-b" --name slot-b --policy "$p" >/dev/null 2>&1; is slot-b/attach 0 $?
for op in r rw; do
  is slot-a/$op 0 "$(ask slot_a $op /srv/slot/d/f)"
  is slot-b/$op-beside-it $EACCES "$(ask slot_b $op /srv/slot/d/f)"
done
for b in slot-a slot-b; do sbpf detach $b; done
kill "$pid_slot_a" "$pid_slot_b"
wait "$pid_slot_a" "$pid_slot_b" 2>/dev/null
within 30 rmdir "$cgroots/slot-a" "$cgroots/slot-b"

# ---- a verification asks the hook, whatever is remembered of the directory in which it opens a file ----
for n in 1 2; do is verify/opened-$n 0 "$(ask open r /dev/null)"; done
sbpf verify open >/dev/null 2>&1; is verify/holds 0 $?

# ---- explain says what the kernel does ----
ln -s $d/ro/no/f $d/ro/trap
box explained "$tmp/rules_ext4.yaml"
for path in $d/ro/f $d/ro/no/f $d/ro/out/f $d/rw/f $d/rw/no/again/f $d/rw/keep $d/none/f $d/ro/trap /usr/bin/env /etc/shadow; do
  for access in r w; do
    said=0
    sbpf explain --policy "$tmp/rules_ext4.yaml" open $path $access >/dev/null || said=$EACCES
    is "explain/$access${path//\//-}" $said "$(ask explained $access $path)"
  done
done
end explained

# ---- what cannot be held is refused before anything runs ----
# refused NAME LINE:COLUMN-PART (policy from stdin)
refused() {
  local file code out
  file=$(policy refused)
  rm -f "$tmp/marker"
  out=$(sbpf run --policy "$file" -- touch "$tmp/marker" 2>&1)
  code=$?
  is "refused/$1/exit" 2 $code
  has "refused/$1/location" "refused.yaml:$2:" "$out"
  is "refused/$1/ran-nothing" no "$([[ -e $tmp/marker ]] && echo yes || echo no)"
}
refused too-deep 5 <<P
version: 1
name: refused
filesystem:
  default: write
  deny: [$d/1/2/3/4/5/6/7/8/9]
P
ln -s ro $d/alias
refused conflict 6 <<P
version: 1
name: refused
filesystem:
  default: write
  read: [$d/ro]
  deny: [$d/alias]
P
refused relative 5 <<P
version: 1
name: refused
filesystem:
  default: write
  deny: [srv]
P
p=$(policy refused <<P
version: 1
name: refused
filesystem: {default: write, deny: [$d/1/2/3]}
P
)
sbpf run -q --policy "$p" -- touch "$tmp/marker"; is refused/control-runs "0 yes" "$? $([[ -e $tmp/marker ]] && echo yes || echo no)"

# ---- swap by command ----
box swapped "$open_policy"
is swap/allowed 0 "$(ask swapped r $d/none/f)"
sbpf swap swapped --policy "$tmp/rules_ext4.yaml" >/dev/null; is swap/exit 0 $?
denied swap/swapped swapped r $d/none/f
sbpf swap swapped --policy no-network >/dev/null; is swap/without-section 0 $?
is swap/without-section-allowed 0 "$(ask swapped r $d/none/f)"
sbpf swap swapped --policy "$tmp/refused.yaml" >/dev/null; is swap/late-first-rules 0 $?
end swapped open
kill "$pid_free"
end_all
finish
