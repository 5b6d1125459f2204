# SPDX-License-Identifier: Apache-2.0
# Carries out, one order a line, questions of DNS as no library would ask them (hands.sh); answers in one line.
#   query SERVER BY FORM NAME [TYPE [CLASS]]   BY: udp, connected, sendmsg, mapped, tcp. FORM: plain, or words joined by +.
#                                              The rcode and the number of answers.
#   connect ADDRESS PORT, send ADDRESS PORT    by TCP, and by UDP
import socket, struct, sys

OPCODES = {"status": 2, "notify": 4, "update": 5}

def labels_of(name):
    return b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\0"

def wire(form, name, kind, klass):
    words = form.split("+")
    flags = 0x0100
    for word in words:
        flags |= OPCODES.get(word, 0) << 11
        flags |= {"ad": 0x20, "cd": 0x10, "z": 0x40}.get(word, 0)
    qname = labels_of(name)
    if "dotted" in words:  # one label, with a dot in it
        first, rest = name.split(".", 1)
        inner, rest = rest.split(".", 1)
        qname = bytes([len(first) + 1 + len(inner)]) + ("%s.%s" % (first, inner)).encode() + labels_of(rest)
    if "nul" in words:
        first, rest = name.split(".", 1)
        qname = bytes([len(first) + 1]) + first.encode() + b"\0" + labels_of(rest)
    questions = qname + struct.pack("!HH", kind, klass)
    count = 1
    if "two" in words:
        questions, count = labels_of("a.example") + struct.pack("!HH", 1, 1) + questions, 2
    extra = 0
    if "option" in words:  # a local one, with eight bytes
        questions += b"\0\0\x29\x10\0\0\0\0\0\0\x0c" + struct.pack("!HH", 65001, 8) + b"secret42"
        extra = 1
    return struct.pack("!HHHHHH", 0x1234, flags, count, 0, 0, extra) + questions

def query(server, by, form, name, kind=1, klass=1):
    message = wire(form, name, int(kind), int(klass))
    family = socket.AF_INET6 if ":" in server or by == "mapped" else socket.AF_INET
    where = ("::ffff:" + server if by == "mapped" else server, 53)
    s = socket.socket(family, socket.SOCK_STREAM if by == "tcp" else socket.SOCK_DGRAM)
    s.settimeout(10)
    if by in ("tcp", "connected"):
        s.connect(where)
    if by == "tcp":
        s.sendall(struct.pack("!H", len(message)) + message)
        stream = s.makefile("rb")
        data = stream.read(struct.unpack("!H", stream.read(2))[0])
    else:
        if by == "connected":
            s.send(message)
        elif by == "sendmsg":
            s.sendmsg([message], [], 0, where)
        else:
            s.sendto(message, where)
        data = s.recv(65535)
    return "rcode%d %d" % (data[3] & 15, struct.unpack("!H", data[6:8])[0])

def connect(address, port):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    s.settimeout(10)
    s.connect((address, int(port)))
    return 0

def send(address, port):
    socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", (address, int(port)))
    return 0

for line in sys.stdin:
    order, *args = line.split()
    try:
        result = {"query": query, "connect": connect, "send": send}[order](*args)
    except TimeoutError:
        result = "timeout"
    except OSError as e:
        result = e.errno
    except Exception as e:
        result = type(e).__name__
    print(result, flush=True)
