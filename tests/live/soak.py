#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""soak.py SECONDS [SEED]: random requests to sbpfd and random faults, for so long. After each one every sandbox stands as
the API says, and confines. In rounds, at the end of which nothing may be left: no descriptor, no process, nothing in the
kernel, and no word of a sanitizer (scripts/soak runs it with programs that have them)."""
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, __import__("os").path.dirname(__import__("os").path.abspath(__file__)))
from soak_host import *  # noqa: F403,E402  (one program in two files)

PORTS = [7001, 7002, 7003, 7004]
ROUND = 420  # seconds; each ends with everything taken down
LOSSES = ["alert", "freeze", "kill"]


def policy_text(name):
    """`name` says all of it: p7001-alert."""
    port, on_loss = name[1:].split("-")
    return f"version: 1\nname: {name}\non_loss: {on_loss}\nnetwork: {{connect: [{{address: 127.0.0.1, ports: [{port}], protocol: tcp}}]}}\n"


class Soak:
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

    # ---- requests ----

    def attach_body(self, box, policy=None):
        """Of a valid request, and the policy's name that it leads to."""
        if policy is None and self.random.random() < 0.5:
            name = self.random.choice([n for n in self.files if n not in self.broken_files] or [None])
            if name:
                return {"cgroup": box.cgroup, "name": box.name, "policy": name}, self.files[name], name
        name = policy or self.some_policy()
        return {"cgroup": box.cgroup, "name": box.name, "policy_text": policy_text(name)}, name, None

    def change(self, box, disturbed=False):
        """Attach if it is not, else swap or take down; what it may be is known afterwards."""
        was = next(iter(box.may))
        box.inside()
        body, new, follows = self.attach_body(box)
        if was is None:
            code, _ = self.ask([201], "POST", "/v1/sandboxes", body, disturbed)
        elif self.random.random() < 0.5:
            body = {k: v for k, v in body.items() if k.startswith("policy")}
            code, _ = self.ask([200], "PUT", f"/v1/sandboxes/{box.name}/policy", body, disturbed)
        else:
            kill = self.random.choice(["", "?kill=false", "?kill=true"])
            new = follows = None
            code, _ = self.ask([200], "DELETE", f"/v1/sandboxes/{box.name}{kill}", b"", disturbed)
            if code == 200 and kill == "?kill=true" and not within(20, lambda: box.prober.poll() is not None):
                raise Broken(f"{box.name} was killed and runs")
        if code in (200, 201):
            box.may, box.follows = {new}, follows
        elif disturbed:
            box.may, box.follows = {was, new}, None

    def do_change(self, box):
        self.change(box)

    def do_read(self, box):
        attached = box.may != {None}
        for path, codes in self.random.sample([
                ("/v1/sandboxes", [200]), (f"/v1/sandboxes/{box.name}", [200 if attached else 404]), ("/healthz", [200]),
                ("/metrics", [200]), ("/v1/policies", [200]), ("/v1/sandboxes/nobody", [404]), ("/v2", [404])], 3):
            self.ask(codes, "GET", path)

    def do_bad_requests(self, box):
        good, _, _ = self.attach_body(box, "p7001-alert")
        bad = [
            (400, "POST", "/v1/sandboxes", b""), (400, "POST", "/v1/sandboxes", b"{" * 3000), (400, "POST", "/v1/sandboxes", b"\xff\0"),
            (400, "POST", "/v1/sandboxes", {**good, "policy_text": "version: 9"}), (400, "POST", "/v1/sandboxes", {**good, "more": 1}),
            (400, "POST", "/v1/sandboxes", {**good, "cgroup": "/sys/fs/cgroup/nowhere"}), (400, "POST", "/v1/sandboxes", {**good, "name": "../x"}),
            (400, "POST", "/v1/sandboxes", {**good, "policy_text": "[" * 5000}), (413, "POST", "/v1/sandboxes", b"x" * 70000),
            (405, "PUT", "/v1/sandboxes", b"{}"), (400, "GET", "/v1/sandboxes/%00", b""), (400, "DELETE", f"/v1/sandboxes/{box.name}?kill=", b""),
            (404, "PUT", "/v1/sandboxes/nobody/policy", {"policy": "no-network"}), (404, "DELETE", "/v1/sandboxes/nobody", b""),
            (400, "PUT", f"/v1/sandboxes/{box.name}/policy", {"policy": "../../etc/passwd"}), (400, "POST", "/v1/sandboxes", {**good, "policy_text": ""})]
        for code, method, path, body in self.random.sample(bad, 6):
            self.ask([code], method, path, body)

    def do_raw(self, box):
        """Bytes that are no request, half a one, and connections that are dropped."""
        parts = [b"GET", b"GET /v1/sandboxes HTTP/1.1\r\n", b"POST /v1/sandboxes HTTP/1.1\r\nContent-Length: 500\r\n\r\n{", b"\x16\x03\x01\x02" * 50,
                 b"GET /healthz HTTP/1.1\r\n\r\n" * 20, b"POST /v1/sandboxes HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
                 b"GET / HTTP/1.1\r\nA: " + b"a" * 20000, b"PUT /v1/sandboxes HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b""]
        held = []
        for part in self.random.sample(parts, 5):
            s = socket.socket(socket.AF_UNIX)
            s.connect(API)
            try:
                s.sendall(part)
            except OSError:
                pass
            if self.random.random() < 0.5:
                s.close()
            else:
                held.append(s)
        time.sleep(self.random.random())
        self.ask([200], "GET", "/healthz")
        for s in held:
            s.close()

    def do_events(self, box):
        """Streams that end in the middle, two at once."""
        for _ in range(self.random.randint(1, 2)):
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(100)
            s.connect(API)
            s.sendall(f"GET /v1/sandboxes/{box.name}/events HTTP/1.1\r\nHost: s\r\n\r\n".encode())
            box.connects(PORTS)
            if self.random.random() < 0.7:
                self.expect("events", s.recv(100).split()[1], b"200" if box.may != {None} else b"404")
            if self.random.random() < 0.3:
                s.shutdown(socket.SHUT_WR)
            s.close()

    def do_drop(self, box):
        """A change whose client goes away: it goes on."""
        if box.may != {None}:
            new = self.some_policy()
            body = json.dumps({"policy_text": policy_text(new)}).encode()
            s = socket.socket(socket.AF_UNIX)
            s.connect(API)
            s.sendall(f"PUT /v1/sandboxes/{box.name}/policy HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            s.close()
            box.may, box.follows = {new}, None

    def do_burst(self, box):
        """Many at once; one after another has its turn, and each is answered."""
        wrong = []
        def one(box, body, new):
            try:
                if new is None:
                    self.ask([200, 404, 429], "DELETE", f"/v1/sandboxes/{box.name}")
                else:
                    self.ask([200, 404, 429], "PUT", f"/v1/sandboxes/{box.name}/policy", body)
                    self.ask([200], "GET", "/healthz")
            except Broken as e:
                wrong.append(e)
        threads = []
        for _ in range(self.random.randint(3, 7)):
            target = self.random.choice(self.boxes)
            new = self.some_policy() if self.random.random() < 0.8 else None
            if target.may != {None}:
                target.may, target.follows = target.may | {new}, None
            threads.append(threading.Thread(target=one, args=(target, {"policy_text": policy_text(new or "p7001-alert")}, new)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if wrong:
            raise wrong[0]

    # ---- policies' files ----

    def put_file(self, name, policy, text=None):
        with open(f"{POLICIES}/.{name}", "w") as f:
            f.write(text or policy_text(policy))
        os.rename(f"{POLICIES}/.{name}", f"{POLICIES}/{name}.yaml")
        self.files[name] = policy
        self.broken_files.discard(name)

    def do_file(self, box):
        name, new = self.random.choice(list(self.files)), self.some_policy()
        path = f"{POLICIES}/{name}.yaml"
        how = self.random.choice(["rename", "write", "invalid", "half", "truncate", "gone", "many"])
        if how == "write":
            with open(path, "w") as f:
                f.write(policy_text(new))
            self.files[name] = new
            self.broken_files.discard(name)
        elif how in ("invalid", "gone", "truncate"):
            os.truncate(path, 9) if how == "truncate" else os.unlink(path) if how == "gone" else self.put_file(name, self.files[name], "version: [")
            self.broken_files.add(name)
            time.sleep(1)
            self.ask([400], "PUT", f"/v1/sandboxes/{box.name}/policy", {"policy": name})
        elif how == "half":
            with open(path, "w") as f:
                f.write("version: 1\nname: half\n")
                f.flush()
                time.sleep(1)
                self.ask([409], "PUT", f"/v1/sandboxes/{box.name}/policy", {"policy": name})
                for one in self.boxes:
                    self.settle(one)  # under what it was
            self.put_file(name, new)
        else:
            for _ in range(20 if how == "many" else 1):
                self.put_file(name, new)
        for one in self.boxes:
            if one.follows == name:
                one.may = {self.files[name]}

    # ---- faults ----

    def do_kill_watch(self, box):
        os.kill(self.service.watch(), signal.SIGKILL)
        self.well()

    def do_stop_watch(self, box):
        watch = self.service.watch()
        os.kill(watch, signal.SIGSTOP)
        self.change(box, disturbed=True)  # it may hold the host's lock
        os.kill(watch, signal.SIGCONT)
        self.well()

    def do_kill_request(self, box):
        """kill -9 of the `sbpf` that carries a change out."""
        def kill():
            time.sleep(self.random.random() * 3)
            for pid in self.service.requests():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        thread = threading.Thread(target=kill)
        thread.start()
        self.change(box, disturbed=True)
        thread.join()

    def do_late(self, box):
        """A request that is given a second only."""
        self.service.reload(request=1)
        self.change(box, disturbed=True)
        self.service.reload()

    def do_hup(self, box):
        self.service.reload(text="limits: {connections: 0}\n")
        self.ask([200], "GET", "/v1/sandboxes")
        self.service.reload()

    def do_restart(self, box):
        """Its death, at rest or in the middle of a change."""
        thread = None
        if self.random.random() < 0.5:
            thread = threading.Thread(target=lambda: self.change(box, disturbed=True))
            thread.start()
            time.sleep(self.random.random() * 2)
        else:
            self.service.quiet()
        number = self.random.choice([signal.SIGKILL, signal.SIGTERM])
        self.service.stop(number)
        if thread:
            thread.join()
        for one in self.boxes:
            self.settle(one)
        self.service.start()

    def do_freeze(self, box):
        """By hand: it is no loss. What is done to it meanwhile is done; a canary, which would prove it, cannot run."""
        with open(box.cgroup + "/cgroup.freeze", "w") as f:
            f.write("1")
        if box.may != {None}:
            new = self.some_policy()
            code, answer = request("PUT", f"/v1/sandboxes/{box.name}/policy", {"policy_text": policy_text(new)})
            self.expect("swap while frozen", (code, answer["error"]["code"]), (500, "less_isolation"))
            box.may, box.follows = {new}, None
        box.thaw()

    def do_remove_cgroup(self, box):
        """Behind its back: the sandbox is gone with it."""
        box.remove()
        box.may, box.follows = {None}, None
        self.listed()
        now = status(box.name)
        self.expect("isolation of what is gone", now and now["isolation"], None, "inactive")
        self.expect("sbpf list", sbpf("list")[0], 0)  # as the next attach would, it clears up
        self.expect("sandbox whose cgroup is gone", status(box.name), None)
        box.inside()

    def well(self):
        if not within(120, lambda: request("GET", "/healthz")[0] == 200):
            raise Broken("the watch does not come back")

    def tamper(self, box):
        """Something of a sandbox is taken away: it is not called active, is answered, and comes back."""
        if box.may == {None}:
            self.change(box)
            self.settle(box)
        name = next(iter(box.may))
        self.expect("break-glass", sbpf("break-glass", "--reason", "soak", "--for", "30m")[0], 0)
        self.glass = True
        key = [f"0x{b:02x}" for b in status(box.name)["cgroup_id"].to_bytes(8, "little")]
        deed = self.random.choice([
            ["rm", f"{PINS}/sandboxes/{box.name}/sock_create"], ["bpftool", "link", "detach", "pinned", f"{PINS}/sandboxes/{box.name}/connect4"],
            ["bpftool", "map", "delete", "pinned", f"{PINS}/maps/policies", "key", *key],
            ["bpftool", "map", "delete", "pinned", f"{PINS}/maps/sandboxes", "key", *key]])
        self.expect(" ".join(deed), subprocess.run(deed).returncode, 0)
        def isolation():
            code, answer = request("GET", "/v1/sandboxes")
            return next((s["isolation"] for s in answer["sandboxes"] if s["name"] == box.name), None) if code == 200 else None
        # Two passes; emulation and sanitizers make them long.
        if not within(20, lambda: isolation() == "inactive"):
            raise Broken(f"{deed} and {box.name} is {isolation()}")
        for _ in range(3):
            self.expect("isolation of a tampered sandbox", isolation(), "inactive")
        if name.endswith("freeze") and not within(20, box.frozen):
            raise Broken(f"{deed} and {box.name} is not frozen")
        if name.endswith("kill") and not within(20, lambda: box.prober.poll() is not None):
            raise Broken(f"{deed} and {box.name} lives on")
        self.expect("break-glass --close", sbpf("break-glass", "--close")[0], 0)
        if not within(120, lambda: isolation() == "degraded"):
            raise Broken(f"{deed} is not repaired: {box.name} is {isolation()}")
        if name.endswith("freeze") and not box.frozen():
            raise Broken(f"{box.name} is thawed by the repair")
        box.thaw()

    # ---- rounds ----

    ACTIONS = [(do_change, 10), (do_read, 3), (do_bad_requests, 3), (do_raw, 2), (do_events, 3), (do_drop, 2), (do_burst, 2), (do_file, 5),
               (do_kill_watch, 2), (do_stop_watch, 1), (do_kill_request, 4), (do_late, 2), (do_hup, 1), (do_restart, 2), (do_freeze, 1),
               (do_remove_cgroup, 2)]

    def act(self, action, box):
        name = action.__name__.removeprefix("do_")
        print(f"# {time.monotonic():.1f} {name} {box.name}", flush=True)
        self.counts[name] = self.counts.get(name, 0) + 1
        action(self, box)
        # Requests whose clients are gone are still under way.
        if not within(120, lambda: not self.service.requests()):
            raise Broken(f"requests do not end: {self.service.others()}")
        for one in self.boxes:
            if one is box or len(one.may) > 1 or (name == "file" and one.follows) or self.random.random() < 0.1:
                self.settle(one)
        self.listed()
        if found := reports(self.work):
            raise Broken(f"a sanitizer says {found}")

    def round(self, end):
        self.glass = False
        keeper = subprocess.Popen([os.environ["SBPF"], "run", "-q", "--name", "keeper", "--policy", "no-network", "--", "sleep", "infinity"],
                                  stdin=subprocess.DEVNULL, stdout=self.service.log, stderr=self.service.log)
        if not within(240, lambda: (status("keeper") or {}).get("isolation_active")):
            raise Broken("no sandbox can be started")
        self.service.start()
        fds = lambda: len(os.listdir(f"/proc/{self.service.watch()}/fd"))
        time.sleep(3)
        watch_fds = fds()
        for box in self.boxes:
            self.settle(box)
        while time.monotonic() < end - 60:
            actions, weights = zip(*self.ACTIONS)
            self.act(self.random.choices(actions, weights)[0], self.random.choice(self.boxes))
        self.service.quiet()
        for _ in range(2):
            self.act(Soak.tamper, self.random.choice(self.boxes))
        for _ in range(3):
            self.act(Soak.do_change, self.random.choice(self.boxes))
        for box in self.boxes:
            if box.may != {None}:
                self.ask([200], "DELETE", f"/v1/sandboxes/{box.name}")
                box.may = {None}
            self.settle(box)
        self.listed()
        self.service.quiet()
        if not within(30, lambda: fds() == watch_fds):
            raise Broken(f"the watch has {fds()} descriptors, and had {watch_fds}")
        print(f"# sbpfd has {len(self.service.fds)} descriptors and {self.service.memory()} KiB; the watch {watch_fds} descriptors", flush=True)
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
    print(f"# soak: {seconds} s, seed {seed}, sanitizers: {b'__asan_init' in open(shutil.which('sbpfd'), 'rb').read()}", flush=True)
    soak = Soak(seconds, seed)
    code = 0
    try:
        soak.run()
    except Exception as e:  # whatever it is, it is told, with what the service had to say
        import traceback
        traceback.print_exc()
        print(f"# {time.monotonic():.1f} {soak.counts}\n# sanitizers: {reports(soak.work)}\nnot ok soak: seed {seed}: {str(e)[:6000]!r}")
        print("# the service's log:\n" + read(soak.work + "/log")[-6000:], file=sys.stderr)
        code = 1
    print(f"done {soak.rounds + code}", flush=True)
    os._exit(code)  # threads and probers end with the guest


main()
