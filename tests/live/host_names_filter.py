# SPDX-License-Identifier: Apache-2.0
# host_names_filter.py PID: what the seccomp filter of a process does, in children that get the same one. Prints `filters N`, and for
# each call its name, its errno without the filter, and under it.
import ctypes, os, sys

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long
SEIZE, INTERRUPT, DETACH, GET_FILTER, WALL = 0x4206, 0x4207, 17, 0x420c, 0x40000000
PRCTL, SECCOMP, NO_NEW_PRIVS, SET_MODE_FILTER = 157, 317, 38, 1


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]


def trace(request, pid, number=0, data=None):
    result = libc.ptrace(request, pid, number, data)
    if result < 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    return result


def filters_of(pid):
    trace(SEIZE, pid)
    trace(INTERRUPT, pid)
    os.waitpid(pid, WALL)
    found = []
    try:
        while True:
            steps = ctypes.create_string_buffer(8 * trace(GET_FILTER, pid, len(found)))
            trace(GET_FILTER, pid, len(found), ctypes.addressof(steps))
            found.append(steps)
    except OSError as error:
        if error.errno != 2:
            raise
    finally:
        trace(DETACH, pid)
    return found


def outcome(filters, number, arguments):
    """The errno of the call in a child under these filters."""
    child = os.fork()
    if child == 0:
        for steps in filters:
            program = Program(len(steps) // 8, ctypes.addressof(steps))
            if libc.syscall(PRCTL, NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(SECCOMP, SET_MODE_FILTER, 0, ctypes.byref(program)):
                os._exit(255)
        ctypes.set_errno(0)
        os._exit(0 if libc.syscall(number, *arguments) >= 0 else ctypes.get_errno())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


CALLS = {
    "inet": (41, 2, 2, 0),
    "inet6": (41, 10, 1, 0),
    "unix": (41, 1, 1, 0),
    "netlink": (41, 16, 3, 0),
    "packet": (41, 17, 3, 0),
    "bpf-lookup": (321, 1, 0, 0),
    "bpf-update": (321, 2, 0, 0),
    "bpf-delete": (321, 3, 0, 0),
    "bpf-next": (321, 4, 0, 0),
    "bpf-create": (321, 0, 0, 0),
    "bpf-load": (321, 5, 0, 0),
    "bpf-pin": (321, 6, 0, 0),
    "bpf-get": (321, 7, 0, 0),
    "bpf-by-id": (321, 14, 0, 0),
    "bpf-link": (321, 28, 0, 0),
    "open": (257, -100, b"/dev/null", 0, 0),
    "exec": (59, b"/nowhere", 0, 0),
    "fork": (57,),
    "kill": (62, os.getpid(), 0),
    "trace": (101, 0, 0, 0, 0),
    "unlink": (87, b"/nowhere"),
    "mount": (165, 0, b"/nowhere", 0, 0, 0),
}
filters = filters_of(int(sys.argv[1]))
print("filters", len(filters))
for name, (number, *arguments) in CALLS.items():
    print(name, outcome([], number, arguments), outcome(filters, number, arguments))
