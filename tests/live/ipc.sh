#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Queues, sockets and signals of a sandbox's own work, and lead to nothing outside.
. "$(dirname "$0")/lib.sh"
keep_loaded
ENOENT=2 EACCES=13
mkdir -p /workspace
chmod 1777 /workspace
cp "$here/ipc.py" /workspace/ipc.py
queue() { python3 -IS /workspace/ipc.py "$@" 2>&1; }
is control/make "make 0" "$(queue make /outside)"
is control/find "find 0" "$(queue find /outside)"
bare=$(policy bare <<<$'version: 1\nname: bare\nfilesystem: {default: read, write: [/tmp]}')
is control/without-a-rule "talk $EACCES" "$(sbpf run -q --policy "$bare" -- python3 -IS /workspace/ipc.py talk /own 2>/dev/null)"
# In a cgroup that has the host's queues: by the rule for their place, as any other file.
ruled=$(policy ruled <<<$'version: 1\nname: ruled\nfilesystem: {default: read, write: [/tmp, /dev/mqueue]}')
attached() {
  local cgroup=$cgroots/ipc
  mkdir -p "$cgroup"
  sbpf attach --name attached --policy "$1" --cgroup "$cgroup" >/dev/null 2>&1 || echo "not attached"
  (echo $BASHPID >"$cgroup/cgroup.procs" && queue find /outside)
  sbpf detach attached >/dev/null 2>&1
  rmdir "$cgroup"
}
is attached/without-a-rule "find $EACCES" "$(attached "$bare")"
is attached/with-a-rule "find 0" "$(attached "$ruled")"

for user in 0:0 1000:1000; do
  for profile in untrusted code-interpreter benchmark-task python-dev; do
    case=${user%:*}/$profile
    box() { (cd /workspace && sbpf run -q --user "$user" --policy "$profile" -- "$@" 2>"$tmp/err"); }
    is "$case/queue" "talk 0" "$(box python3 -IS /workspace/ipc.py talk /own)"
    is "$case/queue-outside" "find $ENOENT" "$(box python3 -IS /workspace/ipc.py find /outside)"
    # A server and a client, a socket in /tmp, and what the server reads in order to start.
    has "$case/message-bus" 'string "org.freedesktop.DBus"' "$(box timeout 60 dbus-run-session -- \
      dbus-send --session --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames)"
  done
done
# Who may get a descriptor's signals: the process, and the thread that asks for it.
cat >"$tmp/owners.py" <<'P'
# Prints for each owner whether its signal came, or the errno.
import fcntl, os, signal, socket, threading
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
os.setpgid(0, 0)
def own(name, number):
    a, b = socket.socketpair()
    try:
        fcntl.fcntl(a, fcntl.F_SETOWN, number)
        fcntl.fcntl(a, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)
        b.send(b"x")
        print(name, "signal" if signal.sigtimedwait([signal.SIGIO], 1) else "nothing")
    except OSError as e:
        print(name, e.errno)
child = os.fork()
if not child:
    signal.pause()
other, done = [], threading.Event()
idle = threading.Thread(target=lambda: (other.append(threading.get_native_id()), done.wait()))
idle.start()
asks = threading.Thread(target=lambda: (own("thread", threading.get_native_id()), own("other-thread", other[0])))
asks.start()
asks.join()
done.set()
for name, number in ("process", os.getpid()), ("nobody", 0), ("child", child), ("parent", os.getppid()), ("group", -os.getpgrp()):
    own(name, number)
os.kill(child, signal.SIGKILL)
P
wanted=$'thread signal\nother-thread 1\nprocess signal\nnobody nothing\nchild 1\nparent 1\ngroup 1'
cp "$tmp/owners.py" /workspace/owners.py
is owner/run "$wanted" "$(box python3 -IS /workspace/owners.py)"
# In a pid namespace, where the numbers are others.
attached_numbers() {
  local cgroup=$cgroots/ipc
  mkdir -p "$cgroup"
  sbpf attach --name attached --policy "$bare" --cgroup "$cgroup" >/dev/null 2>&1 || echo "not attached"
  unshare -pf --mount-proc bash -c 'sleep 60 & echo $BASHPID >"$1/cgroup.procs" && bash -c "python3 -IS /workspace/owners.py; :"' _ "$cgroup"
  sbpf detach attached >/dev/null 2>&1
  within 20 rmdir "$cgroup" 2>/dev/null
}
is owner/pid-namespace "$wanted" "$(attached_numbers)"
# A server inside answers who comes from outside, though the kernel counts the server's end to the client's cgroup.
cat >"$tmp/answers.py" <<'P'
# HOW PATH: serves one client, and prints 0 or the errno of the answer.
import os, socket, sys
how, path = sys.argv[1:3]
if how == "second":
    first = socket.socket(socket.AF_UNIX)
    first.bind(b"\0first")
    first.listen()
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET if how == "seqpacket" else socket.SOCK_STREAM)
s.bind(path)
os.chmod(path, 0o777)
s.listen()
s.settimeout(20)
number = {"late": 1000, "too-late": 1030}.get(how)  # the kernel's side looks at the first 1,024 descriptors
if number:
    os.dup2(s.fileno(), number)
    s.close()
    s = socket.socket(fileno=number)
    s.settimeout(20)
client = s.accept()[0]
ours, theirs = socket.socketpair()
child = os.fork() if how in ("child", "handed") else 0
if child:
    if how == "handed":
        socket.send_fds(ours, [b"x"], [client.fileno()])
        client.close()
    os._exit(os.WEXITSTATUS(os.waitpid(child, 0)[1]))
if how in ("child", "ended", "handed"):
    s.close()
if how == "handed":
    client.close()
    fds = socket.recv_fds(theirs, 1, 1)[1]
    if not fds:
        print("not received")
        os._exit(0)
    client = socket.socket(fileno=fds[0])
try:
    client.sendall(b"word")
    print("answer 0")
except OSError as e:
    print("answer", e.errno)
P
cp "$tmp/answers.py" /workspace/answers.py
# answered HOW COMMAND…: what the server says, and what a client outside got
answered() {
  local how=$1 path=/tmp/answers.$1 got
  shift
  rm -f "$path"
  "$@" python3 -IS /workspace/answers.py "$how" "$path" >"$tmp/said" 2>&1 & local server=$!
  within 60 test -S "$path"
  got=$(python3 -ISc 'import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET if sys.argv[1] == "seqpacket" else socket.SOCK_STREAM)
for _ in range(100):
    try: s.connect(sys.argv[2])
    except ConnectionRefusedError: time.sleep(0.1)
    else: break
s.settimeout(20)
try: print(s.recv(100).decode() or "nothing")
except OSError: print("nothing")' "$how" "$path")
  wait $server
  echo "$(cat "$tmp/said"), $got"
}
in_run() { sbpf run -q --policy "$bare" -- "$@" 2>/dev/null; }
in_attached() {
  local cgroup=$cgroots/ipc
  mkdir -p "$cgroup"
  sbpf attach --name attached --policy "$bare" --cgroup "$cgroup" >/dev/null 2>&1 || echo "not attached"
  (echo $BASHPID >"$cgroup/cgroup.procs" && "$@")
  sbpf detach attached >/dev/null 2>&1
  rmdir "$cgroup"
}
ulimit -n 4096
for how in stream seqpacket second child handed late; do
  for where in '' in_run in_attached; do
    is "answers/$how/${where:-control}" "answer 0, word" "$(answered "$how" $where)"
  done
done
# Its own is what one of its listeners accepted, as long as that one is there.
is answers/ended/control "answer 0, word" "$(answered ended)"
is answers/ended/in_run "answer 1, nothing" "$(answered ended in_run)"
is answers/too-late/control "answer 0, word" "$(answered too-late)"
is answers/too-late/in_run "answer 1, nothing" "$(answered too-late in_run)"
# Left behind by one sandbox, it is in no other and not outside.
box python3 -IS /workspace/ipc.py make /left >/dev/null
is left/outside "find $ENOENT" "$(queue find /left)"
is left/next-sandbox "find $ENOENT" "$(box python3 -IS /workspace/ipc.py find /left)"
rm -f /dev/mqueue/outside
# ---- a hold on another process (its memory by userfaultfd, its system calls by seccomp's notifications) is not received ----
# hold.py receiver SOCKET | sender SOCKET KIND | keeper CGROUP READY KIND
cat >"$tmp/hold.py" <<'P'
import ctypes, os, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)

def make(kind):
    if kind == "userfaultfd":
        fd = libc.syscall(323, 1)
    elif kind == "notify":
        libc.prctl(38, 1, 0, 0, 0)
        code = struct.pack("HBBI", 6, 0, 0, 0x7fff0000)
        held = ctypes.create_string_buffer(code, len(code))
        program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(held)), 16)
        fd = libc.syscall(317, 1, 8, program)
    elif kind == "plain":
        fd = os.open("/dev/null", os.O_RDONLY)
    else:  # an io_uring with a thread of this process, or without
        fd = libc.syscall(425, 4, ctypes.create_string_buffer(struct.pack("III", 0, 0, 2 if kind == "ring-outside" else 0), 120))
    if fd < 0:
        sys.exit("cannot make it")
    return fd

role, place = sys.argv[1:3]
if role == "receiver":
    server = socket.socket(socket.AF_UNIX)
    server.bind(place)
    os.chmod(place, 0o777)
    server.listen()
    client, _ = server.accept()
    data, ancillary, *_ = client.recvmsg(16, socket.CMSG_SPACE(16))
    print(sum(len(d) // 4 for *_, d in ancillary))
elif role == "sender":
    fd = make(sys.argv[3])
    client = socket.socket(socket.AF_UNIX)
    client.connect(place)
    socket.send_fds(client, [b"x"], [fd])
else:  # the child keeps it in the cgroup; who made it stays outside
    fd = make(sys.argv[4])
    if not os.fork():
        with open(place + "/cgroup.procs", "w") as procs:
            procs.write(str(os.getpid()))
        open(sys.argv[3], "w").close()
    time.sleep(600)
P
policy opens >/dev/null <<<$'version: 1\nname: opens\nprocess: {kernel: {allow: [userfaultfd]}}'
# received KIND COMMAND…: how many descriptors arrive at a receiver that COMMAND starts
received() {
  rm -f "$tmp/hold.sock"
  chmod 755 "$tmp"
  "${@:2}" python3 "$tmp/hold.py" receiver "$tmp/hold.sock" >"$tmp/received" 2>"$tmp/received.err" & receiver=$!
  within 60 test -S "$tmp/hold.sock"
  sleep 0.2
  python3 "$tmp/hold.py" sender "$tmp/hold.sock" "$1" || kill $receiver
  wait $receiver
  cat "$tmp/received"
}
for kind in plain userfaultfd notify; do
  is hold/$kind/control 1 "$(received $kind env)"
  is hold/$kind/denied "$([[ $kind == plain ]] && echo 1 || echo 0)" "$(received $kind sbpf run -q --policy no-network --)"
done
is hold/userfaultfd/allowed 1 "$(received userfaultfd sbpf run -q --policy "$tmp/opens.yaml" --)"
# Nor is it kept by `attach`; nor an io_uring whose thread is a process's outside.
# attached KIND POLICY: the exit code of an attach to a cgroup with a process that holds it
attached() {
  local cgroup=$cgroots/holds code
  mkdir -p "$cgroup"
  rm -f "$tmp/ready"
  python3 "$tmp/hold.py" keeper "$cgroup" "$tmp/ready" "$1" & local outside=$!
  within 60 test -e "$tmp/ready"
  sbpf attach --name holds --policy "$2" --cgroup "$cgroup" >"$tmp/said" 2>&1; code=$?
  sbpf detach holds >/dev/null 2>&1
  echo 1 >"$cgroup/cgroup.kill"
  kill $outside; wait $outside 2>/dev/null
  within 20 rmdir "$cgroup" 2>/dev/null
  echo $code
}
is keeps/plain 0 "$(attached plain no-network)"
is keeps/ring 0 "$(attached ring no-network)"
for kind in userfaultfd notify ring-outside; do is keeps/$kind/refused 125 "$(attached $kind no-network)"; done
is keeps/userfaultfd/allowed 0 "$(attached userfaultfd "$tmp/opens.yaml")"

finish
