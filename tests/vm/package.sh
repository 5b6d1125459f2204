#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The package on a host with systemd: install, run, upgrade under a live sandbox (with the same programs for the kernel and
# with others), refused removal, removal, purge. The package is /root/sbpf.deb; the program under test is the installed one.
. /opt/sbpf/tests/live/lib.sh
PATH=${PATH//\/opt\/sbpf\/bin:/}
export PATH
agents=/usr/lib/sbpf/agents
# The image leaves out documentation; the package's is looked for.
rm -f /etc/dpkg/dpkg.cfg.d/99mmdebstrap
groupdel sbpf 2>/dev/null

installed() { dpkg-query -W -f '${Version} ${db:Status-Status}' sbpf 2>/dev/null; }
# code COMMAND…: its exit code; what it says goes to $tmp/said
code() { "$@" >"$tmp/said" 2>&1; echo $?; }
said() { cat "$tmp/said"; }
# repackage VERSION [COMMAND…]: the same package as that version, with the command run in its tree; prints its path
repackage() {
  local version=$1 tree=$tmp/tree
  shift
  rm -rf "$tree"
  dpkg-deb -R /root/sbpf.deb "$tree"
  sed -i "s/^Version: .*/Version: $version/" "$tree/DEBIAN/control"
  if (($#)); then (cd "$tree" && "$@"); fi
  dpkg-deb -Znone -b "$tree" "$tmp/sbpf-$version.deb" >/dev/null
  echo "$tmp/sbpf-$version.deb"
}
# Another digest, so that it counts as carrying other programs, or as laying out their maps otherwise: in each of its places,
# which may be code.
other_programs() { other programs; }
other_layout() { other layout; }
other() {
  python3 -ISc '
import sys
digest = bytes.fromhex(sys.argv[2])
data = open(sys.argv[1], "rb").read()
for i in range(0, 32, 8):
    assert digest[i:i + 8] in data
    data = data.replace(digest[i:i + 8], digest[i:i + 8][::-1])
open(sys.argv[1], "wb").write(data)' usr/bin/sbpf "$(sbpf --version | sed -n "s/^$1 //p")"
}

# links: of everyone; systemd 257 has some of its own. unloaded: nothing of sbpf's is in the kernel, and as many links as before.
links() { bpftool -j link show | jq length; }
links_before=$(links)
unloaded() {
  [[ ! -e $pins && ! -e $cgroots/sbpf && $(links) == "$links_before" ]] &&
    ! bpftool prog show | grep -q 'name hook_' && ! bpftool map show | grep -q 'name sbpf_'
}

# ---- install ----
is before/no-sbpf 127 "$(code sbpf --version)"
is install/dpkg 0 "$(code dpkg -i /root/sbpf.deb)"
version=$(dpkg-deb -f /root/sbpf.deb Version)
is install/state "$version installed" "$(installed)"
quiet install/complete dpkg -V sbpf
has install/version "sbpf $version" "$(sbpf --version)"
has install/group "sbpf:x:" "$(getent group sbpf)"
is install/nothing-kept no "$([[ -e $agents ]] && echo yes || echo no)"
for file in /usr/share/man/man1/sbpf.1.gz /usr/share/man/man5/sbpf-policy.5.gz \
  /usr/share/bash-completion/completions/sbpf /usr/share/zsh/vendor-completions/_sbpf \
  /usr/share/fish/vendor_completions.d/sbpf.fish /usr/share/doc/sbpf/copyright /usr/share/doc/sbpf/changelog.gz; do
  is "install/file/${file##*/}" 0 "$(code test -s $file)"
done
is install/policies 0 "$(code test -d /etc/sbpf/policies)"
printf 'version: 1\nname: site\n' >/etc/sbpf/policies/site.yaml
is install/policy-by-name 0 "$(code sbpf policy check site)"

# ---- the service, when the package has it: active from the start, and after everything that follows ----
with_service=$(dpkg-deb -c /root/sbpf.deb | grep -c ' ./usr/sbin/sbpfd$')
api() { curl -sf --max-time 30 --unix-socket /run/sbpf/api.sock "http://localhost$1"; }
main_pid() { systemctl show -P MainPID sbpfd.service; }
active_by_api() { api /v1/sandboxes/box | jq -e .isolation_active >/dev/null; }
# served NAME: it runs, and tells of the sandbox `box` that it is active
served() {
  ((with_service)) || return 0
  within 60 systemctl -q is-active sbpfd.service # ready once a canary of its own passed
  is "$1/service-active" active "$(systemctl is-active sbpfd.service)"
  is "$1/service-tells" 0 "$(within 60 active_by_api; echo $?)"
}
if ((with_service)); then
  is service/active active "$(systemctl is-active sbpfd.service)"
  is service/enabled enabled "$(systemctl is-enabled sbpfd.service)"
  is service/configuration 0 "$(code sbpfd --check-config)"
  is service/api 0 "$(code api /v1/sandboxes)"
  is service/man-page 0 "$(code test -s /usr/share/man/man8/sbpfd.8.gz)"
else
  skip service "the package has none"
fi

# ---- a sandbox that goes through all of what follows: a unit's cgroup, attached; it tries to connect all along ----
serve tcp 127.0.0.1 7001
cat >"$tmp/tries.py" <<'P'
import socket, sys, time
tried = 0
while True:
    s = socket.socket()
    try: s.connect(("127.0.0.1", 7001))
    except OSError: pass
    s.close()
    tried += 1
    with open(sys.argv[1], "w") as f: f.write("%9d" % tried)
    time.sleep(0.05)
P
chmod 755 "$tmp"
systemd-run -q --unit box python3 "$tmp/tries.py" "$tmp/tried"
tried() { local n; read -r n <"$tmp/tried"; echo "${n:-0}"; }
# tries_more: the program goes on trying; what it does in vain is not because it has stopped
tries_more() { local from; from=$(tried); within 30 sh -c '[ "$(($(cat "$0")))" -gt "$1" ]' "$tmp/tried" "$((from + 3))"; }
within 30 test -s "$tmp/tried"
tries_more
connected=$(visits tcp 127.0.0.1 7001)
if ((connected > 0)); then ok control/connects-before; else not_ok control/connects-before "no visits"; fi
is attach/code 0 "$(code sbpf attach --evict --cgroup "$cgroots/system.slice/box.service" --policy no-network --name box)"
is attach/active 0 "$(code sbpf status box --require active)"
connected=$(visits tcp 127.0.0.1 7001)
# confined NAME: it tried, and got nowhere
confined() {
  tries_more
  is "$1/still-tries" 0 $?
  is "$1/still-confined" "$connected" "$(visits tcp 127.0.0.1 7001)"
}
confined attach
served attach
if ((with_service)); then
  # What it logs can be asked for by sandbox, and is text and fields of their own.
  said_of_box() { journalctl -q -o json SBPF_SANDBOX=box; }
  fields() { said_of_box | jq -sc '[.[] | select(.MESSAGE == "sandbox box is active")][0] | [.SBPF_ISOLATION, .SBPF_POLICY, .SBPF_CGROUP, .PRIORITY, .SYSLOG_IDENTIFIER, ._SYSTEMD_UNIT]'; }
  within 30 sh -c 'journalctl -q SBPF_SANDBOX=box | grep -q "sandbox box is active"'; is journal/by-sandbox 0 $?
  is journal/fields "[\"active\",\"no-network\",\"$cgroots/system.slice/box.service\",\"6\",\"sbpfd\",\"sbpfd.service\"]" "$(fields)"
  is journal/box-alone '["box"]' "$(said_of_box | jq -sc '[.[].SBPF_SANDBOX] | unique')"
  is journal/nobody '["box"]' "$(journalctl -q -o json SBPF_SANDBOX=box SBPF_SANDBOX=nobody | jq -sc '[.[].SBPF_SANDBOX] | unique')"
fi

# ---- the service as installed does its work: users' jobs with files, changes with files, canaries, a loss ----
user() { setpriv --reuid 4242 --regid 4242 --groups "$(getent group sbpf | cut -d: -f3)" "$@"; }
call() { curl -s --max-time 120 -o "$tmp/answer" -w '%{http_code}' --unix-socket /run/sbpf/api.sock "$@"; }
# text POLICY [CGROUP NAME]: the body of a request
text() { jq -n --arg t "$1" --arg c "${2:-}" --arg n "${3:-}" '{policy_text: $t} + if $c == "" then {} else {cgroup: $c, name: $n} end'; }
if ((with_service)); then
  is service/no-filter 0 "$(sed -n 's/^Seccomp:[[:space:]]*//p' "/proc/$(main_pid)/status")"
  install -d -o 4242 /workspace
  echo secret >/srv/secret
  # job SCRIPT: what it prints, and its exit code
  job() {
    local out code
    out=$(user sbpf run -q --policy untrusted -- bash -c "$1" 2>"$tmp/err"); code=$?
    ((code != 125)) || sed 's/^/# /' "$tmp/err" >&2
    echo "${out:+$out }$code"
  }
  is job/control secret "$(user cat /srv/secret)"
  is job/untrusted "out 7" "$(job 'echo out >/workspace/out && cat /workspace/out; exit 7')"
  is job/denied 1 "$(job 'cat /srv/secret')"
  is job/enters-by "/usr/bin/sbpf-enter cap_net_admin,cap_sys_chroot,cap_sys_admin=ep" "$(getcap /usr/bin/sbpf-enter)"
  touch /tmp/of-the-host
  is job/own-places "0 0" "$(job 'ls -A /tmp | wc -l')"
  is job/own-loopback "0 0" "$(job 'shopt -s nullglob; cd /proc/sys/net/ipv4 && cat ip_unprivileged_port_start')"
  is job/no-network 1 "$(job 'exec 3<>/dev/tcp/127.0.0.1/7001 || exit 1')"
  # One who reads two files all the time; and has a child, for what is moved out.
  systemd-run -q --unit filed bash -c 'sleep infinity & while sleep 0.05; do a=n b=n; read -r _ </srv/a && a=y; read -r _ </srv/b && b=y; echo $a$b >/run/filed; done' 2>/dev/null
  echo a >/srv/a
  echo b >/srv/b
  reads() { [[ $(cat /run/filed 2>/dev/null) == "$1" ]]; }
  files() { printf 'version: 1\nname: filed\non_loss: kill\nfilesystem: {default: write, deny: [%s]}\n' "$1"; }
  within 30 reads yy; is files/control 0 $?
  filed=$cgroots/system.slice/filed.service
  # It may have the file open just then, which refuses a policy that forbids it.
  not_open() { answered=$(call "$@"); [[ $answered != 409 ]]; }
  within 30 not_open -d "$(text "$(files /srv/a)" "$filed" filed)" http://localhost/v1/sandboxes; is files/attach 201 "$answered"
  is files/attach-active true "$(jq .isolation_active "$tmp/answer")"
  within 30 reads ny; is files/attached 0 $?
  within 30 not_open -X PUT -d "$(text "$(files /srv/b)")" http://localhost/v1/sandboxes/filed/policy; is files/swap 200 "$answered"
  is files/swap-active true "$(jq .isolation_active "$tmp/answer")"
  within 30 reads yn; is files/swapped 0 $?
  # Each within its minute; some seconds for those that wait for it.
  all_proven() { api /v1/sandboxes | jq -e '[.sandboxes[] | select(.canary_at == null)] | length == 0' >/dev/null; }
  within 75 all_proven; is canary/each-within-a-minute 0 $?
  is canary/of-both "box filed" "$(api /v1/sandboxes | jq -r '[.sandboxes[] | select(.isolation == "active") | .name] | sort | join(" ")')"
  age=$(api /metrics | sed -n 's/^sbpf_canary_age_seconds //p')
  is canary/age-is-told yes "$( ((${age:-999} < 90)) && echo yes || echo "$age")"
  # Root moves a process out: the watch kills it and the rest.
  losses() { api /metrics | sed -n 's/^sbpf_losses_total{on_loss="kill"} //p'; }
  is loss/control 0 "$(losses)"
  pgrep -P "$(systemctl show -P MainPID filed)" -x sleep | while read -r pid; do grep -qs infinity "/proc/$pid/cmdline" && echo "$pid"; done | head -1 >"$cgroots/cgroup.procs"
  within 10 sh -c '[ "$(systemctl is-active filed)" != active ]'; is loss/killed 0 $?
  within 10 sh -c "curl -s --unix-socket /run/sbpf/api.sock http://localhost/metrics | grep -q '^sbpf_losses_total{on_loss=\"kill\"} 1'"; is loss/counted 0 $?
  systemctl reset-failed filed 2>/dev/null
  is files/delete 200 "$(call -X DELETE http://localhost/v1/sandboxes/filed)"
  is loss/box-stands true "$(api /v1/sandboxes/box | jq .isolation_active)"

  . "$(dirname "$0")/package_assigned.sh"

  # A watch that verifies nothing is replaced; systemd does so with a service that does not say that passes come.
  watch_of() { tr -d ' ' <"/proc/$(main_pid)/task/$(main_pid)/children"; }
  watch=$(watch_of)
  kill -STOP "$watch"; is stalled/control 0 $?
  replaced() { [[ -n $(watch_of) && $(watch_of) != "$watch" ]]; }
  within 60 replaced; is stalled/replaced 0 $?
  is stalled/nothing-left 1 "$(code test -d "/proc/$watch")"
  is service/watchdog "10s" "$(systemctl show -P WatchdogUSec sbpfd.service)"
  is service/no-core 0 "$(systemctl show -P LimitCORE sbpfd.service)"
  is service/ends-with-its-own mixed "$(systemctl show -P KillMode sbpfd.service)"
  served stalled

  # A unit that breaks what it starts is not ready, and says why. Where it is ready, it works.
  drop=/run/systemd/system/sbpfd.service.d
  mkdir -p $drop
  broken() { # broken NAME LINE [WHAT-IT-SAYS]
    local since
    since=$(date '+%F %T')
    printf '[Service]\n%s\n' "$2" >$drop/test.conf
    systemctl daemon-reload
    systemctl --no-block restart sbpfd.service
    answered() { systemctl -q is-active sbpfd.service || journalctl -q -u sbpfd.service --since "$since" -o cat | grep -qE 'not ready: no canary|Failed with result'; }
    sleep 1
    within 100 answered
    if systemctl -q is-active sbpfd.service; then
      is "broken/$1/ready-and-works" "out 0" "$(job 'echo out >/workspace/out && cat /workspace/out')"
    else
      has "broken/$1/says-why" "${3:-not ready: no canary}" "$(journalctl -q -u sbpfd.service --since "$since" -o cat | tail -40)"
    fi
    systemctl stop sbpfd.service 2>/dev/null
    systemctl reset-failed sbpfd.service 2>/dev/null
  }
  broken other-calls SystemCallArchitectures=native
  broken no-openat2 RestrictSUIDSGID=yes
  broken no-cgroups InaccessiblePaths=/sys/fs/cgroup cgroup
  is broken/box-stands 0 "$(code sbpf status box --require active)"
  rm -r $drop
  systemctl daemon-reload
  is broken/mended 0 "$(code systemctl start sbpfd.service)"
  served broken
  is broken/job-again "out 0" "$(job 'echo out')"

  # A configuration that is not valid: the unit fails, and is left alone until it is mended.
  cp /etc/sbpf/sbpfd.yaml "$tmp/sbpfd.yaml"
  echo 'limits: {connections: 010}' >/etc/sbpf/sbpfd.yaml
  systemctl --no-block restart sbpfd.service
  within 60 systemctl -q is-failed sbpfd.service
  sleep 3
  is config/left-alone "failed 2 0" "$(for p in ActiveState ExecMainStatus NRestarts; do systemctl show -P $p sbpfd.service; done | xargs)"
  cp "$tmp/sbpfd.yaml" /etc/sbpf/sbpfd.yaml
  is config/mended 0 "$(code systemctl start sbpfd.service)"
  # What it remembers, and did not write: it starts, and says so.
  systemctl stop sbpfd.service
  echo '{"version": "1", "sandboxes": {}}' >/run/sbpf/service.json
  is config/state-starts 0 "$(code systemctl start sbpfd.service)"
  has config/state-told "/run/sbpf/service.json is not readable" "$(journalctl -q -u sbpfd.service -o cat | tail -40)"
  served config
fi

# ---- run ----
sbpf run -q --policy no-network -- python3 -c 'import socket; socket.create_connection(("127.0.0.1", 7001))' 2>"$tmp/err"
has run/denied "Operation not permitted" "$(cat "$tmp/err")"
is run/no-visit "$connected" "$(visits tcp 127.0.0.1 7001)"
started job -q --policy site -- sleep infinity </dev/null >/dev/null 2>&1; is run/job-active 0 $?
job=$started

# ---- BF-4: no secret in the journal, to which systemd takes the units' output and what the kernel audits ----
mkdir -m 700 /srv/keys "$tmp/journal"
for name in real planted; do (umask 077 && tr -dc A-Za-z0-9 </dev/urandom | head -c 48 >/srv/keys/$name); done
install -m 440 /srv/keys/real /srv/keys/readable
for file in real readable; do
  printf 'version: 1\nname: %s\nprocess: {secrets: [{name: KEY, file: /srv/keys/%s}]}\n' $file $file >"$tmp/$file.yaml"
done
logger "$(cat /srv/keys/planted)"
by_unit() { systemd-run -q --wait "$(command -v sbpf)" run --events --policy "$1" -- bash -c 'sha256sum <$KEY_FILE; echo >/dev/tcp/127.0.0.1/7001 || exit 7'; echo $?; }
is secret/unit 7 "$(by_unit "$tmp/real.yaml")"
is secret/unit-refused 125 "$(by_unit "$tmp/readable.yaml")"
journalctl --sync
journalctl -a -o export >"$tmp/journal/all"
has secret/journal-control "$(sha256sum </srv/keys/real | cut -d' ' -f1)" "$(journalctl -o cat)"
found() { python3 "$tests/live/secrets.py" sweep "$tmp/journal" "/srv/keys/$1"; }
has secret/journal-planted "file /srv/keys/planted" "$(found planted)"
quiet secret/journal found real
rm -r /srv/keys

# ---- upgrade, with the same programs ----
before=$( ((with_service)) && main_pid)
old=$(stat -c %i /usr/bin/sbpf)
is upgrade/dpkg 0 "$(code dpkg -i "$(repackage "$version.1")")"
is upgrade/state "$version.1 installed" "$(installed)"
hasnt upgrade/another-file "$old" "$(stat -c %i /usr/bin/sbpf)"
confined upgrade
served upgrade
is upgrade/status 0 "$(code sbpf status box --require active --json)"
is upgrade/not-degraded "[] true" "$(jq -c '.degraded, .isolation_active' "$tmp/said" | xargs)"
is upgrade/verify 0 "$(code sbpf verify box)"
is upgrade/job-active 0 "$(code sbpf status job --require active)"
is upgrade/nothing-kept no "$([[ -e $agents ]] && echo yes || echo no)"
if ((with_service)); then hasnt upgrade/service-is-new "$before" "$(main_pid)"; fi
is upgrade/policies-kept 0 "$(code test -s /etc/sbpf/policies/site.yaml)"
is upgrade/swap 0 "$(code sbpf swap --policy site box)"
is upgrade/new-sandbox 0 "$(code sbpf run -q --policy no-network -- true)"
# The supervisor of before is an executable that is nowhere any more, and agent still: it clears up after its sandbox.
is upgrade/supervisor-is-guarded 1 "$("$tests/tamper" getfd "$job" 1)"
kill -TERM $job; wait $job 2>/dev/null
is upgrade/supervisor-clears-up box "$(ls "$pins/sandboxes" | xargs)"
cp /usr/bin/sbpf "$tmp/copy"
is upgrade/a-copy-is-no-agent 125 "$(code "$tmp/copy" status box)"

# More often than there are places for agents.
same=$tmp/sbpf-$version.1.deb
installs=0
# A service that was stopped and disabled stays so.
if ((with_service)); then is many/disable 0 "$(code systemctl disable --now sbpfd.service)"; fi
for _ in 1 2 3 4; do dpkg -i "$same" >/dev/null 2>&1 && installs=$((installs + 1)); done
is many/dpkg 4 $installs
if ((with_service)); then
  is many/still-stopped "inactive disabled" "$(systemctl is-active sbpfd.service) $(systemctl is-enabled sbpfd.service)"
  is many/enable 0 "$(code systemctl enable --now sbpfd.service)"
fi
confined many
is many/status 0 "$(code sbpf status box --require active)"
is many/nothing-kept no "$([[ -e $agents ]] && echo yes || echo no)"

# ---- hand-over to what must not have it ----
chmod 777 "$tmp/copy"
is hand-over/writable 125 "$(code sbpf hand-over "$tmp/copy")"
has hand-over/writable-says "only root may write" "$(said)"
is hand-over/other-program 125 "$(code sbpf hand-over /usr/bin/true)"
is hand-over/by-a-stranger 125 "$(chmod 755 "$tmp/copy"; code "$tmp/copy" hand-over "$tmp/copy")"
has hand-over/by-a-stranger-says "another executable loaded" "$(said)"

# ---- upgrade, with other programs: they take the place of those of before ----
loaded() { bpftool -j prog show | jq -c '[.[] | select((.name // "") | startswith("hook_")) | .id]'; }
programs=$(loaded)
all_others() { [[ $(loaded | jq -c --argjson before "$programs" '[length, (. - (. - $before) | length)]') == "[$(jq length <<<"$programs"),0]" ]]; }
all_others; is others/control 1 $?
is others/dpkg 0 "$(code dpkg -i "$(repackage "$version.5" other_programs)")"
is others/says-nothing 0 "$(grep -c '^sbpf:' "$tmp/said")"
confined others
served others
is others/status 0 "$(code sbpf status box --require active)"
within 30 all_others; is others/programs-are-others 0 $?
is others/nothing-kept no "$([[ -e $agents ]] && echo yes || echo no)"
is others/new-sandbox 0 "$(code sbpf run -q --policy no-network -- true)"

# ---- upgrade, with another layout: the old executable is kept for the sandbox that runs ----
is other/dpkg 0 "$(code dpkg -i "$(repackage "$version.9" other_layout)")"
has other/says-so "sandboxes that run now stay confined" "$(said)"
is other/state "$version.9 installed" "$(installed)"
confined other
served other
kept=$(echo $agents/*)
is other/kept 0 "$(code test -x "$kept")"
is other/kept-manages 0 "$(code "$kept" status box --require active)"
is other/new-one-refuses 125 "$(code sbpf run -q --policy no-network -- true)"
# A unit that starts again asks the new one whether its policy is in force; the old one answers.
later=$cgroots/system.slice/later.service
is other/assign 0 "$(code "$kept" attach --keep --cgroup "$later" --name later --policy no-network)"
is other/reattach 0 "$(code sbpf reattach later)"
is other/detach 0 "$(code "$kept" detach later)"
rmdir "$later"
is other/again 0 "$(code dpkg -i "$tmp/sbpf-$version.9.deb")"
is other/again-kept-one "$kept" "$(echo $agents/*)"
confined again

# ---- removal ----
is remove/refused 1 "$(code dpkg -r sbpf)"
has remove/says-why "while sandboxes are live" "$(said)"
is remove/state "$version.9 installed" "$(installed)"
confined remove
served remove
is remove/detach 0 "$(code "$kept" detach box)"
within 30 sh -c '[ "$(wc -l <"$0")" -gt "$1" ]' "$tmp/tcp-127.0.0.1-7001.log" "$connected"
is remove/control-connects-again 0 $?
is remove/dpkg 0 "$(code dpkg -r sbpf)"
is remove/state "config-files" "$(installed | cut -d" " -f2)"
is remove/nothing-loaded "0 $links_before links" "$(within 60 unloaded; echo "$? $(links) links")"
is remove/policies-stay 0 "$(code test -s /etc/sbpf/policies/site.yaml)"
is purge/dpkg 0 "$(code dpkg -P sbpf)"
is purge/nothing-left "" "$(find / -xdev \( -path /proc -o -path /sys -o -path "$tmp" -o -path /opt -o -path /root \) -prune -o -name '*sbpf*' -print | xargs)"
is purge/no-units "systemd-journald.service" "$(systemctl list-unit-files --no-legend 'sbpf*' systemd-journald.service | awk '{ print $1 }')"
systemctl stop box
finish
