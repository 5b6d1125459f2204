#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real programs under the profiles code-interpreter and untrusted: they do their work in /workspace, and are denied a file
# outside of it.
. "$(dirname "$0")/lib.sh"
w=/workspace s=/srv/secret
mkdir -p $w $s
echo secret >$s/f
chmod 0644 $s/f
# The profiles' limits are for a real processor; a server of TLS stands in for the proxy.
for profile in code-interpreter untrusted; do
  policy "$profile" >/dev/null <<P
version: 1
name: task
extends: [$profile]
network: {connect: [{address: 127.0.0.1, ports: [7443], protocol: tcp}]}
process:
  env: {set: {HOME: $w, TMPDIR: $w, PYTHONUSERBASE: $w/py, PIP_DISABLE_PIP_VERSION_CHECK: "1"}}
  limits: {processes: 128, memory: 1GiB, cpu: 2, timeout: 10m}
P
done
# For what is compiled in the workspace and run there.
policy untrusted-compiler >/dev/null <<P
version: 1
name: task
extends: [untrusted]
process:
  exec: {allow: [$w], deny_writable: false}
  limits: {processes: 128, memory: 1GiB, cpu: 2, timeout: 10m}
P
profiles=(code-interpreter untrusted)
open=$(policy open <<P
version: 1
name: open
extends: [runtime-base]
filesystem: {default: write}
P
)
in_box() { (cd $w && sbpf run -q --policy "$tmp/$1.yaml" -- "${@:2}" 2>&1); }
# works NAME WANTED-LAST-LINE COMMAND…: under each profile, in a workspace as it was before
works() {
  local out profile
  for profile in "${profiles[@]}"; do
    out=$(in_box $profile "${@:3}")
    if [[ $(tail -1 <<<"$out") == "$2" ]]; then ok "$1/$profile"; else not_ok "$1/$profile" "wanted '$2', got '${out: -600}'"; fi
  done
}
# shut NAME WANTED COMMAND…: the command says WANTED inside, and `secret` outside and where rules allow it
shut() {
  local profile
  is "$1/control-open" secret "$("${@:3}" 2>&1 | tail -1)"
  is "$1/allowed-elsewhere" secret "$(sbpf run -q --policy "$open" -- "${@:3}" 2>&1 | tail -1)"
  for profile in "${profiles[@]}"; do
    has "$1/denied/$profile" "$2" "$(in_box "$profile" "${@:3}")"
  done
}

keep_loaded; is loaded 0 $?

# ---- shells ----
works sh/runs 3 sh -c 'echo one >a && cat a >/dev/null && expr 1 + 2'
works bash/runs "one two" bash -c 'x=(one two); read -r a b < <(echo "${x[@]}"); cat <<<"$a $b"'
shut sh 'Permission denied' sh -c "cat $s/f"
shut bash 'Permission denied' bash -c "echo \$(<$s/f)"

# ---- python3: a package made on the spot, installed and tested ----
mkdir -p $w/pkg/hello $w/suite
cat >$w/pkg/setup.py <<'P'
from setuptools import setup
setup(name="hello", version="1", packages=["hello"])
P
echo 'WORD = "hello"' >$w/pkg/hello/__init__.py
cat >$w/suite/test_hello.py <<'P'
import json, multiprocessing, os, sqlite3, subprocess, tempfile, threading, unittest
import hello

class Hello(unittest.TestCase):
    def test_word(self):
        self.assertEqual(hello.WORD, "hello")
    def test_files(self):
        with tempfile.TemporaryDirectory() as d:
            with open(os.path.join(d, "f"), "w") as f:
                json.dump([1], f)
            os.rename(os.path.join(d, "f"), os.path.join(d, "g"))
    def test_sqlite(self):
        c = sqlite3.connect("suite.db")
        c.execute("create table if not exists t(x)")
        c.commit()
    def test_child(self):
        self.assertEqual(subprocess.check_output(["echo", "x"]), b"x\n")
    def test_processes(self):
        q = multiprocessing.Queue()
        p = multiprocessing.Process(target=q.put, args=(7,))
        p.start()
        self.assertEqual(q.get(), 7)
        p.join()
P
works python/pip-install hello sh -c 'rm -rf lib && python3 -m pip install -q --no-index --no-build-isolation --no-deps --break-system-packages --target lib ./pkg >pip.log 2>&1 || cat pip.log; PYTHONPATH=lib python3 -c "import hello; print(hello.WORD)"'
works python/suite OK sh -c 'PYTHONPATH=lib python3 -m unittest discover -s suite'
shut python "Errno 13" python3 -c "
try: print(open('$s/f').read().strip())
except OSError as e: print('Errno', e.errno)"
shut python-write "Errno 13" python3 -c "
try:
    open('$s/f', 'a').close(); print('secret')
except OSError as e: print('Errno', e.errno)"

# ---- node ----
cat >$w/app.js <<'P'
const fs = require("fs"), assert = require("assert"), os = require("os"), path = require("path");
const { execFileSync } = require("child_process");
const d = fs.mkdtempSync(path.join(os.tmpdir(), "app-"));
fs.writeFileSync(path.join(d, "x"), JSON.stringify({ a: 1 }));
assert.strictEqual(JSON.parse(fs.readFileSync(path.join(d, "x"))).a, 1);
fs.rmSync(d, { recursive: true });
assert.strictEqual(execFileSync("echo", ["y"]).toString(), "y\n");
new (require("worker_threads").Worker)("require('worker_threads').parentPort.postMessage('done')", { eval: true })
  .on("message", (m) => console.log(m));
P
works node/runs done node app.js
shut node EACCES node -e "try { console.log(require('fs').readFileSync('$s/f', 'utf8').trim()) } catch (e) { console.log(e.code) }"

# ---- programs written in Go and Rust ----
works go/age one sh -c 'rm -f key f.age; echo one >f; age-keygen -o key 2>/dev/null && age -r "$(age-keygen -y key)" -o f.age f && age -d -i key f.age'
recipient=$(age-keygen 2>/dev/null | age-keygen -y)
is go/control-open 0 "$(age -r "$recipient" $s/f >/dev/null 2>&1; echo $?)"
is go/allowed-elsewhere 0 "$(sbpf run -q --policy "$open" -- age -r "$recipient" $s/f >/dev/null 2>&1; echo $?)"
has go/denied "permission denied" "$(in_box untrusted age -r "$recipient" $s/f)"
works rust/ripgrep one rg --no-filename --threads 2 one f
shut rust "Permission denied" rg --no-filename . $s/f

# ---- git ----
git -c init.defaultBranch=main init -q $w/origin
(cd $w/origin && echo one >f && git add f && git -c user.name=a -c user.email=a@b commit -qm one)
works git/clone one sh -c 'rm -rf copy && git clone -q --no-local origin copy && cd copy && echo two >>f && git -c user.name=a -c user.email=a@b commit -qam two && git log --format=%s | tail -1'
is git/outside-control-open 0 "$(git clone -q $w/origin $s/c0 >/dev/null 2>&1; echo $?)"
is git/outside-allowed-elsewhere 0 "$(sbpf run -q --policy "$open" -- git clone -q $w/origin $s/c1 >/dev/null 2>&1; echo $?)"
has git/outside-denied "Permission denied" "$(in_box untrusted git clone -q $w/origin $s/c2)"

# ---- gcc ----
cat >$w/main.c <<'P'
#include <errno.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	char line[64] = "";
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;
	if (argc > 1 && !f)
		return printf("errno %d\n", errno), 1;
	if (f && fgets(line, sizeof(line), f))
		return fputs(line, stdout), 0;
	return puts("compiled"), 0;
}
P
profiles=(code-interpreter untrusted-compiler)
if command -v gcc >/dev/null; then
  works gcc/compile-and-run compiled sh -c 'gcc -O1 -o main main.c -lm && ./main'
  shut c-program "errno 13" $w/main $s/f
  has gcc/own-program-denied "Permission denied" "$(in_box untrusted sh -c './main; true')"
  has gcc/own-program-by-loader-denied "$w/main" "$(in_box untrusted /lib64/ld-linux-x86-64.so.2 $w/main)"
  has gcc/denied "Permission denied" "$(in_box untrusted gcc -c -o $s/main.o main.c)"
  is gcc/control-open 0 "$(cd $w && gcc -c -o $s/main.o main.c; echo $?)"
else
  skip gcc/compile-and-run "no gcc in this userspace"
fi

profiles=(code-interpreter untrusted)

# ---- programs of one's own ----
cp /bin/echo $w/own
works own-script/runs one sh -c 'echo "echo one" >s && sh s'
is own-program/control-open one "$($w/own one)"
is own-program/allowed-elsewhere one "$(in_box code-interpreter $w/own one | tail -1)"
has own-program/denied "Permission denied" "$(in_box untrusted sh -c './own one; true')"
has own-program/denied-in-memory "Errno 13" "$(in_box untrusted python3 -c '
import os
fd = os.memfd_create("own")
os.write(fd, open("/bin/echo", "rb").read())
os.execve(fd, ["echo", "one"], {})')"

# ---- curl with TLS ----
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tmp/key" -out $w/cert -days 30 -subj /CN=localhost \
  -addext subjectAltName=IP:127.0.0.1,DNS:localhost 2>/dev/null
(cd "$tmp" && exec openssl s_server -quiet -accept 127.0.0.1:7443 -key "$tmp/key" -cert $w/cert -www >"$tmp/s_server" 2>&1) &
servers+=($!)
within 60 sh -c "curl -s --cacert $w/cert https://127.0.0.1:7443/ >/dev/null"; is curl/control-open 0 $?
works curl/tls 200 curl -s --noproxy "*" --cacert cert -o page -w '%{http_code}\n' https://127.0.0.1:7443/
is curl/page-written yes "$([[ -s $w/page ]] && echo yes || echo no)"
works curl/other-port-refused "Errno 111" python3 -c '
import socket
try: socket.create_connection(("127.0.0.1", 7444))
except OSError as e: print("Errno", e.errno)'
shut curl "Couldn't open file" curl -sS file://$s/f

end_all
finish
