# SPDX-License-Identifier: Apache-2.0
"""What soak.py works with: the service, its API, who is inside, and what there is of sbpf in the kernel."""
import glob
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time

API = "/run/sbpf/api.sock"
PINS = "/sys/fs/bpf/sbpf"
CGROUPS = "/sys/fs/cgroup"
POLICIES = "/etc/sbpf/policies"
PORTS = [7001, 7002, 7003, 7004]
LOSSES = ["alert", "freeze", "kill"]


class Broken(Exception):
    """A promise that was not kept. The soak ends with it."""


def policy_text(name):
    """`name` says all of it: p7001-alert."""
    port, on_loss = name[1:].split("-")
    rule = f"{{address: 127.0.0.1, ports: [{port}], protocol: tcp}}"
    return f"version: 1\nname: {name}\non_loss: {on_loss}\nnetwork: {{connect: [{rule}]}}\n"


def within(seconds, condition):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return condition()


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def request(method, path, body=b"", limit=200):
    """The status code and what was answered; (0, None) when nothing was."""
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: sbpf\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    answer = b""
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(limit)
            s.connect(API)
            try:
                s.sendall(head.encode() + body)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it has answered without reading all
            while part := s.recv(65536):
                answer += part
    except TimeoutError:
        raise Broken(f"{method} {path}: no answer within {limit} s")
    except OSError:
        pass
    first, _, rest = answer.partition(b"\r\n\r\n")
    if not rest and not first:
        return 0, None
    code = int(first.split()[1])
    try:
        return code, json.loads(rest) if b"application/json" in first else rest.decode()
    except ValueError:
        return 0, None  # cut off


class Servers:
    """Listen on some ports of 127.0.0.1 and take whoever comes."""

    def __init__(self, ports):
        self.sockets = [socket.create_server(("127.0.0.1", port), backlog=64) for port in ports]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            for one in select.select(self.sockets, [], [])[0]:
                one.accept()[0].close()


PROBER = """
import os, socket, sys
with open(sys.argv[1] + "/cgroup.procs", "w") as f: f.write(str(os.getpid()))
print("in", flush=True)
for line in sys.stdin:
    got = []
    for port in line.split():
        s = socket.socket()
        got.append(str(s.connect_ex(("127.0.0.1", int(port)))))
        s.close()
    print(*got, flush=True)
"""


class Box:
    """A cgroup with a process in it that tries to connect when it is told to."""

    def __init__(self, name):
        self.name, self.cgroup, self.prober = name, f"{CGROUPS}/{name}", None
        # One of these policies is in force; None: there is no sandbox. It follows the file by this name. unsure: unless what
        # broke off has changed that. kept: its cgroup is kept, if there is a sandbox.
        self.may, self.follows, self.unsure, self.kept = {None}, None, False, False
        os.makedirs(self.cgroup, exist_ok=True)

    def inside(self):
        """The process; a new one if it was killed."""
        if self.prober is None or self.prober.poll() is not None:
            self.end()
            os.makedirs(self.cgroup, exist_ok=True)
            self.prober = subprocess.Popen(["python3", "-ISc", PROBER, self.cgroup], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, text=True)
            if self.prober.stdout.readline() != "in\n":
                raise Broken(f"{self.name}: nothing can be started inside")
        return self.prober

    def connects(self, ports):
        """The errno for each port; None when there is no answer (frozen, killed)."""
        try:
            prober = self.inside()
            prober.stdin.write(" ".join(map(str, ports)) + "\n")
            prober.stdin.flush()
            if not select.select([prober.stdout], [], [], 30)[0]:
                return None
            return [int(n) for n in prober.stdout.readline().split()] or None
        except BrokenPipeError:
            return None

    def end(self):
        if self.prober is not None:
            self.prober.kill()
            self.prober.wait()
            self.prober.stdin.close()
            self.prober.stdout.close()
            self.prober = None

    def frozen(self):
        return "frozen 1" in read(self.cgroup + "/cgroup.events")

    def thaw(self):
        with open(self.cgroup + "/cgroup.freeze", "w") as f:
            f.write("0")

    def remove(self):
        self.end()
        within(20, lambda: "populated 0" in read(self.cgroup + "/cgroup.events"))
        os.rmdir(self.cgroup)


class Service:
    """sbpfd, and the processes that it has."""

    def __init__(self, work):
        self.work, self.process, self.fds = work, None, None
        self.log = open(work + "/log", "ab")
        # sbpfd hands no environment on: what sanitizers are to do is said here.
        with open(work + "/sbpf", "w") as f:
            options = "".join(f"export {k}={v!r}\n" for k, v in os.environ.items() if k.endswith("SAN_OPTIONS"))
            f.write(f'#!/bin/sh\n{options}exec {os.environ["SBPF"]} "$@"\n')
        os.chmod(work + "/sbpf", 0o755)
        self.configure()

    def configure(self, request=240, text=None):
        with open(self.work + "/sbpfd.yaml", "w") as f:
            f.write(text or f"sbpf: {self.work}/sbpf\nlimits: {{connections: 16, body_bytes: 65536, receive_seconds: 5, "
                            f"request_seconds: {request}, watch_seconds: 30}}\n")

    def reload(self, **what):
        self.configure(**what)
        os.kill(self.process.pid, signal.SIGHUP)
        time.sleep(0.3)

    def start(self):
        self.process = subprocess.Popen(["sbpfd", "--config", self.work + "/sbpfd.yaml"], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)
        if not within(240, lambda: request("GET", "/healthz")[0] == 200):
            raise Broken("sbpfd does not get ready")
        self.fds = None

    def stop(self, number):
        os.kill(self.process.pid, number)
        code = self.process.wait(120)
        if code != (-9 if number == signal.SIGKILL else 0):
            raise Broken(f"sbpfd ended with {code}")
        # The children of a killed one end by themselves: the watch, and requests when they are done.
        if not within(120, lambda: not self.others()):
            raise Broken(f"left over: {self.others()}")

    def others(self):
        """PIDs and command lines of all `sbpf` but supervisors of `sbpf run`."""
        found = {}
        for path in glob.glob("/proc/[0-9]*/exe"):
            try:
                if os.readlink(path).removesuffix(" (deleted)") == os.environ["SBPF"]:
                    line = read(path[:-3] + "cmdline").split("\0")
                    if line[1:2] != ["run"]:
                        found[int(path.split("/")[2])] = " ".join(line)
            except OSError:
                pass
        return found

    def watch(self):
        """The service's child; what it keeps beside it has its command line."""
        ours = read(f"/proc/{self.process.pid}/task/{self.process.pid}/children").split()
        return next((pid for pid, line in self.others().items() if line.split()[1:2] == ["watch"] and str(pid) in ours), None)

    def requests(self):
        return [pid for pid, line in self.others().items() if line.split()[1:2] != ["watch"]]

    def quiet(self):
        """No request runs and no connection is open. Then its descriptors are as many as at the first time."""
        def fds():
            try:
                all = f"/proc/{self.process.pid}/fd"
                return sorted(os.readlink(f"{all}/{n}").split(":")[0] for n in os.listdir(all))
            except OSError:
                return []
        if not within(120, lambda: not self.requests()):
            raise Broken(f"requests do not end: {self.others()}")
        if self.fds is None:
            time.sleep(1)
            self.fds = fds()
        elif not within(30, lambda: fds() == self.fds):
            raise Broken(f"sbpfd has descriptors {fds()}, and had {self.fds}")
        zombies = [p for p in glob.glob("/proc/[0-9]*/stat") if f" Z {self.process.pid} " in read(p)]
        if zombies:
            raise Broken(f"zombies of sbpfd: {zombies}")

    def memory(self):
        lines = read(f"/proc/{self.process.pid}/status").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def sbpf(*arguments):
    done = subprocess.run([os.environ["SBPF"], *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def status(name):
    """As the kernel says now, or None if there is no such sandbox; without sbpfd."""
    code, out, err = sbpf("status", name, "--json")
    answer = json.loads(out) if out else {}
    if "policy" in answer and code in (0, 3):  # 3: not active
        return answer
    if answer.get("error", {}).get("code") == "no_such_sandbox":
        return None
    raise Broken(f"sbpf status {name}: {code} {out[-300:]} {err[-1000:]}")


def in_kernel():
    """What there is: maps, programs and links of everyone, pins, cgroups of ours."""
    def count(kind):
        done = subprocess.run(["bpftool", "-j", kind, "show"], stdout=subprocess.PIPE, text=True)
        return len(json.loads(done.stdout or "[]"))

    pins = sum(len(files) + len(folders) for _, folders, files in os.walk(PINS))
    groups = sum(len(folders) for _, folders, _ in os.walk(CGROUPS + "/sbpf"))
    return {"maps": count("map"), "programs": count("prog"), "links": count("link"), "pins": pins, "cgroups": groups}


def reports(work):
    """What the sanitizers wrote."""
    return {path: read(path) for path in glob.glob(work + "/san.*")}

