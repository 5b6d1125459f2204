# SPDX-License-Identifier: Apache-2.0
# Carries out, one order a line, what tests of names ask for (hands.sh); answers in one line.
import os, random, socket, struct, subprocess, sys, time

kept = {}

def question(name, kind=1, number=0x1234):
    labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split("."))
    return struct.pack("!HHHHHH", number, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)

def connect(address, port, keep=None):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    s.settimeout(10)
    try:
        s.connect((address, int(port)))
    except OSError as e:
        return e.errno if e.errno else "timeout"
    if keep:
        kept[keep] = s
    return 0

def look(name):
    try:
        return sorted({a[4][0] for a in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)})[0]
    except socket.gaierror as e:
        return "gai%d" % e.errno

def ask(address, name, family=None):
    """The rcode and who answered, by a socket that is not connected."""
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(10)
    try:
        s.sendto(question(name), (address, 53))
        data, who = s.recvfrom(4096)
    except OSError as e:
        return e.errno if e.errno else "timeout"
    return "rcode%d %s %d" % (data[3] & 15, who[0], who[1])

def peer(kind, address):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
    try:
        s.connect((address, 53))
    except OSError as e:
        return e.errno
    return "%s %d" % s.getpeername()[:2]

def asker(address, keep):
    """Asks, and keeps the socket; the port that it has."""
    s = kept[keep] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(10)
    s.sendto(question("a.example"), (address, 53))
    s.recv(4096)
    return s.getsockname()[1]

def flood(pattern, n):
    """Asks for n new names, as fast as it can; how many were answered, refused and dropped."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    codes = {}
    def hear(seconds):
        s.settimeout(seconds)
        try:
            while True:
                code = s.recv(4096)[3] & 15
                codes[code] = codes.get(code, 0) + 1
        except OSError:
            pass
    for i in range(int(n)):
        s.sendto(question("%x-%d.%s" % (random.getrandbits(64), i, pattern)), ("127.0.0.53", 53))
        hear(0)
    hear(3)
    return "answered %d refused %d dropped %d" % (codes.get(0, 0), codes.get(3, 0), int(n) - sum(codes.values()))

def malform(n):
    """Broken queries, by UDP and TCP."""
    random.seed(7)
    good = question("a.example") + b"\0\0\x29\x10\0\0\0\0\0\0\0"
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for i in range(int(n)):
        bad = bytearray(good[:random.randrange(len(good) + 1)] if i % 3 == 0 else good)
        for _ in range(random.randrange(1, 6)):
            if bad:
                bad[random.randrange(len(bad))] = random.randrange(256)
        try:
            s.sendto(bytes(bad) + os.urandom(random.choice([0, 0, 1, 1200])), ("127.0.0.53", 53))
        except OSError as e:
            return e.errno
    for cut in (b"", b"\0", b"\0\x20abc", b"\xff\xff" + os.urandom(3000), b"\0\0" * 100):
        t = socket.create_connection(("127.0.0.53", 53))
        t.sendall(cut)
        t.close()
    return 0

for line in sys.stdin:
    order, *args = line.split()
    try:
        if order == "look":
            result = look(*args)
        elif order == "get":  # by name: look and connect
            address = look(args[0])
            result = connect(address, args[1]) if not address.startswith("gai") else address
        elif order == "connect":
            result = connect(*args)
        elif order == "echo":
            kept[args[0]].sendall(b"x")
            result = 0 if kept[args[0]].recv(1) == b"x" else "closed"
        elif order == "ask":
            result = ask(*args)
        elif order == "asker":
            result = asker(*args)
        elif order == "sender":  # who sends to a socket that was kept
            result = "%s %d" % kept[args[0]].recvfrom(4096)[1]
        elif order == "peer":
            result = peer(*args)
        elif order == "flood":
            result = flood(*args)
        elif order == "malform":
            result = malform(*args)
        elif order == "send":
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.sendto(b"x", (args[0], int(args[1])))
            result = 0
        elif order == "bind":
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind((args[0], int(args[1])))
            result = 0
        elif order == "bound":  # where a bind to that address without a port leads
            s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if args[0] == "tcp" else socket.SOCK_DGRAM)
            s.bind((args[1], 0))
            result = s.getsockname()[0]
        else:  # sh
            done = subprocess.run(line.split(None, 1)[1], shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=90)
            result = done.stdout.decode(errors="replace").replace("\n", " ").strip() or "nothing"
    except OSError as e:
        result = e.errno if e.errno else type(e).__name__
    except Exception as e:
        result = type(e).__name__
    print(result, flush=True)
