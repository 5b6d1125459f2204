# SPDX-License-Identifier: Apache-2.0
# A proxy for connections that `via` leads to it: asks `sbpf origin` whom each is for, and passes it on.
#   proxy.py PORT   listens at 127.0.0.1 and ::1; says "ready", and for each connection one line of JSON
import json, selectors, socket, subprocess, sys, threading


def spell(address):
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def copy(source, to):
    try:
        while data := source.recv(65536):
            to.sendall(data)
    except OSError:
        pass
    try:
        to.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def serve(client, address):
    asked = subprocess.run(["sbpf", "origin", spell(address), "--json"], capture_output=True, text=True)
    if asked.returncode:
        print(json.dumps({"error": asked.stderr}), flush=True)
        return client.close()
    told = json.loads(asked.stdout)
    server = socket.create_connection((told["origin"]["address"], told["origin"]["port"]))
    told["own_port"] = server.getsockname()[1]
    print(json.dumps(told), flush=True)
    threading.Thread(target=copy, args=(server, client), daemon=True).start()
    copy(client, server)


events = selectors.DefaultSelector()
for host in ("127.0.0.1", "::1"):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    events.register(socket.create_server((host, int(sys.argv[1])), family=family), selectors.EVENT_READ)
print("ready", flush=True)
while True:
    for key, _ in events.select():
        threading.Thread(target=serve, args=key.fileobj.accept(), daemon=True).start()
