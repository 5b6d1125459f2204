#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Inside a sandbox: does to every process that appears in its cgroup what would keep a canary from answering.

canary.py FILE: first to a child of its own, as a control, then to all others, until it is killed. Lines in FILE: WHO OPERATION ERRNO.
"""
import ctypes
import errno
import os
import signal
import sys

libc = ctypes.CDLL(None, use_errno=True)
PIDFD_OPEN, PIDFD_GETFD, IOPRIO_SET = 434, 438, 251
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
own = "/sys/fs/cgroup" + open("/proc/self/cgroup").read().strip().split("::")[1]


def call(function, *arguments):
    ctypes.set_errno(0)
    return 0 if function(*arguments) >= 0 else ctypes.get_errno()


def python(function, *arguments):
    try:
        function(*arguments)
        return 0
    except OSError as error:
        return error.errno


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def pidfd_getfd(pid):
    fd = libc.syscall(PIDFD_OPEN, pid, 0)
    code = call(libc.syscall, PIDFD_GETFD, fd, 0, 0)
    if fd >= 0:
        os.close(fd)
    return code


def read_memory(pid):
    byte = ctypes.create_string_buffer(1)
    here = (ctypes.c_void_p * 2)(ctypes.addressof(byte), 1)
    address = int(open("/proc/self/maps").readline().split("-")[0], 16)
    there = (ctypes.c_void_p * 2)(address, 1)
    code = call(libc.process_vm_readv, pid, here, 1, there, 1, 0)
    return 0 if code == errno.EFAULT else code


def trace(pid):
    code = call(libc.ptrace, PTRACE_SEIZE, pid, None, None)
    if code == 0:
        libc.ptrace(PTRACE_DETACH, pid, None, None)
    return code


OPERATIONS = {
    "stop": lambda pid: python(os.kill, pid, signal.SIGSTOP),
    "null": lambda pid: python(os.kill, pid, 0),
    "nice": lambda pid: python(os.setpriority, os.PRIO_PROCESS, pid, 19),
    "scheduler": lambda pid: python(os.sched_setscheduler, pid, os.SCHED_IDLE, os.sched_param(0)),
    "affinity": lambda pid: python(os.sched_setaffinity, pid, [0]),
    "ioprio": lambda pid: call(libc.syscall, IOPRIO_SET, 1, pid, 3 << 13),
    "limit": lambda pid: call(libc.prlimit64, pid, 7, (ctypes.c_ulong * 2)(64, 64), None),
    "trace": trace,
    "descriptor": pidfd_getfd,
    "memory": read_memory,
    "mem-file": lambda pid: python(lambda: os.close(os.open("/proc/%d/mem" % pid, os.O_RDWR))),
    "oom": lambda pid: python(write, "/proc/%d/oom_score_adj" % pid, "1000"),
    "move": lambda pid: python(write, own + "/cage/cgroup.procs", str(pid)),
}
GONE = (errno.ESRCH, errno.ENOENT, errno.EBADF)


def attack(who, pid, out):
    for name, operation in OPERATIONS.items():
        code = operation(pid)
        if code not in GONE:
            os.write(out, ("%s %s %d\n" % (who, name, code)).encode())
        elif name == "stop":
            return


out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
victim = os.fork()
if victim == 0:
    while True:
        signal.pause()
attack("control", victim, out)
os.write(out, b"control freeze %d\n" % python(write, own + "/cage/cgroup.freeze", "1"))
procs = os.open(own + "/cgroup.procs", os.O_RDONLY)
# 0: one that ended while the kernel wrote the list; for kill() it is the caller's group.
known = {0, os.getpid(), victim, os.getppid()} | {int(p) for p in os.pread(procs, 65536, 0).split()}
os.write(out, b"control ready 0\n")
while True:
    for pid in os.pread(procs, 65536, 0).split():
        if int(pid) not in known:
            known.add(int(pid))
            attack("canary", int(pid), out)
