#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Descriptors and memory that run short, and pins that cannot be opened, are no loss and no end: who cannot tell says so, changes
# nothing, and tells again when it can. A loss after that is still one.
. "$(dirname "$0")/lib.sh"
out=$tmp/watch.json
runtime=$cgroots/other.runtime
keep_loaded
freeze=$(policy freeze <<<$'version: 1\nname: freeze\non_loss: freeze')
started box --policy "$freeze" -- sleep infinity </dev/null >/dev/null 2>>"$tmp/box.err"; is start/run 0 $?
supervisor=$started
inhabit "$runtime/att"
sbpf attach --cgroup "$runtime/att" --name att --policy "$freeze" >/dev/null; is start/attach 0 $?
sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" & watch=$!
servers+=($watch)
state_of() { jq -r "select(.sandbox.name == \"$1\") | .sandbox.isolation" "$out" | tail -1; }
is_state() { [[ $(state_of "$1") == "$2" ]]; }
for name in att box; do within 60 is_state $name active; is "start/seen-$name" 0 $?; done
frozen() { cat "$runtime/att/cgroup.events" "$cgroots/sbpf/box/cgroup.events" | grep -c 'frozen 1'; }
losses() { grep -c '"loss"' "$out"; }
sound() { # sound LABEL
  is "$1/nobody-frozen" 0 "$(frozen)"
  is "$1/no-loss" 0 "$(losses)"
  is "$1/nobody-gone" 0 "$(grep '"gone"' "$out" | grep -cE '"(att|box)"')"
  none "$1/supervisor" grep -i "isolation lost" "$tmp/box.err"
}

# ---- a command: each call that it needs fails for want of something ----
shimmed() { SBPF_FAULT=command:$1 SBPF_FAULT_ERRNO=$2 LD_PRELOAD=$shim "${@:3}"; }
calls=(lookup=1 obj-get=7 prog-fd=13 map-fd=14 info=15 batch=24)
errors=(EMFILE=24 ENOMEM=12 EINTR=4)
for call in "${calls[@]}"; do
  for error in "${errors[@]}"; do
    label=command/${call%=*}/${error%=*}
    shimmed "${call#*=}" "${error#*=}" sbpf status box >"$tmp/said" 2>&1; code=$?
    is "$label/not-well" yes "$( ((code == 3 || code == 125)) && echo yes || echo $code)"
    hasnt "$label/no-claim" inactive "$(cat "$tmp/said")"
    none "$label/no-bad-advice" grep -E 'unload|no sandbox is named' "$tmp/said"
  done
done
has command/hint "ulimit -n" "$(shimmed 7 24 sbpf status box 2>&1)"
few() { setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource -- prlimit --nofile="$1:$1" "${@:2}"; }
for n in 6 12 20 40 60 80; do
  few $n sbpf status box >"$tmp/said" 2>&1; code=$?
  is "few/$n/code" yes "$( ((code == 3 || code == 125)) || { ((code == 0)) && grep -q active "$tmp/said"; } && echo yes || echo $code)"
  hasnt "few/$n/no-claim" inactive "$(cat "$tmp/said")"
  none "few/$n/no-bad-advice" grep -E 'unload|no sandbox is named' "$tmp/said"
done
is few/enough "0" "$(few 400 sbpf status box >/dev/null 2>&1; echo $?)"
# A command raises its own limit, and what it starts has the caller's.
is raised/status 0 "$(prlimit --nofile=20:20 sbpf status box >/dev/null 2>&1; echo $?)"
is raised/run "40 60" "$(prlimit --nofile=40:60 sbpf run -q --policy "$freeze" -- sh -c 'echo $(ulimit -Sn) $(ulimit -Hn)' 2>/dev/null)"
is raised/env "40 60" "$(prlimit --nofile=40:60 sbpf env -- sh -c 'echo $(ulimit -Sn) $(ulimit -Hn)' 2>/dev/null)"
sound commands

# ---- the supervisor and the watch ----
limit_of() { prlimit --pid "$1" --nofile -o SOFT,HARD --noheadings | xargs | tr ' ' :; }
# The first number that is free: with it as the limit none is left. Who looks just then has some for a moment.
first_free() {
  local n first=1024 try
  for try in {1..8}; do
    for ((n = 0; n < first; n++)); do [[ -L /proc/$1/fd/$n ]] || first=$n; done
    sleep 0.1
  done
  echo $first
}
for case in supervisor=none watch=8 supervisor=3 watch=3; do # 3: fewer than it polls at once
  who=${case%=*} most=${case#*=}
  pid=${!who}
  limit=$(limit_of "$pid")
  [[ $most != none ]] || most=$(first_free "$pid")
  : >"$tmp/box.err"
  prlimit --pid "$pid" --nofile="$most:${limit#*:}"
  if [[ $who == watch ]]; then within 60 is_state att degraded; is $case/degraded 0 $?
  else within 30 grep -q 'cannot be told' "$tmp/box.err"; is $case/told 0 $?; fi
  sound $case
  prlimit --pid "$pid" --nofile="$limit"
  if [[ $who == watch ]]; then within 60 is_state att active; is $case/active-again 0 $?; fi
  sound $case/again
done
has watch/told 'cannot_tell' "$(cat "$out")"

# ---- pins that cannot be opened ----
if mount -o remount,ro /sys/fs/bpf 2>"$tmp/err"; then
  sleep 14
  sound read-only
  sbpf status box >"$tmp/said" 2>&1; code=$?
  is read-only/status yes "$( ((code == 3 || code == 125)) && echo yes || echo $code)"
  has read-only/hint "remount,rw" "$(cat "$tmp/said")"
  mount -o remount,rw /sys/fs/bpf
  within 60 is_state att active; is read-only/active-again 0 $?
else
  has read-only/refused "permission" "$(tr '[:upper:]' '[:lower:]' <"$tmp/err")"
fi
is read-only/status-again "0 0" "$(sbpf status box >/dev/null; echo $?) $(sbpf status att >/dev/null; echo $?)"

# ---- a loss is one still ----
sbpf break-glass --reason exhaustion --for 5m 2>/dev/null
id=$(bpftool -j link show pinned "$pins/sandboxes/att/connect4" | jq .id)
mark "$out"
"$tests/tamper" link-detach "$id" >/dev/null
within 20 grep -q 'frozen 1' "$runtime/att/cgroup.events"; is loss/frozen 0 $?
in_time loss "$out"
is loss/told att "$(jq -r 'select(.loss) | .loss.sandbox' "$out" | sort -u | paste -sd' ')"
"$tests/tamper" link-detach "$(bpftool -j link show pinned "$pins/sandboxes/box/connect4" | jq .id)" >/dev/null
within 20 grep -qi 'isolation lost' "$tmp/box.err"; is loss/supervisor 0 $?
sbpf break-glass --close 2>/dev/null
kill $watch; wait $watch 2>/dev/null
for pid in $(members "$runtime"/*); do kill -9 "$pid"; done
end_all
rmdir "$runtime"/* "$runtime" 2>/dev/null
finish
