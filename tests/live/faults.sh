#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# AB-1, AB-3, AB-4 and the first half of AB-2: whatever is missing, nothing runs, nothing is left, and it is named.
# The canary is shown on each kernel for each hook. That a hook cannot be loaded or attached is shown for a third of the hooks on
# each kernel, so for each hook on one of them; `faults.sh --all` does all of them here.
. "$(dirname "$0")/lib.sh"

mapfile -t hooks < <(sbpf run -q --name table --policy no-network --status-fd 3 -- true 3>&1 >/dev/null 2>&1 | head -1 |
  json '"\n".join(h["name"] for e in d["effective"].values() for h in e["hooks"])')
is control/hook-table "$hooks_here" "${#hooks[@]}"

# refused NAME NEEDLE [ENV…] -- : `sbpf run` with a fault must end with 125, run nothing and leave nothing.
marker=$tmp/marker policy=no-network
refused() {
  local name=$1 needle=$2 out rc
  shift 2
  rm -f "$marker"
  out=$(env "$@" sbpf run --policy "$policy" -- touch "$marker" 2>&1)
  rc=$?
  if [[ $rc != 125 ]]; then not_ok "$name" "exit $rc: $out"
  elif [[ -e $marker ]]; then not_ok "$name" "the program ran"
  elif [[ $out == *"isolation active"* ]]; then not_ok "$name" "claimed to be active: $out"
  elif [[ $out != *"$needle"* ]]; then not_ok "$name" "'$needle' is not named: $out"
  elif [[ $name != control/* && $name != */lie/* && $out == *"the canary was not denied"* ]]; then not_ok "$name" "it came as far as the canary: $out"
  elif ! freed; then not_ok "$name" "left behind:$(left_behind)"
  else ok "$name" && return; fi
  clean # or the next fault would find the programs loaded
}

# The shim does nothing without a fault, so a refusal is the fault's.
rm -f "$marker"
LD_PRELOAD=$shim sbpf run -q --policy no-network -- touch "$marker"
is control/shim-without-fault yes "$([[ -e $marker ]] && echo yes)"

# ---- with the programs that are loaded already: a load takes longer than all of these ----
# The canary judges by the answer that it gets: a program of an ancestor cgroup runs after ours and may replace it ----
open=$(policy open <<'P'
version: 1
name: open
network: {dangerously_allow_all: true}
P
)
audit=$(policy audit <<<$'version: 1\nname: audit\nmode: audit')
canary_endpoint=0.83.66.80 policy_probe=192.0.2.1
# replaced NAME ADDRESS ERRNO POLICY NEEDLE: what it then says; nothing runs
replaced() {
  rm -f "$marker"
  is "canary/$1/attached" 0 "$("$tests/tamper" answer "$cgroots" /sys/fs/bpf/answer "$2" "$3")"
  out=$(sbpf run --policy "$4" -- touch "$marker" 2>&1); is "canary/$1/exit" 125 $?
  has "canary/$1/says" "$5" "$out"
  is "canary/$1/ran-nothing" no "$([[ -e $marker ]] && echo yes || echo no)"
  rm /sys/fs/bpf/answer
  sbpf run -q --policy "$4" -- touch "$marker"; is "canary/$1/control-without-it" "0 yes" "$? $([[ -e $marker ]] && echo yes)"
}
replaced other-errno $canary_endpoint 22 no-network "the canary was not denied by connect4 (Invalid argument)"
replaced other-errno-in-audit $canary_endpoint 22 "$audit" "the canary was not denied by connect4 (Invalid argument)"
replaced allowed $canary_endpoint 0 no-network "the canary was not denied by connect4 (allowed)"
replaced probe-allowed $policy_probe 0 no-network "an endpoint did not get the published policy's verdict"
replaced probe-denied $policy_probe 1 "$open" "an endpoint did not get the published policy's verdict"
# struck NAME NEEDLE FAULT: what it then says; nothing runs
struck() {
  rm -f "$marker"
  out=$(LD_PRELOAD=$shim SBPF_FAULT=$3 sbpf run --policy no-network -- touch "$marker" 2>&1); is "$1/exit" 125 $?
  has "$1/says" "$2" "$out"
  is "$1/ran-nothing" no "$([[ -e $marker ]] && echo yes || echo no)"
}
struck canary/denied-what-all-allow "the canary was denied what every policy allows: Permission denied" dissolve
struck publish/an-entry-less "the map read back differs from the image" short
# What a sandbox is that began before: the list of the kernel's LSMs has no bpf.
started listed -q --policy no-network -- sleep infinity </dev/null
echo lockdown,yama >"$tmp/lsm"
listed() { "${@:2}" sbpf "$1" listed --json | json 'd["isolation"] + " " + " ".join(x["what"] for x in d["degraded"])'; }
is lsm/control "active " "$(listed status env)"
is lsm/not-in-the-list "inactive lsm" "$(listed status unshare -m sh -c "mount --bind $tmp/lsm /sys/kernel/security/lsm && exec \"\$@\"" sh)"
# And whose canary cannot run: from a pid namespace of one's own nobody could tell it apart.
is canary/verify/control "active " "$(listed verify env)"
is canary/verify/cannot-run "inactive canary" "$(listed verify unshare --pid --fork --mount-proc)"
sbpf kill listed
wait "$started" 2>/dev/null
clean

# Programs that are loaded, attached and pinned as they should be, and allow everything: only the canary tells, of each hook.
# Those of the host are stubs all at once; of those of a cgroup one is real, since the kernel gives the cgroup its storage by one
# that uses it.
stubs() { LD_PRELOAD=$shim SBPF_STUBS=1 SBPF_STUB=$1 sbpf run --policy "$policy" -- touch "$marker" 2>&1; }
refused control/stubs-are-found "the canary was not denied by" LD_PRELOAD="$shim" SBPF_STUBS=1
each=connect4,connect6,sendmsg4,sendmsg6,bind4,bind6,sock_create
# What the AB-3 faults show needs no program that does its work.
light=(LD_PRELOAD="$shim" SBPF_STUBS=1 SBPF_STUB="$slow_programs")
but_first=$(stubs "${each#*,}") but_last=$(stubs "${each%,*}")
for hook in "${hooks[@]}"; do
  case $hook in
    connect4) hasnt canary/connect4/control " connect4 (" "$but_first" ;;
    sock_create) hasnt canary/sock_create/control " sock_create (" "$but_last" ;;
    *) has "canary/$hook/both" " $hook (" "$but_last" ;;
  esac
  case $hook in connect4) out=$but_last ;; *) out=$but_first ;; esac
  has "canary/$hook" " $hook (" "$out"
done
is canary/nothing-left "" "$(freed; left_behind)"

# nth HOOK: which of the hooks it is whose programs have the same name, as the kernel cuts it.
nth() {
  local other n=1
  for other in "${hooks[@]}"; do
    if [[ $other == "$1" ]]; then break; fi
    if [[ ${other:0:10} == "${1:0:10}" ]]; then n=$((n + 1)); fi
  done
  echo "$1@$n"
}
[[ ${1:-} == --all ]] && all=1 || all=0
# What follows a fault is the same code for each hook and kernel, so the kernels share the hooks: each is faulted once. The
# newest also takes those that it alone has.
case $(uname -r) in 6.1.*) turn=0 ;; 6.12.*) turn=1 ;; *) turn=2 ;; esac
# their_turn HOOK: by its name, as its place differs between kernels
their_turn() {
  local i letter sum=0
  ((all)) && return
  case $1 in
    file_truncate | inode_set_acl | inode_remove_acl | file_ioctl_compat) ((turn == 1)) ;; # since 6.2 to 6.8
    inode_file_setattr) ((turn == 2)) ;; # since 6.17
    *)
      for ((i = 0; i < ${#1}; i++)); do printf -v letter %d "'${1:i:1}" && sum=$((sum + letter)); done
      ((sum % 3 == turn))
      ;;
  esac
}
faulted=0
for hook in "${hooks[@]}"; do
  their_turn "$hook" || continue
  faulted=$((faulted + 1))
  refused "AB-3/load/$hook" "refused to load hook $hook:" "${light[@]}" SBPF_FAULT="load:$(nth "$hook")"
  case $hook in
    connect? | sendmsg? | bind? | sock_create) needle="cannot attach hook $hook to " ;;
    *) needle="cannot attach hook $hook: " ;;
  esac
  refused "AB-3/attach/$hook" "$needle" "${light[@]}" SBPF_FAULT="attach:$(nth "$hook")"
done
is AB-3/a-fair-share yes "$( ((faulted * 5 > ${#hooks[@]})) && echo yes)"
# Those that only sandboxes with names have. getpeername4 and 6 have one name, as the kernel cuts it.
policy=$(policy names <<'P'
version: 1
name: names
network: {dns: {resolver: 127.0.0.1}, connect: [{host: a.example, ports: [443]}]}
P
)
hooks+=(recvmsg4 recvmsg6 getpeername4 getpeername6)
for hook in recvmsg4 recvmsg6 getpeername4 getpeername6; do
  their_turn "$hook" || continue
  refused "AB-3/load/$hook" "refused to load hook $hook:" "${light[@]}" SBPF_FAULT="load:$(nth "$hook")"
  refused "AB-3/attach/$hook" "cannot attach hook $hook to " "${light[@]}" SBPF_FAULT="attach:$(nth "$hook")"
  refused "AB-3/lie/$hook" "$hook" "${light[@]}" SBPF_FAULT="lie:$(nth "$hook")"
  # It is loaded and attached, and changes no address: only the canary tells.
  out=$(stubs "$hook") other=recvmsg4
  if [[ $hook == recvmsg4 ]]; then other=recvmsg6; fi
  has "control/$hook-changes-nothing" " $hook (" "$out"
  hasnt "control/$hook-alone-changes-nothing" " $other (" "$out"
done
# And the one of those whose flows are recorded; that it sees nothing would let nothing through.
policy=$(policy recorded <<'P'
version: 1
name: recorded
network: {record_flows: true}
P
)
hooks+=(sock_ops)
if their_turn sock_ops; then
  refused "AB-3/load/sock_ops" "refused to load hook sock_ops:" "${light[@]}" SBPF_FAULT="load:$(nth sock_ops)"
  refused "AB-3/attach/sock_ops" "cannot attach hook sock_ops to " "${light[@]}" SBPF_FAULT="attach:$(nth sock_ops)"
  refused "AB-3/lie/sock_ops" sock_ops "${light[@]}" SBPF_FAULT="lie:$(nth sock_ops)"
fi
policy=no-network
# A cgroup link that says it is attached and is not: only reading it back tells. (LSM links cannot be detached.)
for hook in connect4 sock_create; do
  refused "AB-3/lie/$hook" "$hook" "${light[@]}" SBPF_FAULT="lie:$hook"
done
# Map creation, pinning, freezing, every map update: bpf commands 0, 6, 22, 2, and in batches 26; and reading it back, 24.
for command in 0 2 6 22 24 26; do
  refused "AB-3/command/$command" "fault struck" "${light[@]}" SBPF_FAULT="command:$command"
done

# ---- AB-1: capabilities dropped as in the report's locked profile ----
locked=cap_chown,cap_dac_override,cap_fowner,cap_setuid,cap_setgid
rm -f "$marker"
out=$(capsh --drop="$(capsh --print | sed -n 's/^Bounding set =//p' | tr , '\n' | grep -vE "^(${locked//,/|})$" | paste -sd,)" -- -c "sbpf run --policy no-network -- touch $marker" 2>&1)
is AB-1/exit 125 "$?"
is AB-1/marker-absent no "$([[ -e $marker ]] && echo yes || echo no)"
has AB-1/names-the-capability CAP_SYS_ADMIN "$out"
has AB-1/names-the-fix hint: "$out"
for cap in cap_sys_admin cap_dac_read_search cap_sys_chroot; do
  out=$(capsh --drop=$cap -- -c "sbpf run --policy no-network -- touch $marker" 2>&1)
  is "AB-1/$cap/exit" 125 "$?"
  has "AB-1/$cap/named" "${cap^^}" "$out"
  has "AB-1/$cap/preflight" "${cap^^}" "$(capsh --drop=$cap -- -c "sbpf preflight --json" 2>&1)"
done
is AB-1/nothing-left "" "$(freed; left_behind)"

# ---- AB-4: masked hosts, each in a mount namespace of its own ----
masked() { # masked NAME NEEDLE COMMAND…: runs `sbpf run` and `preflight` after COMMAND in a private mount namespace
  local name=$1 needle=$2 out rc
  shift 2
  rm -f "$marker"
  out=$(unshare -m bash -c "$* && exec sbpf run --policy no-network -- touch $marker" 2>&1)
  rc=$?
  is "AB-4/$name/exit" 125 "$rc"
  is "AB-4/$name/marker-absent" no "$([[ -e $marker ]] && echo yes || echo no)"
  has "AB-4/$name/named" "$needle" "$out"
  out=$(unshare -m bash -c "$* && exec sbpf preflight --json" 2>/dev/null)
  rc=$?
  is "AB-4/$name/preflight-exit" 3 "$rc"
  has "AB-4/$name/preflight-names-it" "$needle" "$(json '" ".join(c["reason"] + c["fix"] for c in d["checks"] if not c["ok"])' <<<"$out")"
}
masked no-btf /sys/kernel/btf mount -t tmpfs none /sys/kernel/btf
masked no-bpffs bpffs umount /sys/fs/bpf
masked no-cgroup2 cgroup2 umount -l "$cgroots"
rm -f "$marker"
# Where securityfs is not mounted the canary and the sentinel tell whether LSM programs run (vm/refusal: that they do not).
out=$(unshare -m bash -c "umount /sys/kernel/security && sbpf run --name nolist --policy no-network -- sh -c 'touch $marker'" 2>&1)
is AB-4/no-securityfs/exit 0 "$?"
is AB-4/no-securityfs/ran yes "$([[ -e $marker ]] && echo yes || echo no)"
has AB-4/no-securityfs/active "isolation active" "$out"
is AB-4/no-securityfs/preflight 0 "$(unshare -m bash -c "umount /sys/kernel/security && exec sbpf preflight" >/dev/null 2>&1; echo $?)"
mkfifo "$tmp/go"
is AB-4/no-securityfs/status active "$(unshare -m bash -c "umount /sys/kernel/security
  sbpf run -q --name nolist --policy no-network -- sh -c 'read -r go <$tmp/go' & until sbpf status nolist >/dev/null 2>&1; do sleep 0.2; ((SECONDS < 60)) || break; done
  sbpf status nolist --json; echo >$tmp/go; wait" 2>/dev/null | json 'd["isolation"]')"
sbpf unload >/dev/null 2>&1
rm -f "$marker"
out=$(unshare --pid --fork --mount-proc sbpf run --policy no-network -- touch "$marker" 2>&1)
is AB-4/pid-namespace/exit 125 "$?"
has AB-4/pid-namespace/named "pid namespace" "$out"
is AB-4/control/preflight 0 "$(sbpf preflight >/dev/null 2>&1; echo $?)"
is AB-4/preflight-leaves-nothing "" "$(freed; left_behind)"
finish
