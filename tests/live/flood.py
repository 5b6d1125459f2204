# SPDX-License-Identifier: Apache-2.0
# Is denied what stdin orders; each order is answered by an errno, and those that repeat by 0 when each was EPERM.
#   port PORT TIMES     connects of UDP to that port of 127.0.0.1
#   ports FIRST NUMBER  the same to each of so many ports
#   port6 PORT          a connect of UDP to that port of ::1
#   raw                 a raw socket
#   file PATH           an open for reading
#   bind PORT           of UDP
#   signal PID          SIGURG, which nobody notices
import errno, os, signal, socket, sys


def connects(ports):
    for port in ports:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            try:
                s.connect(("127.0.0.1", port))
            except OSError as e:
                if e.errno != errno.EPERM:
                    raise


def carry_out(what, *rest):
    if what == "port":
        connects([int(rest[0])] * int(rest[1]))
    elif what == "ports":
        connects(int(rest[0]) + i for i in range(int(rest[1])))
    elif what == "port6":
        socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).connect(("::1", int(rest[0])))
    elif what == "raw":
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    elif what == "file":
        open(rest[0])
    elif what == "bind":
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(("127.0.0.1", int(rest[0])))
    elif what == "signal":
        os.kill(int(rest[0]), signal.SIGURG)


for line in sys.stdin:
    try:
        carry_out(*line.split())
        print(0, flush=True)
    except OSError as e:
        print(e.errno, flush=True)
