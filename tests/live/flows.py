# SPDX-License-Identifier: Apache-2.0
# Holds sockets, and carries out orders on them by stdin: each is answered by 0 or an errno.
#   tcp|tcp5|tcp6|udp NAME PORT   a connection to that port of 127.0.0.1 (tcp5: of 127.0.0.5; tcp6: by its mapped address)
#   refused NAME PORT TIMES  so many UDP sockets, each of which is refused a port, this one and those after it, with EPERM
#   crowded NAME PORT TIMES OTHER   the same, slowly enough for a reader to keep up, and then a connection by UDP to OTHER
#   close NAME               gives it up
#   again NAME PORT          its socket, connected to another port of 127.0.0.1
#   sender NAME              an unconnected UDP socket
#   listen NAME PORT         a TCP server at 127.0.0.1
#   raw NAME                 a raw IPv4 socket
#   shut NAME                it sends no more, and may receive
#   accept NAME SERVER       the next connection of a server
#   echo NAME                sends a word to who answers with it
#   receive NAME             waits for what the other side says, or for what ends it
#   send NAME PORT           the same from an unconnected socket
import ctypes, errno, socket, sys, time
libc = ctypes.CDLL(None)
held = {}

def connect(kind, name, port):
    family = socket.AF_INET6 if kind == "tcp6" else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
    s.settimeout(30)
    s.connect(({"tcp5": "127.0.0.5", "tcp6": "::ffff:127.0.0.1"}.get(kind, "127.0.0.1"), int(port)))
    held[name] = s

def refused(name, port, times):
    for i in range(int(times)):
        try:
            connect("udp", name, int(port) + i)
        except OSError as e:
            if e.errno == errno.EPERM:
                continue
            raise
        raise OSError(errno.EALREADY, "let through")

def crowded(name, port, times, other):
    for i in range(0, int(times), 20):
        refused(name, int(port) + i, 20)
        time.sleep(0.005)
    time.sleep(0.05)
    connect("udp", name, other)

def echo(name, port=None):
    s = held[name]
    if port:
        s.sendto(b"word", ("127.0.0.1", int(port)))
    else:
        s.sendall(b"word")
    if s.recv(16) != b"word":
        raise OSError(104, "closed")

def carry_out(what, name, *rest):
    if what in ("tcp", "tcp5", "tcp6", "udp"):
        connect(what, name, *rest)
    elif what == "again":
        libc.connect(held[name].fileno(), bytes(16), 16)  # AF_UNSPEC: it has no peer
        held[name].connect(("127.0.0.1", int(rest[0])))
    elif what == "refused":
        refused(name, *rest)
    elif what == "crowded":
        crowded(name, *rest)
    elif what == "sender":
        held[name] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        held[name].settimeout(30)
    elif what == "raw":
        held[name] = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    elif what == "listen":
        held[name] = socket.create_server(("127.0.0.1", int(rest[0])))
        held[name].settimeout(30)
    elif what == "shut":
        held[name].shutdown(socket.SHUT_WR)
    elif what == "accept":
        held[name] = held[rest[0]].accept()[0]
        held[name].settimeout(30)
    elif what == "close":
        held.pop(name).close()
    elif what == "receive":
        held[name].recv(16)
    else:
        echo(name, *rest)

for line in sys.stdin:
    try:
        carry_out(*line.split())
        print(0, flush=True)
    except OSError as e:
        print(e.errno or "timeout", flush=True)
