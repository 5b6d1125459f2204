#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `sbpf allow`: a live sandbox is allowed what it was denied.
. "$(dirname "$0")/lib.sh"
keep_loaded
mkdir -p /srv/a /srv/b /srv/c /srv/many
chmod 755 "$tmp"
for file in a/f b/f c/f many/1 many/2 many/3 many/4; do echo "text of $file" >"/srv/$file"; done
serve tcp 127.0.0.1 7001
cd /
cp "$probe" /usr/local/bin/probe_of_allow
box=$(policy box <<<$'version: 1\nname: box\nextends: [runtime-files]')
started box -q -p "$box" -- sleep 10000 >/dev/null 2>&1; is box/runs 0 $?
in_box() { sbpf exec -q box -- "$@" </dev/null 2>&1; }
generation() { sbpf status box --json | jq .policy.generation; }

is nothing "nothing was denied that a change of the policy is known to allow" "$(sbpf allow box)"
is control/a "cat: /srv/a/f: Permission denied" "$(in_box cat /srv/a/f)"
is control/b "cat: /srv/b/f: Permission denied" "$(in_box cat /srv/b/f)"
is control/network 1 "$(in_box probe_of_allow connect tcp 127.0.0.1 7001 >/dev/null; echo $?)"
in_box unshare -U true >/dev/null

# ---- what is listed ----
list=$(sbpf allow box)
marked() { sbpf allow box | grep -F "$1" | cut -d' ' -f1; } # the mark of the change for this denial
a=$(marked "denied read /srv/a/f")
is list/mark 1 "$(grep -cE '^[0-9a-f]{8}  sbpf: denied read /srv/a/f' <<<"$list")"
has list/change "  allow with: filesystem: {read: [/srv/a/f]}" "$list"
has list/second "  sbpf: denied read /srv/b/f" "$list"
has list/third "  sbpf: denied connect tcp 127.0.0.1:7001" "$list"
hasnt list/no-relaxation "dangerously" "$list"
is list/changes-nothing 1 "$(generation)"

# ---- one of them ----
out=$(echo n | sbpf allow box $a 2>&1); is no/code 2 $?
has no/shown "allow with: filesystem: {read: [/srv/a/f]}" "$out"
is no/nothing-changed "1 cat: /srv/a/f: Permission denied" "$(generation) $(in_box cat /srv/a/f)"
has yes/told "isolation active" "$(echo y | sbpf allow box $a -o "$tmp/new.yaml" 2>&1)"
is yes/allowed "text of a/f" "$(in_box cat /srv/a/f)"
is yes/others-not "cat: /srv/b/f: Permission denied" "$(in_box cat /srv/b/f)"
is yes/in-one-step 2 "$(generation)"
is yes/name box "$(sbpf status box --json | jq -r .policy.name)"
is yes/file-is-in-force "$(sbpf status box --show-policy)" "$(cat "$tmp/new.yaml")"
is yes/file-is-valid 0 "$(sbpf policy check "$tmp/new.yaml" >/dev/null; echo $?)"
is yes/file-allows "text of a/f" "$(sbpf run -q -p "$tmp/new.yaml" -- cat /srv/a/f 2>/dev/null)"
hasnt yes/listed-no-more "/srv/a/f" "$(sbpf allow box)"

# ---- all of them ----
for file in 1 2 3; do in_box cat /srv/many/$file >/dev/null; done
has all/directory "allow with: filesystem: {read: [/srv/many]}" "$(sbpf allow box)"
out=$(sbpf allow box --all --yes 2>&1); is all/code 0 $?
has all/holds-as-long "it holds as long as the sandbox" "$out"
is all/b "text of b/f" "$(in_box cat /srv/b/f)"
is all/network 0 "$(in_box probe_of_allow connect tcp 127.0.0.1 7001 >/dev/null; echo $?)"
is all/beside "text of many/4" "$(in_box cat /srv/many/4)"
is all/nothing-left "nothing was denied that a change of the policy is known to allow" "$(sbpf allow box)"
is all/else-stays "cat: /etc/shadow: Permission denied" "$(in_box cat /etc/shadow)"

# ---- another policy meanwhile ----
in_box cat /srv/c/f >/dev/null
c=$(marked "denied read /srv/c/f")
strict=$(policy strict <<<$'version: 1\nname: strict\nextends: [runtime-files]\nfilesystem: {read: [/srv/c]}')
mkfifo "$tmp/answer"
sbpf allow box $c <"$tmp/answer" >"$tmp/asked" 2>&1 & asks=$!
exec {answer}>"$tmp/answer"
within 60 grep -q 'y/N' "$tmp/asked"; is meanwhile/asked 0 $?
sbpf swap -p "$strict" box >/dev/null
echo y >&"$answer"
exec {answer}>&-
wait $asks; is meanwhile/code 125 $?
has meanwhile/named "has another policy by now" "$(cat "$tmp/asked")"
is meanwhile/stays "strict cat: /srv/b/f: Permission denied" "$(sbpf status box --json | jq -r .policy.name) $(in_box cat /srv/b/f)"
# More denials make it another change, and nobody gets another one than was listed.
for file in 1 2 3; do mkdir -p /srv/few; echo x >/srv/few/$file; done
in_box cat /srv/few/1 >/dev/null
one=$(marked "denied read /srv/few/1")
for file in 2 3; do in_box cat /srv/few/$file >/dev/null; done
out=$(sbpf allow box $one --yes 2>&1); is meanwhile/another-change 2 $?
has meanwhile/another-change-named "no change is called $one" "$out"
few=$(marked "denied read /srv/few/1")

# ---- what is refused ----
before=$(generation)
sbpf allow box 00000000 --yes 2>/dev/null; is refused/mark 2 $?
out=$(sbpf allow box $few --yes -o "$tmp/new.yaml" 2>&1); is refused/file 2 $?
has refused/file-named "is there already" "$out"
sbpf allow box $few --all 2>/dev/null; is refused/both 2 $?
sbpf allow nobody 2>/dev/null; is refused/no-sandbox 125 $?
is refused/nothing-changed "$before" "$(generation)"
end_all
finish
