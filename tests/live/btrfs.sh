#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rules on btrfs, whose subvolumes number their files alike: a rule holds in its own subvolume, a snapshot is another
# place, and a sandbox makes none.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
b=/mnt/btrfs

# ---- the module comes after the programs: a rule on btrfs is refused, and what no rule names is denied ----
modprobe -r btrfs 2>/dev/null
p=$(policy plain <<P
version: 1
name: plain
extends: [runtime-files]
filesystem: {read: [/mnt]}
P
)
mkdir -p $b
box before "$p"
modprobe loop # without udev nothing asks for it
truncate -s 256M /tmp/btrfs.img
mkfs.btrfs -q /tmp/btrfs.img >/dev/null 2>&1 && mount -o loop,user_subvol_rm_allowed /tmp/btrfs.img $b || not_ok mounted "no btrfs"
for s in a b; do btrfs -q subvolume create $b/$s; done
# Numbered alike, and made in one transaction.
for s in a b; do mkdir -p $b/$s/{w,r,none}; done
for s in a b; do for d in w r none; do echo $s >$b/$s/$d/f; done; done
sync
btrfs -q subvolume snapshot $b/a $b/copy
is numbered-alike "$(stat -c %i $b/a/w/f)" "$(stat -c %i $b/b/w/f)"
p=$(policy rules <<P
version: 1
name: rules
extends: [runtime-files]
filesystem: {read: [$b/a/r, $b/b/none], write: [$b/a/w]}
P
)
out=$(sbpf run --policy "$p" -- touch /tmp/marker 2>&1); code=$?
is module-later/refused 125 $code
has module-later/named "lies on btrfs, whose module was loaded after sbpf's programs" "$out"
has module-later/hint "sbpf unload" "$out"
is module-later/nothing-ran no "$([[ -e /tmp/marker ]] && echo yes || echo no)"
# Once a mount that came after it is followed, so is this one: not by the rights of where it is mounted.
mkdir -p /mnt/seen
mount -t tmpfs seen /mnt/seen
echo text >/mnt/seen/f
is_followed() { [[ $(ask before r /mnt/seen/f) == 0 ]]; }
within 60 is_followed; is module-later/other-mount-allowed 0 $?
is module-later/control-open a "$(cat $b/a/r/f)"
is module-later/denied $EACCES "$(ask before r $b/a/r/f)"
is module-later/denied-root $EACCES "$(ask before ls $b)"
umount /mnt/seen
end before
clean

# ---- each subvolume for itself ----
hands_of free env
box open "$open_policy"
box rules "$p"
has active "isolation active ($hooks_here/$hooks_here hooks) policy=rules" "$(cat "$tmp/rules.err")"
allowed read rules r $b/a/r/f
allowed write rules rw $b/a/w/f
for op in create mkdir; do allowed write-$op rules $op $b/a/w/new; done
denied read-is-not-write rules w $b/a/r/f
denied default rules r $b/a/none/f
denied other-subvolume/write rules w $b/b/w/f
denied other-subvolume/create rules create $b/b/w/new
denied other-subvolume/read rules r $b/b/r/f
allowed other-subvolume/own-rule rules r $b/b/none/f
denied snapshot/write rules w $b/copy/w/f
denied snapshot/read rules r $b/copy/r/f
denied snapshot/create rules create $b/copy/w/new
denied snapshot/default rules r $b/copy/none/f
# The same directory again, with a verdict of the other subvolume in between.
allowed write-again rules rw $b/a/w/f
denied snapshot/write-again rules w $b/copy/w/f
# A snapshot's directories have the numbers and generations of those that it was made of; what is more, they get the memory that
# the kernel had for their names. What was found for one does not hold for the other.
got=()
for _ in {1..150}; do
  echo 2 >/proc/sys/vm/drop_caches
  got+=("$(ask rules r $b/a/r/f)")
  echo 2 >/proc/sys/vm/drop_caches
  got+=("$(ask rules r $b/copy/r/f)")
done
is snapshot/in-the-memory-of-the-original "150 0, 150 $EACCES" "$(printf '%s\n' "${got[@]}" | sort -n | uniq -c | awk '{ printf "%s%s %s", (NR > 1 ? ", " : ""), $1, $2 }')"

# ---- a subvolume as a directory of a rule, and below one ----
btrfs -q subvolume create $b/a/w/sub
echo text >$b/a/w/sub/f
allowed below/write rules w $b/a/w/sub/f
p=$(policy below <<P
version: 1
name: below
extends: [runtime-files]
filesystem: {read: [$b], write: [$b/a], deny: [$b/a/w/sub, $b/a/none], protect: [$b/a/later]}
P
)
box below "$p"
allowed below/read below r $b/copy/none/f
denied below/deny below r $b/a/w/sub/f
denied below/deny-dir below r $b/a/none/f

# ---- a sandbox makes no snapshots and removes none ----
# The policy that has no rules for files lets them.
unruled=$(policy unruled <<P
version: 1
name: unruled
P
)
box unruled "$unruled"
for v in '' -v2; do
  is snapshot-of-denied$v/control-open 0 "$(ask free snapshot$v $b/a $b/a/w)"
  is snapshot-of-denied$v/control-leaks a "$(ask free cat $b/a/w/snapshot/none/f)"
  btrfs -q subvolume delete $b/a/w/snapshot
  is snapshot-of-denied$v/denied 1 "$(ask below snapshot$v $b/a $b/a/w)"
  is snapshot-of-denied$v/nothing-made no "$([[ -e $b/a/w/snapshot ]] && echo yes || echo no)"
  is snapshot-of-denied$v/allowed-elsewhere 0 "$(ask unruled snapshot$v $b/b $b/b/w)"
  btrfs -q subvolume delete $b/b/w/snapshot
  is subvolume-in-a-protected-name$v/control-open 0 "$(ask free subvolume$v $b/a later)"
  is subvolume-removed$v/control-open 0 "$(ask free unsubvolume$v $b/a later)"
  is subvolume-in-a-protected-name$v/denied 1 "$(ask below subvolume$v $b/a later)"
  is subvolume-removed$v/denied 1 "$(ask below unsubvolume$v $b/a/w sub)"
  is subvolume-removed$v/still-there yes "$([[ -e $b/a/w/sub/f ]] && echo yes || echo no)"
  is subvolume-in-a-protected-name$v/allowed-elsewhere 0 "$(ask unruled subvolume$v $b/b later)"
  is subvolume-removed$v/allowed-elsewhere 0 "$(ask unruled unsubvolume$v $b/b later)"
done
has snapshot-of-denied/reported "btrfs subvolume" "$(sbpf events below 2>&1)"

end rules below unruled open
umount $b
clean
is left-behind "" "$(left_behind)"
finish
