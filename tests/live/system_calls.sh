#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What seccomp refuses is told: as it happens, at the end, in the sandbox's events, with what would allow it.
. "$(dirname "$0")/lib.sh"
. "$here/users_world.sh"
keep_loaded
cat >/srv/calls.py <<'P'
import ctypes, errno, os, signal, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
numbers = {"keyctl": 250, "io_uring_setup": 425, "ptrace": 101, "io_setup": 206, "unshare": 272, "clone3": 435, "getpid": 39, "reboot": 169}
def call(name, *words):
    ctypes.set_errno(0)
    result = libc.syscall(numbers[name], *(words or (0,)))
    return 0 if result >= 0 else ctypes.get_errno()
if sys.argv[1] == "all":
    print("errno", *(call(name) for name in sys.argv[2:]))
elif sys.argv[1] == "many":  # in threads, of which each makes so many
    def some():
        for _ in range(int(sys.argv[2])):
            assert call("keyctl") == errno.EPERM
    threads = [threading.Thread(target=some) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print("errno", call("keyctl"))
elif sys.argv[1] == "thread":
    thread = threading.Thread(target=lambda: call("keyctl"))
    thread.start()
    thread.join()
    print("pid", os.getpid())
elif sys.argv[1] == "killed":  # while it waits for the answer, again and again
    for _ in range(int(sys.argv[2])):
        child = os.fork()
        if child == 0:
            while True: call("keyctl")
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    print("errno", call("keyctl"))
elif sys.argv[1] == "signals":
    got = []
    signal.signal(signal.SIGALRM, lambda *_: got.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    wrong = {e for e in (call("keyctl") for _ in range(1000)) if e not in (errno.EPERM, errno.EINTR)}
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("errno", *wrong, "signals" if got else "none")
elif sys.argv[1] == "own":  # a listener of the program's own
    libc.prctl(38, 1, 0, 0, 0)
    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]
    allow = (ctypes.c_ubyte * 8)(6, 0, 0, 0, 0, 0, 0xff, 0x7f)
    made = libc.syscall(317, 1, 8, ctypes.byref(Filter(1, ctypes.addressof(allow))))
    print("errno", 0 if made >= 0 else ctypes.get_errno(), "refused" if call("keyctl") == errno.EPERM else "made")
P
calls() { echo /usr/bin/python3 -IS /srv/calls.py "$@"; }
policy strict <<<$'version: 1\nname: strict\nprocess: {seccomp: strict}' >/dev/null
policy audit <<<$'version: 1\nname: audit\nmode: audit' >/dev/null
policy default <<<$'version: 1\nname: plain\nprocess: {seccomp: default}' >/dev/null
policy open <<<$'version: 1\nname: open\nprocess: {seccomp: dangerously_unconfined}' >/dev/null
sbpf policy seccomp strict >"$tmp/own.json"
policy own <<<"$(printf 'version: 1\nname: own\nprocess: {seccomp: %s}' "$tmp/own.json")" >/dev/null
# shellcheck disable=SC2046,SC2317
under() { sbpf run "$1" "$tmp/$2.yaml" -- $(calls "${@:3}") </dev/null 2>&1; }

# ---- as root ----
# shellcheck disable=SC2046
is control/without-a-filter "errno 22 22" "$($(calls all keyctl io_uring_setup))"
is control/unconfined "errno 22" "$(under -qp open all keyctl | grep errno)"
out=$(under -p strict all keyctl keyctl io_setup clone3 getpid)
is strict/errno "errno 1 1 1 38 0" "$(grep errno <<<"$out")"
has strict/told "sbpf: denied system call keyctl (python3, pid " "$out"
has strict/what-allows-it "only a relaxation allows it: process: {seccomp: dangerously_unconfined}" "$out"
has strict/what-a-profile-allows "allow with: process: {seccomp: default}" "$out"
is strict/what-it-says "errno 22" "$(under -qp default all io_setup | grep errno)"
hasnt strict/what-is-not-there "system call clone3" "$out"
hasnt strict/what-is-allowed "system call getpid" "$out"
out=$(sbpf run -p no-network --name called --status-fd 3 -- $(calls all reboot) 3>&1 >"$tmp/out" 2>"$tmp/err" </dev/null)
is default/errno "errno 1" "$(cat "$tmp/out")"
is default/denials 1 "$(jq -r 'select(.exit) | .exit.denials' <<<"$out")"
out=$(sbpf run --events -p "$tmp/strict.yaml" -- $(calls all unshare) </dev/null 2>&1)
has events/as-it-happens "denied system call unshare" "$out"
sbpf run -q -p "$tmp/strict.yaml" --name lives -- sh -c "$(calls all unshare); sleep 1000" </dev/null >"$tmp/out" 2>&1 &
lives=$!
within 60 grep -q errno "$tmp/out"
told() { sbpf events lives --json | jq -r 'select(.reason == "system_call") | [.hook, .domain, .verdict, .errno, .text] | @tsv'; }
within 30 eval '[[ $(told) ]]'
has events/kept $'seccomp\tprocess\tdenied\t1\tsystem call unshare (python3, pid ' "$(told)"
is events/counted true "$(sbpf status lives --json | jq '.denied.seccomp >= 1')"
has events/log "system call unshare" "$(sbpf events lives)"
# Another command of the same sandbox has the filter without its listener.
has exec/refused "errno 1" "$(sbpf exec -q lives -- $(calls all keyctl) 2>&1)"
has exec/alone "errno 1" "$(sbpf exec -q -p no-network lives -- $(calls all keyctl) 2>&1)"
sbpf kill lives >/dev/null
wait $lives
# Without who answers it is refused, too.
sbpf run -q -p "$tmp/strict.yaml" --name orphan -- sh -c "$(calls all keyctl); until [ -e $tmp/go ]; do sleep 0.1; done; $(calls all keyctl getpid); sleep 1000" </dev/null >"$tmp/out" 2>&1 &
lives=$!
within 60 grep -q "errno 1" "$tmp/out"
pkill -9 -f 'sbpf run.*name orpha[n]'
wait $lives 2>/dev/null
touch "$tmp/go"
within 60 grep -q "errno 38 0" "$tmp/out"; is orphan/refused 0 $?
sbpf kill orphan >/dev/null

# ---- many, and some that do not wait for the answer ----
out=$(under -p strict many 2000)
is many/errno "errno 1" "$(grep errno <<<"$out")"
has many/told "system call keyctl" "$out"
out=$(under -p strict thread)
has thread/pid "pid $(grep -o 'pid [0-9]*$' <<<"$out" | tail -1 | cut -d' ' -f2))" "$(grep 'denied system call' <<<"$out")"
is killed/errno "errno 1" "$(under -qp strict killed 200 | grep errno)"
is signals/errno "errno signals" "$(under -qp strict signals | grep errno)"
is own/listener "errno 16 refused" "$(under -qp default own | grep errno)"
is own/control "errno 0 made" "$(under -qp open own | grep errno)"
has own-profile/refused "errno 1" "$(under -p own all keyctl)"
hasnt own-profile/not-told "system call" "$(under -p own all keyctl)"
is audit/errno "errno 1" "$(under -qp audit all keyctl | grep errno)"

# ---- in runs of users ----
start
mkdir -p /workspace /srv/theirs
chown 4242 /srv/theirs
out=$(user sbpf run -p "$tmp/strict.yaml" -- $(calls all keyctl keyctl io_setup) </dev/null 2>&1)
is users/errno "errno 1 1 1" "$(grep errno <<<"$out")"
has users/what-allows-it "allow with: process: {seccomp: default}" "$out"
has users/told "sbpf: denied system call keyctl (python3, pid " "$out"
out=$(user sbpf run --events -p "$tmp/strict.yaml" -- $(calls all keyctl) </dev/null 2>&1)
has users/as-it-happens "system call keyctl" "$out"
out=$(user sbpf run -p benchmark-task --workspace /srv/theirs --read /srv/calls.py -- $(calls all keyctl) </dev/null 2>&1)
has users/own-places "system call keyctl" "$out"
is users/many "errno 1" "$(user sbpf run -q -p "$tmp/strict.yaml" -- $(calls many 1000) </dev/null 2>&1 | grep errno)"
kill $daemon
wait $daemon
end_all
finish
