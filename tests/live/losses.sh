#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every hook, in every manner: what is taken from a sandbox is named by `sbpf watch`, alone, answered as its policy says, and
# put back; `sbpf status` says the same; and no other sandbox is said to have lost anything.
. "$(dirname "$0")/lib.sh"
out=$tmp/watch.json
runtime=$cgroots/other.runtime
tamper=$tests/tamper
counted() { grep -c "\"$1\":{\"sandbox\":\"$2\"" "$out"; } # counted loss|restored NAME
more() { (($(counted "$1" "$2") > $3)); }
last() { grep "\"$1\":{\"sandbox\":\"$2\"" "$out" | tail -1 | jq -rc ".$1 | $3"; } # last loss|restored NAME FILTER
sorted() { tr ' ' '\n' | grep . | sort | paste -sd' '; }
open_glass() { sbpf break-glass --reason losses --for 30m 2>/dev/null; }
no_canary() { ! proves $watch; }
thaw() { echo 0 >"$cgroup/cgroup.freeze" && within 10 grep -q 'frozen 0' "$cgroup/cgroup.events"; }
close_glass() { sbpf break-glass --close 2>/dev/null; }

# One with all hooks that a sandbox can have: host names, and its flows recorded. Its own supervisor is held, so that it is the
# watch that answers. Beside it one that nothing is taken from.
full=$(policy full <<'Y'
version: 1
name: full
on_loss: freeze
network: {record_flows: true, dns: {resolver: 127.0.0.1}, connect: [{host: a.example, ports: [443]}]}
Y
)
sbpf run --name box --policy "$full" -- sleep infinity </dev/null >/dev/null 2>"$tmp/box.err" & supervisor=$!
servers+=($supervisor)
within 300 grep -q 'isolation active' "$tmp/box.err"; is start 0 $?
inhabit "$runtime/by"
printf 'version: 1\nname: by\non_loss: kill\n' >"$tmp/by.yaml"
sbpf attach --cgroup "$runtime/by" --name by --policy "$tmp/by.yaml" >/dev/null; is start/attach 0 $?
cgroup=$cgroots/sbpf/box
key=$(hex "$(sbpf status box --json | jq .cgroup_id)")
within 60 flock -n /run/sbpf.lock true # a stopped holder of the lock would stop the rest
kill -STOP $supervisor
sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" & watch=$!
servers+=($watch)
for name in box by; do
  within 60 grep -q "\"sandbox\":{\"name\":\"$name\".*\"isolation\":\"active\"" "$out"; is "seen/$name" 0 $?
done
mapfile -t each < <(sbpf status box --json | jq -r '.effective[].hooks[].name' | sort | comm -12 - <(ls "$pins/sandboxes/box" | sort))
mapfile -t host < <(ls "$pins/links" | sort)
is hooks/all "$hooks_here" $((${#each[@]} - 5 + ${#host[@]})) # 5: of host names and flows, which few sandboxes have

# ---- taken HOOK COMMAND…: while the glass is open, so nothing is put back yet ----
lost=''
taken() {
  local label=$manner/$1 hook=$1 losses
  shift
  thaw
  losses=$(counted loss box)
  mark "$out"
  is "$label/done" 0 "$("$@" 2>&1 && echo 0)"
  within 10 grep -q 'frozen 1' "$cgroup/cgroup.events"; is "$label/frozen" 0 $?
  in_time "$label" "$out"
  within 10 more loss box "$losses"
  is "$label/named-alone" "[\"$hook\"] frozen" "$(last loss box '"\(.hooks | tojson) \(.answered)"')"
  lost+=" $hook"
}
stands() { # stands LABEL: what `sbpf status` says now
  is "$1/status" "inactive $(sorted <<<"$lost break-glass")" \
    "$(sbpf status box --json | jq -r '.isolation + " " + ([.degraded[].what] | sort | join(" "))')"
}
# Window closed: all is put back, and nothing else is said of the box than that a window was used.
put_back() {
  local repairs
  repairs=$(counted restored box)
  close_glass
  within 60 more restored box "$repairs"; is "$manner/restored" 0 $?
  is "$manner/restored-all" "$(sorted <<<"$lost")" "$(last restored box '.hooks | join(" ")' | sorted)"
  lost=''
  is "$manner/status-again" "degraded break-glass" "$(sbpf status box --json | jq -r '.isolation + " " + ([.degraded[].what] | sort | join(" "))')"
}
link_id() { bpftool -j link show pinned "$pins/sandboxes/box/$1" | jq .id; }
at_link() { [[ $("$tamper" "$1" "$2") == 0 ]]; }

# For what comes later: where a window was used, nothing starts any more.
started donor -q --policy "$full" -- sleep infinity </dev/null >/dev/null 2>&1; is elsewhere/donor 0 $?

# ---- each sandbox's own hooks ----
for manner in detached replaced pin-removed; do
  # Pins that are unchanged for a second are trusted, and the links' programs alone are looked at.
  [[ $manner == replaced ]] && sleep 2.5
  open_glass
  for hook in "${each[@]}"; do
    case $manner in
      detached) command=(at_link link-detach "$(link_id "$hook")") ;;
      replaced) command=(at_link link-update "$(link_id "$hook")") ;;
      pin-removed) command=(rm "$pins/sandboxes/box/$hook") ;;
    esac
    taken "$hook" "${command[@]}"
    stands "$manner/$hook"
  done
  put_back
done

# ---- a pin that leads elsewhere: to the same hook, with the same program, of another sandbox ----
manner=elsewhere
open_glass
taken connect4 mv "$pins/sandboxes/donor/connect4" "$pins/sandboxes/box/connect4"
stands elsewhere/connect4
has elsewhere/says-why "link is attached to another cgroup" "$(sbpf status box)"
put_back
is elsewhere/own-link "$(sbpf status box --json | jq .cgroup_id)" "$(bpftool -j link show pinned "$pins/sandboxes/box/connect4" | jq .cgroup_id)"
sbpf kill donor 2>/dev/null

# ---- its maps ----
manner=edited
open_glass
generation=$(sbpf status box --json | jq .policy.generation)
id=$(policy_map "$(sbpf status box --json | jq .cgroup_id)")
rule=$(bpftool -j map dump id "$id" | python3 -ISc 'import json, sys; print(*json.load(sys.stdin)[0]["key"])')
# A published policy takes no change, whoever makes it.
is edited/rules/refused 1 "$(bpftool map delete id "$id" key $rule >/dev/null 2>&1; [[ $? != 0 ]] && echo 1)"
is edited/rules/as-before "$generation" "$(sbpf status box --json | jq .policy.generation)"
taken policy bpftool map delete pinned $pins/maps/policies key $key
stands edited/policy
put_back
# That of another sandbox, whole and under its own hash.
open_glass
taken policy bpftool map update pinned $pins/maps/policies key $key value id "$(policy_map "$(sbpf status by --json | jq .cgroup_id)")"
stands edited/other-policy
put_back
# Nor one of many generations later, as if somebody had swapped meanwhile.
for i in 1 2 3 4 5; do sbpf swap by --policy "$tmp/by.yaml" >/dev/null 2>&1; done
is edited/later-policy/control 6 "$(sbpf status by --json | jq .policy.generation)"
open_glass
taken policy bpftool map update pinned $pins/maps/policies key $key value id "$(policy_map "$(sbpf status by --json | jq .cgroup_id)")"
stands edited/later-policy
put_back
open_glass
taken storage bpftool map update pinned $pins/maps/cgroup_refs key $key value $(yes 0 | head -40)
stands edited/storage
# A canary fails while this is missing. That is no other loss, and not what is said once it is back.
hold_canaries
thaw
within 90 proves $watch; is edited/storage/canary-waits 0 $?
release_canaries
within 30 no_canary; is edited/storage/canary-ends 0 $?
sleep 2 # some passes
is edited/storage/no-other-loss '["storage"]' "$(last loss box .hooks)"
echo 1 >"$cgroup/cgroup.freeze" # so that no other canary runs
put_back
open_glass
taken gate at_link gate-off "$pins/maps/globals"
stands edited/gate
put_back
is by/nothing-lost "0 alive" "$(counted loss by) $(kill -0 $sleeper 2>/dev/null && echo alive)"

# ---- while the clock is set by a day ----
for days in 1 -1; do
  manner=clock/$days
  open_glass
  while_set() { date -s "@$(($(date +%s) + days * 86400))" >/dev/null && at_link link-detach "$(link_id connect4)"; }
  taken connect4 while_set
  stands "$manner/connect4"
  put_back
done

# ---- while the watch is stopped: `sbpf status` says it all the same, and the watch once it goes on ----
manner=unwatched
open_glass
thaw
kill -STOP $watch
losses=$(counted loss box)
at_link link-detach "$(link_id connect4)"; is unwatched/done 0 $?
lost=" connect4"
stands unwatched
sleep 2
is unwatched/control "$losses running" "$(counted loss box) $(grep -q 'frozen 0' "$cgroup/cgroup.events" && echo running)"
kill -CONT $watch
within 10 grep -q 'frozen 1' "$cgroup/cgroup.events"; is unwatched/frozen 0 $?
within 10 more loss box "$losses"
is unwatched/named-alone '["connect4"] frozen' "$(last loss box '"\(.hooks | tojson) \(.answered)"')"
put_back

# ---- the host's ----
manner=pin-removed
sbpf detach by
open_glass
for hook in "${host[@]}"; do taken "$hook" rm "$pins/links/$hook"; done
stands pin-removed/host
put_back
is pin-removed/pinned-again "${host[*]}" "$(ls "$pins/links" | sort | paste -sd' ')"

# A pin of that name, of another hook's link.
manner=pin-of-another
open_glass
another() { rm "$pins/links/file_open" && ln "$pins/links/mmap_file" "$pins/links/file_open"; }
taken file_open another
stands pin-of-another/file_open
put_back

# That of the root cgroup can be detached, and is attached anew.
manner=detached
open_glass
taken sysctl bpftool link detach id "$(bpftool -j link show pinned "$pins/links/sysctl" | jq .id)"
stands detached/sysctl
put_back
# A program of others under the name of ours is not attached in its place.
manner=impostor
open_glass
mkdir "$cgroots/impostor"
read -r error impostor < <("$tests/overrule" later "$cgroots/impostor" sysctl)
put_impostor() {
  mv "$pins/programs/sysctl" /sys/fs/bpf/kept && bpftool prog pin id "$impostor" "$pins/programs/sysctl" &&
    bpftool link detach id "$(bpftool -j link show pinned "$pins/links/sysctl" | jq .id)"
}
taken sysctl put_impostor
put_back
is impostor/not-attached "0 0" "$error $(bpftool cgroup show "$cgroots" | grep -c "^$impostor ")"
open_glass
rm "$pins/programs/sysctl"
mv /sys/fs/bpf/kept "$pins/programs/sysctl"
# One that lets no other beside it: it is said that ours cannot be put back, not that it was, and it is when it can.
manner=shut-out
shut_out() {
  bpftool link detach id "$(bpftool -j link show pinned "$pins/links/sysctl" | jq .id)" && bpftool cgroup attach "$cgroots" sysctl id "$impostor"
}
taken sysctl shut_out
close_glass
within 30 grep -q "sysctl cannot be attached again" "$tmp/watch.err"; is shut-out/said 0 $?
repairs=$(counted restored box)
sleep 2
is shut-out/not-restored "$repairs" "$(counted restored box)"
stands shut-out/sysctl
is shut-out/control 0 "$(bpftool cgroup detach "$cgroots" sysctl id "$impostor" >&2; echo $?)"
within 60 more restored box "$repairs"; is shut-out/restored 0 $?
lost=''
rmdir "$cgroots/impostor"
manner=replaced
open_glass
taken sysctl at_link link-update "$(bpftool -j link show pinned "$pins/links/sysctl" | jq .id)"
stands replaced/sysctl
put_back
is replaced/in-force-again 1 "$( (echo 0 >/proc/sys/kernel/ftrace_enabled) 2>/dev/null; echo $?)"

kill $watch
wait $watch 2>/dev/null
kill $sleeper
wait $sleeper 2>/dev/null
kill -CONT $supervisor
rmdir "$runtime/by" "$runtime"
thaw
clean
is left-behind "" "$(left_behind)"
finish
