#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Host root, outside of every sandbox, against sbpf's own objects (docs/GUARD.md): each manipulation succeeds on an object
# that is not ours, is refused with the exact errno or seen within a second on ours, and succeeds on ours once the glass
# is broken.
. "$(dirname "$0")/lib.sh"
tamper=$tests/tamper
EPERM=1 EACCES=13

active() { [[ $(sbpf status "$1" --json 2>/dev/null | jq .isolation_active) == true ]]; }
start() { # start NAME POLICY: a sandbox that sleeps
  started "$1" --policy "$2" -- sleep infinity </dev/null >/dev/null 2>"$tmp/$1.err"
  supervisor=$started
}
# refused NAME WHAT…: on ours
refused() { is "$1/refused" "$EPERM" "$("$tamper" "${@:2}")"; }
# after GROUP: nothing of a group of them disarmed
after() { is "$1/still-active" 0 "$(active box; echo $?)"; }
control() { local name=$1; shift; is "$name/control" 0 "$("$tamper" "$@")"; }
link_of() { # link_of CGROUP_ID TYPE
  bpftool -j link show | jq "[.[] | select(.cgroup_id == $1 and .attach_type == \"$2\")][0].id"
}

# ---- on_loss, for what is not refused but seen: the pins hidden by the old mount(2), which names what it moves by a
# ---- string that no hook resolves ----
declare -A supervisors
for action in freeze kill alert; do
  start "seen-$action" "$(policy "seen-$action" <<P
version: 1
name: seen-$action
on_loss: $action
P
)"
  supervisors[$action]=$supervisor
done
mark
"$tests/overrule" link "$cgroots" connect4 >"$tmp/later" & later=$!
servers+=($later)
within 20 test -s "$tmp/later"
is seen/control 0 "$(cut -d' ' -f1 "$tmp/later")"
for action in freeze kill alert; do
  case $action in
    freeze) within 10 grep -q 'frozen 1' "$cgroots/sbpf/seen-freeze/cgroup.events" ;;
    kill) within 10 sh -c "! kill -0 ${supervisors[kill]} 2>/dev/null" ;;
    alert) within 10 grep -qi 'lost\|missing' "$tmp/seen-alert.err" ;;
  esac
  is "seen/$action/done" 0 $?
done
in_time seen/all
kill $later; wait $later 2>/dev/null
for action in freeze kill alert; do
  sbpf kill "seen-$action" 2>/dev/null
  wait "${supervisors[$action]}" 2>/dev/null
done

start box no-network

# ---- the pins out of sight, by the old mount(2), which names what it moves by a string that no hook resolves: what runs is
# ---- listed by the kernel, so nothing is lost ----
mkdir -p "$tmp/hidden"
move_pins() { mount --move "$@" 2>/dev/null; echo $?; }
mount --make-rprivate / # what lies on a shared mount is not moved
is moved/control 0 "$(move_pins /sys/fs/bpf "$tmp/hidden")"
sleep 3
is moved/not-frozen 1 "$(grep -q 'frozen 1' "$cgroots/sbpf/box/cgroup.events"; echo $?)"
is moved/no-loss 1 "$(grep -q LOST "$tmp/box.err"; echo $?)"
is moved/status 125 "$(sbpf status box >/dev/null 2>&1; echo $?)"
is moved/back 0 "$(move_pins "$tmp/hidden" /sys/fs/bpf)"
is moved/active 0 "$(active box; echo $?)"

cg=$(sbpf status box --json | jq .cgroup_id)
connect4=$(link_of "$cg" cgroup_inet4_connect)
connect6=$(link_of "$cg" cgroup_inet6_connect)
program=$(sbpf status box --json | jq '[.effective[].hooks[] | select(.name == "connect4")][0].prog_id')
lsm_program=$(sbpf status box --json | jq '[.effective[].hooks[] | select(.name == "path_unlink")][0].prog_id')

# ---- objects that are not ours: a link, a map, pins, a mount, a process ----
mkdir -p "$cgroots/other" /sys/fs/bpf/other "$tmp/mount" "$tmp/moved"
sleep infinity & other=$!
servers+=($other)
bpftool map create /sys/fs/bpf/other/map type hash key 4 value 4 entries 1 name other

# ---- links ----
other_id=$("$tamper" link-create "$cgroots/other" /sys/fs/bpf/other/link)
control link-update link-update "$other_id"
refused link-update link-update "$connect4"
control link-detach link-detach "$other_id"
refused link-detach link-detach "$connect4"
refused prog-detach prog-detach "$cgroots/sbpf/box" "$program"
after links

# ---- maps: no descriptor, not even for reading, by which programs and iterators write ----
other_map=$(bpftool -j map show pinned /sys/fs/bpf/other/map | jq .id)
control map-by-id map-by-id "$other_map"
control map-read-by-id map-read-by-id "$other_map"
control map-by-pin map-by-pin /sys/fs/bpf/other/map
for n in 0 1 2; do
  map=$("$tamper" map-of "$lsm_program" $n)
  refused "map-by-id/$n" map-by-id "$map"
  refused "map-read-by-id/$n" map-read-by-id "$map"
done
for map in maps/{sandboxes,policies,rings,cgroup_refs,globals} programs/meta; do
  refused "map-by-pin/${map#*/}" map-by-pin "$pins/$map"
done
is map-show/others-are-seen 0 "$(bpftool map show id "$other_map" >/dev/null; echo $?)"
is prog-show/still-works 0 "$(bpftool prog show >/dev/null; echo $?)"
is link-show/still-works 0 "$(bpftool link show >/dev/null; echo $?)"
# A program in the place of a function of ours; that it would succeed is shown below, with the glass broken.
refused extend extend "$lsm_program"
after maps

# ---- pins ----
touch_other() { bpftool map create "/sys/fs/bpf/other/$1" type hash key 4 value 4 entries 1 name other; }
touch_other a
control unlink unlink /sys/fs/bpf/other/a
touch_other a
control rename rename /sys/fs/bpf/other/a /sys/fs/bpf/other/b
mkdir /sys/fs/bpf/other/dir
control rmdir rmdir /sys/fs/bpf/other/dir
mkdir /sys/fs/bpf/other/dir
control rename-dir rename /sys/fs/bpf/other/dir /sys/fs/bpf/other/dir2
for pin in maps/sandboxes programs/connect4 links/file_open sandboxes/box/connect4; do
  refused "unlink/$pin" unlink "$pins/$pin"
  refused "rename/$pin" rename "$pins/$pin" /sys/fs/bpf/other/taken
  refused "replace/$pin" rename /sys/fs/bpf/other/b "$pins/$pin"
done
refused rename-dir rename "$pins" /sys/fs/bpf/elsewhere
refused rename-sandbox rename "$pins/sandboxes/box" "$pins/sandboxes/box2"
refused rmdir rmdir "$pins/building"
# Another name for a pin keeps what it holds past `sbpf unload`; what lies among the pins takes a name that sbpf will want.
control link link /sys/fs/bpf/other/map /sys/fs/bpf/other/map2
control symlink symlink /sys/fs/bpf/other/map /sys/fs/bpf/other/to
control mkdir mkdir /sys/fs/bpf/other/made
control pin pin /sys/fs/bpf/other/map /sys/fs/bpf/other/map3
for pin in maps/sandboxes programs/connect4 links/file_open sandboxes/box/connect4; do
  refused "link/$pin" link "$pins/$pin" /sys/fs/bpf/other/kept
done
for place in "$pins" "$pins/sandboxes" "$pins/sandboxes/box"; do
  refused "symlink/${place#/sys/fs/bpf/}" symlink /sys/fs/bpf/other "$place/taken"
  refused "mkdir/${place#/sys/fs/bpf/}" mkdir "$place/taken"
  refused "link-into/${place#/sys/fs/bpf/}" link /sys/fs/bpf/other/map "$place/taken"
  refused "pin/${place#/sys/fs/bpf/}" pin /sys/fs/bpf/other/map "$place/taken"
done
# Nor from inside where the policy only tells: no mode lets anyone disarm.
audit=$(policy audit <<P
version: 1
name: audit
mode: audit
$powers
P
)
audited() { sbpf run -q --policy "$audit" -- "$@" >/dev/null 2>&1; echo $?; }
is audit/mkdir-control 0 "$(audited mkdir /sys/fs/bpf/other/inside)"
is audit/mkdir 1 "$(audited mkdir "$pins/inside")"
is audit/link-control 0 "$(audited ln /sys/fs/bpf/other/map /sys/fs/bpf/other/inside/map)"
is audit/link 1 "$(audited ln "$pins/links/file_open" /sys/fs/bpf/other/inside/link)"
after pins

# ---- mounts ----
control mount mount "$tmp/mount"
control umount umount "$tmp/mount"
control mount-new mount-new "$tmp/mount"
control mount-new/umount umount "$tmp/mount"
for way in mount mount-new; do
  refused $way/bpffs $way /sys/fs/bpf
  refused $way/pins $way "$pins"
done
refused umount umount /sys/fs/bpf
refused umount-lazy umount-lazy /sys/fs/bpf
refused umount-lazy/sysfs umount-lazy /sys
refused move-mount move-mount /sys/fs/bpf "$tmp/moved"
is mount/own-namespace 0 "$(unshare -m "$tamper" mount /sys/fs/bpf)"
is umount/own-namespace 0 "$(unshare -m "$tamper" umount-lazy /sys/fs/bpf)"
bind=$tmp/bind
mkdir "$bind" && mount --bind /sys/fs/bpf "$bind"
is umount/other-mount-of-bpffs 0 "$("$tamper" umount "$bind")"
refused mount-shared mount-shared /sys/fs/bpf
refused umount-shared umount-shared /sys/fs/bpf
mount --make-rprivate /
after mounts

# ---- the agent's process ----
control ptrace ptrace "$other"
kill -CONT "$other"
refused ptrace ptrace "$supervisor"
is vm-write/control 14 "$("$tamper" vm-write "$other")"
refused vm-write vm-write "$supervisor"
control getfd getfd "$other" 1
refused getfd getfd "$supervisor" 1
is proc-status/readable 0 "$(cat "/proc/$supervisor/status" "/proc/$supervisor/maps" >/dev/null; echo $?)"
after agent

# ---- who the agent is: an inode, not a name ----
cp "$(command -v sbpf)" "$tmp/sbpf"
is copy/control 0 "$("$tmp/sbpf" --version >/dev/null; echo $?)"
out=$("$tmp/sbpf" kill box 2>&1); is copy/kill 125 $?
has copy/says-why "another executable loaded" "$out"
"$tmp/sbpf" unload 2>/dev/null; is copy/unload 125 $?
"$tmp/sbpf" break-glass --reason no 2>/dev/null; is copy/break-glass 125 $?
# Nor a number: a file that gets the one of an agent that was removed is another.
modprobe loop # without udev nothing asks for it
mkdir "$tmp/own" && truncate -s 128M "$tmp/own.img" && mkfs.ext4 -q "$tmp/own.img" && mount -o loop "$tmp/own.img" "$tmp/own"; is number/mounted 0 $?
agent=$tmp/own/sbpf
cp "$(command -v sbpf)" "$agent" && number=$(stat -c %i "$agent")
sbpf hand-over "$agent" >/dev/null; is number/handed-over 0 $?
is number/control 0 "$("$agent" break-glass --close >/dev/null 2>&1; echo $?)"
rm "$agent"
gets_number() { agent=$tmp/own/$RANDOM; touch "$agent"; [[ $(stat -c %i "$agent") == "$number" ]]; }
within 30 gets_number; is number/same 0 $?
cat "$(command -v sbpf)" >"$agent"; chmod 755 "$agent"
out=$("$agent" break-glass --close 2>&1); is number/refused 125 $?
has number/says-why "another executable loaded" "$out"
umount "$tmp/own"
out=$(strace -f -o /dev/null sbpf kill box 2>&1); is traced/kill 125 $?
is copy/still-active 0 "$(active box; echo $?)"

# ---- break-glass: told, seen, then everything goes ----
hear_log "$tmp/log"
inhabit "$cgroots/told"
sbpf attach --cgroup "$cgroots/told" --name told --policy no-network >/dev/null 2>&1; is log/attach 0 $?
sbpf detach told 2>/dev/null; is log/detach 0 $?
within 10 grep -q 'sandbox told detached: its processes go on, unconfined (uid 0,' "$tmp/log"; is log/detached 0 $?
mkfifo "$tmp/broken"
started inside -q --policy "$audit" -- sh -c "read -r go <$tmp/broken
  mkdir /sys/fs/bpf/other/broken; echo control \$?; mkdir $pins/broken; echo ours \$?" </dev/null >"$tmp/inside" 2>/dev/null
sbpf break-glass --reason '' 2>/dev/null; is break-glass/needs-a-reason 2 $?
sbpf break-glass --reason x --for 2h 2>/dev/null; is break-glass/at-most-an-hour 2 $?
sbpf break-glass --reason "disk is full" --for 30m 2>/dev/null; is break-glass/opens 0 $?
out=$(sbpf status box --json); is break-glass/status-exit 3 $?
is break-glass/not-active false "$(jq .isolation_active <<<"$out")"
has break-glass/status-says-why "disk is full" "$(jq -c .degraded <<<"$out")"
has break-glass/log "disk is full" "$(cat "$tmp/log")"
has break-glass/event break_glass "$(sbpf events box --json | jq -r .reason)"
sbpf run -q --policy no-network -- true 2>/dev/null; is break-glass/no-new-sandbox 125 $?
is broken/map-by-pin 0 "$("$tamper" map-by-pin "$pins/maps/sandboxes")"
# It is open to the host, and to nobody inside.
is broken/mkdir 0 "$("$tamper" mkdir "$pins/broken")"
rmdir "$pins/broken"
echo go >"$tmp/broken"
within 10 grep -q ours "$tmp/inside"
is broken/inside "control 0 ours 1" "$(paste -sd ' ' "$tmp/inside")"
extended=$("$tamper" extend "$lsm_program")
if [[ $extended == 0 ]]; then ok broken/extend; else skip broken/extend "this kernel refuses it by itself: errno $extended"; fi
if [[ $extended == 0 ]]; then is broken/extend-link 0 "$(echo | "$tamper" extend-link "$lsm_program" | tail -1)"; fi
# What was loaded while the glass was broken is put in our program's place afterwards.
mkfifo "$tmp/put"
"$tamper" extend-link "$lsm_program" <"$tmp/put" >"$tmp/putting" & putting=$!
exec 6>"$tmp/put"
[[ $extended != 0 ]] || within 20 grep -q loaded "$tmp/putting"
is broken/ptrace 0 "$("$tamper" ptrace "$supervisor")"
kill -CONT "$supervisor"
sbpf break-glass --close 2>/dev/null; is break-glass/closes 0 $?
within 10 grep -q 'break-glass window closed' "$tmp/log"; is break-glass/closes/log 0 $?
refused_again() { is "closed/$1" "$EPERM" "$("$tamper" "${@:2}")"; }
refused_again map-by-pin map-by-pin "$pins/maps/sandboxes"
echo >&6
wait $putting
if [[ $extended == 0 ]]; then is closed/extend-link "$EPERM" "$(tail -1 "$tmp/putting")"
else skip closed/extend-link "this kernel refuses it by itself: errno $extended"; fi
exec 6>&-
has closed/still-told "let through" "$(sbpf status box --json | jq -c .degraded)"
is closed/nothing-was-taken false "$(sbpf status box --json | jq .isolation_active)"
# Nobody closes it: it does so by itself.
window=8
sbpf break-glass --reason "for a moment" --for ${window}s 2>/dev/null; is by-itself/opens 0 $?
is by-itself/open-meanwhile 0 "$("$tamper" map-by-pin "$pins/maps/sandboxes")"
has by-itself/status-meanwhile "open for" "$(sbpf status box --json | jq -c .degraded)"
sleep $window
is by-itself/refused "$EPERM" "$("$tamper" map-by-pin "$pins/maps/sandboxes")"
is by-itself/detach-refused "$EPERM" "$("$tamper" link-detach "$connect6")"
hasnt by-itself/status "open for" "$(sbpf status box --json | jq -c .degraded)"
sbpf break-glass --reason "take it down" --for 10m 2>/dev/null
mark
is broken/link-detach 0 "$("$tamper" link-detach "$connect6")"
within 10 grep -q 'frozen 1' "$cgroots/sbpf/box/cgroup.events"; is broken/frozen 0 $?
in_time broken/frozen
within 10 grep -q 'isolation of sandbox box was lost (.*connect6' "$tmp/log"; is broken/log 0 $?
has broken/seen connect6 "$(sbpf status box --json | jq -c .degraded)"
echo 0 >"$cgroots/sbpf/box/cgroup.freeze"
within 10 grep -q 'frozen 0' "$cgroots/sbpf/box/cgroup.events"; is broken/moved/thawed 0 $?
is broken/moved/control 0 "$(move_pins /sys/fs/bpf "$tmp/hidden")"
sleep 1
is broken/moved/link-detach 0 "$("$tamper" link-detach "$connect4")"
within 10 grep -q 'frozen 1' "$cgroots/sbpf/box/cgroup.events"; is broken/moved/frozen 0 $?
has broken/moved/seen "LOST: connect4" "$(tail -1 "$tmp/box.err")"
is broken/moved/back 0 "$(move_pins "$tmp/hidden" /sys/fs/bpf)"
is broken/unlink 0 "$("$tamper" unlink "$pins/links/file_open")"
is broken/rename 0 "$("$tamper" rename "$pins/links/bpf" /sys/fs/bpf/other/taken)"
is broken/link 0 "$("$tamper" link "$pins/links/capable" /sys/fs/bpf/other/kept)"
rm -f /sys/fs/bpf/other/taken /sys/fs/bpf/other/link
sbpf break-glass --close 2>/dev/null
sbpf kill box 2>/dev/null
kill_all
# So does a program of ours that somebody attached elsewhere.
is stranger/attaches 0 "$(bpftool cgroup attach "$cgroots/other" connect4 id "$program" multi >&2; echo $?)"
has broken/unload-says-what-stays "2 programs stay attached" "$(sbpf unload 2>&1)"
bpftool cgroup detach "$cgroots/other" connect4 id "$program"
rm -f /sys/fs/bpf/other/kept
freed
is broken/unload-leaves-nothing "" "$(left_behind)"

# ---- the executable was removed or replaced: that of a running supervisor is the agent still ----
# It lies on a disk that has a copy, where another file has its inode's number and generation.
mkdir "$tmp/bin" "$tmp/twin"
truncate -s 40M "$tmp/disk"
mkfs.ext4 -q "$tmp/disk" && mount -o loop "$tmp/disk" "$tmp/bin" && cp "$(command -v sbpf)" "$tmp/bin/sbpf" && umount "$tmp/bin"
cp "$tmp/disk" "$tmp/copy"
mount -o loop "$tmp/disk" "$tmp/bin" && mount -o loop "$tmp/copy" "$tmp/twin"; is twin/mounted 0 $?
started_by=$tmp/bin/sbpf started old -q --policy no-network -- sleep infinity </dev/null >/dev/null 2>&1
supervisor=$started
is twin/same-number "$(stat -c %i "$tmp/bin/sbpf")" "$(stat -c %i "$tmp/twin/sbpf")"
is twin/agent 0 "$("$tmp/bin/sbpf" break-glass --close >/dev/null 2>&1; echo $?)"
"$tmp/twin/sbpf" break-glass --reason no 2>/dev/null; is twin/refused 125 $?
rm "$tmp/bin/sbpf"
sbpf status old >/dev/null 2>&1; is removed/another-binary-is-refused 125 $?
is removed/exe-of-the-supervisor 0 "$("/proc/$supervisor/exe" status old >/dev/null; echo $?)"
"/proc/$supervisor/exe" break-glass --reason upgrade --for 10m 2>/dev/null; is removed/break-glass 0 $?
sbpf kill old 2>/dev/null; is removed/the-new-one-takes-over 0 $?
sbpf unload 2>/dev/null; is removed/unload 0 $?

# ---- unloaded, but not let go of yet: another executable waits for it, and says so when that is in vain ----
# On one kernel, as to load takes long; when the kernel lets go is the same on all.
if [[ $(uname -r) == 6.12.* ]]; then
  cp "$(command -v sbpf)" "$tmp/bin/sbpf"
  started_by=$tmp/bin/sbpf started held -q --policy no-network -- sleep infinity </dev/null >/dev/null 2>&1
  supervisor=$started
  within 60 flock -n /run/sbpf.lock true # a stopped holder of the lock would stop the rest
  kill -STOP "$supervisor"
  "$tmp/bin/sbpf" kill held 2>/dev/null; is held/kill 0 $?
  out=$("$tmp/bin/sbpf" unload 2>&1); is held/unload 0 $?
  has held/unload-says-it "programs stay attached" "$out"
  out=$(sbpf run -q --policy no-network -- true 2>&1); is held/refused 125 $?
  has held/says-why "still held by a process" "$out"
  kill -CONT "$supervisor"
  sbpf run -q --policy no-network -- true 2>/dev/null; is held/waited-for 0 $?
  sbpf unload 2>/dev/null; is held/the-next-unloads 0 $?
fi
umount "$tmp/bin" "$tmp/twin"
rm -rf /sys/fs/bpf/other
rmdir "$cgroots/other"
is left-behind "" "$(freed; left_behind)"
finish
