# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced: programs that people run in sandboxes, each as a directory /srv/w/NAME with what it needs and a script `do`, which exits
# with 0 where all went well. The guest's userspace is `workloads` (scripts/rootfs).
work() { mkdir -p "/srv/w/$1" && cd "/srv/w/$1" && cat >do; }

# ---- Python ----
work pytest <<<'python3 -m pytest -q -p no:cacheprovider'
mkdir -p pkg tests
echo 'def add(a, b): return a + b' >pkg/__init__.py
cat >tests/test_pkg.py <<'P'
import asyncio, http.server, multiprocessing, subprocess, threading, urllib.request
import pkg

def test_add(tmp_path):
    (tmp_path / "f").write_text("x")
    assert pkg.add(1, 2) == 3

def test_server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert urllib.request.urlopen("http://localhost:%d/" % server.server_port).status == 200

def double(x): return 2 * x

def test_pool():
    with multiprocessing.Pool(2) as pool: assert pool.map(double, [1, 2]) == [2, 4]

def test_program(): assert subprocess.run(["git", "--version"], capture_output=True).returncode == 0

def test_asyncio():
    async def go():
        async def hi(reader, writer):
            writer.write(b"hi")
            writer.close()
        server = await asyncio.start_server(hi, "127.0.0.1", 0)
        reader, _ = await asyncio.open_connection(*server.sockets[0].getsockname())
        return await reader.read()
    assert asyncio.run(go()) == b"hi"
P
work pandas <<<'python3 job.py'
cat >job.py <<'P'
import pandas
frame = pandas.DataFrame({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0]})
frame.to_csv("out.csv")
assert pandas.read_csv("out.csv").b.mean() == 5
P
work notebook <<<'python3 job.py'
cat >job.py <<'P'
import nbclient, nbformat
cells = ["x = 40 + 2\nopen('out', 'w').write(str(x))", "print(x)"]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
nbclient.NotebookClient(notebook, timeout=300, startup_timeout=300, kernel_name="python3").execute()
assert notebook.cells[1].outputs[0]["text"] == "42\n"
P
work pip <<'D'
python3 -m pip install -q --no-index --no-build-isolation --break-system-packages --target lib ./src &&
  [ "$(PYTHONPATH=lib python3 -c 'import thing; print(thing.x)')" = 1 ]
D
mkdir -p src/thing
echo 'x = 1' >src/thing/__init__.py
printf '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n[project]\nname = "thing"\nversion = "1"\n' >src/pyproject.toml

# ---- Node.js ----
work npm <<<'npm ci --no-audit --no-fund && npm test'
mkdir -p package
echo '{"name":"dep","version":"1.0.0","main":"i.js"}' >package/package.json
echo 'module.exports = 5' >package/i.js
tar -czf dep.tgz package
echo '{"name":"app","version":"1.0.0","dependencies":{"dep":"file:./dep.tgz"},"scripts":{"test":"node --test"}}' >package.json
cat >a.test.js <<'P'
const test = require("node:test"), assert = require("node:assert"), http = require("node:http")
test("dep", () => assert.equal(require("dep"), 5))
test("server", async () => {
  const server = http.createServer((request, response) => response.end("hi"))
  await new Promise((ready) => server.listen(0, ready))
  assert.equal(await (await fetch("http://localhost:" + server.address().port)).text(), "hi")
  server.close()
})
P
HOME=/tmp npm install --package-lock-only --no-audit --no-fund --offline >/dev/null 2>&1

# ---- what is compiled ----
work go <<<'go build -o m . && [ "$(./m)" = 3 ] && go test ./...'
printf 'module example.org/m\n\ngo 1.19\n' >go.mod
printf 'package main\n\nimport "fmt"\n\nfunc add(a, b int) int { return a + b }\n\nfunc main() { fmt.Println(add(1, 2)) }\n' >main.go
cat >main_test.go <<'P'
package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	if _, err := http.Get(server.URL); err != nil || add(1, 2) != 3 {
		t.Fatal(err)
	}
}
P
work cargo <<<'cargo build --offline && [ "$(./target/debug/m)" = 3 ] && cargo test --offline'
mkdir -p src .cargo
printf '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nitoa = "1"\n' >Cargo.toml
printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "/usr/share/cargo/registry"\n' >.cargo/config.toml
cat >src/main.rs <<'P'
fn main() {
    println!("{}", itoa::Buffer::new().format(3u32));
}

#[test]
fn serves() {
    use std::io::{Read, Write};
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = server.local_addr().unwrap();
    let serving = std::thread::spawn(move || server.accept().unwrap().0.write_all(b"hi").unwrap());
    let mut text = String::new();
    std::net::TcpStream::connect(at).unwrap().read_to_string(&mut text).unwrap();
    serving.join().unwrap();
    assert_eq!(text, "hi");
}
P
work maven <<'D'
mvn -o -q -s /etc/maven/settings-debian.xml -Dmaven.repo.local=/usr/share/maven-repo test &&
  [ "$(java -cp target/classes A)" = 3 ]
D
mkdir -p src/main/java src/test/java
cat >pom.xml <<'P'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>org.example</groupId><artifactId>m</artifactId><version>1</version>
  <properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
  <dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope>
  </dependency></dependencies>
</project>
P
cat >src/main/java/A.java <<'P'
public class A {
  public static int add(int a, int b) { return a + b; }
  public static void main(String[] words) { System.out.println(add(1, 2)); }
}
P
cat >src/test/java/ATest.java <<'P'
public class ATest {
  @org.junit.Test public void adds() throws Exception {
    org.junit.Assert.assertEquals(3, A.add(1, 2));
    try (var server = new java.net.ServerSocket(0)) { new java.net.Socket("localhost", server.getLocalPort()).close(); }
  }
}
P
work make <<<'make -j2 && make check'
printf 'all: m\nm: m.o n.o\n\tcc -o $@ $^\ncheck: m\n\t./m\n' >Makefile
echo 'int n(void); int main(void) { return n(); }' >m.c
echo 'int n(void) { return 0; }' >n.c
work git <<'D'
rm -rf r c
git init -q r && cd r && git config user.name a && git config user.email a@b && echo x >f && git add f && git commit -qm x &&
  git gc -q && cd .. && git clone -q r c && [ "$(git -C c log --oneline | wc -l)" = 1 ]
D

# ---- databases, servers, a browser ----
work sqlite <<'D'
rm -f t.db*
[ "$(sqlite3 t.db 'pragma journal_mode=wal; create table t(a); insert into t values(1); select count(*) from t' | tail -1)" = 1 ]
D
work redis <<'D'
redis-server --port 6379 --bind 127.0.0.1 --dir . --save '' >log 2>&1 &
for i in $(seq 100); do redis-cli ping >/dev/null 2>&1 && break; sleep 0.2; done
[ "$(redis-cli set a 1)" = OK ] && [ "$(redis-cli get a)" = 1 ] && redis-cli shutdown nosave
D
work postgres <<'D'
PATH=$PATH:/usr/lib/postgresql/15/bin
rm -rf d
initdb -D d -A trust >log 2>&1 && pg_ctl -w -D d -o "-k $PWD" -l log2 start >/dev/null &&
  [ "$(psql -h 127.0.0.1 -d postgres -Atc 'create table t(a int); insert into t values (7); select a from t' | tail -1)" = 7 ] &&
  pg_ctl -w -D d -m fast stop >/dev/null
D
work nginx <<'D'
/usr/sbin/nginx -p "$PWD" -c nginx.conf -e error.log -g 'daemon off;' & server=$!
for i in $(seq 100); do curl -sf http://127.0.0.1:8080/ >got && break; sleep 0.2; done
kill $server && wait $server; [ "$(cat got)" = hello ]
D
mkdir www
echo hello >www/index.html
cat >nginx.conf <<'P'
pid nginx.pid;
events {}
http {
  access_log access.log;
  client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server { listen 127.0.0.1:8080; root www; }
}
P
work chromium <<'D'
chromium --headless --no-sandbox --disable-gpu --dump-dom --virtual-time-budget=1000 "file://$PWD/page.html" 2>err | grep '>42<'
D
echo '<p id=p></p><script>document.getElementById("p").textContent = 6 * 7</script>' >page.html
work selenium <<<'python3 job.py'
cat >job.py <<'P'
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
options = webdriver.ChromeOptions()
for word in ("--headless", "--no-sandbox", "--disable-gpu"): options.add_argument(word)
options.binary_location = "/usr/bin/chromium"
browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
browser.get("data:text/html,<button onclick='document.title = 6 * 7'>x</button>")
browser.find_element("css selector", "button").click()
assert browser.title == "42"
browser.quit()
P
cd /
chown -R user: /srv/w
workloads="pytest pandas notebook pip npm go cargo maven make git sqlite redis postgres nginx chromium selenium"
