# SPDX-License-Identifier: Apache-2.0
"""What soak.py does to sbpfd and its sandboxes: files of policies, killed processes, things taken away."""
import errno
import os
import signal
import subprocess
import threading
import time

from soak_host import PINS, POLICIES, Broken, policy_text, request, sbpf, status, within


class Faults:
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
            if not os.path.exists(path):
                self.put_file(name, self.files[name])
            if how == "truncate":
                os.truncate(path, 9)
            elif how == "gone":
                os.unlink(path)
            else:
                self.put_file(name, self.files[name], "version: [")
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
        watch = self.service.watch()
        os.kill(watch, signal.SIGKILL)
        if not within(120, lambda: self.service.watch() not in (None, watch)):
            raise Broken("the watch is not started again")
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
            box.may, box.follows, box.unsure = {new}, None, False
        box.thaw()

    def do_remove_cgroup(self, box):
        """Behind its back: the sandbox is gone with it. One that is kept stays, and its cgroup with it."""
        if box.kept and box.may != {None}:
            try:
                box.remove()
            except OSError as e:
                self.expect("removal of a kept cgroup", e.errno, errno.EBUSY)
                return
            raise Broken("a kept cgroup was removed")
        box.remove()
        box.may, box.follows, box.unsure = {None}, None, False
        self.listed()
        now = status(box.name)
        self.expect("isolation of what is gone", now and now["isolation"], None, "inactive")
        # It clears up what is proven to be gone, as the next attach would.
        sbpf("run", "-q", "--policy", "no-network", "--", "true")  # also where it is refused, after a break-glass
        self.expect("sandbox whose cgroup is gone", status(box.name), None)
        box.inside()

    def well(self):
        if not within(120, lambda: request("GET", "/healthz")[0] == 200):
            raise Broken("the watch does not come back")

    def do_tamper(self, box):
        """Something of a sandbox is taken away: it is not called active, is answered, and comes back."""
        if box.may == {None}:
            self.change(box)
            self.settle(box)
            self.listed()  # what the watch has not seen yet it cannot miss
        name = next(iter(box.may))
        self.expect("break-glass", sbpf("break-glass", "--reason", "soak", "--for", "30m")[0], 0)
        self.glass = True
        key = [f"0x{b:02x}" for b in status(box.name)["cgroup_id"].to_bytes(8, "little")]
        pins = f"{PINS}/sandboxes/{box.name}"
        deed = self.random.choice([
            ["rm", f"{pins}/sock_create"],
            ["bpftool", "link", "detach", "pinned", f"{pins}/connect4"],
            ["bpftool", "map", "delete", "pinned", f"{PINS}/maps/policies", "key", *key],
            ["bpftool", "map", "delete", "pinned", f"{PINS}/maps/sandboxes", "key", *key]])
        self.expect(" ".join(deed), subprocess.run(deed).returncode, 0)
        begin = time.monotonic()

        def isolation():
            code, answer = request("GET", "/v1/sandboxes")
            listed = answer["sandboxes"] if code == 200 else []
            return next((s["isolation"] for s in listed if s["name"] == box.name), None)

        # Two passes; emulation and sanitizers make them long.
        if not within(60, lambda: isolation() == "inactive"):
            raise Broken(f"{deed} and {box.name} is {isolation()}")
        print(f"# {' '.join(deed[:4])}: seen after {1000 * (time.monotonic() - begin):.0f} ms", flush=True)
        for _ in range(3):
            self.expect("isolation of a tampered sandbox", isolation(), "inactive")
        if name.endswith("freeze") and not within(60, box.frozen):
            raise Broken(f"{deed} and {box.name} is not frozen")
        if name.endswith("kill") and not within(60, lambda: box.prober.poll() is not None):
            raise Broken(f"{deed} and {box.name} lives on")
        self.expect("break-glass --close", sbpf("break-glass", "--close")[0], 0)
        if not within(120, lambda: isolation() == "degraded"):
            raise Broken(f"{deed} is not repaired: {box.name} is {isolation()}")
        if name.endswith("freeze") and not box.frozen():
            raise Broken(f"{box.name} is thawed by the repair")
        box.thaw()
