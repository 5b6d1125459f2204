#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `swap` and `attach --evict` do to connections that the new policy forbids, and to those that it allows.
. "$(dirname "$0")/lib.sh"
. "$here/hands.sh"
hands=$(cat "$here/flows.py")
ECONNABORTED=103 EINVAL=22 EDESTADDRREQ=89 EPERM=1

python3 "$here/echo.py" 7001 7002 >"$tmp/echo" & servers+=($!)
within 30 grep -q ready "$tmp/echo"
closed() { grep -c "closed $1" "$tmp/echo"; }

# listing NAME MODE ENTRY…: a policy
listing() {
  local name=$1 mode=$2
  shift 2
  { printf 'version: 1\nname: %s\nmode: %s\nnetwork:\n' "$name" "$mode"; printf '  %s\n' "$@"; } | policy "$name"
}
both='connect: [{address: 127.0.0.1, ports: [7001-7002]}]'
one='connect: [{address: 127.0.0.1, ports: [7002]}]'
serves='bind: [{address: 127.0.0.1, ports: [7100], protocol: tcp}]'
wide=$(listing wide enforce "$both" "$serves")
same=$(listing same enforce "$both" "$serves")
narrow=$(listing narrow enforce "$one")
told=$(listing told audit "$one")

box held "$wide"
for what in 'tcp a 7001' 'tcp6 m 7001' 'udp u 7001' 'tcp b 7002' 'udp v 7002' 'sender s' 'listen l 7100'; do
  is "begin/$what" 0 "$(ask held $what)"
done
python3 -c 'import socket, sys
s = socket.create_connection(("127.0.0.1", 7100)); print("in", flush=True)
while (data := s.recv(64)): s.sendall(data)
print("out", flush=True)' >"$tmp/visitor" 2>&1 & servers+=($!)
is begin/visitor 0 "$(ask held accept i l)"
all_work() {
  local name
  for name in a m u b v i; do is "$1/$name" 0 "$(ask held echo "$name")"; done
  is "$1/s" 0 "$(ask held send s 7001)"
}
all_work begin

out=$(sbpf swap held --policy "$same" 2>&1); is same/exit 0 $?
hasnt same/ends-nothing ended "$out"
all_work same
out=$(sbpf swap held --policy "$told" 2>&1)
hasnt audit/ends-nothing ended "$out"
all_work audit
sbpf swap held --policy "$wide" >/dev/null

out=$(sbpf swap held --policy "$narrow" 2>&1); is narrow/exit 0 $?
has narrow/says-tcp "ended tcp connection to 127.0.0.1:7001" "$out"
has narrow/says-udp "ended udp connection to 127.0.0.1:7001" "$out"
has narrow/says-server "ended listens on tcp 127.0.0.1:7100" "$out"
for name in a m u i; do is "narrow/$name-has-ended" $ECONNABORTED "$(ask held receive "$name")"; done
is narrow/u-is-connected-no-more $EDESTADDRREQ "$(ask held echo u)"
is narrow/l-has-ended $EINVAL "$(ask held accept j l)"
is narrow/s-is-refused $EPERM "$(ask held send s 7001)"
for name in b v; do is "narrow/$name-goes-on" 0 "$(ask held echo "$name")"; done
is narrow/s-goes-on 0 "$(ask held send s 7002)"
is narrow/server-was-told 0 "$(within 10 eval '[ "$(closed 7001)" -ge 2 ]'; echo $?)"
is narrow/other-server-was-not 0 "$(closed 7002)"
is narrow/visitor-was-told 0 "$(within 10 grep -q 'out\|reset' "$tmp/visitor"; echo $?)"
is narrow/json "[]" "$(sbpf status held --json | jq -c .ended)"
is narrow/again $EPERM "$(ask held tcp a 7001)"

# ---- attach --evict, with sockets made before the process was in the cgroup ----
mkdir "$cgroots/evict"
hands_of guest bash -c "echo \$\$ >'$cgroots/evict/cgroup.procs'; exec \"\$@\"" bash
for what in 'tcp a 7001' 'udp u 7001' 'tcp b 7002'; do is "guest/$what" 0 "$(ask guest $what)"; done
hands_of late env
for what in 'tcp a 7001' 'tcp b 7002'; do is "late/$what" 0 "$(ask late $what)"; done
echo "$pid_late" >"$cgroots/evict/cgroup.procs"
out=$(sbpf attach --cgroup "$cgroots/evict" --policy "$narrow" 2>&1); is attach/refused 125 $?
has attach/names-the-way "--evict" "$out"
for name in a u b; do is "attach/$name-goes-on" 0 "$(ask guest echo "$name")"; done
# What it ends is connections: where there is more, it ends nothing.
is raw/open 0 "$(ask guest raw w)"
out=$(sbpf attach --cgroup "$cgroots/evict" --policy "$narrow" --name evict --evict 2>&1); is raw/refused 125 $?
has raw/names-it "a raw socket" "$out"
hasnt raw/names-no-way-that-is-none "--evict" "$out"
for name in a u b; do is "raw/$name-goes-on" 0 "$(ask guest echo "$name")"; done
is raw/close 0 "$(ask guest close w)"
# Kept, a connection stays open, and what is sent is judged.
sbpf attach --cgroup "$cgroots/evict" --policy "$narrow" --name evict --keep-open-sockets >/dev/null 2>&1; is kept/exit 0 $?
for name in a u; do is "kept/$name-is-refused" $EPERM "$(ask guest echo "$name")"; done
is kept/b-goes-on 0 "$(ask guest echo b)"
is kept/late-is-refused $EPERM "$(ask late echo a)"
is kept/late-goes-on 0 "$(ask late echo b)"
sbpf detach evict
for name in a u; do is "kept/$name-works-again" 0 "$(ask guest echo "$name")"; done
out=$(sbpf attach --cgroup "$cgroots/evict" --policy "$narrow" --name evict --evict 2>&1); is evict/exit 0 $?
has evict/says-so "ended tcp connection to 127.0.0.1:7001" "$out"
is evict/active true "$(sbpf status evict --json | jq .isolation_active)"
for name in a u; do is "evict/$name-has-ended" $ECONNABORTED "$(ask guest receive "$name")"; done
is evict/b-goes-on 0 "$(ask guest echo b)"
is evict/late-has-ended $ECONNABORTED "$(ask late receive a)"
is evict/late-goes-on 0 "$(ask late echo b)"
sbpf detach evict
kill "$pid_guest" "$pid_late"; wait "$pid_guest" "$pid_late" 2>/dev/null
within 10 rmdir "$cgroots/evict"

# ---- a swap that fails ends nothing: limits that a cgroup without controllers cannot have ----
mkdir -p "$cgroots/bare/in"
hands_of bare bash -c "echo \$\$ >'$cgroots/bare/in/cgroup.procs'; exec \"\$@\"" bash
sbpf attach --cgroup "$cgroots/bare/in" --policy "$wide" --name bare 2>/dev/null >&2; is failed/attach 0 $?
is failed/connect 0 "$(ask bare tcp a 7001)"
limited=$({ cat "$narrow"; echo 'process: {limits: {memory: 64MiB}}'; } | policy limited)
out=$(sbpf swap bare --policy "$limited" 2>&1); is failed/exit 125 $?
has failed/says-why "process.limits.memory cannot be enforced" "$out"
is failed/goes-on 0 "$(ask bare echo a)"
is failed/old-policy-stands wide "$(sbpf status bare --json | jq -r .policy.name)"
sbpf kill bare 2>/dev/null
within 10 rmdir "$cgroots/bare/in" "$cgroots/bare"

# ---- in a network namespace of its own ----
mkdir "$cgroots/far"
hands_of far unshare -n bash -c "ip link set lo up; python3 '$here/echo.py' 7001 7002 >'$tmp/far.echo' & echo \$! >'$tmp/far.pid'; echo \$\$ >'$cgroots/far/cgroup.procs'; exec \"\$@\"" bash
within 30 grep -qs ready "$tmp/far.echo"
for what in 'tcp a 7001' 'tcp b 7002'; do is "far/$what" 0 "$(ask far $what)"; done
sbpf attach --cgroup "$cgroots/far" --policy "$wide" --name far --keep-open-sockets >/dev/null 2>&1
out=$(sbpf swap far --policy "$narrow" 2>&1)
has far/says-so "ended tcp connection to 127.0.0.1:7001" "$out"
is far/a-has-ended $ECONNABORTED "$(ask far receive a)"
sbpf kill far 2>/dev/null
kill "$(cat "$tmp/far.pid")"
within 10 rmdir "$cgroots/far"

# ---- in cgroups below the sandbox's, and what only receives ----
python3 -c 'import socket, time
server = socket.create_server(("127.0.0.1", 7003)); print("ready", flush=True); held = []
while True:
    held.append(server.accept()[0])' >"$tmp/keeps" & servers+=($!)
within 30 grep -q ready "$tmp/keeps"
more=$(listing more enforce 'connect: [{address: 127.0.0.1, ports: [7001-7003]}]')
for cgroup in nest nest/below nest/below/deeper; do
  mkdir "$cgroots/$cgroup"
  hands_of "${cgroup##*/}" bash -c "echo \$\$ >'$cgroots/$cgroup/cgroup.procs'; exec \"\$@\"" bash
done
for where in nest below deeper; do is "nest/$where/there" 0 "$(ask "$where" sender s)"; done
sbpf attach --cgroup "$cgroots/nest" --policy "$more" --name nest >/dev/null 2>&1; is nest/attach 0 $?
for where in nest below deeper; do
  for what in 'tcp a 7001' 'udp u 7001' 'tcp b 7002' 'tcp r 7003' 'shut r'; do is "nest/$where/$what" 0 "$(ask "$where" $what)"; done
done
out=$(sbpf swap nest --policy "$narrow" 2>&1); is nest/swap 0 $?
for where in nest below deeper; do
  for name in a u r; do is "nest/$where/$name-has-ended" $ECONNABORTED "$(ask "$where" receive $name)"; done
  is "nest/$where/b-goes-on" 0 "$(ask "$where" echo b)"
done
sbpf kill nest 2>/dev/null
wait "$pid_nest" "$pid_below" "$pid_deeper" 2>/dev/null
within 10 rmdir "$cgroots/nest/below/deeper" "$cgroots/nest/below" "$cgroots/nest"
sbpf kill held 2>/dev/null
kill_all

# ---- what the cgroup made and somebody outside keeps for it, as a service manager does: the cgroup itself is empty ----
cat >"$tmp/keeper.py" <<'P'
import os, select, socket, sys
group, fifo = sys.argv[1:]
mine, its = socket.socketpair()
if os.fork() == 0:
    open(group + "/cgroup.procs", "w").write(str(os.getpid()))
    kept = [socket.create_connection(("127.0.0.1", 7001)), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)]
    kept[1].connect(("127.0.0.1", 7001))
    socket.send_fds(its, [b"x"], [s.fileno() for s in kept])
    os._exit(0)
_, fds, _, _ = socket.recv_fds(mine, 1, 2)
os.wait()
tcp = socket.socket(fileno=fds[0])
print("kept", flush=True)
open(fifo).read()
try:
    tcp.sendall(b"x")
    print("sent" if tcp.recv(1) else "closed", flush=True)
except OSError as e:
    print("errno", e.errno, flush=True)
P
mkdir "$cgroots/kept"
mkfifo "$tmp/go"
keep_for_it() {
  python3 "$tmp/keeper.py" "$cgroots/kept" "$tmp/go" >"$tmp/keeper" & keeper=$!
  servers+=($keeper)
  within 30 grep -q kept "$tmp/keeper"
  within 30 grep -q 'populated 0' "$cgroots/kept/cgroup.events"
}
said() { : >"$tmp/go"; within 30 grep -qE 'sent|closed|errno' "$tmp/keeper"; tail -1 "$tmp/keeper"; }
attach_kept() { out=$(sbpf attach --cgroup "$cgroots/kept" --name kept "$@" 2>&1); }
keep_for_it
attach_kept --policy "$narrow"; is away/denied 125 $?
has away/says-tcp "tcp connection to 127.0.0.1:7001, held by a process outside" "$out"
has away/says-udp "udp connection to 127.0.0.1:7001, held by a process outside" "$out"
attach_kept --policy "$wide"; is away/allowed 0 $?
is away/allowed-works sent "$(said)"
sbpf detach kept 2>/dev/null
keep_for_it
attach_kept --policy "$narrow" --evict; is away/evicted 0 $?
has away/evicted-says "ended tcp connection to 127.0.0.1:7001" "$out"
is away/evicted-has-ended "errno $ECONNABORTED" "$(said)"
sbpf detach kept 2>/dev/null
rmdir "$cgroots/kept"

finish
