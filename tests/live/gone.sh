#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who cannot see a cgroup does not take it for gone: commands that only read remove nothing, whatever hides the hierarchy from
# them; what is proven to be gone is collected by those that change something; a record that vanishes while its cgroup lives is a loss.
. "$(dirname "$0")/lib.sh"
out=$tmp/watch.json
runtime=$cgroots/other.runtime
keep_loaded
none=$(policy none <<<$'version: 1\nname: none\non_loss: freeze')
mkdir -p "$runtime"
# confine NAME: a cgroup with a process, attached
confine() {
  inhabit "$runtime/$1"
  sbpf attach --cgroup "$runtime/$1" --name "$1" --policy "$none" >/dev/null
}
confine att; is start/attach 0 $?
started box -q --policy "$none" -- sleep infinity </dev/null >/dev/null 2>&1; is start/run 0 $?
everyone="att box keeper"
names() { sort | paste -sd' '; }
# What is in the kernel and on bpffs of them.
objects() { bpftool map dump pinned $pins/maps/sandboxes 2>&1 | wc -l; bpftool -j link show | jq 'map(select(.type != "iter")) | length'; ls -R "$pins/sandboxes"; }
stands() { # stands LABEL: nothing was taken from anybody
  is "$1/nothing-removed" "$before" "$(objects)"
  is "$1/all-active" "active active active" "$(for n in $everyone; do sbpf status "$n" --json | jq -r .isolation; done | paste -sd' ')"
}
before=$(objects)
is control/list "$everyone" "$(sbpf list | names)"
stands control

# ---- what hides it ----
tmpfs() { unshare -m sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"' sh "$@"; }
fake() { unshare -m sh -c 'mount -t tmpfs none /sys/fs/cgroup && mkdir -p /sys/fs/cgroup/sbpf && : >/sys/fs/cgroup/cgroup.procs && exec "$@"' sh "$@"; }
unreadable() { unshare -m sh -c 'mkdir -p -m 0 /run/unreadable && mount --bind /run/unreadable /sys/fs/cgroup && exec "$@"' sh "$@"; }
unmounted() { unshare -m sh -c 'umount -l /sys/fs/cgroup && exec "$@"' sh "$@"; }
uncapable() { setpriv --bounding-set=-dac_read_search --inh-caps=-dac_read_search -- "$@"; }
few() { setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource -- prlimit --nofile=14:14 "$@"; }
for how in tmpfs fake unreadable unmounted uncapable few; do
  listed=$($how sbpf list 2>"$tmp/err"); code=$?
  if [[ $code == 0 ]]; then is "$how/list" "$everyone" "$(names <<<"$listed")"; else is "$how/list" 125 $code; fi
  hasnt "$how/list-says-why" "unload" "$(cat "$tmp/err")"
  $how sbpf status >"$tmp/said" 2>&1; code=$?
  is "$how/status-is-not-well" yes "$( ((code == 3 || code == 125)) && echo yes || echo $code)"
  hasnt "$how/status-says-nothing-is-lost" inactive "$(cat "$tmp/said")"
  is "$how/status-of-one" yes "$($how sbpf status att --require active >/dev/null 2>&1; code=$?; ((code == 3 || code == 125)) && echo yes || echo $code)"
  $how sbpf verify box >/dev/null 2>&1
  $how timeout 5 sbpf events box >/dev/null 2>&1
  $how sbpf preflight >/dev/null 2>&1
  stands "$how"
  # Those that change something collect no more than they can prove, and do nothing by halves.
  $how sbpf run -q --name "h-$how" --policy "$none" -- true >/dev/null 2>&1
  $how sbpf unload >/dev/null 2>&1
  $how sbpf kill box >/dev/null 2>&1; code=$?
  if ((code == 0)); then # it could
    started box -q --policy "$none" -- sleep infinity </dev/null >/dev/null 2>&1
    before=$(objects)
  fi
  stands "$how/changes"
done

# Who is not root cannot know.
setpriv --reuid 65534 --regid 65534 --clear-groups sbpf status box >"$tmp/said" 2>&1; is user/status 125 $?
has user/says-why "sbpfd does not answer at" "$(cat "$tmp/said")"
hasnt user/no-claim "no sandbox is named" "$(cat "$tmp/said")"
setpriv --reuid 65534 --regid 65534 --clear-groups sbpf list >"$tmp/said" 2>&1; is user/list 125 $?

# ---- what is gone is gone ----
mkdir "$runtime/empty"
sbpf attach --cgroup "$runtime/empty" --name empty --policy "$none" >/dev/null
is gone/control "att box empty keeper" "$(sbpf list | names)"
rmdir "$runtime/empty"
is gone/list "$everyone" "$(sbpf list | names)"
is gone/list-removes-nothing yes "$([[ -e $pins/sandboxes/empty ]] && echo yes)"
sbpf run -q --policy "$none" -- true
is gone/run-collects no "$([[ -e $pins/sandboxes/empty ]] && echo yes || echo no)"
stands gone

# ---- the watch ----
watching() {
  "$@" sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" &
  within 60 grep -q '"pass"' "$out"
  watch=$(pgrep -of '^sbpf watch --json') # what it keeps beside it has its name
  servers+=("$watch")
}
unwatched() { kill "$watch"; within 20 sh -c "! kill -0 $watch 2>/dev/null"; }
said() { jq -c "select(.$1) | .$1" "$out"; }
state_of() { jq -r "select(.sandbox.name == \"$1\") | .sandbox.isolation" "$out" | tail -1; }
is_state() { [[ $(state_of "$1") == "$2" ]]; }
for how in tmpfs uncapable; do
  watching $how
  within 60 is_state att degraded; is "watch/$how/degraded" 0 $?
  is "watch/$how/no-loss" "" "$(said loss)"
  is "watch/$how/nobody-gone" "" "$(said gone)"
  has "watch/$how/seen-all" "att box keeper" "$(jq -r 'select(.sandbox) | .sandbox.name' "$out" | sort -u | paste -sd' ')"
  has "watch/$how/says-why" "cannot be looked at" "$(jq -r 'select(.sandbox.name == "att") | .sandbox.degraded[].reason' "$out" | tail -1)"
  is "watch/$how/nobody-frozen" 0 "$(cat "$runtime/att/cgroup.events" "$cgroots/sbpf/box/cgroup.events" | grep -c 'frozen 1')"
  unwatched
  stands "watch/$how"
done
watching
within 60 is_state att active; is watch/active 0 $?
# Hidden from a watch that runs: it holds what it needs.
nsenter -t $watch -m mount -t tmpfs none /sys/fs/cgroup
sleep 13
is watch/hidden-later/no-loss "" "$(said loss)"
is watch/hidden-later/nobody-gone "" "$(said gone)"
nsenter -t $watch -m umount /sys/fs/cgroup
within 60 is_state att active; is watch/hidden-later/active-again 0 $?
stands watch/hidden-later

# ---- a record that vanishes ----
confine let-go
within 60 is_state let-go active
sbpf detach let-go
within 20 sh -c "grep -q '\"gone\":{\"name\":\"let-go\"' $out"; is record/detached-is-gone 0 $?
confine att2
within 60 is_state att2 active; is record/control 0 $?
key=$(hex "$(sbpf status att2 --json | jq .cgroup_id)")
sbpf break-glass --reason gone --for 5m 2>/dev/null
mark "$out"
bpftool map delete pinned $pins/maps/sandboxes key $key
rm -r "$pins/sandboxes/att2"
within 20 sh -c "grep '\"loss\"' $out | grep -q '\"sandbox\":\"att2\"'"; is record/lost 0 $?
in_time record/lost "$out"
is record/not-gone 0 "$(said gone | grep -c att2)"
within 20 grep -q 'frozen 1' "$runtime/att2/cgroup.events"; is record/frozen 0 $?
sbpf break-glass --close 2>/dev/null
is record/others "att2" "$(said loss | jq -r .sandbox | sort -u | paste -sd' ')"
within 30 sh -c "grep '\"restored\"' $out | grep -q '\"sandbox\":\"att2\"'"; is record/restored 0 $?
unwatched

# ---- a pin that is there and may not be opened ----
forbidden() { setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search -- "$@"; }
of_att() { forbidden sbpf status att 2>&1; }
pin=$pins/sandboxes/att/connect4
sbpf break-glass --reason gone --for 5m 2>/dev/null
chmod 0 "$pin"; is forbidden/control 0 $?
forbidden bpftool link show pinned "$pin" >/dev/null 2>&1; is forbidden/control-refused yes "$( (($?)) && echo yes)"
hasnt forbidden/nothing-is-missing "missing" "$(of_att)"
hasnt forbidden/nothing-is-lost inactive "$(of_att)"
rm "$pin"
has forbidden/missing-when-it-is "missing" "$(sbpf status att 2>&1)"
sbpf break-glass --close 2>/dev/null
end_runtime "$runtime"
end_all
finish
