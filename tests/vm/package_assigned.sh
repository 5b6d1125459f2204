# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Part of package.sh, by which it is read: a unit whose cgroup is kept.

# ---- what is attached through the API stays attached: a unit that exits and is started again, whose first act is a connect ----
serve tcp 127.0.0.1 7005
cat >"$tmp/first" <<'P'
#!/bin/bash
[[ ! -e /run/poses ]] || exec env XDG_RUNTIME_DIR=/tmp /usr/lib/systemd/systemd --user
(exec 3<>/dev/tcp/127.0.0.1/7005) 2>/dev/null && echo through || echo refused
sleep 0.3
P
chmod 755 "$tmp/first"
# What systemd does before the program runs, it does in the unit's cgroup: another user, mounts, the file for the output.
printf '[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=%s\nRestart=always\nRestartSec=100ms\nUser=nobody\nPrivateTmp=yes\nProtectSystem=strict\nDelegate=yes\nStandardOutput=append:/run/first\nBindReadOnlyPaths=%s\n' \
  "$tmp/first" "$tmp" >/run/systemd/system/again.service
systemctl daemon-reload
again=$cgroots/system.slice/again.service
lives() { grep -c "$1" /run/first; }
# more WORD N: so many more instances say so
more() { local from; from=$(lives "$1"); within 60 sh -c '[ "$(grep -c "$0" /run/first)" -ge "$1" ]' "$1" $((from + $2)); }
api_attach() { [[ $(call -d "{\"cgroup\": \"$again\", \"name\": \"again\", \"policy\": \"no-network\"$1}" http://localhost/v1/sandboxes) == 201 ]]; }
: >/run/first
systemctl start again
more through 2; is again/control 0 $?
# posed: the program has run systemd's own executable, as a manager of users', which makes cgroups
posed() { touch /run/poses; systemctl restart again; within "$1" test -d "$again/init.scope"; posing=$?; rm /run/poses; systemctl restart again; }
posed 30; is again/pose-control 0 $posing
# Not kept: it ends with the cgroup, and the next instance is open.
within 60 api_attach ', "keep": false'; is again/not-kept 0 $?
more through 2; is again/not-kept-escapes 0 $?
within 60 api_attach ''; is again/attach 0 $?
is again/kept "true true" "$(jq -r '"\(.kept) \(.isolation_active)"' "$tmp/answer")"
through=$(lives through) heard=$(visits tcp 127.0.0.1 7005)
more refused 8; is again/instances-are-refused 0 $?
is again/no-instance-escapes "$through $heard" "$(lives through) $(visits tcp 127.0.0.1 7005)"
posed 3; is again/pose-is-refused 1 $posing
has again/pose-is-told "(systemd, pid" "$(sbpf events again)"
is again/stop 0 "$(code systemctl stop again)"
is again/cgroup-stays yes "$([[ -d $again ]] && echo yes || echo no)"
is again/empty-is-active "true 0" "$(api /v1/sandboxes/again | jq -r '"\(.isolation_active) \(.processes)"')"
is again/listed true "$(api /v1/sandboxes | jq '.sandboxes[] | select(.name == "again") | .kept')"
is again/service-restart 0 "$(code systemctl restart sbpfd.service)"
is again/start 0 "$(code systemctl start again)"
more refused 2; is again/refused-after-start 0 $?
is again/nothing-escaped "$through $heard" "$(lives through) $(visits tcp 127.0.0.1 7005)"
# What the host's restart leaves: the file. Without sbpfd, which would come later; the unit waits for what it requires.
cp /var/lib/sbpf/assigned/again "$tmp/again"
unheld() {
  systemctl stop again
  sbpf detach again 2>/dev/null
  rmdir "$again" 2>/dev/null
  cp "$tmp/again" /var/lib/sbpf/assigned/again
}
is restart/stop-sbpfd 0 "$(code systemctl stop sbpfd.service)"
unheld
systemctl start again
more through 2; is restart/control 0 $?
unheld
systemctl daemon-reload
through=$(lives through) heard=$(visits tcp 127.0.0.1 7005)
is restart/start 0 "$(code systemctl start again)"
more refused 2; is restart/refused 0 $?
is restart/nothing-escaped "$through $heard" "$(lives through) $(visits tcp 127.0.0.1 7005)"
is restart/active 0 "$(code sbpf status again --require active)"
# It is not stopped by hand, which would stop the unit.
systemctl restart sbpf-assigned@again.service 2>"$tmp/said"
has restart/not-by-hand "Operation refused" "$(said)"
more refused 1; is restart/unit-goes-on 0 $?
# What is no unit of the system's manager has nobody who waits.
assigned=/var/lib/sbpf/assigned
assigned_to() { echo "/sys/fs/cgroup/$2" >$assigned/$1; }
assigned_to user user.slice/user-1000.slice/user@1000.service/app.slice/web.service
assigned_to plain plain/web
assigned_to odd "system.slice/a;b.service"
assigned_to slice agents.slice/agents-web.slice
assigned_to template system.slice/system-web.slice
assigned_to all system.slice
assigned_to own 'system.slice/system-sbpf\x2dassigned.slice'
assigned_to escaped system.slice/_cpu.service
printf /sys/fs/cgroup/system.slice/cut.service >$assigned/cut
: >$assigned/empty
{ echo "$cgroots/system.slice/named.service"; tail -n +2 "$tmp/again"; } >"$assigned/my web+1"
/usr/lib/systemd/system-generators/sbpf-generator "$tmp/units"; is restart/generator 0 $?
is restart/units "again.service.d agents-web.slice.d cpu.service.d cut.service.d named.service.d system-web.slice.d" "$(ls "$tmp/units" | LC_ALL=C sort | xargs)"
has restart/empty-is-told "$assigned/empty is empty" "$(dmesg)"
rm $assigned/{user,plain,odd,slice,template,all,own,escaped,cut,empty}
# Whatever its name is.
instance=$(sed -n 's/^Requires=//p' "$tmp"/units/named.service.d/*.conf)
is restart/name 'sbpf-assigned@my\x20web\x2b1.service' "$instance"
systemctl daemon-reload
is restart/name-starts 0 "$(code systemctl start "$instance")"
is restart/name-active 0 "$(code sbpf status "my web+1" --require active)"
is restart/name-detach 0 "$(code sbpf detach "my web+1")"
rmdir "$cgroots/system.slice/named.service"
# Not without it.
unheld
echo nonsense >/var/lib/sbpf/assigned/again
is restart/does-not-start 1 "$(code systemctl start again)"
has restart/says-why "does not begin with the path of a cgroup" "$(journalctl -q -u sbpf-assigned@again -o cat | tail)"
cp "$tmp/again" /var/lib/sbpf/assigned/again
is restart/starts 0 "$(code systemctl start again)"
is restart/start-sbpfd 0 "$(code systemctl start sbpfd.service)"
is restart/nothing-escaped-at-all "$through $heard" "$(lives through) $(visits tcp 127.0.0.1 7005)"
# systemd sets its own limits at each start of a unit, whose policy has tighter ones.
printf '[Service]\nExecStart=/bin/sleep infinity\n' >/run/systemd/system/limited.service
printf 'version: 1\nname: limited\nprocess: {limits: {processes: 40, memory: 256MiB}}\n' >"$tmp/limited.yaml"
systemctl daemon-reload
limited=$cgroots/system.slice/limited.service
its_limits() { echo "$(cat "$limited/pids.max") $(cat "$limited/memory.max")"; }
is limits/start 0 "$(code systemctl start limited)"
loose=$(its_limits)
is limits/attach 0 "$(code sbpf attach --keep --cgroup "$limited" --name limited --policy "$tmp/limited.yaml")"
is limits/set "40 268435456" "$(its_limits)"
# The watch looks once a minute, and may do so just then.
for _ in 1 2 3; do
  restarted=$(code systemctl restart limited)
  reset=$(its_limits)
  stands=$(sbpf status limited --json | jq -r '.isolation + " " + ([.degraded[].what] | unique | join(" "))')
  [[ $reset != "$loose" || $stands != "degraded limits" ]] || break
done
is limits/restart 0 "$restarted"
is limits/control "$loose" "$reset"
is limits/degraded "degraded limits" "$stands"
put_back() { [[ $(its_limits) == "40 268435456" ]]; }
within 90 put_back; is limits/put-back 0 $?
is limits/active-again 0 "$(code sbpf status limited --require active)"
said_so() { journalctl -q -u sbpfd -o cat | grep -q "the limits of sandbox limited were put back"; }
within 20 said_so; is limits/said 0 $?
is limits/detach 0 "$(code sbpf detach limited)"
is limits/stop 0 "$(code systemctl stop limited)"
rm /run/systemd/system/limited.service
is again/delete 200 "$(call -X DELETE http://localhost/v1/sandboxes/again)"
more through 2; is again/deleted-is-open 0 $?
is again/stop-again 0 "$(code systemctl stop again)"
within 20 sh -c '[ ! -e "$0" ]' "$again"; is again/cgroup-goes 0 $?
is again/nothing-assigned "" "$(ls /var/lib/sbpf/assigned)"
rm /run/systemd/system/again.service /run/first
systemctl daemon-reload
