#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A swap to a policy that forbids files which the old one let be opened: it names them, and is refused; or it ends who has them; or it
# lets them, and says so.
. "$(dirname "$0")/lib.sh"
keep_loaded
w=/srv/taken
mkdir -p $w
# holder.py HOW FILE: has the file as HOW says, then does what comes line by line: appends to it by what it has, or opens it anew
cat >"$tmp/holder.py" <<'P'
import mmap, os, sys
how, path = sys.argv[1:3]
fd = os.open(path, os.O_RDONLY if how == "reads" else os.O_RDWR)
if how == "maps":
    memory = mmap.mmap(fd, 4)
    os.close(fd)
if how == "forks":  # the parent holds it, the child speaks
    if os.fork():
        os.wait()
        sys.exit()
    os.close(fd)
def held():
    if how == "maps":
        memory[:4] = b"held"
    elif how == "reads":
        os.pread(fd, 4, 0)
    elif how == "forks":
        os.stat(path)
    else:
        os.pwrite(fd, b"held", 0)
def anew():
    os.close(os.open(path, os.O_RDONLY if how == "reads" else os.O_RDWR))
print("ready", flush=True)
for line in sys.stdin:
    try:
        {"held": held, "anew": anew}[line.strip()]()
        print(0, flush=True)
    except OSError as e:
        print(e.errno, flush=True)
P
chmod 755 "$tmp"
rules() { printf 'version: 1\nname: %s\nextends: [runtime-files]\nfilesystem:\n  read: [%s]\n%s' "$1" "$tmp/holder.py" "$2" | policy "$1"; }
open=$(rules wide "  write: [$w]"$'\n') closed=$(rules closed "  protect: [$w]"$'\n') shut=$(rules shut "  deny: [$w]"$'\n')
same=$(rules same "  write: [$w, /srv/other]"$'\n')
# starts HOW COMMAND…: a holder in sandbox box
starts() {
  local how=$1
  shift
  echo text >$w/f
  rm -f "$tmp/in" "$tmp/out"
  mkfifo "$tmp/in" "$tmp/out"
  exec {to}<>"$tmp/in" {from}<>"$tmp/out"
  "$@" python3 -IS "$tmp/holder.py" "$how" $w/f <"$tmp/in" >"$tmp/out" 2>"$tmp/holder.err" & holder=$!
  servers+=($holder)
  read -r -t 60 -u $from answer
  is "$how/ready" ready "$answer"
}
asks() { local answer=none; echo "$1" >&$to; read -r -t 20 -u $from answer; echo "$answer"; }
generation() { sbpf status box --json | jq .policy.generation; }
ends() {
  sbpf kill box >/dev/null 2>&1
  wait $holder 2>/dev/null
  exec {to}>&- {from}>&-
}
in_run() { exec sbpf run -q --name box --policy "$open" -- sh -c 'exec 3<&0; "$@" <&3 3<&- & exec sleep infinity 3<&-' _ "$@"; }
alone() { exec sbpf run -q --name box --policy "$open" -- "$@"; }

declare -A words=([writes]="$w/f open for writing" [maps]="$w/f mapped for writing" [reads]="$w/f open for reading" [forks]="$w/f open for writing")
for how in writes maps reads forks; do
  to_policy=$closed
  [[ $how == reads ]] && to_policy=$shut
  starts $how in_run
  is $how/control-held 0 "$(asks held)"
  is $how/control-anew 0 "$(asks anew)"
  before=$(generation)
  sbpf swap box --policy "$same" >/dev/null 2>&1; is $how/allowing-policy 0 $?
  sbpf swap box --policy "$to_policy" >"$tmp/said" 2>&1; is $how/refused 125 $?
  has $how/named "${words[$how]}" "$(cat "$tmp/said")"
  has $how/hint "end these processes with --evict" "$(cat "$tmp/said")"
  is $how/old-one-stands $((before + 1)) "$(generation)"
  is $how/still-allowed 0 "$(asks anew)"
  is $how/thawed false "$(sbpf status box --json | jq .frozen)"
  sbpf swap box --policy "$to_policy" --keep-open-files >"$tmp/said" 2>&1; is $how/kept 0 $?
  is $how/kept-goes-on 0 "$(asks held)"
  is $how/kept-is-all 13 "$(asks anew)"
  is $how/kept-is-told "files kept" "$(sbpf status box --json | jq -r '.degraded[] | "\(.what) \(.effective)"')"
  sbpf status box >/dev/null; is $how/kept-status 3 $?
  sbpf swap box --policy "$open" >/dev/null; is $how/back 0 $?
  sbpf status box >/dev/null; is $how/back-is-active 0 $?
  sbpf swap box --policy "$to_policy" --evict --json >"$tmp/said"; is $how/evicted 0 $?
  has $how/evicted-is-told "${words[$how]}" "$(jq -r '.ended[]' "$tmp/said")"
  is $how/active active "$(jq -r .isolation "$tmp/said")"
  # With a sleep, which holds nothing.
  is $how/who-has-none-lives $([[ $how == forks ]]; echo $((2 - $?))) "$(sbpf status box --json | jq .processes)"
  [[ $how == forks ]] && is $how/who-has-none-is-confined 13 "$(asks anew)"
  ends
done
# ---- it stands still meanwhile, or one could hand to another what is looked for ----
starts reads in_run
crash=$tests/../bin/crash_shim.so
for at in {1..12}; do
  (SBPF_STOP_AT=$at LD_PRELOAD=$crash exec sbpf swap box --policy "$closed" >/dev/null) & swapper=$!
  within 20 is_stopped $swapper || break
  stood=$(sbpf status box --json | jq .frozen)
  kill -$([[ $stood == true ]] && echo KILL || echo CONT) $swapper; wait $swapper 2>/dev/null
  [[ $stood == true ]] && break
done
is frozen/meanwhile true "$stood"
sbpf swap box --policy "$closed" >/dev/null; is frozen/killed-and-mended 0 $?
is frozen/goes-on 0 "$(asks held)"
is frozen/thawed false "$(sbpf status box --json | jq .frozen)"
ends

starts writes alone
sbpf swap box --policy "$closed" --evict >"$tmp/said" 2>&1; is alone/code 125 $?
has alone/says "sandbox box ended with its processes" "$(cat "$tmp/said")"
within 20 eval '! kill -0 $holder 2>/dev/null'; is alone/gone 0 $?
ends

# ---- what the old policy did not let be opened is no matter of the swap ----
echo text >/srv/out
sbpf run -q --name box --policy "$closed" -- sh -c 'echo ready; sleep infinity' >>/srv/out 2>&1 </dev/null & holder=$!
within 20 grep -q ready /srv/out
sbpf swap box --policy "$shut" >/dev/null 2>&1; is stdio/swap 0 $?
is stdio/in-force shut "$(sbpf status box --json | jq -r .policy.name)"
sbpf kill box >/dev/null; wait $holder 2>/dev/null

# ---- of a cgroup that was taken in ----
box=$cgroots/taken
mkdir -p "$box"
sbpf attach --cgroup "$box" --name box --policy "$open" >/dev/null
starts writes sh -c "echo \$\$ >$box/cgroup.procs; exec \"\$@\"" _
sbpf swap box --policy "$closed" >"$tmp/said" 2>&1; is attached/refused 125 $?
has attached/named "${words[writes]}" "$(cat "$tmp/said")"
is attached/goes-on 0 "$(asks held)"
sbpf swap box --policy "$closed" --evict >/dev/null; is attached/evicted 0 $?
within 20 eval '! kill -0 $holder 2>/dev/null'; is attached/gone 0 $?
sbpf detach box
within 10 rmdir "$box"
clean
is left-behind "" "$(left_behind)"
finish
