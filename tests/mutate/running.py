# SPDX-License-Identifier: Apache-2.0
"""Builds the copy with all faults, runs the test of one, and judges what came of it."""
import collections
import contextlib
import hashlib
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import faults as lists

REPO = Path(__file__).resolve().parents[2]
WORK = REPO / "build" / "mutate"
SOURCE = WORK / "src"
BUILD = SOURCE / "build" / "release"
TESTS = "/opt/sbpf/tests/"
# A test that takes so many times longer than without a fault hangs.
PATIENCE, LEAST_SECONDS, FIRST_SECONDS = 5, 120, 2400
# What sbpf says when it starts nothing: then no test ran, and none has found anything.
REFUSED = re.compile(r"isolation could not be verified|refused to load|cannot attach hook|no canary of|gave no answer|died before|got '125'$")


@dataclass
class Outcome:
    failed: list  # "NAME: why" of cases that failed
    passed: int
    complete: bool  # it ran to its end
    hung: bool = False
    seconds: float = 0.0
    tail: str = ""
    guest: bool = True

    @property
    def green(self):
        return self.complete and not self.failed and self.passed > 0

    @property
    def refused(self):
        """Nothing could start: no case passed, or what failed did because sbpf refused to run anything."""
        return self.guest and bool(self.failed) and (self.passed == 0 or all(REFUSED.search(case) for case in self.failed))


def copy_sources(faults, repo=REPO, to=SOURCE):
    """The tree with all faults in it; only what changed is written, so that a build is short."""
    by_file = {}
    for fault in faults:
        if not fault.equivalent:
            by_file.setdefault(fault.file, []).append(fault)
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=repo, check=True, capture_output=True).stdout
    names = {name for name in listed.decode().split("\0") if name and (repo / name).is_file()}
    for name in sorted(set(by_file) - names):
        raise lists.ListError(f"{by_file[name][0].place}: no file {name}")
    digest = hashlib.sha256()
    for name in sorted(names):
        data = (repo / name).read_bytes()
        if name in by_file:
            data = lists.mutated(data.decode(), name, by_file[name]).encode()
        digest.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
        target = to / name
        if target.is_file() and target.read_bytes() == data and os.access(target, os.X_OK) == os.access(repo / name, os.X_OK):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod((repo / name).stat().st_mode & 0o777)
    for path in to.rglob("*"):
        name = path.relative_to(to)
        if path.is_file() and name.parts[0] != "build" and str(name) not in names:
            path.unlink()
    return digest.hexdigest()


def build(targets):
    command = [str(SOURCE / "scripts" / "build"), "release", *targets]
    done = subprocess.run(command, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise lists.ListError("the copy with all faults does not build:\n" + done.stdout[-6000:])


def end(process, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)  # a group of its own: nobody else's processes


def run(command, seconds, enough=lambda line: False, **more):
    """Its output and exit code; None: it took too long. It is ended at the first line that is `enough`, with exit code 0. All of
    its processes end with it."""
    late = threading.Event()
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True, errors="replace", start_new_session=True, **more) as process:
        timers = [threading.Timer(seconds, lambda: (late.set(), end(process, signal.SIGTERM))),
                  threading.Timer(seconds + 20, lambda: end(process, signal.SIGKILL))]
        for timer in timers:
            timer.start()
        stopped = False
        for line in process.stdout:
            lines.append(line)
            if not stopped and enough(line):
                stopped = True
                end(process, signal.SIGTERM)
        for timer in timers:
            timer.cancel()
    return "".join(lines), None if late.is_set() else 0 if stopped else process.returncode


class FirstFailure:
    """Tells the line that kills a fault: a case that failed for another reason than that nothing could start."""

    def __init__(self):
        self.passed = False

    def __call__(self, line):
        self.passed = self.passed or line.startswith("ok ")
        return self.passed and line.startswith("not ok ") and not REFUSED.search(line)


def judge_unit(output, code):
    # After the name may come the parameter, in bytes.
    # What was skipped, or did not run, has found nothing.
    failed = re.findall(r"^\s*\d+/\d+ Test +#\d+: (\S+).*\*\*\*((?:Failed|Exception|Timeout).*?)(?: +[\d.]+ sec)?$", output, re.M)
    passed = len(re.findall(r"^\s*\d+/\d+ Test +#\d+: .* Passed +[\d.]+ sec", output, re.M))
    return Outcome([f"{name}: {why.strip()}" for name, why in failed], passed, code is not None, code is None, tail=output[-1500:],
                   guest=False)


def judge_guest(output, code):
    """By the contract of tests/vm/README."""
    failed = [line[7:] for line in output.splitlines() if line.startswith("not ok ")]
    passed = sum(line.startswith("ok ") for line in output.splitlines())
    complete = bool(re.search(r"^done \d+$", output, re.M)) and code in (0, 1)
    hung = code is None or "no result from the guest" in output[-1500:]  # scripts/vm gave it up, or was given up
    return Outcome(failed, passed, complete, hung, tail=output[-1500:])


def guest_command(command, number):
    """A test is named as in tests/vm/plan, without its folder."""
    return f"echo {number} >/run/sbpf-mutant; exec {TESTS}{command}"


def guest_options(command, load, plan):
    """Of scripts/vm, as tests/vm/plan has them for this test; one that is not there runs where the programs are loaded."""
    options = ["--state", "loaded"]
    for line in plan.splitlines():
        parts = [part.strip() for part in line.split("|")]
        if len(parts) == 4 and not line.startswith("#") and parts[3].removeprefix(TESTS).split()[0] == command.split()[0]:
            options = shlex.split(parts[1])
            break
    return ["booted" if load and option == "loaded" else option for option in options]


class Runner:
    def __init__(self, fingerprint):
        self.known = WORK / "green" / fingerprint[:16]
        self.locks = collections.defaultdict(threading.Lock)
        self.plan = (REPO / "tests" / "vm" / "plan").read_text()

    def once(self, by, kernel, number, seconds, load):
        kind, _, what = by.partition(" ")
        begin = time.monotonic()
        if kind == "unit":
            command = ["ctest", "--test-dir", str(BUILD), "-R", what, "--timeout", str(int(seconds)), "--stop-on-failure"]
            # ctest ends a test that hangs, and names it.
            outcome = judge_unit(*run(command, seconds + 60, env={**os.environ, "SBPF_MUTANT": str(number)}))
        else:
            outcome = judge_guest(*self.guest(guest_command(what, number), kernel, what, seconds, load,
                                              FirstFailure() if number else lambda line: False))
        outcome.seconds = time.monotonic() - begin
        return outcome

    def guest(self, script, kernel, test, seconds, load=False, enough=lambda line: False):
        """The output and exit code of a script in a guest as TEST wants it."""
        command = [str(REPO / "scripts" / "vm"), kernel, "--build", str(BUILD), "--timeout", str(int(seconds)),
                   *guest_options(test, load, self.plan), "--", "bash", "-c", script]
        return run(command, seconds + 400, enough)

    def check_programs(self, kernels):
        """The verifier may find the programs too large, with all faults in them."""
        for kernel in kernels:
            output, code = self.guest("true", kernel, "true", FIRST_SECONDS)
            if code != 0:
                raise lists.ListError(f"the programs with all faults do not load on {kernel}:\n" + output[-1500:])

    def green(self, by, kernel, load):
        """How long the test takes without a fault, in seconds. It must pass, or it proves nothing."""
        record = self.known / hashlib.sha256(f"{by}|{kernel}|{load}".encode()).hexdigest()[:24]
        with self.locks[record]:  # one of those that run side by side finds out
            return float(record.read_text()) if record.exists() else self.measure(record, by, kernel, load)

    def measure(self, record, by, kernel, load):
        outcome = self.once(by, kernel, 0, FIRST_SECONDS, load)
        if not outcome.green:
            why = outcome.failed[:3] or [f"no end, or no case:\n{outcome.tail}"]
            raise lists.ListError(f"without a fault `{by}` does not pass on {kernel}: " + "; ".join(why))
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(f"{outcome.seconds:.1f}")
        return outcome.seconds

    def verdict(self, fault):
        """(killed, text)"""
        usual = self.green(fault.by, fault.kernel, fault.load)
        seconds = max(LEAST_SECONDS, PATIENCE * usual)
        outcome = self.once(fault.by, fault.kernel, fault.number, seconds, fault.load)
        if outcome.hung and not outcome.failed:  # of itself, or for another reason
            outcome = self.once(fault.by, fault.kernel, fault.number, seconds, fault.load)
        return verdict_of(fault, outcome)


def verdict_of(fault, outcome):
    first = outcome.failed[0][:160] if outcome.failed else ""
    if outcome.failed and fault.refused and outcome.refused:
        return True, f"refused: {first}"
    if outcome.failed and outcome.refused:
        return False, f"nothing could start, which proves nothing: {first}"
    if outcome.failed:
        return True, f"killed by {first}"
    # A guest that never came as far as the test's first case hangs for a reason of its own.
    if outcome.hung and outcome.passed:
        return True, f"killed by {fault.by}: it hangs after {outcome.passed} cases"
    if outcome.hung:
        return False, f"{fault.by} hung before its first case, which proves nothing"
    if outcome.complete:
        return False, f"survived {fault.by}"
    return False, f"no result of {fault.by}: {outcome.tail[-300:]}"
