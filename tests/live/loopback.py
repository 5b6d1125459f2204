# SPDX-License-Identifier: Apache-2.0
"""What a program does with loopback: each argument is OPERATION,ADDRESS,PORT and printed with what came of it.

tcp, udp    connects or sends there and prints the answer; of UDP by a socket that is not bound yet
own, ownudp makes a server on ADDRESS,PORT (0: the kernel picks), talks to it by ADDRESS, and prints what came there
mptcp       as own, by MPTCP
abstract    connects to the abstract socket of that name
bulk        sends 5 MB and reads back until the end: prints how many bytes came, and whether they are the same
stay        connects, prints, and waits
hold        connects, prints, and goes on to write until it is told no; then prints why
serve       listens there, and answers each client with what the environment has as WORD, until it is ended
"""
import errno
import hashlib
import os
import socket
import sys

PATIENCE = 20


def sockets(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def tcp(address, port):
    with socket.socket(sockets(address)) as s:
        s.settimeout(PATIENCE)
        s.connect((address, port))
        s.sendall(b"word")
        return s.recv(100).decode()


def udp(address, port):
    with socket.socket(sockets(address), socket.SOCK_DGRAM) as s:
        s.settimeout(PATIENCE)
        s.sendto(b"word", (address, port))
        answer, whence = s.recvfrom(100)
        return f"{answer.decode()} from {whence[0]}:{whence[1]}"


def own(address, port, protocol=0):
    with socket.socket(sockets(address), socket.SOCK_STREAM, protocol) as server, socket.socket(sockets(address), socket.SOCK_STREAM, protocol) as client:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((address, port))
        server.listen()
        client.settimeout(PATIENCE)
        client.connect((address, server.getsockname()[1]))
        client.sendall(b"own")
        return server.accept()[0].recv(9).decode()


def ownudp(address, port):
    with socket.socket(sockets(address), socket.SOCK_DGRAM) as server, socket.socket(sockets(address), socket.SOCK_DGRAM) as client:
        server.settimeout(PATIENCE)
        server.bind((address, port))
        client.sendto(b"own", (address, server.getsockname()[1]))
        return server.recv(9).decode()


def mptcp(address, port):
    return own(address, port, 262)


def abstract(name, _):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(PATIENCE)
        s.connect("\0" + name)
        return "connected"


def bulk(address, port):
    sent = hashlib.sha256(b"x" * 5000000).hexdigest()
    got, came = hashlib.sha256(), 0
    with socket.socket(sockets(address)) as s:
        s.settimeout(PATIENCE)
        s.connect((address, port))
        if os.fork() == 0:
            s.sendall(b"x" * 5000000)
            s.shutdown(socket.SHUT_WR)
            os._exit(0)
        while part := s.recv(65536):
            got.update(part)
            came += len(part)
    return f"{came} {'same' if got.hexdigest() == sent else 'other'}"


def hold(address, port):
    with socket.socket(sockets(address)) as server, socket.socket(sockets(address)) as client:
        server.bind((address, port))
        server.listen()
        client.connect((address, server.getsockname()[1]))
        there = server.accept()[0]
        print("holds", flush=True)
        while True:
            client.sendall(b"x")
            if not there.recv(1):
                return "ended"


def stay(address, port):
    with socket.socket(sockets(address)) as s:
        s.connect((address, port))
        print("stays", flush=True)
        return s.recv(1)


def serve(address, port):
    with socket.socket(sockets(address)) as server:
        server.bind((address, port))
        server.listen()
        print("serves", flush=True)
        while True:
            client = server.accept()[0]
            client.recv(100)
            client.sendall(os.environ["WORD"].encode())
            client.close()


for argument in sys.argv[1:]:
    operation, address, number = argument.split(",")
    port = int(number)
    try:
        print(f"{operation},{address},{port} {globals()[operation](address, port)}", flush=True)
    except OSError as e:
        print(f"{operation},{address},{port} {errno.errorcode.get(e.errno, e)}", flush=True)
