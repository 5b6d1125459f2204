#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbpf killed (SIGKILL) in the middle of attach, swap, detach, run and unload, before any of the calls by which they change
# what outlives them. Each sandbox is as it was or as it should become afterwards, and was open at no time; who was frozen
# goes on. Each kernel takes a share of the points, so that all of them together take more than 200.
. "$(dirname "$0")/lib.sh"
crash=$tests/../bin/crash_shim.so
clean

for port in 18001 18002 18003 18004; do serve udp 127.0.0.1 $port; done
one=$(policy one <<'P'
version: 1
name: one
network: {connect: [{address: 127.0.0.1, ports: [18001, 18003], protocol: udp}]}
P
)
two=$(policy two <<'P'
version: 1
name: two
network: {connect: [{address: 127.0.0.1, ports: [18002, 18003], protocol: udp}]}
process: {limits: {processes: 20}}
P
)
box=$cgroots/crash
mkdir "$box"
inside() { bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$box" "$@"; }
frozen() { grep -c 'frozen 1' "$box/cgroup.events"; }
# The errnos of a datagram to each port, by whom is inside.
seen() {
  local port all=
  if [[ $(frozen) != 0 ]]; then echo frozen; return; fi # whoever asks would be, too
  for port in 18001 18002 18003 18004; do all+="$(inside "$probe" connect udp 127.0.0.1 $port) "; done
  echo "${all% }"
}
free="0 0 0 0" under_one="0 1 0 1" under_two="1 0 0 1"
# Hooks of ours at the cgroup, and unfinished pins.
traces() { bpftool cgroup show "$box" 2>/dev/null | grep -c hook_; ls "$pins/building"; }

# Of no sandbox at all, none is what is required.
sbpf status >/dev/null; is none/status 0 $?
sbpf status --require active >/dev/null; is none/required 3 $?

keep_loaded
inside sleep infinity &
servers+=($!)
is control/nothing-confines-it "$free" "$(seen)"
sbpf attach --cgroup "$box" --name crash --policy "$one" >/dev/null
is control/one "$under_one" "$(seen)"
whole=$(traces | paste -sd' ')
is control/hooks yes "$( ((whole >= 7)) && echo yes)"
sbpf swap crash --policy "$two" >/dev/null
is control/two "$under_two" "$(seen)"
sbpf detach crash
is control/detached "$free" "$(seen)"

# What was left is mended by who holds the host lock next; `list`, `status` and `verify` only read.
settle() { sbpf detach nobody >/dev/null 2>&1; }
# points COMMAND…: how many there are, told by a run that is not killed.
points() { SBPF_KILL_COUNT=$tmp/points LD_PRELOAD=$crash "$@" >/dev/null 2>&1; cat "$tmp/points"; }
# share TOTAL: this kernel's
PER_VERB=24
case $(uname -r) in 6.1.*) turn=0 ;; 6.12.*) turn=1 ;; *) turn=2 ;; esac
share() {
  local i
  for ((i = 0; i < PER_VERB; i++)); do echo $((1 + (i * 3 + turn) * $1 / (PER_VERB * 3))); done | sort -nu
}
# killed AT COMMAND…: must be. A point that it no longer comes to is no case; that there are enough is one, at the end.
taken=0
killed() {
  local at=$1
  shift
  SBPF_KILL_AT=$at LD_PRELOAD=$crash "$@" >/dev/null 2>&1
  local code=$?
  [[ $code == 137 ]] && taken=$((taken + 1))
  return $((code == 137 ? 0 : 1))
} 2>/dev/null

# ---- attach: it is as it was ----
hear_log "$tmp/log"
attach=(sbpf attach --cgroup "$box" --name crash --policy "$one")
total=$(points "${attach[@]}")
sbpf detach crash
halfway=0
for at in $(share "$total"); do
  (SBPF_STOP_AT=$at LD_PRELOAD=$crash exec "${attach[@]}" >/dev/null 2>&1) & attaching=$!
  within 30 eval '[[ $(stat_field $attaching 1) != [RSD] ]]'
  if [[ $(stat_field $attaching 1) != T ]]; then echo "# attach/$at: it came to no such point"; wait $attaching; sbpf detach crash; continue; fi
  # While only some hooks are in place, nobody inside runs.
  was_frozen=$(frozen)
  hooks_there=$(bpftool cgroup show "$box" | grep -c hook_)
  if ((hooks_there > 0 && hooks_there < whole)); then
    halfway=$((halfway + 1))
    is "attach/$at/frozen" "1 of $hooks_there" "$was_frozen of $hooks_there"
  fi
  kill -9 $attaching; wait $attaching 2>/dev/null
  taken=$((taken + 1))
  settle
  list=$(sbpf list)
  is "attach/$at" "keeper,0,$free,0" "${list//$'\n'/ },$(frozen),$(seen),$(traces | paste -sd' ')"
done
((halfway > 0)); is attach/came-halfway 0 $?
within 10 grep -q 'mended what a killed sbpf left' "$tmp/log"; is attach/mended-is-told 0 $?
"${attach[@]}" >/dev/null
is attach/afterwards "$under_one" "$(seen)"

# ---- swap: under the one or under the other, and at no time under none ----
mkfifo "$tmp/stop"
inside "$probe" hammer 127.0.0.1 18003 18004 <"$tmp/stop" >"$tmp/hammer" &
exec 7>"$tmp/stop"
policies=("$one" "$two")
# Limits make one way longer than the other; the shorter counts.
total=$(points sbpf swap crash --policy "$two")
back=$(points sbpf swap crash --policy "$one")
((back < total)) && total=$back
now=0
for at in $(share "$total"); do
  to=$((1 - now))
  if ! killed "$at" sbpf swap crash --policy "${policies[to]}"; then echo "# swap/$at: it came to no such point"; now=$to; continue; fi
  settle
  status=$(sbpf verify crash --json)
  name=$(jq -r .policy.name <<<"$status")
  want=$under_one now=0
  [[ $name == two ]] && want=$under_two now=1
  is "swap/$at" "true,$want," "$(jq -r .verified <<<"$status"),$(seen),$(ls "$pins/building")"
done
exec 7>&-
within 20 grep -q other "$tmp/hammer"
has swap/open-and-closed-all-the-time "a some b 0 both 0 neither 0 other 0" "$(sed 's/\ba [1-9][0-9]*/a some/' "$tmp/hammer")"

# Flows are recorded, or not, as the policy says that is in force: a swap puts the one after the other.
for name in told untold; do
  declare "$name=$(policy "$name" <<P
version: 1
name: $name
network: {record_flows: $([[ $name == told ]] && echo true || echo false), connect: [{address: 127.0.0.1, ports: [18003], protocol: udp}]}
P
)"
done
sbpf detach crash
sbpf attach --cgroup "$box" --name crash --policy "$told" >/dev/null
flows() { sbpf events crash --flows --json | wc -l; }
total=$(points sbpf swap crash --policy "$untold")
under_told=0 under_untold=0
for ((at = 1; at <= total; at++)); do
  sbpf swap crash --policy "$told" >/dev/null 2>&1
  killed "$at" sbpf swap crash --policy "$untold" || { echo "# swap-of-flows/$at: it came to no such point"; continue; }
  settle
  name=$(sbpf status crash --json | jq -r .policy.name)
  before=$(flows)
  inside "$probe" connect udp 127.0.0.1 18003 >/dev/null
  case $name in told) want=1 under_told=$((under_told + 1)) ;; untold) want=0 under_untold=$((under_untold + 1)) ;; *) want="a policy" ;; esac
  is "swap-of-flows/$at/$name" "$want" $(($(flows) - before))
done
is swap-of-flows/before-and-after yes "$( ((under_told > 2 && under_untold > 2)) && echo yes || echo "$under_told $under_untold")"
sbpf detach crash
"${attach[@]}" >/dev/null

# ---- detach: still confined, or free ----
total=$(points sbpf detach crash)
"${attach[@]}" >/dev/null
for at in $(share "$total"); do
  killed "$at" sbpf detach crash || { echo "# detach/$at: it came to no such point"; "${attach[@]}" >/dev/null; continue; }
  settle
  list=$(sbpf list | paste -sd' ')
  case $list in
    *crash*) is "detach/$at" "active,$under_one,$whole" "$(sbpf status crash --json | jq -r .isolation),$(seen),$(traces | paste -sd' ')" ;;
    *)
      is "detach/$at" "keeper,0,$free,0" "$list,$(frozen),$(seen),$(traces | paste -sd' ')"
      "${attach[@]}" >/dev/null
      ;;
  esac
done
sbpf detach crash

# ---- the watch mends it as well, and takes it for no loss ----
mkfifo "$tmp/watch-ends"
sbpf watch --json <"$tmp/watch-ends" >"$tmp/watch" 2>&1 &
exec 8>"$tmp/watch-ends"
within 60 grep -q '"pass"' "$tmp/watch"
passed() { (($(grep -c '"pass"' "$tmp/watch") > $1)); }
mended() { # mended NAME: by the passes that come
  within 60 passed $(($(grep -c '"pass"' "$tmp/watch") + 2))
  is "$1" "0,$free,0" "$(frozen),$(seen),$(traces | paste -sd' ')"
}
total=$(points "${attach[@]}")
sbpf detach crash
killed $((total / 2)) "${attach[@]}"; is watch/attach-is-killed 0 $?
mended watch/attach
"${attach[@]}" >/dev/null
killed 8 sbpf detach crash; is watch/detach-is-killed 0 $?
mended watch/detach
is watch/no-loss 0 "$(grep -c '"loss"' "$tmp/watch")"
exec 8>&-

# ---- run: nothing ran, and nothing is left ----
marker=$tmp/marker
run=(sbpf run -q --name ran --policy "$two" -- touch "$marker")
total=$(points "${run[@]}")
is control/run-runs yes "$([[ -e $marker ]] && echo yes)"
entries() { bpftool map show 2>/dev/null | grep -cE 'name sbpf_(policy|ring) '; }
before=$(entries)
for at in $(share "$total"); do
  rm -f "$marker"
  killed "$at" "${run[@]}" || { echo "# run/$at: it came to no such point"; continue; }
  # Killed once it runs, the program goes on to its end, confined (I6).
  within 10 sh -c "! grep -qs 'populated 1' $cgroots/sbpf/ran/cgroup.events"
  settle
  sbpf run -q --policy "$two" -- true # which collects what is empty
  is "run/$at" keeper "$(sbpf list | paste -sd' ')"
  [[ -e $cgroots/sbpf/ran ]] && not_ok "run/$at/cgroup" "it is left"
done
all_gone() { [[ $(entries) == "$before" ]]; }
within 30 all_gone
is run/maps-are-gone "$before" "$(entries)"

# ---- unload: it can be loaded again ----
clean
for at in 5; do
  sbpf run -q --policy "$one" -- true
  killed "$at" sbpf unload; is "unload/$at/is-killed" 0 $?
  is "unload/$at" 0 "$(sbpf run -q --policy "$one" -- true >/dev/null 2>&1; echo $?)"
done
is enough-points yes "$( ((taken >= 3 * PER_VERB)) && echo yes || echo "$taken")"
rmdir "$box" 2>/dev/null
clean
is nothing-left "" "$(left_behind)"
finish
