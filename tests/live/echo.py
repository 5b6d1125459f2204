# SPDX-License-Identifier: Apache-2.0
# Answers with what it gets: TCP and UDP at the ports of 127.0.0.1 that are given. Says "ready", and "closed PORT" when a
# connection has ended.
import selectors, socket, sys
events = selectors.DefaultSelector()
for port in map(int, sys.argv[1:]):
    server = socket.create_server(("127.0.0.1", port))
    events.register(server, selectors.EVENT_READ, ("server", port))
    answers = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    answers.bind(("127.0.0.1", port))
    events.register(answers, selectors.EVENT_READ, ("udp", port))
print("ready", flush=True)
while True:
    for key, _ in events.select():
        kind, port = key.data
        if kind == "server":
            events.register(key.fileobj.accept()[0], selectors.EVENT_READ, ("tcp", port))
        elif kind == "udp":
            data, peer = key.fileobj.recvfrom(64)
            key.fileobj.sendto(data, peer)
        else:
            try:
                data = key.fileobj.recv(64)
            except OSError:
                data = b""
            if data:
                key.fileobj.sendall(data)
            else:
                events.unregister(key.fileobj)
                key.fileobj.close()
                print("closed", port, flush=True)
