# SPDX-License-Identifier: Apache-2.0
# A client of POST /v1/runs that does what `sbpf run` would not: users.py SOCKET CASE…, a line "CASE: STATUS CODE" each.
import ctypes, json, os, signal, socket, sys, threading, time

libc = ctypes.CDLL(None)
text = "version: 1\nname: users\n"


class Server:
    def __init__(self, path):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(120)
        self.s.connect(path)
        self.f = self.s.makefile("rb")

    def end(self):
        self.s.shutdown(socket.SHUT_WR)
        self.f.read()

    def post(self, body, target="/v1/runs"):
        data = json.dumps(body).encode()
        self.s.sendall(b"POST %s HTTP/1.1\r\nHost: sbpf\r\nContent-Length: %d\r\n\r\n" % (target.encode(), len(data)) + data)
        status = int(self.f.readline().split()[1])
        length = 0
        while (line := self.f.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return status, json.loads(self.f.read(length))


def forked(become):
    """A child in which `become` is called, with a pipe's end to hear on, 3, and one to speak on, 4, which an exec leaves
    open; (pid, what it said first, the other end of 3)."""
    back_r, back_w = os.pipe()
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(r, 3)
        os.dup2(back_w, 4)
        for kept in (3, 4):  # it may have had that number
            os.set_inheritable(kept, True)
        os.closerange(5, 64)
        become()
        os._exit(0)
    os.close(r)
    os.close(back_w)
    said = os.read(back_r, 16)
    os.close(back_r)
    return pid, said, w


def child(then=None, nnp=True):
    """A child that waits for a byte, and then does it; (pid, the number that it tells, the pipe's end)."""
    def wait():
        if nnp:
            libc.prctl(38, 1, 0, 0, 0)
        if then == "threads":
            threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
        if then == "descriptor":
            os.open("/etc/passwd", os.O_RDONLY)
        if then == "user-namespace":  # and without the capabilities that it has there
            if libc.unshare(0x10000000) or libc.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()):
                os._exit(9)
        told = os.getpid()
        if then == "grandchild" and (told := os.fork()) == 0:
            time.sleep(100)
            os._exit(0)
        os.write(4, str(told).encode())
        if os.read(3, 1) and callable(then):
            then()
    pid, said, w = forked(wait)
    return pid, int(said), w


def ask(path, pid, **body):
    return Server(path).post({"pid": pid, "policy_text": text} | body)


def show(name, answer):
    status, body = answer
    print("%s: %d %s" % (name, status, body.get("error", {}).get("code", body.get("isolation_active"))), flush=True)


def refused(path, name, pid=None, then=None, nnp=True, **body):
    own, told, _ = child(then, nnp)
    show(name, ask(path, pid or told, **body))
    os.kill(own, signal.SIGKILL)
    os.waitpid(own, 0)
    if then == "grandchild":
        os.kill(told, signal.SIGKILL)


def start(path, then, **body):
    """A run that was let in: (connection, answer, pid, pipe)."""
    own, _, w = child(then)
    server = Server(path)
    return server, server.post({"pid": own, "policy_text": text} | body), own, w


def let_in(path, name, **body):
    """A run that ends at once, if it was let in."""
    own, _, _ = child()
    server = Server(path)
    show(name, server.post({"pid": own} | body))
    server.end()
    os.kill(own, signal.SIGKILL)
    os.waitpid(own, 0)


def setuid_program():
    os.execv("/usr/bin/su", ["su", "-c", "id -u"])


def host_things():
    """What a program in the host's namespaces gets of them: no loopback and no /tmp of its own are there."""
    def tried(what, call):
        try:
            print(what, call() or "done", flush=True)
        except OSError as e:
            print(what, os.strerror(e.errno), flush=True)
    tried("connect", lambda: socket.socket().connect(("127.0.0.1", 7002)))
    tried("bind", lambda: socket.socket().bind(("127.0.0.1", 0)))
    tried("read", lambda: open("/tmp/hosts").read(4))


# In a child that sbpf-enter brought to places of its own: maybe with another process beside it, which is not confined.
BESIDE = """
import os, socket, time
if %d and os.fork() == 0:
    s = socket.socket(); s.bind(("127.0.0.1", 9100)); s.listen()
    os.write(4, b"x")
    time.sleep(60)
    os._exit(0)
if not %d: os.write(4, b"x")
os.read(3, 1)
try: print("connect", socket.socket().connect(("127.0.0.1", 9100)) or "done", flush=True)
except OSError as e: print("connect", os.strerror(e.errno), flush=True)
"""


def beside(path, enter, name, words, more, other):
    own, _, w = forked(lambda: os.execv(enter, [enter, *words, "--", "/usr/bin/python3", "-IS", "-c", BESIDE % (other, other)]))
    server = Server(path)
    status, body = server.post({"pid": own, "policy_text": text + more})
    print(name, status, body.get("error", {}).get("code") or body["loopback"], flush=True)
    if status == 201:
        os.write(w, b"x")
        os.waitpid(own, 0)
    else:
        os.kill(own, signal.SIGKILL)
    server.end()


path = sys.argv[1]
for case in sys.argv[2:]:
    if case.startswith("pid="):
        refused(path, "stranger", pid=int(case[4:]))
    elif case == "no-new-privs":
        refused(path, case, nnp=False)
    elif case in ("threads", "grandchild", "descriptor", "user-namespace"):
        refused(path, case, then=case)
    elif case == "itself":
        refused(path, case, pid=os.getpid())
    elif case == "gone":
        own, _, _ = child()
        os.kill(own, signal.SIGKILL)
        os.waitpid(own, 0)
        show(case, ask(path, own))
    elif case == "dead":  # not waited for: its number is its own still
        own, _, _ = child()
        os.kill(own, signal.SIGKILL)
        time.sleep(0.2)
        show(case, ask(path, own))
        os.waitpid(own, 0)
    elif case == "policies":
        for name, more in (("user", "process: {user: {uid: 0, gid: 0}}\n"), ("capabilities", "process: {capabilities: [NET_RAW]}\n"),
                           ("new-privileges", "process: {seccomp: dangerously_unconfined, dangerously_allow_new_privileges: true}\n"),
                           ("secrets", "process: {secrets: [{name: A, file: /etc/shadow}]}\n"),
                           ("invalid", "network: 7\n")):
            refused(path, "policy/" + name, policy_text=text + more)
    elif case == "body":
        show(case + "/no-pid", Server(path).post({"policy_text": text}))
        show(case + "/key", ask(path, 1, cgroup="/x"))
        show(case + "/name", ask(path, 1, name="../x"))
    elif case == "inside":  # a sandbox is not left by way of another one
        server, answer, own, w = start(path, lambda: time.sleep(100))
        show(case + "/first", answer)
        show(case + "/again", ask(path, own))
        server.end()
    elif case.startswith("policy="):
        let_in(path, case, policy=case[7:])
    elif case.startswith("once="):
        let_in(path, case, policy_text=text)
    elif case == "limit":
        kept = []
        while len(kept) < 40 and (not kept or kept[-1][1][0] == 201):
            kept.append(start(path, lambda: time.sleep(100)))
        show("%s/%d" % (case, len(kept)), kept[-1][1])
        for server, answer, _, _ in kept:
            server.end()
    elif case.startswith("exec="):  # into a run, from here
        own, told, _ = child()
        status, body = Server(path).post({"pid": told}, f"/v1/sandboxes/{case[5:]}/processes")
        print(status, body["error"]["code"], body["error"]["message"])
        os.kill(own, signal.SIGKILL)
    elif case.startswith("beside="):
        for name, words, more in (("network", ("--network",), "network: {loopback: private}\n"),
                                  ("places", ("--private", "/tmp"), "filesystem: {default: write, private: [/tmp]}\n")):
            for other in (False, True):
                beside(path, case[7:], f"{name}/{'shared' if other else 'alone'}", words, more, other)
    elif case == "host-things":
        host_things()
        for more in ("", "network: {loopback: private}\nfilesystem: {default: write, private: [/tmp]}\n"):
            server, answer, own, w = start(path, host_things, policy_text=text + more)
            show(case, answer)
            os.write(w, b"x")
            os.waitpid(own, 0)
            server.end()
    elif case.startswith("stay="):  # a run that goes on; its processes, one of them out of the client's reach
        def two():
            if os.fork() == 0:
                os.setsid()
            time.sleep(600)
        server, answer, own, w = start(path, two, name=case[5:])
        show(case, answer)
        os.write(w, b"x")
        time.sleep(600)
