#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every option of IP and IPv6, by its number, on every kind of socket that a sandbox may make: what is allowed changes neither
where packets go nor what they carry, as the wire shows, and what would is refused with EPERM. Without a policy, and under one that
allows all, the wire shows the difference."""
import errno
import os
import select
import socket
import struct
import subprocess
import sys
import time

PORT = 7001
IP, IPV6 = 0, 41
NUMBERS = range(256)
# (name, family, type, levels)
KINDS = [("udp4", socket.AF_INET, socket.SOCK_DGRAM, (IP,)), ("tcp4", socket.AF_INET, socket.SOCK_STREAM, (IP,)),
         ("udp6", socket.AF_INET6, socket.SOCK_DGRAM, (IPV6, IP)), ("tcp6", socket.AF_INET6, socket.SOCK_STREAM, (IPV6, IP))]
# Known to lead elsewhere or to change what a packet carries, and what the kernel tells the network of groups: the check of the
# wire must see each of them without a policy.
REPORTS = "reports of groups"
SEEN_WITHOUT = {(IP, 4), (IPV6, 54), (IPV6, 57), (IPV6, 59), REPORTS}
# With root's powers, so that it is the option that is refused.
POWERS = """process:
  seccomp: dangerously_unconfined
  capabilities: dangerously_all
  dangerously_allow_new_privileges: true
  kernel: {dangerously_allow_capabilities: [NET_ADMIN, NET_RAW]}
"""
POLICIES = {
    "/tmp/options.yaml": 'connect: [{address: 127.0.0.1, ports: [7001]}, {address: "::1", ports: [7001]}]',
    "/tmp/all.yaml": "dangerously_allow_all: true",
}
cases = failed = 0


def is_(name, wanted, got):
    global cases, failed
    cases += 1
    failed += wanted != got
    print(f"ok {name}" if wanted == got else f"not ok {name}: wanted {wanted!r}, got {got!r}", flush=True)


def values(wire):
    """What an option may take: numbers, interfaces, addresses, groups, source routes, extension headers."""
    group4, group6 = socket.inet_aton("224.9.9.9"), socket.inet_pton(socket.AF_INET6, "ff02::99")
    here = socket.inet_aton("10.9.0.1")
    group = struct.pack("=HH4s8x", socket.AF_INET, 0, group4) + bytes(112)
    group_6 = struct.pack("=HHI16sI", socket.AF_INET6, 0, 0, group6, 0) + bytes(100)
    return [struct.pack("=i", 1), struct.pack("=i", 0), struct.pack("=i", wire), struct.pack("!i", wire), here, group4 + here,
            group4 + here + struct.pack("=i", wire), group4 + here + socket.inet_aton("10.9.0.2"), group6 + struct.pack("=i", wire),
            struct.pack("=I4x", wire) + group, struct.pack("=I4x", wire) + group_6,
            b"\x83\x07\x04" + socket.inet_aton("10.9.0.9") + b"\x01",  # a loose source route
            b"\x00\x00\x01\x04\x00\x00\x00\x00",  # options, hop by hop or of the destination
            b"\x00\x02\x02\x01\x00\x00\x00\x00" + socket.inet_pton(socket.AF_INET6, "fd00:9::9")]  # a routing header


def worker():
    """FAMILY TYPE LEVEL OPTION VALUE, one a line: the errno of setsockopt; where that is 0, something is sent then."""
    for line in sys.stdin:
        family, kind, level, option, value = line.split()
        with socket.socket(int(family), int(kind)) as sock:
            sock.settimeout(2)
            try:
                sock.setsockopt(int(level), int(option), bytes.fromhex(value))
            except OSError as error:
                print(error.errno, flush=True)
                continue
            try:
                sock.connect(("127.0.0.1" if int(family) == socket.AF_INET else "::1", PORT))
                sock.send(b"word")
            except OSError:
                pass
            print(0, flush=True)


def is_report(packet):
    """By IGMP, or to the routers that listen to MLD."""
    if packet[0] >> 4 == 4:
        return packet[9] == 2
    return packet[24:40] == socket.inet_pton(socket.AF_INET6, "ff02::16")


class Wire:
    """All that leaves by any interface of the host."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.ntohs(3))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
        self.socket.setblocking(False)

    def wrong(self):
        """What came since the last call and is no plain packet to the address that was asked for."""
        found = []
        while True:
            try:
                packet, (device, protocol, *_) = self.socket.recvfrom(4096)
            except BlockingIOError:
                return found
            if protocol == 0x0800:
                plain = device == "lo" and packet[0] == 0x45 and packet[9] in (6, 17) and packet[16:20] == socket.inet_aton("127.0.0.1")
            elif protocol == 0x86DD and packet[6] == 58 and packet[40] == 133:
                plain = True  # the kernel looks for routers by itself
            elif protocol == 0x86DD:
                plain = device == "lo" and packet[6] in (6, 17, 44) and packet[24:40] == socket.inet_pton(socket.AF_INET6, "::1")
            else:
                plain = device == "lo"
            if not plain:
                found.append(packet[:48])


def serve():
    servers = []
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
            server = socket.socket(family, kind)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind((address, PORT))
            if kind == socket.SOCK_STREAM:
                server.listen(64)
            server.setblocking(False)
            servers.append(server)
    return servers


def take(servers):
    for server in select.select(servers, [], [], 0)[0]:
        try:
            if server.type == socket.SOCK_STREAM:
                server.accept()[0].close()
            else:
                server.recv(100)
        except OSError:
            pass


def try_all(command, wire, servers, device):
    """{(kind, level, option): errnos}, and {(level, option): a packet that was wrong}"""
    asked = subprocess.Popen([*command, "python3", "-IS", __file__, "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    errors, wrong = {}, {}
    wire.wrong()
    for name, family, kind, levels in KINDS:
        for level in levels:
            for option in NUMBERS:
                for value in values(device):
                    asked.stdin.write(f"{int(family)} {int(kind)} {level} {option} {value.hex()}\n")
                    asked.stdin.flush()
                    got = int(asked.stdout.readline())
                    errors.setdefault((name, level, option), set()).add(got)
                    if got in (errno.EPERM, errno.ENOPROTOOPT):
                        break  # whatever the value
                    if got == 0:
                        take(servers)
                        for packet in wire.wrong():
                            wrong.setdefault(REPORTS if is_report(packet) else (level, option), packet.hex())
    # Of groups the kernel tells the network up to some seconds later.
    time.sleep(3)
    for packet in wire.wrong():
        wrong.setdefault(REPORTS if is_report(packet) else "later", packet.hex())
    asked.stdin.close()
    asked.wait()
    return errors, wrong


def set_up():
    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    ip("link", "add", "wire", "type", "dummy")
    for name in ("wire", "lo"):
        ip("link", "set", name, "up")
    ip("addr", "add", "10.9.0.1/24", "dev", "wire")
    ip("addr", "add", "fd00:9::1/64", "dev", "wire", "nodad")
    time.sleep(5)  # what the kernel says by itself of a new interface
    return socket.if_nametoindex("wire")


def main():
    device = set_up()
    wire, servers = Wire(), serve()
    for path, network in POLICIES.items():
        with open(path, "w", encoding="ascii") as policy:
            policy.write(f"version: 1\nname: options\nnetwork: {{{network}}}\n{POWERS}")
    time.sleep(2)
    wire.wrong()
    time.sleep(2)
    is_("control/quiet", [], wire.wrong())
    free, seen = try_all([], wire, servers, device)
    is_("control/the-wire-shows-what-leads-elsewhere", [], sorted(map(str, SEEN_WITHOUT - seen.keys())))
    errors, wrong = try_all(["sbpf", "run", "-q", "--name", "options", "--policy", "/tmp/options.yaml", "--"], wire, servers, device)
    is_("sandbox/nothing-leads-elsewhere", {}, wrong)
    works = {key for key, some in free.items() if 0 in some}
    still = {key for key, some in errors.items() if 0 in some}
    print(f"# {len(works)} options can be set, {len(still)} of them in a sandbox")
    is_("sandbox/some-are-allowed", True, len(still) > 60)
    is_("sandbox/none-works-only-inside", [], sorted(still - works))
    is_("sandbox/refused-with-EPERM", [], sorted((key, sorted(errors[key])) for key in works - still if errors[key] != {errno.EPERM}))
    is_("sandbox/what-leads-elsewhere-is-refused", [], sorted(key for key in still if key[1:] in seen))
    opened, shown = try_all(["sbpf", "run", "-q", "--policy", "/tmp/all.yaml", "--"], wire, servers, device)
    is_("allowed/all-that-works-outside", [], sorted(works - {key for key, some in opened.items() if 0 in some}))
    is_("allowed/the-wire-shows-it", [], sorted(map(str, SEEN_WITHOUT - shown.keys())))
    subprocess.run(["ip", "link", "del", "wire"], check=True)
    print(f"done {cases}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(worker() if sys.argv[1:] == ["worker"] else main())
