#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `sbpf run` takes beside a policy: more rules, variables by name, a user with a home; and a program that the policy denies.
. "$(dirname "$0")/lib.sh"
keep_loaded
mkdir -p /srv/a /srv/b /srv/work
chmod 755 "$tmp"
for file in a/f b/f; do echo "text of $file" >/srv/$file; done
serve tcp 127.0.0.1 7001
serve tcp 127.0.0.1 7002
# The profile's limits are for a real processor.
files=$(policy files <<<$'version: 1\nname: files\nextends: [untrusted]\nprocess: {limits: {timeout: 5m, cpu: 2}}')
run() { sbpf run -q -p "$files" "$@" 2>&1 | grep -v '^sbpf: isolation active'; }
cat_both() { run "$@" -- cat /srv/a/f /srv/b/f; }

# ---- --read, --write ----
is read/control $'text of a/f\ntext of b/f' "$(cat /srv/a/f /srv/b/f)"
is read/without $'cat: /srv/a/f: Permission denied\ncat: /srv/b/f: Permission denied' "$(cat_both)"
is read/one $'text of a/f\ncat: /srv/b/f: Permission denied' "$(cat_both --read /srv/a)"
is read/both $'text of a/f\ntext of b/f' "$(cat_both --read /srv/a --read /srv/b/f)"
is read/is-not-write "sh: 1: cannot create /srv/a/f: Permission denied" "$(run --read /srv/a -- sh -c 'echo x >/srv/a/f')"
is write/without "touch: cannot touch '/srv/a/new': Permission denied" "$(run -- touch /srv/a/new)"
is write/with "done" "$(run --write /srv/a -- sh -c 'echo x >/srv/a/new && rm /srv/a/new && echo done')"
is write/relative new "$(cd /srv/work && run --write . -- touch /srv/work/new; ls /srv/work)"
has name "policy=files.more" "$(sbpf run -p "$files" --read /srv/a -- true 2>&1)"
out=$(sbpf run -p no-network --write /srv/a -- true 2>&1); is files-not-judged/exit 2 $?
has files-not-judged/named "has no rules for files" "$out"
is no-syntax "touch: cannot touch '/srv/a/new': Permission denied" "$(run --read '/x", "write": ["/' -- touch /srv/a/new)"

# ---- --connect ----
open=$(policy open <<<$'version: 1\nname: open')
try() { sbpf run -q -p "$open" "${@:2}" -- "$probe" connect tcp 127.0.0.1 "$1" >/dev/null 2>&1; echo $?; }
is connect/control "0 0" "$("$probe" connect tcp 127.0.0.1 7001 >/dev/null; echo $?) $("$probe" connect tcp 127.0.0.1 7002 >/dev/null; echo $?)"
is connect/none 1 "$(try 7001)"
is connect/one "0 1" "$(try 7001 --connect 127.0.0.1:7001) $(try 7002 --connect 127.0.0.1:7001)"
is connect/two "0 0" "$(try 7001 --connect 127.0.0.1:7001 --connect 127.0.0.1:7002) $(try 7002 --connect 127.0.0.1:7001 --connect 127.0.0.1:7002)"
is connect/visits "3 2" "$(visits tcp 127.0.0.1 7001) $(visits tcp 127.0.0.1 7002)"
# A private loopback stays so.
private=$(policy private <<<$'version: 1\nname: private\nnetwork: {loopback: private}')
started private -q -p "$private" --connect 192.0.2.1:80 -- sleep 1000 >/dev/null 2>&1
is connect/private-stays private "$(sbpf status private --json | json 'd["loopback"]')"
sbpf kill private >/dev/null
out=$(sbpf run --connect 127.0.0.1 -- true 2>&1); is connect/no-port 2 $?
has connect/no-port-named "--connect '127.0.0.1' is no endpoint" "$out"

# ---- --env NAME ----
is env/control "" "$(TOKEN=of-env sbpf run -q -- sh -c 'echo $TOKEN' 2>/dev/null)"
is env/by-name of-env "$(TOKEN=of-env sbpf run -q --env TOKEN -- sh -c 'echo $TOKEN' 2>/dev/null)"
in_argv() { # in_argv NAME [=VALUE]: how often the value is in the command line of sbpf
  TOKEN=of-env sbpf run -q --name "$1" --env "TOKEN$2" -- sleep 1000 >/dev/null 2>&1 &
  local run=$!
  within 60 sbpf status "$1" >/dev/null 2>&1
  grep -ac of-env /proc/$run/cmdline
  sbpf kill "$1" >/dev/null
  wait $run
}
is env/argv-control 1 "$(in_argv given =of-env)"
is env/not-in-argv 0 "$(in_argv taken '')"
out=$(sbpf run --env TOKEN -- true 2>&1); is env/missing 2 $?
hasnt env/missing-is-not-echoed TOKEN "$out"

# ---- a user has a home ----
home_of() { sbpf run -q "$@" -- sh -c 'echo $(id -u) $HOME' 2>/dev/null; }
nobodys=$(getent passwd nobody | cut -d: -f6)
is home/root "0 $HOME" "$(home_of)"
is home/option "65534 $nobodys" "$(home_of -u nobody)"
user=$(policy user <<<$'version: 1\nname: user\nprocess: {user: {uid: 65534, gid: 65534}, env: {allow: [HOME, USER, LOGNAME, PATH]}}')
is home/policy "nobody nobody $nobodys" "$(USER=me LOGNAME=me sbpf run -q -p "$user" -- sh -c 'echo $USER $LOGNAME $HOME' 2>/dev/null)"
is home/unknown-user "3999999 /" "$(home_of -u 3999999:3999999)"
is home/given "65534 /elsewhere" "$(home_of -u nobody --env HOME=/elsewhere)"

# ---- under sudo it is the user who called sudo ----
useradd -u 4243 -m -d /srv/caller caller 2>/dev/null
mkdir -p /srv/caller/private
echo "of the caller" >/srv/caller/private/f
chown -R caller: /srv/caller
chmod 700 /srv/caller/private
by_sudo() { env SUDO_UID=4243 SUDO_GID="$(id -g caller)" SUDO_USER=caller "$@"; }
is sudo/control "0 $HOME" "$(home_of)"
is sudo/caller "4243 /srv/caller" "$(by_sudo sbpf run -q -- sh -c 'echo $(id -u) $HOME' 2>/dev/null)"
is sudo/groups "$(id -g caller)" "$(by_sudo sbpf run -q -- id -G 2>/dev/null)"
# Root's program has no capabilities, so Unix permissions hold for it.
is sudo/files-control "cat: /srv/caller/private/f: Permission denied" "$(sbpf run -q -- cat /srv/caller/private/f 2>&1 | grep ^cat)"
is sudo/files "of the caller" "$(by_sudo sbpf run -q -- cat /srv/caller/private/f 2>/dev/null)"
is sudo/not-those-of-root "cat: /etc/shadow: Permission denied" "$(by_sudo sbpf run -q -- cat /etc/shadow 2>&1 | grep ^cat)"
has sudo/said "sbpf: runs as user 4243, who called sudo; --user 0:0: as root" "$(by_sudo sbpf run -- true 2>&1)"
is sudo/root-by-option 0 "$(by_sudo sbpf run -q -u 0:0 -- id -u 2>/dev/null)"
is sudo/policy-says 65534 "$(by_sudo sbpf run -q -p "$user" -- id -u 2>/dev/null)"
is sudo/of-root 0 "$(SUDO_UID=0 SUDO_GID=0 sbpf run -q -- id -u 2>/dev/null)"
for ids in "x 1" "4243 x" "4294967295 1" " 1"; do
  out=$(SUDO_UID=${ids% *} SUDO_GID=${ids#* } sbpf run -- id -u 2>&1); is "sudo/no-number-${ids/ /-}" 2 $?
done
has sudo/no-number-named "SUDO_UID" "$out"
userdel caller
# An option whose variable is not set is not left out.
for option in --policy --user --timeout --name --socket; do
  sbpf run $option "" -- true 2>/dev/null; is "empty/$option" 2 $?
done

# ---- the program itself is denied ----
some=$(policy some <<<$'version: 1\nname: some\nprocess: {exec: {allow: [/usr/bin/true, /lib, /lib64, /usr/lib]}}')
sbpf run -p "$some" -- true 2>/dev/null; is exec/control 0 $?
out=$(sbpf run -p "$some" --status-fd 3 -- id 3>"$tmp/status" 2>&1); is exec/code 126 $?
has exec/error "error: id: Permission denied" "$out"
has exec/denial "/usr/bin/id" "$(grep 'sbpf: denied' <<<"$out")"
has exec/what-would-allow-it "process: {exec: {allow: [/usr/bin/id]}}" "$out"
is exec/status command_not_executable "$(tail -n 1 "$tmp/status" | json 'd["error"]["code"]')"
printf '#!/usr/bin/python3\n' >"$tmp/script"
chmod 755 "$tmp/script"
script=$(policy script <<<"$(printf 'version: 1\nname: script\nprocess: {exec: {allow: [%s, /lib, /lib64, /usr/lib]}}' "$tmp/script")")
out=$(sbpf run -p "$script" -- "$tmp/script" 2>&1); is exec/interpreter 126 $?
has exec/interpreter-is-named "/usr/bin/python3" "$(grep 'sbpf: denied' <<<"$out")"
is exec/quiet "error: id: Permission denied" "$(sbpf run -q -p "$some" -- id 2>&1 | sed -n 's/^sbpf: //; /^error\|^denied/p')"
sbpf run -q -- /nowhere 2>/dev/null; is exec/not-found 127 $?
end_all
finish
