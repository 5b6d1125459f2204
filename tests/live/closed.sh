#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A sandbox whose policy, or whose record, was taken out of the kernel's maps is closed: what its policy allows is refused, too.
# Nobody answers the loss here: the supervisor is stopped, and no watch runs.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
mkdir -p /srv/closed
echo text >/srv/closed/file
all=$(policy all <<'P'
version: 1
name: all
network: {dangerously_allow_sockets: [mptcp, netlink], connect: [{address: 127.0.0.1, ports: [7001], protocol: udp}], bind: [{address: 127.0.0.1, ports: [7002], protocol: udp}]}
filesystem: {default: deny, read: [/usr, /bin, /lib, /lib64, /etc, /proc, /srv/closed]}
process:
  exec: {allow: [/usr, /bin, /lib, /lib64]}
  seccomp: dangerously_unconfined
  capabilities: dangerously_all
  dangerously_allow_new_privileges: true
  kernel: {dangerously_allow_capabilities: [SYS_NICE]}
P
)
hands=$(cat <<'P'
import errno, os, socket, sys
made = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for i in range(40)]
stream = socket.socket(socket.AF_INET, socket.SOCK_STREAM)

def attempt(what):
    if what == "connect":
        made.pop().connect(("127.0.0.1", 7001))
    elif what == "bind":
        s = made.pop()
        s.bind(("127.0.0.1", 7002))
        s.close()
    elif what == "socket":
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP).close()
    elif what == "plain":
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    elif what == "netlink":
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16).close()  # generic netlink
    elif what == "forbidden":
        made.pop().connect(("127.0.0.1", 7009))
    elif what == "option":
        try:
            stream.setsockopt(socket.IPPROTO_IP, 51, 0)  # LOCAL_PORT_RANGE: one that the policy is asked for
        except OSError as e:
            if e.errno != errno.ENOPROTOOPT:  # before 6.3, which is said after the hooks
                raise
    elif what == "open":
        open("/srv/closed/file").close()
    elif what == "exec":
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    elif what == "capability":
        os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) - 1)

for line in sys.stdin:
    try:
        attempt(line.strip())
        print(0, flush=True)
    except OSError as e:
        print(e.errno, flush=True)
P
)
kinds=(connect bind socket netlink option open exec capability)
each() { local kind; for kind in "${kinds[@]}"; do printf '%s ' "$kind=$(ask "$1" $kind)"; done; }
allowed="connect=0 bind=0 socket=0 netlink=0 option=0 open=0 exec=0 capability=0 "
closed="connect=1 bind=1 socket=1 netlink=1 option=1 open=13 exec=13 capability=13 "

# What the programs found of a directory is remembered until something is renamed, or sbpf itself changes the policy.
forget() { mkdir "$tmp/before" && mv "$tmp/before" "$tmp/after" && rmdir "$tmp/after"; }

value_in() { bpftool -j map lookup pinned "$pins/maps/$1" key $key | python3 -ISc 'import json, sys; print(*json.load(sys.stdin)["value"])'; }

hands_of free env
is control/nothing-refuses "$allowed" "$(each free)"
kill "$pid_free"
box box "$all"
is control/allowed "$allowed" "$(each box)"
key=$(hex "$(sbpf status box --json | jq .cgroup_id)")
within 60 flock -n /run/sbpf.lock true # a stopped holder of the lock would stop the rest
kill -STOP "$pid_box"
sbpf break-glass --reason closed --for 30m 2>/dev/null; is glass/opens 0 $?
is record/forbidden-before 1 "$(ask box forbidden)"
record=$(value_in sandboxes)
is record/goes 0 "$(bpftool map delete pinned "$pins/maps/sandboxes" key $key >/dev/null 2>&1; echo $?)"
forget
is record/is-closed "1 connect=1 bind=1 socket=1 netlink=1 option=1 open=1 exec=1 capability=13 " "$(ask box forbidden) $(each box)"
is record/comes-back 0 "$(bpftool map update pinned "$pins/maps/sandboxes" key $key value $record >/dev/null 2>&1; echo $?)"
# The cgroup's storage, by which its own hooks find the policy.
is storage/plain-before 0 "$(ask box plain)"
storage=$(value_in cgroup_refs)
is storage/goes 0 "$(bpftool map update pinned "$pins/maps/cgroup_refs" key $key value $(yes 0 | head -$(wc -w <<<"$storage")) >/dev/null 2>&1; echo $?)"
is storage/is-closed "plain=1 connect=1 bind=1" "plain=$(ask box plain) connect=$(ask box connect) bind=$(ask box bind)"
is storage/comes-back 0 "$(bpftool map update pinned "$pins/maps/cgroup_refs" key $key value $storage >/dev/null 2>&1; echo $?)"
is policy/goes 0 "$(bpftool map delete pinned "$pins/maps/policies" key $key >/dev/null 2>&1; echo $?)"
forget
is policy/is-closed "$closed" "$(each box)"
is policy/says-so no_policy "$(sbpf events box --json | jq -r 'select(.hook == "connect4").reason' | tail -1)"
finish
