# SPDX-License-Identifier: Apache-2.0
"""One side of two that look for each other; places.sh starts it in two sandboxes of one uid, in one, and in none.

places.py keep FILE       makes one of everything that processes of a uid share, writes to FILE what it is, and waits
places.py look FILE WHAT  tries to get at it; prints "through", or the name of the errno
places.py both            both sides in one process tree, for each WHAT; prints "WHAT RESULT" lines
"""
import ctypes
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
KEY, SECRET = 0x5342, b"only mine"
IPC_CREAT, IPC_NOWAIT = 0o1000, 0o4000


def check(result):
    if result == -1 or result is None:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def shmat(number):
    libc.shmat.restype = ctypes.c_void_p
    at = libc.shmat(number, None, 0)
    return check(-1 if at in (None, 2**64 - 1) else at)


def keep(path):
    pid = os.getpid()
    shm = check(libc.shmget(KEY, 4096, IPC_CREAT | 0o600))
    ctypes.memmove(shmat(shm), SECRET, len(SECRET))
    queue = check(libc.msgget(KEY, IPC_CREAT | 0o600))
    message = ctypes.create_string_buffer(b"\1\0\0\0\0\0\0\0" + SECRET)
    check(libc.msgsnd(queue, message, len(SECRET), 0))
    check(libc.semget(KEY, 1, IPC_CREAT | 0o600))
    with open("/dev/shm/mine", "wb") as file:
        file.write(SECRET)
    # O_CREAT|O_RDWR; the queue's attributes: flags, maxmsg, msgsize, curmsgs
    attributes = (ctypes.c_long * 8)(0, 4, 64, 0)
    posix = check(libc.mq_open(b"/mine", os.O_CREAT | os.O_RDWR, 0o600, attributes))
    check(libc.mq_send(posix, SECRET, len(SECRET), 0))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0mine-%d" % pid)
    abstract.listen()
    named = socket.socket(socket.AF_UNIX)
    named.bind("/tmp/mine-%d" % pid)
    os.chmod("/tmp/mine-%d" % pid, 0o777)
    named.listen()
    signal.signal(signal.SIGUSR1, lambda *_: None)
    libc.prctl(0x59616D61, ctypes.c_long(-1), 0, 0, 0)  # Yama, where it is: anyone may trace this one
    text = ctypes.create_string_buffer(SECRET)
    data = {"pid": pid, "address": ctypes.addressof(text)}
    with open(path + ".new", "w") as file:
        json.dump(data, file)
    os.rename(path + ".new", path)
    while True:
        time.sleep(1)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Look:
    def __init__(self, data):
        self.pid, self.address = data["pid"], data["address"]
        self.proc = "/proc/%d" % self.pid

    def listed(self):
        if str(self.pid) not in os.listdir("/proc"):
            raise OSError(errno.ENOENT, "")

    def stat(self):
        os.stat(self.proc)

    def cmdline(self):
        assert b"keep" in read(self.proc + "/cmdline")

    def status(self):
        read(self.proc + "/status")

    def environ(self):
        read(self.proc + "/environ")

    def maps(self):
        read(self.proc + "/maps")

    def mem(self):
        with open(self.proc + "/mem", "rb", buffering=0) as file:
            file.seek(self.address)
            assert file.read(len(SECRET)) == SECRET

    def root(self):
        os.listdir(self.proc + "/root/")

    def cwd(self):
        os.readlink(self.proc + "/cwd")

    def descriptors(self):
        os.listdir(self.proc + "/fd")

    def task(self):
        os.listdir(self.proc + "/task")

    def vm_read(self):
        here = ctypes.create_string_buffer(len(SECRET))
        local = (ctypes.c_size_t * 2)(ctypes.addressof(here), len(SECRET))
        remote = (ctypes.c_size_t * 2)(self.address, len(SECRET))
        check(libc.process_vm_readv(self.pid, local, ctypes.c_ulong(1), remote, ctypes.c_ulong(1), ctypes.c_ulong(0)))
        assert here.raw == SECRET

    def attach(self):
        check(libc.ptrace(ctypes.c_long(16), ctypes.c_long(self.pid), None, None))
        os.waitpid(self.pid, 0x40000000)
        libc.ptrace(ctypes.c_long(17), ctypes.c_long(self.pid), None, None)

    def kill(self):
        os.kill(self.pid, signal.SIGUSR1)

    def shm(self):
        number = check(libc.shmget(KEY, 4096, 0))
        assert ctypes.string_at(shmat(number), len(SECRET)) == SECRET

    def sysv_list(self):
        if not read("/proc/sysvipc/shm").count(b"\n") > 1:
            raise OSError(errno.ENOENT, "")

    def semaphore(self):
        check(libc.semget(KEY, 1, 0))

    def message(self):
        check(libc.msgget(KEY, 0))

    def posix_shm(self):
        assert read("/dev/shm/mine") == SECRET

    def posix_queue(self):
        queue = check(libc.mq_open(b"/mine", os.O_RDWR))
        os.close(queue)

    def queue_file(self):
        assert b"QSIZE" in read("/dev/mqueue/mine")

    def abstract(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect("\0mine-%d" % self.pid)

    def socket_file(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect("/tmp/mine-%d" % self.pid)


NAMES = [name for name in vars(Look) if not name.startswith("_")]


def look(path, names):
    with open(path) as file:
        data = json.load(file)
    for name in names:
        try:
            getattr(Look(data), name)()
            print(name, "through")
        except OSError as e:
            print(name, errno.errorcode[e.errno])
        except AssertionError:
            print(name, "other")


def both():
    path = "/tmp/both-%d" % os.getpid()
    child = subprocess.Popen([sys.executable, __file__, "keep", path])
    while not os.path.exists(path):
        time.sleep(0.05)
    look(path, NAMES)
    child.kill()


command, *arguments = sys.argv[1:]
if command == "keep":
    keep(arguments[0])
elif command == "look":
    look(arguments[0], arguments[1:] or NAMES)
else:
    both()
