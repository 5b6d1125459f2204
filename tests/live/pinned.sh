#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# process.exec.sha256: a program pinned by its contents, on a filesystem with fs-verity. What takes its place is neither
# run nor mapped as code; it is outside of sandboxes, and in one whose rules allow whatever lies there.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
disk=/srv/pinned
tool=$disk/bin/tool
mkdir -p $disk /srv/plain
modprobe loop # without udev nothing asks for it
truncate -s 64M /tmp/pinned.img
{ mkfs.ext4 -q -b 4096 -O verity,^metadata_csum /tmp/pinned.img && mount -o loop /tmp/pinned.img $disk; } || not_ok mounted "no ext4 with verity"
mkdir $disk/bin $disk/workspace

# seal FILE: FS_IOC_ENABLE_VERITY with SHA-256 and blocks of 4096 bytes; prints the errno
seal() {
  python3 -ISc '
import fcntl, os, struct, sys
try: fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x40806685, struct.pack("=IIIIQIIQ", 1, 1, 4096, 0, 0, 0, 0, 0) + bytes(88)); print(0)
except OSError as e: print(e.errno)' "$1"
}
digest() { sha256sum "$1" | cut -d" " -f1; }
# pins NAME PATH DIGEST: a policy that runs the system's programs, and this one
pins() {
  policy "$1" <<P
version: 1
name: $1
process:
  exec:
    allow: [/usr, /bin, /lib, /lib64]
    sha256: {$2: $3}
P
}
# refused NAME CODE NEEDLE POLICY: nothing runs, and it says why
refused() {
  local out code
  rm -f "$tmp/marker"
  out=$(sbpf run --policy "$4" -- touch "$tmp/marker" 2>&1); code=$?
  is "$1/exit" "$2" $code
  has "$1/says" "$3" "$out"
  is "$1/ran-nothing" no "$([[ -e $tmp/marker ]] && echo yes || echo no)"
}

cp /usr/bin/true $tool
cp /usr/bin/true $disk/bin/other
echo more >>$disk/bin/other
is sealed 0 "$(seal $tool)"
good=$(digest $tool)
p=$(pins good $tool "$good")
hands_of free env
box open "$(policy any <<P
version: 1
name: any
process: {exec: {allow: [/usr, /bin, /lib, /lib64, $disk/bin]}}
P
)"
box pinned "$p"
has active "isolation active ($hooks_here/$hooks_here hooks) policy=good" "$(cat "$tmp/pinned.err")"

# ---- the program itself, under all of its names ----
for way in exec map; do
  is same/$way/control 0 "$(ask free $way $tool)"
  is same/$way/pinned 0 "$(ask pinned $way $tool)"
done
ln -s $tool $disk/workspace/link
is same/by-link 0 "$(ask pinned exec $disk/workspace/link)"
ln $tool $disk/workspace/hard
is same/by-hard-link 0 "$(ask pinned exec $disk/workspace/hard)"
rm $disk/workspace/hard
# Nobody changes what is sealed, root outside included.
is sealed/not-written 1 "$(ask free w $tool)"
is sealed/not-written-in-sandbox 1 "$(ask pinned w $tool)"

# ---- the generation, by which rules know a file, is nobody's to set inside ----
echo text >$disk/workspace/gen
box without "$(policy without <<<$'version: 1\nname: without\nnetwork: {unix: [/run/some.sock]}')"
for command in 0x40087602 0x40086604 0x40046604; do # FS_IOC_SETVERSION, EXT4_IOC_SETVERSION, and that with 32 bits
  is generation/$command/control "$([[ $command == 0x40046604 ]] && echo 25 || echo 0)" "$(ask free ioctl $disk/workspace/gen $command)"
  is generation/$command/without-rules-for-files 1 "$(ask without ioctl $disk/workspace/gen $command)"
  is generation/$command/denied 1 "$(ask pinned ioctl $disk/workspace/gen $command)"
done
is generation/read 0 "$(ask pinned ioctl $disk/workspace/gen 0x80087601)"
has generation/said "ioctl that sets a file's generation" "$(sbpf events without 2>&1)"
end without

# ---- others: beside it, and in its place ----
for way in exec map; do denied beside/$way pinned $way $disk/bin/other; done
mv $tool $disk/workspace/kept
cp $disk/bin/other $tool
for way in exec map; do denied replaced/$way pinned $way $tool; done
rm $tool
# The same contents in another file are not kept by anything.
cp $disk/workspace/kept $tool
denied copied pinned exec $tool
rm $tool
mkdir $tool && cp $disk/bin/other $tool/inside
denied directory-in-its-place pinned exec $tool/inside
rm -r $tool
touch $tool && mount --bind $disk/bin/other $tool
within 60 eval '[ "$(ask open exec $tool)" = 0 ]' # a mount is open to a sandbox when its supervisor has looked at it
denied mounted-over pinned exec $tool
umount $tool
rm $tool
is kept-elsewhere 0 "$(ask pinned exec $disk/workspace/kept)"
mv $disk/workspace/kept $tool
is back 0 "$(ask pinned exec $tool)"
ask pinned exec $disk/bin/other >/dev/null
is event/beside exec_default "$(sbpf events pinned --json | jq -r "select(.path == \"$disk/bin/other\") | .reason" | tail -1)"
mv $tool $disk/workspace/kept && cp $disk/bin/other $tool
ask pinned exec $tool >/dev/null
is event/reason exec_pinned "$(sbpf events pinned --json | jq -r "select(.path == \"$tool\") | .reason" | tail -1)"
rm $tool && mv $disk/workspace/kept $tool

# ---- swap: other contents are refused and the old rules stand; with these, the new file is in force ----
cp $disk/bin/other $disk/bin/next
seal $disk/bin/next >/dev/null
sbpf swap pinned --policy "$(pins wrong $disk/bin/next "$good")" 2>"$tmp/swap.err"; is swap/other-content 125 $?
has swap/says "the file has the SHA-256 $(digest $disk/bin/next)" "$(cat "$tmp/swap.err")"
is swap/old-stands 0 "$(ask pinned exec $tool)"
denied swap/new-not-yet pinned exec $disk/bin/next
sbpf swap pinned --policy "$(pins next $disk/bin/next "$(digest $disk/bin/next)")" 2>/dev/null; is swap/done 0 $?
is swap/new 0 "$(ask pinned exec $disk/bin/next)"
denied swap/no-longer pinned exec $tool

# ---- attach looks as well ----
mkdir $cgroots/workload
sbpf attach --cgroup $cgroots/workload --name workload --policy "$p" 2>/dev/null; is attach 0 $?
sh -c "echo 0 >$cgroots/workload/cgroup.procs; exec $tool"; is attach/pinned 0 $?
sh -c "echo 0 >$cgroots/workload/cgroup.procs; exec $disk/bin/other" 2>/dev/null; is attach/other 126 $?
sbpf detach workload >/dev/null 2>&1
rmdir $cgroots/workload

# ---- what cannot be kept is refused ----
plain=/srv/plain/tool
cp $tool $plain
refused no-verity 125 "without fs-verity" "$(pins no_verity $disk/bin/other "$(digest $disk/bin/other)")"
refused wrong-digest 125 "the file has the SHA-256 $good" "$(pins wrong_digest $tool "${good//[0-9]/0}")"
refused directory 125 "not a regular file" "$(pins directory $disk/bin "$good")"
refused missing 125 "no such file" "$(pins missing $disk/bin/missing "$good")"
refused where 125 "where.yaml:6:14" "$(pins where $plain "$good")"
mkdir -p /srv/overlay/{upper,work,merged}
mount -t tmpfs none /srv/overlay/upper && mkdir /srv/overlay/upper/{upper,work}
modprobe overlay
mount -t overlay -o lowerdir=$disk/bin,upperdir=/srv/overlay/upper/upper,workdir=/srv/overlay/upper/work none /srv/overlay/merged
refused overlay 125 "on overlayfs" "$(pins overlay /srv/overlay/merged/tool "$good")"
umount /srv/overlay/merged /srv/overlay/upper
refused bad-digest 2 "64 digits" "$(pins bad_digest $tool "${good:1}")"
refused bad-path 2 "bin/tool" "$(pins bad_path bin/tool "$good")"
refused twice 2 "is named twice, first in process.exec.allow[0]" "$(pins twice /usr "$good")"
has explain "process.exec.sha256: $tool" "$(sbpf explain --policy "$p" exec $tool 2>&1)"

end open pinned
finish
