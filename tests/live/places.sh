#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# LC-5: two sandboxes of one uid do not see each other's /proc, memory, signals, shared memory, queues and sockets.
# Each way three times: two plain processes (through), both in one sandbox (through), in two (the errno).
. "$(dirname "$0")/lib.sh"
side=$here/places.py
keep_loaded
plain=$(policy plain <<P
version: 1
name: plain
$powers
P
)
files=$(policy files <<P
version: 1
name: files
$powers
filesystem: {default: read, write: [/tmp, /dev/shm, /dev/mqueue, /dev/null]}
P
)
chmod 711 "$tmp"
words() { [[ $1 == as_user ]] && echo setpriv --reuid 1000 --regid 1000 --clear-groups; }

# What two sandboxes of the host get, each refused with the errno of the first that refuses: nothing of another's /proc is
# there, names of System V and POSIX objects mean the sandbox's own.
wanted() {
  case $1 in
    listed | stat | cmdline | status | environ | maps | mem | root | cwd | descriptors | task) echo ENOENT ;;
    sysv_list | shm | semaphore | message | posix_shm | posix_queue | queue_file) echo ENOENT ;;
    vm_read | attach | kill | abstract | socket_file) echo EPERM ;;
  esac
}

# keeper HOW POLICY: starts the one side and waits for it; HOW is as_user or as_root
keeper() {
  local -a sandbox=()
  [[ $2 == none ]] || sandbox=(sbpf run -q --policy "$2" --name kept --)
  rm -f /tmp/kept
  # shellcheck disable=SC2046
  "${sandbox[@]}" $(words "$1") python3 "$side" keep /tmp/kept </dev/null 2>/dev/null &
  kept=$!
  servers+=($!)
  within 120 test -s /tmp/kept || not_ok "$1/$2/keeper" "did not start"
}
end_keeper() {
  sbpf kill kept >/dev/null 2>&1
  kill $kept 2>/dev/null
  wait $kept 2>/dev/null
  ipcrm -M 0x5342 -Q 0x5342 -S 0x5342 2>/dev/null
  rm -f /dev/shm/mine /dev/mqueue/mine /tmp/mine-* /tmp/both-*
}
inside() { # inside HOW POLICY ARGUMENT…
  local how=$1 policy=$2
  shift 2
  # shellcheck disable=SC2046
  sbpf run -q --policy "$policy" -- $(words "$how") python3 "$side" "$@" </dev/null 2>/dev/null
}
judge() { # judge PREFIX KIND: results on stdin, "through" or what is wanted
  local name result n=0
  while read -r name result; do
    n=$((n + 1))
    if [[ $2 == through ]]; then is "$1/$name" through "$result"; else is "$1/$name" "$(wanted "$name")" "$result"; fi
  done
  is "$1/all-were-tried" 23 $n
}

for how in as_root as_user; do
  keeper $how none
  # shellcheck disable=SC2046
  judge "$how/control-two-processes" through < <($(words $how) python3 "$side" look /tmp/kept 2>&1)
  # What is the host's is as little to be had.
  judge "$how/sandbox-and-host" denied < <(inside $how "$files" look /tmp/kept)
  end_keeper
  judge "$how/control-within-one-sandbox" through < <(inside $how "$plain" both)
  keeper $how "$plain"
  judge "$how/two-sandboxes" denied < <(inside $how "$plain" look /tmp/kept)
  end_keeper
done

# ---- what is the sandbox's own, and what stays the host's ----
in_box() { sbpf run -q --policy "$plain" -- "$@" </dev/null 2>"$tmp/err"; }
cat >"$tmp/inside.py" <<'P'
import multiprocessing, os, subprocess, sys
from multiprocessing import shared_memory

def square(x):
    return x * x

def pids():
    return {int(p) for p in os.listdir("/proc") if p.isdigit()}

if __name__ == "__main__":
    print("pids", os.getpid() in pids() and os.getppid() not in pids() and 1 not in pids())
    dropped = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    print("bare", subprocess.check_output(dropped + ["sh", "-c", "cd /proc; echo [0-9]*"], text=True).split() != []
          and not subprocess.call(dropped + ["test", "!", "-e", "/proc/1"]))
    print("meminfo", "MemTotal" in open("/proc/meminfo").read())
    shm = os.stat("/dev/shm")
    print("shm", oct(shm.st_mode), os.statvfs("/dev/shm").f_flag & 6)  # nosuid, nodev
    open("/dev/shm/left", "w").close()
    open("/tmp/seen", "w").close()
    with multiprocessing.Pool(2) as pool:
        print("pool", pool.map(square, [1, 2, 3]))
    memory = shared_memory.SharedMemory(create=True, size=64)
    memory.buf[0] = 7
    memory.close()
    memory.unlink()
    print("cwd", os.getcwd())
P
(cd /srv && in_box python3 "$tmp/inside.py" >"$tmp/inside")
for fact in "pids True" "bare True" "meminfo True" "shm 0o41777 6" "pool [1, 4, 9]" "cwd /srv"; do
  has "inside/${fact%% *}" "$fact" "$(cat "$tmp/inside" "$tmp/err")"
done
is inside/tmp-is-the-hosts yes "$([[ -e /tmp/seen ]] && echo yes)"
is inside/shm-is-not no "$([[ -e /dev/shm/left ]] && echo yes || echo no)"
is inside/control-host-pids yes "$([[ -d /proc/1 ]] && echo yes)"
out=$(cd /proc && sbpf run --policy no-network -- sh -c 'pwd; ps -e -o comm=' 2>&1 </dev/null)
has inside/ps ps "$out"
hasnt inside/ps-shows-no-other sleep "$out"
hasnt inside/hidden-are-no-events denied "$out"
has inside/working-directory-proc /proc "$out"
mkdir /dev/shm/job
(cd /dev/shm/job && in_box touch "$tmp/ran"); is stay/directory-in-a-private-place 125 $?
has stay/directory-is-named "/dev/shm/job" "$(cat "$tmp/err")"
is stay/directory-ran-nothing no "$([[ -e $tmp/ran ]] && echo yes || echo no)"
rmdir /dev/shm/job
before=$(cat /proc/self/mountinfo)
in_box true
is stay/the-hosts-mounts "$before" "$(cat /proc/self/mountinfo)"
# The supervisor is back where it was; only the program is in the new namespaces.
started where -q --policy "$plain" -- sleep 100 </dev/null
within 60 grep -q 'populated 1' "$cgroots/sbpf/where/cgroup.events"
for ns in mnt ipc; do
  is "stay/supervisor-$ns" "$(readlink /proc/self/ns/$ns)" "$(readlink /proc/$started/ns/$ns)"
  pid=$(head -1 "$cgroots/sbpf/where/cgroup.procs")
  is "stay/program-$ns-is-its-own" no "$([[ $(readlink "/proc/$pid/ns/$ns") == "$(readlink /proc/self/ns/$ns)" ]] && echo yes || echo no)"
done
is stay/swap-in-the-namespace 0 "$(sbpf swap --policy "$files" where >/dev/null 2>&1; echo $?)"
is stay/still-active true "$(sbpf status where --json | jq .isolation_active)"
# A mount of the host's appears inside, where mounts are shared (as systemd makes them).
mount --make-rshared /
mkdir -p /srv/late
started late -q --policy "$plain" -- sh -c 'until test -e /srv/late/here; do sleep 0.1; done; echo seen' </dev/null >"$tmp/late"
late=$started
within 60 grep -q 'populated 1' "$cgroots/sbpf/late/cgroup.events"
mount -t tmpfs late /srv/late
touch /srv/late/here
within 300 grep -q seen "$tmp/late"; is stay/later-mounts-appear 0 $?
kill $late 2>/dev/null
umount /srv/late

# ---- a session keyring of its own ----
cat >"$tmp/keys.py" <<'P'
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
if sys.argv[1] == "add":  # to the session keyring, of this shell's caller
    print(libc.syscall(248, b"user", b"sbpf-places", b"mine", 4, -3) > 0)
else:
    print(libc.syscall(249, b"user", b"sbpf-places", None, 0) > 0)
P
keys=$(policy keys <<'P'
version: 1
name: keys
process: {seccomp: dangerously_unconfined, kernel: {allow: [keyrings]}}
P
)
cat >"$tmp/keys" <<P
python3 $tmp/keys.py add
python3 $tmp/keys.py search
sbpf run -q --policy $keys -- sh -c "python3 $tmp/keys.py search; python3 $tmp/keys.py add; python3 $tmp/keys.py search" </dev/null 2>/dev/null
P
cat >"$tmp/session.py" <<'P'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
assert libc.syscall(250, 1, None) > 0  # a session keyring to share
os.execvp("bash", ["bash", sys.argv[1]])
P
is keyring/not-the-callers "True True False True True" "$(python3 "$tmp/session.py" "$tmp/keys" 2>&1 | paste -sd' ')"

end_all
finish
