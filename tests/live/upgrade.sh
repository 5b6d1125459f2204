#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An upgrade to other programs under live sandboxes: both ways, killed before any of its calls, and with one that fails. They
# are confined at every moment, by the old programs or by the new ones, and the watch takes nothing of it for a loss.
. "$(dirname "$0")/lib.sh"
crash=$tests/../bin/crash_shim.so
old=$(command -v sbpf) new=$tmp/new/sbpf foreign=$tmp/foreign/sbpf
clean

# What takes a load of all programs is shared by the kernels: what is at work there is the same code.
case $(uname -r) in 6.1.*) turn=0 ;; 6.12.*) turn=1 ;; *) turn=2 ;; esac

# another WHAT FILE: our executable as FILE, which says another digest of its programs, or of their layout. Each place of the
# digest is changed, which may be code.
another() {
  mkdir "${2%/*}"
  python3 -ISc '
import sys
digest, data = bytes.fromhex(sys.argv[3]), open(sys.argv[1], "rb").read()
for i in range(0, 32, 8):
    assert digest[i:i + 8] in data
    data = data.replace(digest[i:i + 8], digest[i:i + 8][::-1])
open(sys.argv[2], "wb").write(data)' "$old" "$2" "$("$old" --version | sed -n "s/^$1 //p")"
  chmod 755 "$2"
}
another programs "$new"
another layout "$foreign"
said() { cat "$tmp/said"; }
code() { "$@" >"$tmp/said" 2>&1; echo $?; }

for port in 18001 18003 18004; do serve udp 127.0.0.1 $port; done
policy one >/dev/null <<'P'
version: 1
name: one
network: {connect: [{address: 127.0.0.1, ports: [18001, 18003], protocol: udp}]}
filesystem:
  default: write
  deny: [/etc/hostname]
P
box=$cgroots/upgraded
mkdir "$box"
into=(bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$box")
inside() { "${into[@]}" "$@"; }
soon() { timeout -s KILL 20 "${into[@]}" "$@"; } # or never, where the sandbox is frozen
# What a datagram to an allowed and to a denied port says inside, and reading what is denied and what is not.
seen() {
  echo "$(soon "$probe" connect udp 127.0.0.1 18001) $(soon "$probe" connect udp 127.0.0.1 18004)" \
    "$(soon cat /etc/hostname 2>&1 >/dev/null | grep -c 'Permission denied') $(soon cat /etc/hosts 2>&1 >/dev/null | wc -l)"
}
host_programs() { bpftool -j link show | jq -c '[.[] | select(.type == "tracing" or .type == "raw_tracepoint") | .prog_id] | sort'; }
box_programs() { bpftool -j cgroup show "$box" | jq -c '[.[] | select(.name | startswith("hook_")) | .id] | sort'; }
all_programs() { echo "$(host_programs) $(box_programs)"; }
hooks_of_sbpf() { bpftool -j prog show | jq '[.[] | select(.name != null and (.name | startswith("hook_")))] | length'; }
sets() { ls -d "$pins"/loaded-* "$pins"/next 2>/dev/null | wc -l; }
confined="0 1 1 0"
state() { echo "$(seen), $(sbpf status box --json | jq -r .isolation), $(sbpf status keeper --json | jq -r .isolation), $(sets)"; }
sound="$confined, active, active, 1"

inside sleep infinity &
servers+=($!)
is control/nothing-confines-it "0 0 0 0" "$(seen)"
is control/nothing-loaded 125 "$(code sbpf upgrade)"
has control/nothing-loaded-says "are not loaded on this host" "$(said)"
keep_loaded
sbpf attach --cgroup "$box" --name box --policy "$tmp/one.yaml" >/dev/null
is control/confined "$sound" "$(state)"
loaded=$(hooks_of_sbpf) each=$(box_programs | jq length)
mkfifo "$tmp/stop" "$tmp/watch-ends"
inside "$probe" hammer 127.0.0.1 18003 18004 <"$tmp/stop" >"$tmp/hammer" &
exec 7>"$tmp/stop"
sbpf watch --json <"$tmp/watch-ends" >"$tmp/watch" 2>&1 &
exec 8>"$tmp/watch-ends"
within 60 grep -q '"sandboxes":2' "$tmp/watch"; is control/watched 0 $?
passes() { grep -c '"sandboxes":2,"active":2' "$tmp/watch"; }
more_passes() { (($(passes) > $1)); }

# ---- who may, and what ----
is stranger/upgrade 125 "$(code "$new" upgrade)"
has stranger/says "another executable loaded" "$(said)"
is layout/hand-over 125 "$(code sbpf hand-over "$foreign")"
has layout/says "lay out their maps otherwise" "$(said)"
# Whoever else may write the file, or its owner, would be the agent.
for mode in 775 757; do
  install -m $mode "$new" "$tmp/writable"
  is "writable/$mode" 125 "$(code sbpf hand-over "$tmp/writable")"
  has "writable/$mode/says" "is not a file that only root may write" "$(said)"
done
install -m 755 -o 1000 "$new" "$tmp/writable"
is writable/by-its-owner 125 "$(code sbpf hand-over "$tmp/writable")"
has writable/by-its-owner/says "is not a file that only root may write" "$(said)"
is writable/is-no-agent 125 "$(code "$tmp/writable" status box)"
is same/upgrade 0 "$(code sbpf upgrade)"
has same/says "in force already" "$(said)"
hear_log "$tmp/syslog"
is hand-over 0 "$(code sbpf hand-over "$new")"
within 10 grep -q "handed over to $new" "$tmp/syslog"; is hand-over/audited 0 $?
is hand-over/status active "$("$new" status box --json | jq -r .isolation)"

# ---- there, and back ----
# upgraded NAME BY [VARIABLE=VALUE…]: all programs are others, and those of before go
upgraded() {
  local before now
  before=$(all_programs)
  is "$1/upgrade" 0 "$(code env "${@:3}" "$2" upgrade)"
  has "$1/says" "programs are in force" "$(said)"
  is "$1/state" "$sound" "$(state)"
  as_many() { [[ $(hooks_of_sbpf) == "$loaded" ]]; }
  within 60 as_many; is "$1/those-of-before-are-gone" "$loaded" "$(hooks_of_sbpf)"
  now=$(all_programs)
  is "$1/all-are-others" "[]" "$(jq -cs '[.[0][], .[1][]] - ([.[0][], .[1][]] - [.[2][], .[3][]])' <<<"$before $now")"
  is "$1/as-many" "$(jq -cs '[.[] | length]' <<<"$before")" "$(jq -cs '[.[] | length]' <<<"$now")"
  within 60 more_passes "$(passes)"; is "$1/watch-goes-on" 0 $?
  is "$1/no-loss" 0 "$(grep -c '"loss"' "$tmp/watch")"
}
upgraded there "$new" SBPF_KILL_COUNT="$tmp/points" LD_PRELOAD="$crash" # counts its calls
inside cat /etc/hostname 2>/dev/null
is there/event denied "$(sbpf events box --json | jq -r 'select(.path == "/etc/hostname") | .verdict' | sort -u)"
is there/swap 0 "$(code "$new" swap box --policy "$tmp/one.yaml")"
is there/swap-by-the-other 0 "$(code "$old" swap box --policy "$tmp/one.yaml")"
is there/run 1 "$(code "$new" run -q --policy "$tmp/one.yaml" -- "$probe" connect udp 127.0.0.1 18004)"
is there/run-by-the-other 0 "$(code "$old" run -q --policy "$tmp/one.yaml" -- true)"
mkdir "$box.too"
is there/attach 0 "$(code "$new" attach --cgroup "$box.too" --name too --policy "$tmp/one.yaml")"
is there/attached active "$("$old" status too --json | jq -r .isolation)"
is there/detach 0 "$(code "$old" detach too)"
rmdir "$box.too"
upgraded back "$old"

# ---- what fails leaves the old ones in force ----
# fails NAME FAULT. Stubs of LSM programs are soon loaded; verification, which comes after pinning, refuses them.
fails() {
  local before
  before=$(all_programs)
  is "fails/$1" 125 "$(SBPF_FAULT=$2 LD_PRELOAD=$shim code "$new" upgrade)"
  has "fails/$1/struck" "fault" "$(said)"
  is "fails/$1/state" "$sound" "$(state)"
  is "fails/$1/programs" "$before" "$(all_programs)"
}
export SBPF_STUBS=1 SBPF_STUB=$slow_programs
fails load load:connect4
fails attach attach:file_open
fails pin command:6
is fails/stubs 125 "$(LD_PRELOAD=$shim code "$new" upgrade)"
has fails/stubs/says "does not use sbpf's maps" "$(said)"
is fails/stubs/state "$sound" "$(state)"
unset SBPF_STUBS SBPF_STUB
# The fifth: those that took the new programs get the old ones again.
((turn == 1)) && fails link-update command:29@5

# ---- killed: the one or the other, whole ----
# Of the points of a whole run the last are the updates of the sandboxes' links, the rename that puts the others in force, and
# the removal of the pins of those of before. What comes ahead of that is shown with stubs.
removals=$(find "$pins"/loaded-* | wc -l) total=$(cat "$tmp/points")
PER_KERNEL=2
updates=$((2 * each))
# killed AT: it was, and what it left is mended by the watch
killed() {
  SBPF_KILL_AT=$1 LD_PRELOAD=$shim:$crash "$new" upgrade >/dev/null 2>&1
  is "killed/$1" 137 $?
  mended() { [[ $(sets) == 1 && $(hooks_of_sbpf) == "$loaded" ]]; }
  within 60 mended; is "killed/$1/mended" "1 $loaded" "$(sets) $(hooks_of_sbpf)"
  is "killed/$1/state" "$sound" "$(state)"
} 2>/dev/null
before=$(all_programs)
for ((i = 0; i < PER_KERNEL; i++)); do
  SBPF_STUBS=1 SBPF_STUB=$slow_programs killed $((1 + (i * 3 + turn) * (total - removals - updates - 2) / (PER_KERNEL * 3)))
done
((turn == 1)) && killed $((total - removals - updates / 2))
is killed/as-it-was "$before" "$(all_programs)"
if ((turn == 0)); then
  killed $((total - removals / 2))
  is killed/as-it-should-be "[]" "$(jq -cs '[.[0][], .[1][]] - ([.[0][], .[1][]] - [.[2][], .[3][]])' <<<"$before $(all_programs)")"
fi
exec 7>&- 8>&-
within 20 grep -q other "$tmp/hammer"
has open-and-closed-all-the-time "a some b 0 both 0 neither 0 other 0" "$(sed 's/\ba [1-9][0-9]*/a some/' "$tmp/hammer")"
is no-loss 0 "$(grep -c '"loss"' "$tmp/watch")"
sbpf detach box
rmdir "$box" 2>/dev/null
clean
is nothing-left "" "$(left_behind)"
finish
