#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `sbpf learn`: the policy that a command needs, by running it under what was learnt until it is green.
. "$(dirname "$0")/lib.sh"
keep_loaded
mkdir -p /srv/data /srv/out /srv/keys /srv/job
chmod 755 "$tmp"
for file in a b c d; do echo "text of $file" >/srv/data/$file; done
echo "the key" >/srv/keys/server.key
serve tcp 127.0.0.1 7001
cd /srv/job
cp "$probe" /usr/local/bin/probe_of_learn
cat >/srv/job/job <<'J'
#!/bin/sh
# Reads, writes, connects, has a temporary file, and looks for a key without which it does, too.
key=$(cat /srv/keys/server.key 2>/dev/null)
echo "key: $key" >>/srv/out/log || exit 4
cat /srv/data/a /srv/data/b /srv/data/c >/srv/out/result || exit 5
probe_of_learn connect tcp 127.0.0.1 7001 >/dev/null || exit 6
file=$(mktemp) && echo x >"$file" && echo "$file" >/srv/out/file || exit 7
J
chmod 755 /srv/job/job
base=$(policy base <<<$'version: 1\nname: base\nfilesystem: {read: [/usr, /lib, /lib64, /bin, /etc/ld.so.cache, /srv/job, /dev/urandom], write: [/dev/null, /dev/tty]}\nprocess: {env: {allow: [PATH]}}')
learnt=$tmp/learnt.yaml
run() { sbpf run "$@" </dev/null 2>&1; }

# ---- from nothing to green ----
/srv/job/job; is control/without-a-policy "0 key: the key" "$? $(cat /srv/out/log)"
is control/tmp 0 "$(ls "$(cat /srv/out/file)" >/dev/null; echo $?)"
: >/srv/out/log
run -q -p "$base" -- /srv/job/job >/dev/null; is control/base 4 $?
out=$(sbpf learn -p "$base" -o "$learnt" -- /srv/job/job </dev/null 2>&1); is learn/code 0 $?
has learn/green "sbpf: green: " "$out"
has learn/opened "sbpf: opened: /srv/data: 1 more may be read there that were not asked for: d" "$out"
has learn/withheld "sbpf: denied read /srv/keys/server.key" "$out"
has learn/withheld-change "allow with: filesystem: {read: [/srv/keys/server.key]}" "$out"
is learn/valid 0 "$(sbpf policy check "$learnt" >/dev/null; echo $?)"
out=$(run -p "$learnt" -- /srv/job/job); is learn/runs 0 $?
is learn/denied-alone "sbpf: denied read /srv/keys/server.key" "$(grep '^sbpf: denied' <<<"$out" | sed 's/ (.*//')"
is learn/lines 0 "$(($(wc -l <"$learnt") > 30))"
# The floor: it was never without a policy.
is floor/key-was-never-read 0 "$(grep -c 'the key' /srv/out/log)"
is floor/it-was-tried 1 "$(($(grep -c '^key: $' /srv/out/log) >= 2))"
is floor/tmp-is-its-own "1 1" "$(grep -c '^/tmp/tmp\.' /srv/out/file) $(ls "$(cat /srv/out/file)" >/dev/null 2>&1 || echo 1)"
hasnt learnt/no-relaxation dangerously "$(cat "$learnt")"
hasnt learnt/no-key server.key "$(cat "$learnt")"
# What nobody asked for stays denied.
is learnt/denies "cat: /etc/shadow: Permission denied" "$(run -q -p "$learnt" -- cat /etc/shadow | grep -v active)"
is learnt/denies-to-write "touch: cannot touch '/srv/data/new': Permission denied" "$(run -q -p "$learnt" -- touch /srv/data/new | grep -v active)"

# ---- another command, into the same file ----
echo more >/srv/keys/list
before=$(cat "$learnt")
out=$(sbpf learn -o "$learnt" -- cat /srv/keys/list </dev/null 2>&1); is merge/code 0 $?
has merge/has-it /srv/keys/list "$(cat "$learnt")"
is merge/keeps-the-rest "$(grep -c . <<<"$before")" "$(grep -cFx -f <(echo "$before") "$learnt")"
is merge/first-is-green 0 "$(run -q -p "$learnt" -- /srv/job/job >/dev/null; echo $?)"
out=$(sbpf learn -o "$learnt" -- cat /srv/keys/list </dev/null 2>&1)
is merge/nothing-new "1" "$(grep -c '^sbpf: run ' <<<"$out")"

# ---- what is never green ----
out=$(sbpf learn -p "$base" -o "$tmp/red.yaml" -- sh -c 'cat /srv/data/a; exit 3' </dev/null 2>&1); is red/code 1 $?
has red/told "NOT green: the last of 2 runs ended with 3" "$out"
out=$(sbpf learn -p "$base" -- cat /srv/keys/server.key </dev/null 2>&1); is secret/code 1 $?
hasnt secret/not-read "the key" "$out"
out=$(sbpf learn -p "$base" --most-runs 1 -- /srv/job/job </dev/null 2>&1); is few/code 1 $?
sbpf learn -p "$base" -- nowhere </dev/null 2>/dev/null; is not-found/code 1 $?

# ---- a secret by another name ----
mkdir -p /srv/plain
ln /srv/keys/server.key /srv/plain/notes
echo other >/srv/plain/other
out=$(sbpf learn -p "$base" -o "$tmp/linked.yaml" -- sh -c 'cat /srv/keys/server.key /srv/plain/notes; cat /srv/plain/other' </dev/null 2>&1); is linked/code 0 $?
hasnt linked/not-read "the key" "$out"
has linked/told "it is another name of a file that stays denied" "$out"
is linked/learnt /srv/plain/other "$(grep -o '/srv/plain/[a-z]*' "$tmp/linked.yaml")"
rm /srv/plain/notes

# ---- a person is asked ----
answer() { # answer WORD COMMAND…: at a terminal
  python3 -ISc 'import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execvp(sys.argv[2], sys.argv[2:])
said = b""
asked = 0
while True:
    try: more = os.read(terminal, 4096)
    except OSError: break
    if not more: break
    said += more
    if said.count(b"[y/N]") > asked:
        asked += 1
        os.write(terminal, sys.argv[1].encode() + b"\n")
print(said.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))' "$@"
}
out=$(answer n sbpf learn -p "$base" -- cat /srv/keys/server.key); is asked/no-code 1 $?
has asked/question "A person decides: secrets may be there. Allow it? [y/N]" "$out"
hasnt asked/no-not-read "the key" "$out"
out=$(answer y sbpf learn -p "$base" -o "$tmp/asked.yaml" -- cat /srv/keys/server.key); is asked/yes-code 0 $?
has asked/yes-read "the key" "$out"
has asked/yes-written server.key "$(cat "$tmp/asked.yaml")"

# ---- a directory is all below it ----
mkdir -p /srv/app/deep
for file in a b c deep/.env; do echo "text of $file" >/srv/app/$file; done
learns() { sbpf learn -p "$base" -o "$tmp/$1.yaml" -- "${@:2}" </dev/null >"$tmp/$1.out" 2>&1; echo $?; }
is below/control "text of deep/.env" "$(cat /srv/app/deep/.env)"
learns below cat /srv/app/a /srv/app/b /srv/app/c >/dev/null
has below/secret-withholds-it "/srv/app/deep/.env" "$(cat "$tmp/below.out")"
is below/not-learnt 1 "$(ls "$tmp/below.yaml" >/dev/null 2>&1 || echo 1)"
for what in "ls /" "ls /etc" "touch /etc" "touch /usr" "touch /home" "cat /dev/mem" "cat /proc/kcore" "touch /root/.bashrc"; do
  learns wide $what >/dev/null
  is "below/${what// /-}" 1 "$(ls "$tmp/wide.yaml" >/dev/null 2>&1 || echo 1)"
  rm -f "$tmp/wide.yaml"
done

# ---- the file that is written ----
mkdir -p /srv/proj/out /srv/elsewhere
echo "of somebody" >/srv/elsewhere/task.yaml
cat >/srv/job/swap <<'J'
#!/bin/sh
cat /srv/data/a >/dev/null || exit 3
mv /srv/proj/out /srv/proj/away && ln -s /srv/elsewhere /srv/proj/out
J
chmod 755 /srv/job/swap
writes=$(policy writes <<<$'version: 1\nname: writes\nfilesystem: {read: [/usr, /lib, /lib64, /bin, /etc/ld.so.cache, /srv/job], write: [/dev/null, /srv/proj]}\nprocess: {env: {allow: [PATH]}}')
out=$(sbpf learn -p "$writes" -o /srv/proj/out/task.yaml -- /srv/job/swap </dev/null 2>&1); is file/code 0 $?
is file/replaced "/srv/elsewhere" "$(readlink /srv/proj/out)"
is file/elsewhere-stays "of somebody" "$(cat /srv/elsewhere/task.yaml)"
has file/is-where-it-was "/srv/data/a" "$(cat /srv/proj/away/task.yaml)"
has file/may-be-written-is-said "the command may write /srv/proj/out/task.yaml itself" "$out"
printf 'version: 1\nname: x\nextends: [untrusted]\nnetwork: {dangerously_allow_all: true}\n' >"$tmp/danger.yaml"
sbpf learn -o "$tmp/danger.yaml" -- true 2>/dev/null; is file/relaxation 2 $?

# ---- ports that the kernel chooses ----
cat >/srv/job/own.py <<'PY'
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b"hello")
print(client.recv(5).decode())
PY
is ports/control hello "$(python3 -IS /srv/job/own.py)"
is ports/base 1 "$(run -q -p "$base" -- python3 -IS /srv/job/own.py >/dev/null; echo $?)"
out=$(sbpf learn -p "$base" -o "$tmp/own.yaml" -- python3 -IS /srv/job/own.py </dev/null 2>&1); is ports/code 0 $?
has ports/private "loopback: private" "$(cat "$tmp/own.yaml")"
is ports/not-the-hosts 1 "$(run -q -p "$tmp/own.yaml" -- probe_of_learn connect tcp 127.0.0.1 7001 >/dev/null; echo $?)"

# ---- what is refused ----
sbpf learn -p "$base" 2>/dev/null; is refused/no-command 2 $?
sbpf learn -p nothing-of-that-name -- true 2>/dev/null; is refused/no-policy 2 $?
audit=$(policy audit <<<$'version: 1\nname: audit\nmode: audit\nfilesystem: {read: [/usr]}')
out=$(sbpf learn -p "$audit" -- cat /srv/keys/server.key 2>&1); is refused/audit 2 $?
hasnt refused/audit-runs-nothing "the key" "$out"
printf 'version: 1\nname: x\nextends: [%s]\nmode: audit\n' "$base" >"$tmp/audited.yaml"
sbpf learn -o "$tmp/audited.yaml" -- true 2>/dev/null; is refused/audit-in-the-file 2 $?
echo "of somebody" >"$tmp/other"
out=$(sbpf learn -p "$base" -o "$tmp/other" -- true 2>&1); is refused/other-file 2 $?
is refused/other-file-stays "of somebody" "$(cat "$tmp/other")"
is refused/nothing-ran 0 "$(grep -c '^sbpf: run' <<<"$out")"
end_all
finish
