# SPDX-License-Identifier: Apache-2.0
"""What soak.py asks of sbpfd: changes of sandboxes, questions, nonsense, and what breaks off in the middle."""
import json
import socket
import threading
import time

from soak_host import API, PORTS, Broken, policy_text, within


class Requests:
    def attach_body(self, box, policy=None):
        """Of a valid request, and the policy's name that it leads to."""
        where = {"cgroup": box.cgroup, "name": box.name, "keep": self.random.random() < 0.5}
        if policy is None and self.random.random() < 0.5:
            name = self.random.choice([n for n in self.files if n not in self.broken_files] or [None])
            if name:
                return {**where, "policy": name}, self.files[name], name
        name = policy or self.some_policy()
        return {**where, "policy_text": policy_text(name)}, name, None

    def change(self, box, disturbed=False):
        """Attach if it is not, else swap or take down; what it may be is known afterwards."""
        was = next(iter(box.may))
        codes = [200, 404] if box.unsure else [200]  # the attach that broke off may be taken back only now
        box.inside()
        body, new, follows = self.attach_body(box)
        if was is None:
            box.kept = body["keep"]
            code, _ = self.ask([201], "POST", "/v1/sandboxes", body, disturbed)
        elif self.random.random() < 0.5:
            body = {k: v for k, v in body.items() if k.startswith("policy")}
            code, _ = self.ask(codes, "PUT", f"/v1/sandboxes/{box.name}/policy", body, disturbed)
        else:
            kill = self.random.choice(["", "?kill=false", "?kill=true"])
            new = follows = None
            code, _ = self.ask(codes, "DELETE", f"/v1/sandboxes/{box.name}{kill}", b"", disturbed)
            if code == 200 and kill == "?kill=true" and not within(20, lambda: box.prober.poll() is not None):
                raise Broken(f"{box.name} was killed and runs")
        if code in (200, 201):
            box.may, box.follows, box.unsure = {new}, follows, False
        elif code == 404:
            box.may, box.follows, box.unsure = {None}, None, False
        elif disturbed:
            box.may, box.unsure = {was, new}, True

    def do_change(self, box):
        self.change(box)

    def do_read(self, box):
        attached = box.may != {None}
        for path, codes in self.random.sample([
                ("/v1/sandboxes", [200]),
                (f"/v1/sandboxes/{box.name}", [200 if attached else 404]), ("/healthz", [200]),
                ("/metrics", [200]), ("/v1/policies", [200]), ("/v1/sandboxes/nobody", [404]), ("/v2", [404])], 3):
            self.ask(codes, "GET", path)

    def do_bad_requests(self, box):
        good, _, _ = self.attach_body(box, "p7001-alert")
        all, one = "/v1/sandboxes", f"/v1/sandboxes/{box.name}"
        bad = [
            (400, "POST", all, b""), (400, "POST", all, b"{" * 3000), (400, "POST", all, b"\xff\0"),
            (413, "POST", all, b"x" * 70000), (405, "PUT", all, b"{}"), (400, "GET", all + "/%00", b""),
            (400, "POST", all, {**good, "policy_text": "version: 9"}), (400, "POST", all, {**good, "policy_text": ""}),
            (400, "POST", all, {**good, "policy_text": "[" * 5000}), (400, "POST", all, {**good, "more": 1}),
            (400, "POST", all, {**good, "name": "nobody", "cgroup": "/sys/fs/cgroup/nowhere", "keep": False}),
            (400, "POST", all, {**good, "name": "../x"}),
            (400, "DELETE", one + "?kill=", b""),
            (404, "PUT", all + "/nobody/policy", {"policy": "no-network"}), (404, "DELETE", all + "/nobody", b""),
            (400, "PUT", one + "/policy", {"policy": "../../etc/passwd"})]
        for code, method, path, body in self.random.sample(bad, 6):
            self.ask([code], method, path, body)

    def do_raw(self, box):
        """Bytes that are no request, half a one, and connections that are dropped."""
        post = b"POST /v1/sandboxes HTTP/1.1\r\n"
        parts = [b"", b"GET", b"GET /v1/sandboxes HTTP/1.1\r\n", post + b"Content-Length: 500\r\n\r\n{",
                 b"\x16\x03\x01\x02" * 50, b"GET / HTTP/1.1\r\nA: " + b"a" * 20000,
                 b"GET /healthz HTTP/1.1\r\n\r\n" * 20, post + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
                 post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"]
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
            head = f"PUT /v1/sandboxes/{box.name}/policy HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
            s.sendall(head.encode() + body)
            s.close()
            box.may, box.follows, box.unsure = {new}, None, False

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
                target.may, target.unsure = target.may | {new}, True
            body = {"policy_text": policy_text(new or "p7001-alert")}
            threads.append(threading.Thread(target=one, args=(target, body, new)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if wrong:
            raise wrong[0]
