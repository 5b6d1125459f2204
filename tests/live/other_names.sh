#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A file that a rule denies or protects has a hard link elsewhere, which an earlier run made, or the sandbox itself before a swap: by
# that name it is denied and protected, too. So is a directory by another mount.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
keep_loaded
hands_of free env
box open "$open_policy"
rules() { policy "$1" <<<"version: 1"$'\n'"name: $1"$'\n'"extends: [runtime-files]"$'\n'"filesystem: $2"; }

# fresh DIRECTORY: with files of one name each
fresh() {
  mkdir -p "$1/tests" "$1/secret" "$1/out"
  for name in tests/t secret/s plain; do echo text >"$1/$name"; done
}
for fs in disk tmpfs; do
  w=/srv/names-$fs
  mkdir $w
  if [[ $fs == tmpfs ]]; then mount -t tmpfs names $w; fi
  wide=$(rules "wide-$fs" "{write: [$w]}") narrow=$(rules "narrow-$fs" "{write: [$w], protect: [$w/tests], deny: [$w/secret]}")

  # ---- an earlier run ----
  fresh $w
  box earlier "$wide"
  for name in "tests/t $w/t2" "secret/s $w/out/s2" "plain $w/out/plain2"; do is "$fs/earlier/makes-${name##*/}" 0 "$(ask earlier keeplink $w/$name)"; done
  end earlier
  box later "$narrow"
  is $fs/earlier/control-denied 13 "$(ask later r $w/secret/s)"
  is $fs/earlier/control-protected 13 "$(ask later w $w/tests/t)"
  denied $fs/earlier/other-name-of-denied later r $w/out/s2
  denied $fs/earlier/other-name-of-protected later w $w/t2
  denied $fs/earlier/truncated later t $w/t2
  denied $fs/earlier/mode later chmod $w/t2
  allowed $fs/earlier/protected-is-read later r $w/t2
  allowed $fs/earlier/others later rw $w/out/plain2
  echo more >$w/secret/one
  is $fs/earlier/a-new-one-is-denied 13 "$(ask later ln $w/secret/one $w/out/one)" # to write it takes a right that it has not
  end later
  box wider "$wide"
  allowed $fs/earlier/without-the-rules wider rw $w/out/s2
  end wider
  rm -r $w/*

  # ---- where a mount of the place is named, and not the place ----
  fresh $w/deep
  mkdir -p /srv/names-view
  mount --bind $w/deep /srv/names-view
  ln $w/deep/tests/t $w/t2
  ln $w/deep/secret/s $w/s2
  echo text >$w/plain
  box bound "$(rules "bound-$fs" "{write: [$w], protect: [/srv/names-view/tests], deny: [/srv/names-view/secret]}")"
  is $fs/bound/control-protected 13 "$(ask bound w $w/deep/tests/t)"
  denied $fs/bound/other-name-of-protected bound w $w/t2
  denied $fs/bound/other-name-of-denied bound r $w/s2
  allowed $fs/bound/others bound rw $w/plain
  end bound
  umount /srv/names-view
  rm -r $w/*

  # ---- by a name that a rule has ----
  fresh $w
  ln $w/tests/t $w/log
  ln $w/secret/s $w/out/read
  box named "$(rules "named-$fs" "{write: [$w, $w/log], read: [$w/out/read], protect: [$w/tests], deny: [$w/secret]}")"
  denied $fs/named/written named w $w/log
  denied $fs/named/by-its-own-name named w $w/tests/t
  denied $fs/named/read named r $w/out/read
  end named
  rm -r $w/*

  # ---- the first swap, to a policy whose rules have no name for it ----
  fresh $w
  box first "$wide"
  is $fs/first/makes-one 0 "$(ask first keeplink $w/plain $w/out/plain2)"
  out=$(rules "out-$fs" "{read: [$w], write: [$w/out]}")
  sbpf swap first --policy "$out" >/dev/null 2>&1; is $fs/first/swapped 0 $?
  denied $fs/first/other-name first w $w/out/plain2
  allowed $fs/first/is-read first r $w/out/plain2
  end first
  rm -r $w/*

  # ---- before a swap ----
  fresh $w
  box box "$wide"
  for name in "tests/t $w/t2" "secret/s $w/out/s2" "plain $w/out/plain2"; do is "$fs/swap/makes-${name##*/}" 0 "$(ask box keeplink $w/$name)"; done
  allowed $fs/swap/before box rw $w/out/s2
  sbpf swap box --policy "$narrow" >/dev/null 2>&1; is $fs/swap/swapped 0 $?
  denied $fs/swap/other-name-of-denied box r $w/out/s2
  denied $fs/swap/other-name-of-protected box w $w/t2
  allowed $fs/swap/others box rw $w/out/plain2
  # What the policy before the last one let be written: no rule of this one is for it.
  out=$(rules "out-$fs" "{write: [$w/out]}")
  sbpf swap box --policy "$out" >/dev/null 2>&1; is $fs/swap/only-a-part 0 $?
  is $fs/swap/control-no-place 13 "$(ask box r $w/plain)"
  denied $fs/swap/other-name-of-no-place box r $w/out/plain2
  echo text >$w/out/new
  allowed $fs/swap/new-ones box rw $w/out/new
  # When something is mounted all is looked up anew.
  before=$(sbpf status box --json | jq .policy.generation)
  mkdir $w/out/mounted
  mount -t tmpfs names $w/out/mounted
  again() { (($(sbpf status box --json | jq .policy.generation) > before)); }
  within 20 again; is $fs/mount/looked-up-anew 0 $?
  denied $fs/mount/other-name-of-no-place box r $w/out/plain2
  umount $w/out/mounted
  # What only the first policy of three let be written.
  third=$(rules "third-$fs" "{write: [$w/out], read: [$w/tests]}")
  sbpf swap box --policy "$third" >/dev/null 2>&1; is $fs/third/swapped 0 $?
  denied $fs/third/other-name-of-no-place box r $w/out/plain2
  allowed $fs/third/new-ones box rw $w/out/new
  sbpf swap box --policy "$wide" >/dev/null 2>&1; is $fs/swap/back 0 $?
  allowed $fs/swap/back box rw $w/out/plain2

  # ---- one that is open by its other name ----
  (exec 7>>$w/out/s2; exec sleep infinity) & holder=$!
  servers+=($holder)
  echo $holder >"$cgroots/sbpf/box/cgroup.procs"
  sbpf swap box --policy "$narrow" >"$tmp/said" 2>&1; is $fs/open/refused 125 $?
  has $fs/open/named "$w/out/s2 open for writing" "$(cat "$tmp/said")"
  kill $holder
  wait $holder 2>/dev/null
  sbpf swap box --policy "$narrow" >/dev/null 2>&1; is $fs/open/control-closed 0 $?
  end box
done

# A disk is opened by a rule that names it: not because it has two names in a place that may be written, nor as what is mounted there.
w=/srv/names-disk
rm -r $w/*
mkdir $w/tests
modprobe loop
truncate -s 1M "$tmp/image"
loop=$(losetup -f --show "$tmp/image")
mknod $w/tests/device b $((0x$(stat -c %t "$loop"))) $((0x$(stat -c %T "$loop")))
ln $w/tests/device $w/device
touch $w/mounted
mount --bind "$loop" $w/mounted
box disk "$(rules disks "{write: [$w, $w/tests], protect: [$w/tests/none]}")"
for name in device tests/device mounted; do
  is "disk/$name/control" 0 "$(ask free r $w/$name)"
  is "disk/$name/denied" 13 "$(ask disk r $w/$name)"
done
end disk
box named "$(rules named "{write: [$w, $w/device]}")"
allowed disk/named named r $w/device
end named
umount $w/mounted

# A directory that is mounted on the way to a rule, and lies below what another rule denies or protects, is denied and protected.
w=/srv/names-way
mkdir -p $w/hidden/shut/{way/rule,other} $w/safe/kept/rule $w/open/{denied,kept,other}
for directory in hidden/shut/way hidden/shut/way/rule hidden/shut/other safe/kept; do echo text >$w/$directory/f; done
mount --bind $w/hidden/shut/way $w/open/denied
mount --bind $w/safe/kept $w/open/kept
mount --bind $w/hidden/shut/other $w/open/other
ways="$w/open, $w/open/denied/rule, $w/open/kept/rule, $w/open/other/none"
box way "$(rules way "{write: [$ways], deny: [$w/hidden/shut], protect: [$w/safe]}")"
denied way/read way r $w/open/denied/f
denied way/missing-below way r $w/open/other/f
denied way/written way w $w/open/kept/f
denied way/made way create $w/open/kept/new
allowed way/protected-is-read way r $w/open/kept/f
allowed way/what-a-rule-names way rw $w/open/denied/rule/f
is way/by-its-own-place 13 "$(ask way r $w/hidden/shut/way/f)"
end way
mount -t tmpfs covers $w/hidden # where it lies cannot be opened
box covered "$(rules covered "{write: [$ways], deny: [$w/hidden/shut]}")"
denied way/covered covered r $w/open/denied/f
end covered
box without "$(rules without "{write: [$ways, $w/hidden/shut, $w/safe]}")"
allowed way/without-the-rules without rw $w/open/denied/f
allowed way/without-the-rules-kept without w $w/open/kept/f
end without
umount $w/hidden $w/open/*

# What a mount hides is not what hides it: a bind over another mount opens nothing. Nor does a mount over a denied mount point.
mkdir -p $w/hidden/shut/disk $w/open/{over,disk}
mount -t tmpfs under $w/open/over
mount --bind $w/hidden/shut/other $w/open/over
mount -t tmpfs disk $w/hidden/shut/disk
echo text >$w/hidden/shut/disk/f
mount --bind $w/hidden/shut/disk $w/open/disk
ln -s $w/kept $w/hidden/shut/way/link
mkdir -p $w/kept $w/open/link
echo text >$w/kept/f
mount --bind $w/hidden/shut/way $w/open/link
hides=$(rules hides "{read: [$w/open, $w/open/link/link/f], deny: [$w/hidden/shut]}")
box hides "$hides"
denied hides/own-name hides r $w/hidden/shut/other/f
denied hides/by-the-bind hides r $w/open/over/f
denied hides/two-places hides r $w/open/disk/f
denied hides/link-own-name hides r $w/hidden/shut/way/f
denied hides/link-by-the-bind hides r $w/open/link/f
allowed hides/the-links-target hides r $w/open/link/link/f
mount -t tmpfs cover $w/hidden
sbpf swap hides --policy "$hides" >/dev/null; is hides/swap 0 $?
denied hides/cover-two-places hides r $w/open/disk/f
end hides open
umount $w/hidden $w/open/* $w/open/over $w/hidden/shut/disk
end_all
finish
