#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A host that is hardened, or short of something: a sound sandbox is not taken for one that is lost, and where hardening says no
# before sbpf is asked, that is no hook of sbpf's that fails.
. "$(dirname "$0")/lib.sh"
keep_loaded
none=$(policy none <<<$'version: 1\nname: none')
started box -q --policy "$none" -- sleep infinity </dev/null >/dev/null 2>"$tmp/box.err"; is start 0 $?
says() { sbpf verify box --json 2>/dev/null | jq -r "$1"; }
canary='[.degraded[] | select(.what == "canary") | .effective + ": " + .reason] | join(";")'
# with NAME SETTING VALUE COMMAND…
with() {
  local old
  old=$(cat "/proc/sys/$2") || return
  echo "$3" >"/proc/sys/$2"
  "${@:4}"
  echo "$old" >"/proc/sys/$2"
}
sound() { is "$1/active" active "$(says .isolation)"; is "$1/runs" 0 "$(sbpf run -q --policy "$none" -- true 2>/dev/null; echo $?)"; }
# What is not known is no loss: it says what the canary could not try, and freezes nothing.
not_known() {
  local found
  found=$(says "$canary")
  has "$1/not-known" "not run: $2" "$found"
}
sound control

# ---- hardened ----
for scope in 1 2; do with yama kernel/yama/ptrace_scope $scope sound yama/$scope; done
with userns user/max_user_namespaces 0 sound userns/none-at-all
if [[ -e /proc/sys/kernel/unprivileged_userns_clone ]]; then
  with userns kernel/unprivileged_userns_clone 0 sound userns/not-for-users
else
  skip userns/not-for-users "this kernel has no such setting"
fi

# ---- short ----
files() { not_known files "the canary could not try what every policy allows (Too many open files in system)"; }
with files fs/file-max 10 files
inodes=$(stat -f -c %c /run)
mount -o remount,nr_inodes=$(($(stat -f -c %c /run) - $(stat -f -c %d /run) + 2)) /run
not_known room "cannot make a scratch directory in /run"
mount -o remount,nr_inodes="$inodes" /run
# Of each number of processes that the host may have, from none to more than it takes.
lost=0 short=0
for more in {-3..4}; do
  limit=$(cat /proc/sys/kernel/threads-max)
  found=$(bash -c "echo \$((\$(cut -d' ' -f4 /proc/loadavg | cut -d/ -f2) + $more)) >/proc/sys/kernel/threads-max; exec sbpf verify box --json" 2>/dev/null)
  echo "$limit" >/proc/sys/kernel/threads-max
  [[ $(jq -r "$canary" <<<"$found") == *"was not denied"* ]] && lost=$((lost + 1))
  [[ $(jq -r "$canary" <<<"$found") == *"not run"* ]] && short=$((short + 1))
done
is processes/no-loss 0 $lost
((short > 0)); is processes/short 0 $?
is after/not-frozen 0 "$(cat "$cgroots/sbpf/box/cgroup.freeze")"
hasnt after/nothing-was-lost "ISOLATION LOST" "$(cat "$tmp/box.err")"
sound after
# Nobody traces anything any more, until the host starts anew.
echo 3 >/proc/sys/kernel/yama/ptrace_scope
sound yama/3
sbpf kill box
clean
is left-behind "" "$(left_behind)"
finish
