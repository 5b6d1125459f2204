#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""soak.py SECONDS [SEED]: random requests to sbpfd and random faults, for so long.

After each one every sandbox stands as the API says, and confines. In rounds, at the end of which nothing may be left: no
descriptor, no process, nothing in the kernel, and no word of a sanitizer (scripts/soak runs it with programs that have
them)."""
import glob
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from soak_faults import Faults
from soak_host import (LOSSES, POLICIES, PORTS, Box, Broken, Servers, Service, in_kernel, read, reports, request, sbpf,
                       status, within)
from soak_requests import Requests

ROUND = 420  # seconds; each ends with everything taken down
EPERM = 1
# How often each is done.
ACTIONS = {"change": 10, "read": 3, "bad_requests": 3, "raw": 2, "events": 3, "drop": 2, "burst": 2, "file": 5,
           "kill_watch": 2, "stop_watch": 1, "kill_request": 4, "late": 2, "hup": 1, "restart": 2, "freeze": 1,
           "remove_cgroup": 2}


def held(pid):
    """How many descriptors of the kernel's, of cgroups and files: those by which it talks to the processes that it keeps come with the
    first of them."""
    all = f"/proc/{pid}/fd"
    talks = ("pipe:", "socket:", "anon_inode:[eventfd]", "anon_inode:[pidfd]", "pidfd:")
    return sum(not os.readlink(f"{all}/{n}").startswith(talks) for n in os.listdir(all))


class Soak(Requests, Faults):
    def __init__(self, seconds, seed):
        self.random, self.end, self.counts = random.Random(seed), time.monotonic() + seconds, {}
        self.work = tempfile.mkdtemp(prefix="soak.", dir="/root")
        sanitize = f"log_path={self.work}/san:exitcode=99:abort_on_error=0"
        os.environ["ASAN_OPTIONS"] = sanitize + ":detect_leaks=1"
        os.environ["UBSAN_OPTIONS"] = sanitize + ":print_stacktrace=1"
        os.environ.setdefault("SBPF", os.path.realpath(shutil.which("sbpf")))
        os.makedirs(POLICIES, exist_ok=True)
        Servers(PORTS)
        self.files, self.broken_files = {}, set()
        for name in ("fa", "fb"):
            self.put_file(name, self.some_policy())
        self.before = in_kernel()
        self.boxes = [Box(f"soak{i}") for i in range(4)]
        self.service = Service(self.work)
        self.glass, self.rounds = False, 0

    # ---- what is expected ----

    def some_policy(self):
        return f"p{self.random.choice(PORTS)}-{self.random.choice(LOSSES)}"

    def expect(self, what, got, *wanted):
        if got not in wanted:
            raise Broken(f"{what}: {got}, wanted one of {wanted}")

    def ask(self, codes, method, path, body=b"", disturbed=False):
        """One request whose status code must be one of `codes`; disturbed: it may also fail, with a reason."""
        code, answer = request(method, path, body)
        if self.glass and code == 500 and answer["error"]["code"] == "less_isolation":
            code = 201 if method == "POST" else 200  # done; and the used window of before makes it less
        fine = list(codes) + ([0, 500, 503, 504] if disturbed else [])
        if code not in fine:
            raise Broken(f"{method} {path} {str(body)[:300]}: {code} {str(answer)[:600]}, wanted one of {fine}")
        if code >= 400 and not (answer["error"]["code"] and answer["error"]["message"]):
            raise Broken(f"{method} {path}: {code} without a reason: {answer}")
        return code, answer

    def settle(self, box):
        """Whatever came of it: it is one of what it may be, the kernel says so, and it confines."""
        why = ""
        for attempt in range(15):
            if attempt:
                time.sleep(1)
            now = status(box.name)
            name = now["policy"]["name"] if now else None
            if name not in box.may:
                why = f"has the policy {name}, wanted one of {box.may}"
                continue
            if now and now["isolation"] != ("degraded" if self.glass else "active"):
                why = f"is {now['isolation']}: {now['degraded']}"
                continue
            if box.frozen():
                why = "is frozen"
                continue
            got = box.connects(PORTS)
            want = [0 if name is None or f"p{port}-" in name else EPERM for port in PORTS]
            if got != want:
                why = f"connects with {got}, wanted {want} under {name}"
                continue
            box.may = {name}
            return
        raise Broken(f"{box.name} {why}")

    def listed(self):
        """The list tells of all of them, and of no other; given the time for two passes of the watch."""
        def right():
            code, answer = request("GET", "/v1/sandboxes")
            if code != 200:
                return False
            now = {s["name"]: s for s in answer["sandboxes"]}
            now.pop("keeper", None)
            have = {b.name: next(iter(b.may)) for b in self.boxes if b.may != {None}}
            self.difference = f"{ {n: (s['policy_name'], s['isolation']) for n, s in now.items()} }, wanted {have}"
            return {n: s["policy_name"] for n, s in now.items()} == have and all(
                s["isolation"] == ("degraded" if self.glass else "active") for s in now.values())
        if not within(30, right):
            raise Broken(f"the list says {self.difference}")

    # ---- rounds ----

    def act(self, name, box):
        print(f"# {time.monotonic():.1f} {name} {box.name}", flush=True)
        self.counts[name] = self.counts.get(name, 0) + 1
        getattr(self, "do_" + name)(box)
        # Requests whose clients are gone are still under way.
        if not within(120, lambda: not self.service.requests()):
            raise Broken(f"requests do not end: {self.service.others()}")
        for one in self.boxes:
            if one is box or len(one.may) > 1 or (name == "file" and one.follows) or self.random.random() < 0.1:
                self.settle(one)
            if one.unsure:
                self.change(one)
                self.settle(one)
        self.listed()
        if found := reports(self.work):
            raise Broken(f"a sanitizer says {found}")

    def round(self, end):
        self.glass = False
        command = "run -q --name keeper --policy no-network -- sleep infinity".split()
        keeper = subprocess.Popen([os.environ["SBPF"], *command], stdin=subprocess.DEVNULL, stdout=self.service.log,
                                  stderr=self.service.log)
        if not within(240, lambda: (status("keeper") or {}).get("isolation_active")):
            raise Broken("no sandbox can be started")
        self.service.start()
        fds = lambda: held(self.service.watch())
        # What it still holds of the service's own first sandbox is not counted.
        watch_fds = min(fds() for _ in range(30) if not time.sleep(0.2))
        for box in self.boxes:
            self.settle(box)
        end = max(end - 60, time.monotonic() + 45)  # to load programs takes its time
        while time.monotonic() < end:
            name, = self.random.choices(list(ACTIONS), list(ACTIONS.values()))
            self.act(name, self.random.choice(self.boxes))
        self.service.quiet()
        for _ in range(2):
            self.act("tamper", self.random.choice(self.boxes))
        for _ in range(3):
            self.act("change", self.random.choice(self.boxes))
        for box in self.boxes:
            if box.may != {None}:
                self.ask([200], "DELETE", f"/v1/sandboxes/{box.name}")
                box.may, box.follows = {None}, None
            self.settle(box)
        self.listed()
        self.service.quiet()
        if not within(30, lambda: fds() <= watch_fds):
            raise Broken(f"the watch has {fds()} descriptors, and had {watch_fds}")
        memory = self.service.memory()
        print(f"# descriptors: sbpfd {len(self.service.fds)}, the watch {watch_fds}; {memory} KiB", flush=True)
        self.service.stop(signal.SIGTERM)
        self.expect("sbpf kill keeper", sbpf("kill", "keeper")[0], 0)
        self.expect("end of the keeper", keeper.wait(60), 137)
        self.expect("sbpf unload", sbpf("unload")[0], 0)
        # Programs are freed after a grace period.
        if not within(180, lambda: in_kernel() == self.before):
            raise Broken(f"left in the kernel: {in_kernel()}, before: {self.before}")
        print(f"# in /run: {sorted(glob.glob('/run/*sbpf*'))}, in /tmp: {sorted(os.listdir('/tmp'))}", flush=True)
        if found := reports(self.work):
            raise Broken(f"a sanitizer says {found}")

    def run(self):
        while not self.rounds or time.monotonic() < self.end - 120:
            self.round(min(self.end, time.monotonic() + ROUND))
            self.rounds += 1
            print(f"ok round-{self.rounds}", flush=True)
        print(f"# {self.rounds} rounds: {self.counts}")


def main():
    seconds = int(sys.argv[1])
    seed = sys.argv[2] if len(sys.argv) > 2 else str(random.SystemRandom().randrange(10 ** 9))
    with open(shutil.which("sbpfd"), "rb") as f:
        sanitizers = b"__asan_init" in f.read()
    print(f"# soak: {seconds} s, seed {seed}, sanitizers: {sanitizers}", flush=True)
    soak = Soak(seconds, seed)
    code = 0
    try:
        soak.run()
    except Exception as e:  # whatever it is, it is told, with what the service had to say
        traceback.print_exc()
        print(f"# {time.monotonic():.1f} {soak.counts}\n# sanitizers: {reports(soak.work)}")
        print(f"not ok soak: seed {seed}: {str(e)[:6000]!r}")
        print("# the service's log:\n" + read(soak.work + "/log")[-6000:], file=sys.stderr)
        code = 1
    print(f"done {soak.rounds + code}", flush=True)
    os._exit(code)  # threads and probers end with the guest


main()
