#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a program inside does to those who wait for it, watch it or read about it, and to the host by what it may only read.
. "$(dirname "$0")/lib.sh"
keep_loaded
EPERM=1 EACCES=13
none=$(policy none <<<$'version: 1\nname: none')
limited() { timeout -s KILL 60 "$@"; }
inside() { sbpf run -q --policy "$@" 2>/dev/null; }

# ---- a tracer inside keeps the program's end to itself ----
cat >"$tmp/traced.py" <<'P'
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.prctl(0x59616d61, ctypes.c_ulong(2**64 - 1), 0, 0, 0)  # any may trace it
libc.ptrace.argtypes = [ctypes.c_long] * 4
me, (reader, writer) = os.getpid(), os.pipe()
if os.fork() == 0:
    seized = libc.ptrace(0x4206, me, 0, 0) if sys.argv[1] == "traced" else 0  # PTRACE_SEIZE
    os.write(writer, b"x" if seized == 0 else b"-")
    time.sleep(1000)  # and never waits for what it traces
print(os.read(reader, 1).decode(), flush=True)
os._exit(7)
P
cp "$tmp/traced.py" /srv/traced.py
for how in alone traced; do
  is ends/$how/said x "$(timeout -s KILL 60 sbpf run -q --policy "$none" -- python3 -IS /srv/traced.py $how 2>/dev/null)"
  timeout -s KILL 60 sbpf run -q --policy "$none" -- python3 -IS /srv/traced.py $how >/dev/null 2>&1; is ends/$how/code 7 $?
done

# ---- a pipe in place of the events that it may write ----
started log -q --timeout 10s --policy "$none" -- sh -c 'until [ -e /srv/go ]; do sleep 0.1; done; for i in 1 2 3 4 5 6 7 8 9; do
  python3 -ISc "import socket; socket.socket(2, 2).connect((\"192.0.2.1\", $i))"; done; sleep 1000' </dev/null >/dev/null 2>"$tmp/log.err"
is log/start 0 $?
kept=/run/sbpf-events/$(stat -c %i "$cgroots/sbpf/log")
mkdir -p "$kept"
rm -f "$kept"/*
mkfifo "$kept/first" "$kept/latest"
touch /srv/go
limited tail --pid=$started -f /dev/null; wait $started; is log/the-supervisor-goes-on 124 $?
has log/says "cannot be written: " "$(grep -a "events are lost" "$tmp/log.err")"
rm -rf "$kept" /srv/go

# ---- the caller's limit of processor time is the program's, and not the supervisor's ----
cpu_of() { awk '/^Max cpu time/ { print $4 }' "/proc/$1/limits"; }
(ulimit -St 77; exec sbpf run -q --name cpu --policy "$none" -- sleep 1000) 2>/dev/null & supervisor=$!
within 30 grep -q 'populated 1' "$cgroots/sbpf/cpu/cgroup.events"; is cpu/start 0 $?
within 20 eval '[[ $(members "$cgroots/sbpf/cpu") ]]'
is cpu/supervisor unlimited "$(cpu_of $supervisor)"
within 20 eval '[[ $(cat /proc/$(members "$cgroots/sbpf/cpu")/comm) == sleep ]]'
is cpu/program 77 "$(cpu_of "$(members "$cgroots/sbpf/cpu")")"
sbpf kill cpu
wait $supervisor

# ---- a service that is none ----
cat >"$tmp/service.py" <<'P'
import hashlib, json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
server.listen()
print("ready", flush=True)
connections = []
while True:
    connection, _ = server.accept()
    connections.append(connection)
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, body = data.split(b"\r\n\r\n", 1)
    size = int([line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")][0].split(b":")[1])
    while len(body) < size:
        body += connection.recv(65536)
    text = json.loads(body)["policy_text"]
    answer = json.dumps({"sandbox": "u-1", "isolation": "active", "isolation_active": True, "mode": "enforce", "hooks": [], "hooks_total": 66,
                         "hooks_attached": 66, "degraded": [], "denied": {}, "cgroup": "/sys/fs/cgroup/sbpf/u-1",
                         "policy": {"name": "none", "sha256": hashlib.sha256(text.encode()).hexdigest(), "generation": 1}}).encode()
    connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
P
python3 -IS "$tmp/service.py" /run/none.sock >"$tmp/serving" & servers+=($!)
within 20 grep -q ready "$tmp/serving"
chmod 755 "$tmp"
chmod 644 "$none"
setcap cap_net_admin,cap_sys_chroot,cap_sys_admin+ep /opt/sbpf/bin/sbpf-enter # as the package does
as_user() { setpriv --reuid 1000 --regid 1000 --clear-groups "$@"; }
SBPF_SOCKET=/run/none.sock as_user sbpf run --policy "$none" -- touch /tmp/ran 2>"$tmp/said"; is service/code 125 $?
has service/says "in no sandbox, whatever the service" "$(cat "$tmp/said")"
is service/nothing-ran no "$([[ -e /tmp/ran ]] && echo yes || echo no)"

# ---- this host by another name ----
cat >"$tmp/connect.py" <<'P'
import socket, sys
family, kind = (socket.AF_INET6 if ":" in sys.argv[2] else socket.AF_INET), {"tcp": 1, "udp": 2}[sys.argv[1]]
s = socket.socket(family, kind)
s.settimeout(5)
try:
    if len(sys.argv) > 4:
        s.bind((sys.argv[4], 0))
    if kind == 1:
        s.connect((sys.argv[2], int(sys.argv[3])))
    else:
        s.sendto(b"x", (sys.argv[2], int(sys.argv[3])))
    print(0)
except OSError as e:
    print(e.errno)
P
cp "$tmp/connect.py" /srv/connect.py
connects() { "${@:1:$#-1}" python3 -IS /srv/connect.py ${!#}; }
serve tcp 127.0.0.1 7712
serve udp 127.0.0.1 7712
serve tcp 127.0.0.2 7713
lists() { policy "$1" <<<"{version: 1, name: $1, network: {connect: [$2], bind: [{address: 127.0.0.2, ports: [0]}]}}"; }
half=$(lists half '{cidr: 0.0.0.0/2, ports: [7712]}, {cidr: 128.0.0.0/1, ports: [7712]}')
loopback=$(lists loopback '{address: 127.0.0.1, ports: [7712, 7713]}')
named=$(lists named '{address: 0.0.0.0, ports: [7712, 7713]}')
wide=$(lists wide '{cidr: 0.0.0.0/0, ports: [7712]}')
for to in "tcp 0.0.0.0" "tcp ::ffff:0.0.0.0" "udp 0.0.0.0"; do
  name=wildcard/${to// /-} server="${to% *} 127.0.0.1 7712" before=$(visits ${to% *} 127.0.0.1 7712)
  is "$name/control" 0 "$(connects env "$to 7712")"
  is "$name/networks-without-loopback" $EPERM "$(connects inside "$half" -- "$to 7712")"
  is "$name/loopback-alone" $EPERM "$(connects inside "$loopback" -- "$to 7712")"
  is "$name/allowed-by-name" 0 "$(connects inside "$named" -- "$to 7712")"
  is "$name/allowed-by-a-network-with-loopback" 0 "$(connects inside "$wide" -- "$to 7712")"
  within 10 eval "((\$(visits $server) >= before + 3))"
  is "$name/heard-by-the-server" $((before + 3)) "$(visits $server)"
done
is wildcard/bound/control 0 "$(connects env "tcp 0.0.0.0 7713 127.0.0.2")"
is wildcard/bound/goes-where-it-was-judged 111 "$(connects inside "$named" -- "tcp 0.0.0.0 7713 127.0.0.2")"
led=$(lists led '{cidr: 0.0.0.0/0, ports: [7712]}, {cidr: 127.0.0.0/8, ports: [7712], protocol: tcp, via: {address: 127.0.0.1, port: 9}}')
is wildcard/led/control 111 "$(connects inside "$led" -- "tcp 127.0.0.1 7712")"
is wildcard/led/goes-to-the-proxy-too 111 "$(connects inside "$led" -- "tcp 0.0.0.0 7712")"
audit=$(policy audit <<<'{version: 1, name: audit, mode: audit, network: {connect: [{address: 0.0.0.0, ports: [7713]}]}}')
is wildcard/audit/changes-nothing 0 "$(connects inside "$audit" -- "tcp 0.0.0.0 7713 127.0.0.2")"
is wildcard/explained 1 "$(sbpf explain --policy "$half" connect 0.0.0.0:7712 >/dev/null; echo $?)"

# ---- what may only be read ----
cat >"$tmp/use.py" <<'P'
import fcntl, os, sys
what, path = sys.argv[1:]
try:
    fd = os.open(path, os.O_RDONLY)
    if what == "lock":
        fcntl.flock(fd, fcntl.LOCK_SH)
    if what == "lease":
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    print(0)
except OSError as e:
    print(e.errno)
P
cp "$tmp/use.py" /srv/use.py
reads=$(policy reads <<<'{version: 1, name: reads, filesystem: {default: read}}')
writes=$(policy writes <<<'{version: 1, name: writes, filesystem: {default: write}}')
uses() { "${@:1:$#-1}" python3 -IS /srv/use.py ${!#}; }
echo text >/srv/only-read
for lock in sbpf sbpf-watch sbpf-resolver sbpf-canaries; do
  touch /run/$lock.lock
  is "lock/$lock/control" 0 "$(uses env "lock /run/$lock.lock")"
  is "lock/$lock/denied" $EPERM "$(uses inside "$reads" -- "lock /run/$lock.lock")"
done
# Also where a file beside it was opened before: what is remembered of the directory does not open the lock.
beside='import os
for _ in range(3): os.close(os.open("/run/beside", os.O_RDONLY))
try: print(os.close(os.open("/run/sbpf.lock", os.O_RDONLY)))
except OSError as e: print(e.errno)'
touch /run/beside
is lock/beside/control None "$(python3 -ISc "$beside")"
is lock/beside/denied $EPERM "$(inside "$reads" -- python3 -ISc "$beside")"
is lock/others 0 "$(uses inside "$reads" -- "lock /srv/only-read")"
is lease/control 0 "$(uses env "lease /srv/only-read")"
is lease/denied $EACCES "$(uses inside "$reads" -- "lease /srv/only-read")"
is lease/allowed 0 "$(uses inside "$writes" -- "lease /srv/only-read")"

# ---- signals by way of a terminal, whose owner is whoever is in its foreground ----
cat >"$tmp/signals.py" <<'P'
import array, fcntl, os, sys
fd = os.openpty()[1] if sys.argv[2] == "terminal" else os.pipe()[0]
try:
    if sys.argv[1] == "flag":
        fcntl.fcntl(fd, fcntl.F_SETFL, os.O_ASYNC)
    else:
        fcntl.ioctl(fd, 0x5452, array.array("i", [1]))  # FIOASYNC
    print(0)
except OSError as e:
    print(e.errno)
P
cp "$tmp/signals.py" /srv/signals.py
for how in flag ioctl; do
  is "async/$how/control" 0 "$(python3 -IS /srv/signals.py $how terminal)"
  is "async/$how/denied" $EPERM "$(inside "$none" -- python3 -IS /srv/signals.py $how terminal)"
  is "async/$how/of-a-pipe" 0 "$(inside "$none" -- python3 -IS /srv/signals.py $how pipe)"
done

# ---- another network, by its files in /proc ----
unshare -n sleep infinity & other=$!
servers+=($other)
box=$cgroots/reader
mkdir "$box"
in_box() { sh -c "echo \$\$ >$box/cgroup.procs; exec \"\$@\"" sh "$@" 2>&1; }
is proc/control 0 "$(in_box cat /proc/$other/net/tcp >/dev/null; echo $?)"
sbpf attach --cgroup "$box" --name reader --policy "$none" >/dev/null 2>&1; is proc/attach 0 $?
for file in net/tcp net/stat/rt_cache net/unix task/$other/net/unix; do
  has "proc/${file//$other/TASK}" "Operation not permitted" "$(in_box cat "/proc/$other/$file")"
done
is proc/own 0 "$(in_box cat /proc/self/net/tcp >/dev/null; echo $?)"
is proc/of-the-host 0 "$(in_box cat /proc/meminfo /proc/sys/net/ipv4/ip_forward >/dev/null; echo $?)"
sbpf detach reader
rmdir "$box"
clean
is left-behind "" "$(left_behind)"

# ---- the lock of a pipe that the program has, too ----
cat >"$tmp/hold.py" <<'P'
import os, socket, sys, threading, time
if sys.argv[1] == "held":
    a, b = socket.socketpair()
    threading.Thread(target=lambda: os.splice(a.fileno(), 2, 4096), daemon=True).start()  # has the lock while it waits
    time.sleep(1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in range(1, 10000):
    try:
        s.connect(("192.0.2.7", port))
    except PermissionError:
        pass
    time.sleep(0.1)
P
cp "$tmp/hold.py" /srv/hold.py
freeze=$(policy freeze <<<$'version: 1\nname: freeze\non_loss: freeze')
is_frozen() { grep -q 'frozen 1' "$cgroots/sbpf/$1/cgroup.events"; }
denied() { sbpf status --json "$1" | json 'd["denied"].get("connect4", 0)'; }
declare -A runs_of
for how in free held; do
  name=pipe-$how
  mkfifo "$tmp/$name"
  cat "$tmp/$name" >"$tmp/$name.err" & servers+=($!)
  exec {pipe}>"$tmp/$name" # once: to open it takes its lock, too
  started $name --events --policy "$freeze" -- python3 -IS /srv/hold.py $how </dev/null >/dev/null 2>&$pipe
  is pipe/$how/start 0 $?
  runs_of[$how]=$started
  within 30 eval '(($(denied $name) >= 10))'; is pipe/$how/denied 0 $?
  sleep 2 # the supervisor has told of them, or waits
  is pipe/$how/told-meanwhile $([[ $how == free ]] && echo yes || echo no) "$(grep -q "denied connect" "$tmp/$name.err" && echo yes || echo no)"
  # Nor one that says that it is active, with the host lock held, on the same pipe.
  limited sbpf run -q --policy "$none" -- true </dev/null >/dev/null 2>&$pipe; is pipe/$how/another-run 0 $?
done
# At last, as nothing starts after that.
for how in free held; do
  lose_hook pipe-$how connect4
  within 20 is_frozen pipe-$how; is pipe/$how/a-loss-is-answered 0 $?
done
for how in free held; do
  sbpf kill pipe-$how
  wait ${runs_of[$how]}
  within 20 grep -q "ISOLATION LOST: connect4" "$tmp/pipe-$how.err"; is pipe/$how/a-loss-is-told 0 $?
done
finish
