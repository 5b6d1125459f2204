# Binds a socket for each argument, and prints for each where it was bound to, or the errno and the step that failed.
#   PROTOCOL,FAMILY,ADDRESS,PORT    PROTOCOL: tcp (which also listens) or udp; FAMILY: 4, 6, or 6only
# Then keeps them until its input ends.
import socket
import sys

sockets = []
for case in sys.argv[1:]:
    protocol, family, address, port = case.split(",")
    step = "socket"
    try:
        s = socket.socket(socket.AF_INET if family == "4" else socket.AF_INET6,
                          socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM)
        sockets.append(s)
        if family != "4":
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, family == "6only")
        if protocol == "tcp":
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        step = "bind"
        s.bind((address, int(port)))
        if protocol == "tcp":
            step = "listen"
            s.listen()
        host, bound = s.getsockname()[:2]
        print(case, "is", host, bound if int(port) else "picked" if bound else "none", flush=True)
    except OSError as e:
        print(case, "failed", step, e.errno, flush=True)
sys.stdin.read()
