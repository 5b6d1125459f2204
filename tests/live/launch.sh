#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How `sbpf run` starts its program: seccomp, capabilities, no_new_privs, user, limits; and `sbpf env`.
. "$(dirname "$0")/lib.sh"
chmod 755 "$tmp"
marker=$tmp/marker
# with NAME: a policy of that name whose `process` part is on stdin
with() { { printf 'version: 1\nname: %s\nprocess:\n' "$1"; cat; } | policy "$1"; }
run() { sbpf run -q --policy "$@"; }
# field NAME COMMAND…: of its /proc/self/status
field() { "${@:2}" cat /proc/self/status | awk -v n="$1:" '$1 == n { print $2 }'; }
# refused NAME CODE NEEDLE COMMAND…: it says NEEDLE, exits so, and nothing ran
refused() {
  local out code
  rm -f "$marker"
  out=$("${@:4}" 2>&1); code=$?
  is "$1/exit" "$2" "$code"
  has "$1/says" "$3" "$out"
  is "$1/ran-nothing" no "$([[ -e $marker ]] && echo yes || echo no)"
}
# shut NAME ALLOWING DENYING COMMAND…: it works outside and under ALLOWING, and not under DENYING
shut() {
  "${@:4}" >/dev/null 2>&1; is "$1/control-open" 0 $?
  run "$2" -- "${@:4}" >/dev/null 2>&1; is "$1/allowed" 0 $?
  run "$3" -- "${@:4}" >/dev/null 2>&1; is "$1/denied" yes "$(code=$?; ((code != 0 && code != 125)) && echo yes || echo "$code")"
}
all=$(with all <<P
  seccomp: dangerously_unconfined
  capabilities: dangerously_all
  dangerously_allow_new_privileges: true
  kernel: {allow: [user_namespaces], dangerously_allow_capabilities: [SYS_ADMIN]}
P
)
strict=$(with strict <<<'  seccomp: strict')
plain=$(with plain <<<'  env: {}')
keep_loaded; is loaded 0 $?

# ---- what the kernel says of the program ----
none=0000000000000000
own=$(field CapEff env)
is status/control-unfiltered 0 "$(field Seccomp env)"
for name in no-network "$strict"; do
  label=status/$(basename "$name" .yaml)
  is $label/seccomp 2 "$(field Seccomp run "$name" --)"
  is $label/no-new-privs 1 "$(field NoNewPrivs run "$name" --)"
  for set in CapInh CapPrm CapEff CapBnd CapAmb; do is $label/$set $none "$(field $set run "$name" --)"; done
done
is status/all/seccomp 0 "$(field Seccomp run "$all" --)"
is status/all/no-new-privs 0 "$(field NoNewPrivs run "$all" --)"
for set in CapPrm CapEff CapBnd; do is status/all/$set "$own" "$(field $set run "$all" --)"; done
some=$(with some <<<'  capabilities: [CHOWN, NET_BIND_SERVICE]')
for set in CapPrm CapEff CapBnd; do is status/some/$set 0000000000000401 "$(field $set run "$some" --)"; done
for set in CapInh CapAmb; do is status/some/$set $none "$(field $set run "$some" --)"; done
for set in CapInh CapPrm CapEff CapBnd CapAmb; do is status/some-of-a-user/$set 0000000000000401 "$(field $set run "$some" --user 1000:1000 --)"; done

# ---- capabilities and set-user-id ----
touch "$tmp/f"
shut chown "$some" "$plain" sh -c "chown 1000 $tmp/f && chown 0 $tmp/f"
chroots=$(with chroots <<<'  capabilities: [SYS_CHROOT]')
shut chroot "$chroots" "$plain" python3 -c "import os; os.chroot('/')"
shut unshare-user "$all" "$plain" unshare -U true
cp /usr/bin/id "$tmp/suid-id" && chmod 4755 "$tmp/suid-id"
cp /bin/cat "$tmp/cap-cat" && setcap cap_sys_time+ep "$tmp/cap-cat"
as_user=(setpriv --reuid 1000 --regid 1000 --clear-groups)
is set-user-id/control 0 "$("${as_user[@]}" "$tmp/suid-id" -u)"
is set-user-id/allowed 0 "$(run "$all" -- "${as_user[@]}" "$tmp/suid-id" -u)"
is set-user-id/gains-nothing 1000 "$(run "$plain" --user 1000:1000 -- "$tmp/suid-id" -u)"
eff_of() { "$@" "$tmp/cap-cat" /proc/self/status 2>/dev/null | awk '$1 == "CapEff:" { print $2 }'; }
is file-capability/control 0000000002000000 "$(eff_of "${as_user[@]}")"
is file-capability/allowed 0000000002000000 "$(eff_of run "$all" -- "${as_user[@]}")"
run "$plain" --user 1000:1000 -- "$tmp/cap-cat" /proc/self/status >/dev/null 2>&1; is file-capability/is-not-run 126 $?

# ---- a user namespace of one's own: what is refused over the host is not over it ----
namespaces=$(with namespaces <<P
  seccomp: dangerously_unconfined
  capabilities: dangerously_all
  dangerously_allow_new_privileges: true
  kernel: {allow: [user_namespaces]}
P
)
# With `own` in namespaces of its own (CLONE_NEWUSER, CLONE_NEWUTS); the name is the one that there is.
cat >"$tmp/name.py" <<'P'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
name = os.uname().nodename.encode()
if sys.argv[1] == "own" and libc.unshare(0x14000000) != 0:
    print("unshare", ctypes.get_errno())
else:
    print(ctypes.get_errno() if libc.sethostname(name, len(name)) != 0 else 0)
P
for whose in own host; do
  is "namespace/$whose/control" 0 "$(python3 "$tmp/name.py" $whose)"
  is "namespace/$whose/allowed" 0 "$(run "$all" -- python3 "$tmp/name.py" $whose)"
done
is namespace/host/denied 1 "$(run "$namespaces" -- python3 "$tmp/name.py" host)"
is namespace/own/is-no-matter 0 "$(run "$namespaces" -- python3 "$tmp/name.py" own)"

# ---- what the kernel only asks for is counted and not told ----
# DAC_READ_SEARCH before DAC_OVERRIDE, which is open, at another's file; and SYS_ADMIN for a filter of one's own.
echo secret >"$tmp/of-another" && chown 1000 "$tmp/of-another" && chmod 600 "$tmp/of-another"
cat >"$tmp/filter.py" <<'P'
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
allow = ctypes.c_uint64(0x7FFF0000 << 32 | 6)
program = (ctypes.c_uint64 * 2)(1, ctypes.addressof(allow))
print(ctypes.get_errno() if libc.prctl(22, 2, program) != 0 else 0)
P
asks="cat $tmp/of-another; python3 $tmp/filter.py; python3 $tmp/name.py host"
is asked/control "secret 0 0" "$(sh -c "$asks" | paste -sd' ')"
is asked/allowed "secret 0 0" "$(run "$all" -- sh -c "$asks" | paste -sd' ')"
started asked -q --policy "$namespaces" -- sh -c "$asks; echo end; exec sleep 1000" </dev/null >"$tmp/asked"; is asked/started 0 $?
within 60 grep -q end "$tmp/asked"; is asked/denied "secret 13 1 end" "$(paste -sd' ' "$tmp/asked")"
is asked/all-are-counted 3 "$(sbpf status asked --json | jq .denied.capable)"
is asked/only-the-denial-is-told '["denied",21]' "$(sbpf events asked --json | jq -c 'select(.hook == "capable") | [.verdict, .capability]')"
sbpf kill asked

# ---- system calls ----
cat >"$tmp/call.py" <<'P'
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
args = [ctypes.c_long(int(a, 0)) for a in sys.argv[1:]]
print(ctypes.get_errno() if libc.syscall(*args) == -1 else 0)
P
# call NAME CONTROL NUMBER ARGUMENT…: CONTROL is the errno outside and unconfined; default and strict say EPERM
call() {
  is "call/$1/control" "$2" "$(python3 "$tmp/call.py" "${@:3}")"
  is "call/$1/unconfined" "$2" "$(run "$all" -- python3 "$tmp/call.py" "${@:3}")"
  is "call/$1/default" 1 "$(run "$plain" -- python3 "$tmp/call.py" "${@:3}")"
  is "call/$1/strict" 1 "$(run "$strict" -- python3 "$tmp/call.py" "${@:3}")"
}
call io_uring_setup 14 425 1 0
call add_key 14 248 0 0 0 0 -1
call fsopen 14 430 0 0
call open_tree 22 428 -1 0 -1
call umount2 22 166 0 -1
is call/clone3/control 22 "$(python3 "$tmp/call.py" 435 0 0)"
is call/clone3/default 38 "$(run "$plain" -- python3 "$tmp/call.py" 435 0 0)"
is call/unknown/default 38 "$(run "$plain" -- python3 "$tmp/call.py" 1000)"
shut strace "$plain" "$strict" strace -f -o /dev/null true
shut setarch "$plain" "$strict" setarch -R true
cat >"$tmp/abi.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	long r = 20; /* getpid */
	if (argc > 1) {
		r = syscall(0x40000000 | 39);
	} else {
		__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
	}
	puts(r == getpid() ? "pid" : "refused");
	return 0;
}
C
gcc -O1 -o "$tmp/abi" "$tmp/abi.c"
for abi in i386 x32; do
  arg=()
  [[ $abi == x32 ]] && arg=(x32)
  if [[ $("$tmp/abi" "${arg[@]}" 2>/dev/null) != pid ]]; then
    skip "abi/$abi" "this kernel does not run it"
    continue
  fi
  is "abi/$abi/unconfined" pid "$(run "$all" -- "$tmp/abi" "${arg[@]}")"
  is "abi/$abi/default" refused "$(run "$plain" -- "$tmp/abi" "${arg[@]}")"
  is "abi/$abi/strict" refused "$(run "$strict" -- "$tmp/abi" "${arg[@]}")"
done

# ---- each built-in profile runs real programs ----
work=$tmp/work
mkdir -p "$work"
printf '#include <stdio.h>\nint main(void) { puts("compiled"); return 0; }\n' >"$work/main.c"
for name in "$plain" "$strict"; do
  label=runs/$(basename "$name" .yaml)
  in_work() { (cd "$work" && run "$name" -e HOME="$work" -- "$@" 2>&1 | tail -1); }
  is $label/sh 3 "$(in_work sh -c 'echo a >a && mv a b && ls | wc -l >/dev/null && expr 1 + 2')"
  is $label/bash "one two" "$(in_work bash -c 'x=(one two); read -r a b < <(echo "${x[@]}"); cat <<<"$a $b"')"
  is $label/python 7 "$(in_work python3 -c '
import multiprocessing, subprocess, tempfile, threading, ssl, sqlite3
subprocess.check_output(["echo", "x"])
t = threading.Thread(target=print); t.start(); t.join()
q = multiprocessing.Queue(); p = multiprocessing.Process(target=q.put, args=(7,)); p.start(); print(q.get()); p.join()')"
  is $label/node done "$(in_work node -e '
require("child_process").execFileSync("true");
require("fs").writeFileSync("n", "x");
new (require("worker_threads").Worker)("require(\"worker_threads\").parentPort.postMessage(\"done\")", { eval: true }).on("message", (m) => console.log(m))')"
  is $label/gcc compiled "$(in_work sh -c 'gcc -O1 -o main main.c -lm && ./main')"
  is $label/git two "$(in_work sh -c 'rm -rf r c && git init -q r && cd r && echo one >f && git add f && git -c user.name=a -c user.email=a@b commit -qm one && git -c user.name=a -c user.email=a@b commit -qm two --allow-empty && cd .. && git clone -q --no-local r c && cd c && git log --format=%s | head -1')"
  is $label/tar ok "$(in_work sh -c 'tar cf t.tar main.c && mkdir -p x && tar xf t.tar -C x && cp -a main.c y && xargs -P2 -n1 echo <f2 2>/dev/null; echo ok')"
done

# ---- profiles of one's own ----
cat >"$tmp/p.json" <<'P'
{"defaultAction": "SCMP_ACT_ALLOW",
 "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 28}]}
P
own_profile=$(with own_profile <<<"  seccomp: $tmp/p.json")
shut own-profile "$plain" "$own_profile" sh -c "mkdir $tmp/d && rmdir $tmp/d"
has own-profile/its-errno "No space left" "$(run "$own_profile" -- mkdir "$tmp/d" 2>&1)"
sha() { sbpf policy show "$own_profile" | sed -n 's/^# sha256: //p'; }
before=$(sha)
sed -i 's/28/30/' "$tmp/p.json"
hasnt own-profile/hash-follows-the-content "$before" "$(sha)"
sbpf policy show "$own_profile" | grep -v '^#' >"$tmp/pinned.yaml"
run "$tmp/pinned.yaml" -- true; is own-profile/pinned 0 $?
sed -i 's/30/28/' "$tmp/p.json"
refused own-profile/other-content 2 "SHA-256" run "$tmp/pinned.yaml" -- touch "$marker"
sed -i 's/"mkdir"/"mkdri"/' "$tmp/p.json"
refused own-profile/unknown-call 2 "p.json:2:15" run "$own_profile" -- touch "$marker"
refused own-profile/check 2 mkdri sbpf policy check "$own_profile"
sed -i 's/ERRNO/NOTIFY/' "$tmp/p.json"
refused own-profile/unsupported 2 "p.json:2:" run "$own_profile" -- touch "$marker"
rm "$tmp/p.json"
refused own-profile/missing 2 "own_profile.yaml:4:12" run "$own_profile" -- touch "$marker"
sbpf policy seccomp strict >"$tmp/exported.json"
exported=$(with exported <<<"  seccomp: $tmp/exported.json")
shut exported "$plain" "$exported" strace -o /dev/null true
is exported/runs 0 "$(run "$exported" -- true; echo $?)"

# ---- user ----
ids() { "$@" sh -c 'echo $(id -u) $(id -g) $(id -G)'; }
user=$(with user <<<'  user: {uid: 1000, gid: 1000, groups: [4, 24]}')
is user/control "0 0 0" "$(ids run "$plain" --)"
is user/policy "1000 1000 1000 4 24" "$(ids run "$user" --)"
is user/option "65534 65534 65534" "$(ids run "$user" --user nobody --)"
echo secret >"$tmp/of-root" && chmod 600 "$tmp/of-root"
run "$plain" -- cat "$tmp/of-root" >/dev/null 2>&1; is user/root-reads 0 $?
run "$user" -- cat "$tmp/of-root" >/dev/null 2>&1; is user/user-does-not 1 $?
run "$user" -- setpriv --reuid 0 true >/dev/null 2>&1; is user/not-back-to-root yes "$(code=$?; ((code != 0 && code != 125)) && echo yes || echo $code)"
refused user/unknown 2 "no user" run "$plain" --user nosuchuser -- touch "$marker"
refused user/bad 2 "user.yaml" run "$(with bad_user <<<'  user: {uid: root, gid: 0}')" -- touch "$marker"

# ---- limits ----
limits=$(with limits <<<'  limits: {open_files: 64, file_size: 1MiB, core: 2MiB, stack: 4MiB, locked_memory: 64KiB, memory: 256MiB}')
is limits/set "64 1024 4096 64" "$(run "$limits" -- bash -c 'echo $(ulimit -n) $(ulimit -f) $(ulimit -s) $(ulimit -l)')"
is limits/hard "64 1024 4096 64" "$(run "$limits" -- bash -c 'echo $(ulimit -Hn) $(ulimit -Hf) $(ulimit -Hs) $(ulimit -Hl)')"
is limits/core-allowed 2097152 "$(run "$limits" -- awk '/core/ { print $5 }' /proc/self/limits)"
is limits/core-default "1 1" "$(run "$plain" -- awk '/core/ { print $5, $6 }' /proc/self/limits)"
has limits/open-files-held "Errno 24" "$(run "$limits" -- python3 -c 'x = [open("/dev/null") for i in range(100)]' 2>&1)"
run "$limits" -- sh -c "head -c 2097152 /dev/zero >$tmp/big" 2>/dev/null
is limits/file-size-held 1048576 "$(stat -c %s "$tmp/big")"
run "$limits" -- bash -c 'ulimit -n 128' 2>/dev/null; is limits/not-raised 1 $?
is limits/no-swap-and-whole "0 1" "$(run "$limits" -- sh -c 'cd /sys/fs/cgroup && cd ./$(cut -d: -f3 /proc/self/cgroup) && echo $(cat memory.swap.max memory.oom.group)')"
# The earlier of the policy's and the command line's. What would outlive a timeout that does not hold ends by itself.
brief=$(with brief <<<'  limits: {timeout: 1s}')
long=$(with long <<<'  limits: {timeout: 10m}')
run "$long" --timeout 9m -- true; is limits/timeout-control 0 $?
run "$brief" -- sleep 20; is limits/timeout 124 $?
run "$brief" --timeout 10m -- sleep 20; is limits/timeout-not-raised 124 $?
run "$long" --timeout 1s -- sleep 20; is limits/timeout-lowered 124 $?
refused limits/too-many 125 "process.limits" run "$(with too_many <<<'  limits: {open_files: 1073741816}')" -- touch "$marker"
# Nothing of the program's memory gets to the host's handler of cores.
pattern=$(cat /proc/sys/kernel/core_pattern)
printf '#!/bin/sh\ncat >%s/core.$1\n' "$tmp" >"$tmp/handler"
chmod 755 "$tmp/handler"
echo "|$tmp/handler %e" >/proc/sys/kernel/core_pattern
(ulimit -c 0; cp /bin/sleep "$tmp/dies"; "$tmp/dies" 100 & sleep 0.5; kill -SEGV $!; wait) 2>/dev/null
within 30 test -s "$tmp/core.dies"; is core/control-piped 0 $?
cp /bin/sleep "$tmp/diesbox"
run "$plain" -- sh -c "$tmp/diesbox 100 & sleep 0.5; kill -SEGV \$!; wait" 2>/dev/null
cp /bin/sleep "$tmp/diesopen"
run "$limits" -- sh -c "$tmp/diesopen 100 & sleep 0.5; kill -SEGV \$!; wait" 2>/dev/null
within 30 test -s "$tmp/core.diesopen"; is core/allowed-piped 0 $?
is core/none-by-default no "$([[ -e $tmp/core.diesbox ]] && echo yes || echo no)"
echo "$pattern" >/proc/sys/kernel/core_pattern

# ---- a step that says it worked and did nothing: what is read back tells ----
touch "$tmp/f" && chmod 666 "$tmp/f"
for user in root other; do
  { [[ $user == root ]] || echo '  user: {uid: 1000, gid: 1000, groups: [4, 24]}'
    printf '  capabilities: [CHOWN]\n  limits: {open_files: 64}\n'; } | with "lied-$user" >/dev/null
  rm -f "$marker"
  LD_PRELOAD=$shim run "$tmp/lied-$user.yaml" -- touch "$tmp/f"; is "lie/$user/control" 0 $?
done
# lied CALL USER [COMMAND…]
lied() {
  refused "lie/$1" 125 "cannot set what was set, read back" env LD_PRELOAD="$shim" SBPF_LIE="$1" "${@:3}" sbpf run -q --policy "$tmp/lied-$2.yaml" -- touch "$marker"
}
for call in no_new_privs bounding capset limit; do lied $call root; done
for call in ambient user group groups; do lied $call other; done
# As many groups as it should have, and others.
refused lie/other-groups 125 "cannot set what was set, read back" setpriv --groups 7,8 \
  env LD_PRELOAD="$shim" SBPF_LIE=groups sbpf run -q --policy "$tmp/lied-other.yaml" -- touch "$marker"

# ---- a step that fails: nothing runs ----
time=$(with time <<<'  capabilities: [SYS_TIME]')
is step/control 0 "$(run "$time" -- true; echo $?)"
refused step/capability 125 "process.capabilities" capsh --drop=cap_sys_time -- -c "sbpf run -q --policy $time -- touch $marker"
refused step/user 125 "process.user" capsh --drop=cap_setuid -- -c "sbpf run -q --policy $plain --user 1000:1000 -- touch $marker"
refused step/contradiction 2 "dangerously_unconfined" run "$(with contra <<<'  dangerously_allow_new_privileges: true')" -- touch "$marker"
# The program is looked for in the PATH that it gets.
mkdir "$tmp/own-bin" && printf '#!/bin/sh\necho found\n' >"$tmp/own-bin/own-tool" && chmod 755 "$tmp/own-bin/own-tool"
for by in run env; do
  in_path() { if [[ $by == run ]]; then run "$plain" "$@"; else sbpf env "$@"; fi 2>/dev/null; }
  in_path -- own-tool; is "path/$by/control" 127 $?
  is "path/$by/of-the-caller" found "$(PATH=$PATH:$tmp/own-bin in_path -- own-tool)"
  is "path/$by/of-an-option" found "$(in_path -e PATH="/usr/bin:/bin:$tmp/own-bin" -- own-tool)"
done
without_path=$(with without_path <<<'  env: {allow: [HOME]}')
PATH=$PATH:$tmp/own-bin run "$without_path" -- own-tool 2>/dev/null; is path/not-given 127 $?
is exits/own 7 "$(run "$strict" -- sh -c 'exit 7'; echo $?)"
is exits/missing 127 "$(run "$strict" -- /no/such 2>/dev/null; echo $?)"
is exits/not-executable 126 "$(run "$strict" -- /etc/passwd 2>/dev/null; echo $?)"

# ---- BF-2: `sbpf env`, and no way for the host's environment into a program ----
export OPENAI_API_KEY=canary-7f3 LD_BIND_NOW=1
# Stands in for Compose, which the guest has not: a file is filled in from the environment that the tool is started with.
cat >"$tmp/task.yaml" <<'P'
services: {task: {environment: {KEY: "${OPENAI_API_KEY}", TAG: "${TAG}", WHERE: "${PATH}"}}}
P
cat >"$tmp/fill.py" <<'P'
import os, re, sys
print(re.sub(r"\$\{(\w+)\}", lambda m: os.environ.get(m[1], ""), open(sys.argv[1]).read()), end="")
P
has env/control canary "$(env)"
is env/names "HOME LANG PATH TERM" "$(LANG=C TERM=dumb sbpf env -- env | sed 's/=.*//' | sort | paste -sd' ')"
hasnt env/proc canary "$(sbpf env -- cat /proc/self/environ | tr '\0' '\n')"
has fill-in/control canary-7f3 "$(python3 "$tmp/fill.py" "$tmp/task.yaml")"
out=$(sbpf env -e TAG=v1 -- python3 "$tmp/fill.py" "$tmp/task.yaml")
has fill-in/empty 'KEY: "", TAG: "v1", WHERE: "/' "$out"
allow_key=$(with allow_key <<<'  env: {allow: [PATH, OPENAI_API_KEY, L*]}')
has fill-in/allowed canary-7f3 "$(sbpf env --policy "$allow_key" -- python3 "$tmp/fill.py" "$tmp/task.yaml")"
hasnt env/patterns-take-no-loader LD_BIND_NOW "$(sbpf env --policy "$allow_key" -- env)"
has env/patterns-take-the-rest LANG=C "$(LANG=C sbpf env --policy "$allow_key" -- env)"
has env/loader-by-name LD_BIND_NOW=1 "$(sbpf env --policy "$(with loader <<<'  env: {allow: [PATH, LD_BIND_NOW]}')" -- env)"
hasnt env/run canary "$(run "$plain" -- sh -c "tr '\0' '\n' </proc/self/environ" 2>&1)"
is env/parent-control 1 "$(sh -c 'sh -c "grep -ac canary /proc/\$PPID/environ"; :')"
# 2: it cannot be looked into.
is env/run-parent "exit 2" "$(run "$plain" -- sh -c 'grep -ac canary /proc/$PPID/environ; echo exit $?' 2>/dev/null)"
sbpf env -- sh -c 'exit 7'; is env/exit 7 $?
sbpf env -- /no/such 2>/dev/null; is env/exit-missing 127 $?
sbpf env -- /etc/passwd 2>/dev/null; is env/exit-not-executable 126 $?
sbpf env 2>/dev/null; is env/exit-usage 2 $?
sbpf env --policy /no/such.yaml -- true 2>/dev/null; is env/exit-no-policy 2 $?

end_all
finish
