# SPDX-License-Identifier: Apache-2.0
# host_names_dns.py ADDRESS LOG: a server of DNS on port 53 for what dnsmasq does not say: large answers, broken ones, answers to
# other questions. Any name that it does not know is 93.184.216.36, so that whoever gets here gets an answer. Logs each
# question, with what else is in it. Prints "ready".
import ipaddress, socket, struct, sys, threading
import dns.flags, dns.message, dns.rcode, dns.rdatatype, dns.rrset

address, log = sys.argv[1], open(sys.argv[2], "a", buffering=1)

def answer(wire, tcp):
    query = dns.message.from_wire(wire)
    name = query.question[0].name
    text = name.to_text().lower()
    options = "".join(" option%d" % option.otype for option in query.options)
    log.write("%s %s 0x%04x%s\n" % (text, name.to_text(), query.flags, options))
    reply = dns.message.make_response(query)
    reply.flags |= dns.flags.RA
    label = text.split(".")[0]
    if label.startswith("is-"):  # an address, in hexadecimal digits
        address = ipaddress.ip_address(bytes.fromhex(label[3:]))
        kind = "A" if address.version == 4 else "AAAA"
        if query.question[0].rdtype == dns.rdatatype.from_text(kind):
            reply.answer.append(dns.rrset.from_text(name, 60, "IN", kind, str(address)))
        return reply.to_wire()
    if query.question[0].rdtype != dns.rdatatype.A:
        return reply.to_wire()
    end = wire.index(b"\0", 12) + 5  # of the question
    if label == "big":  # 64 KB
        if not tcp:
            reply.flags |= dns.flags.TC
            return reply.to_wire()
        records = b"".join(b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\1\1" + struct.pack("!H", i) for i in range(4000))
        return wire[:2] + b"\x81\x80\0\1" + struct.pack("!H", 4000) + b"\0\0\0\0" + wire[12:end] + records
    if label.startswith("chain-"):  # through so many names to an address
        length = int(label[6:])
        if not tcp and length > 16:
            reply.flags |= dns.flags.TC
            return reply.to_wire()
        place = struct.pack("!H", 0xc000 | (12 + 1 + len(label)))  # of what follows the label in the question
        named = lambda i: b"\x03" + b"%03x" % i + place
        owners = [b"\xc0\x0c"] + [named(i) for i in range(1, length + 1)]
        records = b"".join(owners[i] + b"\0\5\0\1\0\0\0\x3c\0\6" + named(i + 1) for i in range(length))
        records += owners[length] + b"\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton("93.184.216.36")
        return wire[:2] + b"\x81\x80\0\1" + struct.pack("!H", length + 1) + b"\0\0\0\0" + wire[12:end] + records
    if label == "junk":
        return wire[:2] + bytes(range(200))
    if label == "loop":  # a compressed name that leads to itself
        return wire[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + wire[12:end] + b"\xc0" + bytes([end]) + b"\0\1\0\1\0\0\0\x3c\0\4\1\2\3\4"
    if label == "cut":
        whole = dns.message.make_response(query)
        whole.answer.append(dns.rrset.from_text(name, 60, "IN", "A", "93.184.216.34"))
        return whole.to_wire()[:-3]
    if label == "other":  # an answer to what nobody asked
        reply.question[0].name = dns.name.from_text("elsewhere.example.")
        reply.answer.append(dns.rrset.from_text("elsewhere.example.", 60, "IN", "A", "45.33.32.156"))
        return reply.to_wire()
    if label == "beside":  # and one beside what was asked
        reply.answer.append(dns.rrset.from_text("elsewhere.example.", 60, "IN", "A", "45.33.32.156"))
        reply.answer.append(dns.rrset.from_text(name, 60, "IN", "A", "93.184.216.36"))
        return reply.to_wire()
    if label == "mixed":
        reply.answer.append(dns.rrset.from_text(name, 60, "IN", "A", "127.0.0.1", "93.184.216.36", "169.254.169.254"))
        return reply.to_wire()
    if label == "slow":
        return None
    reply.answer.append(dns.rrset.from_text(name, 0, "IN", "A", "93.184.216.36"))
    return reply.to_wire()

family = socket.AF_INET6 if ":" in address else socket.AF_INET

def udp():
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.bind((address, 53))
    while True:
        wire, who = s.recvfrom(65535)
        try:
            reply = answer(wire, False)
        except Exception as e:
            log.write("? %s\n" % type(e).__name__)
            continue
        if reply:
            s.sendto(reply, who)

def tcp(listener):
    while True:
        c, _ = listener.accept()
        try:
            n = struct.unpack("!H", c.recv(2))[0]
            reply = answer(c.recv(n), True)
            c.sendall(struct.pack("!H", len(reply)) + reply)
        except Exception as e:
            log.write("? %s\n" % type(e).__name__)
        c.close()

listener = socket.create_server((address, 53), family=family)
threading.Thread(target=tcp, args=(listener,), daemon=True).start()
threading.Thread(target=udp, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
