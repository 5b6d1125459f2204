#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Terminals: nobody types into the one that is shared with the caller; which ones are opened by name, by those whose they are.
. "$(dirname "$0")/lib.sh"
with() { { printf 'version: 1\nname: %s\nprocess:\n' "$1"; cat; } | policy "$1"; }
run() { sbpf run -q --policy "$@"; }
all=$(with all <<P
  seccomp: dangerously_unconfined
  capabilities: dangerously_all
  dangerously_allow_new_privileges: true
  kernel: {allow: [user_namespaces], dangerously_allow_capabilities: [SYS_ADMIN]}
P
)
plain=$(with plain <<<'  env: {}')
keep_loaded; is loaded 0 $?

# A terminal that is shared with the caller: nobody types into it.
cat >"$tmp/type.py" <<'P'
import errno, fcntl, os, pty, sys, termios
pid, master = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
data = b""
while True:
    try:
        part = os.read(master, 4096)
    except OSError:
        break
    if not part:
        break
    data += part
os.waitpid(pid, 0)
print("errno 1" if b"errno 1\r" in data else "typed" if b"typed" in data else data)
P
sti='import fcntl
try: fcntl.ioctl(0, 0x5412, b"x"); print("typed")
except OSError as e: print("errno", e.errno)'
is terminal/control typed "$(python3 "$tmp/type.py" python3 -c "$sti")"
is terminal/allowed typed "$(python3 "$tmp/type.py" sbpf run -q --policy "$all" -- python3 -c "$sti")"
is terminal/denied "errno 1" "$(python3 "$tmp/type.py" sbpf run -q --policy "$plain" -- python3 -c "$sti")"
# It is opened by name, too, by what left its session (an agent that asks for passwords), as one inside is in that session; also
# where those that came last to it are outside. With no session inside it is somebody else's.
cat >"$tmp/by_name.py" <<'P'
import os, sys, time
name = os.ttyname(0)
open(sys.argv[1] + "/up", "w")
while not os.path.exists(sys.argv[1] + "/later"):
    time.sleep(0.1)
if os.fork() == 0:
    os.setsid()
    said = os.dup(1)
    for fd in range(3):
        os.dup2(os.open("/dev/null", os.O_RDWR), fd)
    try:
        os.open(name, os.O_RDWR | os.O_NOCTTY)
        os.write(said, b"typed\n")
    except OSError as e:
        os.write(said, b"errno %d\n" % e.errno)
    os._exit(0)
os.wait()
P
by_name() { # POLICY [setsid -w]: two processes of the session begin after the program
  rm -f "$tmp/up" "$tmp/later"
  python3 "$tmp/type.py" sh -c "exec 5<&0; sbpf run -q --policy '$1' -- ${2:-} python3 $tmp/by_name.py $tmp <&5 &
    until [ -e $tmp/up ]; do sleep 0.1; done; sleep 10 & sleep 10 & touch $tmp/later; wait %1; kill %2 %3"
}
audit=$tmp/audit.yaml
{ echo "mode: audit"; cat "$plain"; } >"$audit"
is terminal/by-name typed "$(by_name "$plain")"
is terminal/by-name-of-others "errno 1" "$(by_name "$plain" "setsid -w")"
# Its standard streams are opened again by whatever has them (/dev/stdout), but not what was handed over to be written, to be read.
is terminal/stream typed "$(python3 "$tmp/type.py" sbpf run -q --policy "$plain" -- setsid -w sh -c 'echo typed >/dev/stdout')"
cat >"$tmp/stream.py" <<'P'
import os
try:
    os.open("/dev/fd/0", os.O_RDWR | os.O_NOCTTY)
    print("typed")
except OSError as e:
    print("errno", e.errno)
P
for allowing in "$plain" "$audit"; do
  python3 "$tmp/type.py" sh -c "sbpf run -q --policy '$allowing' -- setsid -w python3 $tmp/stream.py <\$(tty) >$tmp/said.${allowing##*/} 2>&1" >/dev/null
done
is terminal/stream-for-more "errno 1" "$(grep -v '^sbpf' "$tmp/said.${plain##*/}")"
is terminal/stream-for-more-allowed typed "$(grep -v '^sbpf' "$tmp/said.audit.yaml")"
# One that was made inside is opened by name before it has a session: by its maker, and by another program of the run.
cat >"$tmp/make.py" <<'P'
import os, subprocess, sys, time
controller, terminal = os.openpty()
name = os.ttyname(terminal)
os.close(os.open(name, os.O_RDWR | os.O_NOCTTY))
subprocess.run(["python3", "-c", "import os, sys; os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)", name], check=True)
print(name, file=open(sys.argv[1] + "/made", "w"))
print("typed", flush=True)
while not os.path.exists(sys.argv[1] + "/seen"):
    time.sleep(0.1)
P
is terminal/made-inside "typed typed" "$(run "$plain" -- sh -c "rm -f $tmp/made $tmp/seen; python3 $tmp/make.py $tmp & until [ -s $tmp/made ]; do sleep 0.1; done
  : <>\$(cat $tmp/made) && echo typed; touch $tmp/seen; wait" | xargs)"
mkdir "$cgroots/made"
sbpf attach --cgroup "$cgroots/made" --name made --policy "$plain" >/dev/null
touch "$tmp/seen"
is terminal/made-inside-attached typed "$(sh -c "echo \$\$ >$cgroots/made/cgroup.procs; exec python3 $tmp/make.py $tmp")"
sbpf detach made
rmdir "$cgroots/made"
is terminal/by-name-of-others-allowed typed "$(by_name "$audit" "setsid -w")"
finish
