# SPDX-License-Identifier: Apache-2.0
"""Looks for secrets where they must not be; and the program that gets them.

secrets.py watch LOG NEEDLE…            reads, ten times a second, every process's cmdline and environ until killed; appends "PLACE NEEDLE"
secrets.py sweep DIRECTORY NEEDLE…      prints "PLACE NEEDLE" for each found in files below, the kernel's log, BPF maps
secrets.py memory PID NEEDLE…           prints "memory NEEDLE" for each found in what the process has mapped
secrets.py program SHA256-OF-FILE SHA256-OF-FD   prints what it finds of its secrets, then waits for SIGTERM

A NEEDLE is the file that holds a secret: the secret itself must not be in our own cmdline.
"""
import base64
import binascii
import errno
import glob
import hashlib
import os
import re
import signal
import subprocess
import sys
import time


def forms(secret):
    """As it is, backwards, in hexadecimal, and in base64 at each offset within three bytes."""
    yield secret
    yield secret[::-1]
    yield binascii.hexlify(secret)
    yield binascii.hexlify(secret).upper()
    for offset in range(3):
        # Without the characters at both ends, which the neighbours have a part in.
        yield base64.b64encode(b"\0" * offset + secret)[4 if offset else 0 : -4]


class Needles:
    def __init__(self, paths):
        self.all = []
        for path in paths:
            with open(path, "rb") as file:
                secret = file.read().strip()
            self.all += [(path, form) for form in forms(secret)]

    def found(self, data):
        return sorted({path for path, form in self.all if form in data})


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def watch(log, needles):
    seen = set()
    print("watching", flush=True)
    while True:
        for what in ("cmdline", "environ"):
            for path in glob.glob("/proc/[0-9]*/" + what):
                for needle in needles.found(read(path)):
                    if (what, needle) not in seen:
                        seen.add((what, needle))
                        with open(log, "a") as file:
                            file.write("%s %s\n" % (what, needle))
        time.sleep(0.1)  # a start of sbpf takes longer


def map_bytes():
    ids = re.findall(rb"^(\d+):", subprocess.run(["bpftool", "map"], capture_output=True).stdout, re.M)
    for number in ids:
        # Not JSON, which would show types where they are known: bytes.
        out = subprocess.run(["bpftool", "-j", "map", "dump", "id", number], capture_output=True).stdout
        yield bytes(int(b, 16) for b in re.findall(rb'"0x([0-9a-f]{2})"', out)) + out


def sweep(directory, needles):
    for top, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(top, name)
            if os.path.isfile(path) and not os.path.islink(path):
                for needle in needles.found(read(path)):
                    print("core" if name.startswith("core.") else "file", needle)
    for needle in needles.found(subprocess.run(["dmesg"], capture_output=True).stdout):
        print("kernel-log", needle)
    for data in map_bytes():
        for needle in needles.found(data):
            print("map", needle)


def memory(pid, needles):
    hits = set()
    with open("/proc/%s/maps" % pid) as maps, open("/proc/%s/mem" % pid, "rb", 0) as mem:
        for line in maps:
            start, end = (int(x, 16) for x in line.split()[0].split("-"))
            try:
                mem.seek(start)
                hits.update(needles.found(mem.read(end - start)))
            except (OSError, ValueError, OverflowError):
                pass
    for needle in sorted(hits):
        print("memory", needle)


def error_of(action):
    try:
        action()
        return "0"
    except OSError as e:
        return errno.errorcode[e.errno]


def program(of_file, of_fd):
    path = os.environ.get("KEY_FILE", "")
    print("path", path)
    with open(path, "rb") as file:
        print("file", hashlib.sha256(file.read()).hexdigest() == of_file)
    info = os.stat(path)
    print("mode", oct(info.st_mode), info.st_uid == os.geteuid())
    print("directory", *sorted(os.listdir(os.path.dirname(path))))
    flags = os.statvfs(path).f_flag
    print("mounted", flags & (os.ST_RDONLY | os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC))
    print("write", error_of(lambda: os.open(path, os.O_WRONLY)))
    print("remove", error_of(lambda: os.unlink(path)))
    print("create", error_of(lambda: os.open(path + ".new", os.O_CREAT | os.O_WRONLY)))
    print("beside", error_of(lambda: os.listdir("/run")))
    if of_fd != "-":
        fd = int(os.environ["PIPE_FD"])
        print("fd", hashlib.sha256(os.read(fd, 1 << 17)).hexdigest() == of_fd, os.read(fd, 1) == b"")
        still = [n for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n)]  # not the listing's own
        print("descriptors", sorted(still, key=int) == ["0", "1", "2", str(fd)])
    print("stdin", sys.stdin.read() == "")
    print("variables", *sorted(os.environ), flush=True)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while True:
        time.sleep(1)


command, first, *rest = sys.argv[1:]
if command == "watch":
    watch(first, Needles(rest))
elif command == "sweep":
    sweep(first, Needles(rest))
elif command == "memory":
    memory(first, Needles(rest))
else:
    program(first, *rest)
