#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Package managers and their kind against a mirror: by the mirror's name, by a proxy that they are told of, and by one that
# they are not told of.
. "$(dirname "$0")/lib.sh"
mirror=93.184.216.34

# ---- a mirror, its name, and two proxies ----
ip link set lo up
ip addr add $mirror/32 dev lo
www=$tmp/www
mkdir -p "$www/simple/hello" "$www/npm" "$tmp/py" "$tmp/js/package" "$tmp/out"
(cd "$tmp/py" && python3 - "$www/simple/hello/hello-1.0-py3-none-any.whl" <<'P'
import sys, zipfile
info = "hello-1.0.dist-info/"
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("hello.py", "WORD = 'hello'\n")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: sbpf\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "RECORD", "hello.py,,\n%sMETADATA,,\n%sWHEEL,,\n%sRECORD,,\n" % (info, info, info))
P
)
echo '{"name": "hello", "version": "1.0.0", "main": "index.js"}' >"$tmp/js/package/package.json"
echo 'module.exports = "hello"' >"$tmp/js/package/index.js"
tar -C "$tmp/js" -czf "$www/npm/hello-1.0.0.tgz" package
cat >"$www/npm/hello" <<'J'
{"name": "hello", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {"name": "hello", "version": "1.0.0",
 "dist": {"tarball": "http://mirror.example/npm/hello-1.0.0.tgz"}}}}
J
git -c init.defaultBranch=main init -q "$tmp/repo"
(cd "$tmp/repo" && echo hello >word && git add word && git -c user.name=a -c user.email=a@b commit -qm word)
git clone -q --bare "$tmp/repo" "$www/repo.git" && git -C "$www/repo.git" update-server-info
chmod -R a+rX "$tmp"
python3 -m http.server -d "$www" -b $mirror 80 >"$tmp/requests" 2>&1 & servers+=($!)
dnsmasq --no-daemon --no-resolv --no-hosts --listen-address=127.0.0.1 --bind-interfaces --user=root --log-queries \
  --log-facility="$tmp/queries" --pid-file= --host-record=mirror.example,$mirror --host-record=other.example,$mirror \
  >/dev/null 2>&1 & servers+=($!)
printf 'Port 8888\nListen 127.0.0.1\nMaxClients 20\nTimeout 60\nLogLevel Connect\nLogFile "%s"\n' "$tmp/proxy" >"$tmp/tinyproxy.conf"
tinyproxy -d -c "$tmp/tinyproxy.conf" >/dev/null 2>&1 & servers+=($!)
python3 "$here/proxy.py" 7000 >"$tmp/led" 2>&1 & servers+=($!)
echo "nameserver 127.0.0.1" >/etc/resolv.conf
within 60 curl -s -o /dev/null http://mirror.example/
within 60 curl -s -o /dev/null -x http://127.0.0.1:8888 http://mirror.example/
within 60 grep -q ready "$tmp/led"
keep_loaded

connects() { # connects NAME ENTRY…
  local name=$1
  shift
  { printf 'version: 1\nname: %s\nnetwork:\n  dns: {resolver: 127.0.0.1}\n  connect:\n' "$name"; printf '    - %s\n' "$@"; } | policy "$name"
}
by_name=$(connects by-name '{host: mirror.example, ports: [80], protocol: tcp}')
led=$(connects led '{host: mirror.example, ports: [80], protocol: tcp, via: {address: 127.0.0.1, port: 7000}}')
other=$(connects other '{host: other.example, ports: [80], protocol: tcp}')
proxied=$(policy proxied <<'Y'
version: 1
name: proxied
process: {env: {set: {http_proxy: "http://127.0.0.1:8888"}}}
network: {connect: [{address: 127.0.0.1, ports: [8888], protocol: tcp}]}
Y
)
requests() { grep -c '"GET' "$tmp/requests"; }
queries() { grep -c 'query\[.*mirror.example' "$tmp/queries"; }

# ---- what is installed ----
# In a folder of its own, from nothing, with nothing kept; says hello where it worked.
pip='python3 -m pip install -q --disable-pip-version-check --no-cache-dir --retries 0 --timeout 60 --break-system-packages \
  --index-url http://mirror.example/simple/ --trusted-host mirror.example --target lib hello >log 2>&1
  PYTHONPATH=lib python3 -c "import hello; print(hello.WORD)"'
npm='npm install --registry http://mirror.example/npm/ --cache ./cache --no-audit --no-fund --no-update-notifier \
  --fetch-retries 0 hello >log 2>&1
  node -p "require(\"hello\")"'
git='git clone -q http://mirror.example/repo.git copy >log 2>&1; cat copy/word'
curl='curl -sS --max-time 60 http://mirror.example/repo.git/HEAD >log 2>&1; grep -q refs/heads/main log && echo hello'
python='python3 -c "import urllib.request; print(urllib.request.urlopen(\"http://mirror.example/repo.git/HEAD\", timeout=60).read())" >log 2>&1
  grep -q refs/heads/main log && echo hello'
go='hey -n 1 -c 1 ${http_proxy:+-x $http_proxy} http://mirror.example/repo.git/HEAD >log 2>&1; grep -q "\[200\]" log && echo hello'
# says COMMAND WRAPPER…: what it prints, in an empty folder
says() {
  local script=$1 dir
  shift
  dir=$(mktemp -d "$tmp/out/XXXXXX")
  (cd "$dir" && HOME=$dir "$@" bash -c "$script" 2>/dev/null)
}
for tool in pip npm git curl python go; do
  is $tool/control-open hello "$(says "${!tool}" env)"
  before=$(wc -l <"$tmp/proxy")
  is $tool/by-name hello "$(says "${!tool}" sbpf run -q --policy "$by_name" --)"
  is $tool/by-name-directly "$before" "$(wc -l <"$tmp/proxy")"
  is $tool/proxied hello "$(says "${!tool}" sbpf run -q --policy "$proxied" --)"
  is $tool/proxied-through-it yes "$( (($(wc -l <"$tmp/proxy") > before)) && echo yes)"
  before=$(wc -l <"$tmp/led")
  is $tool/led hello "$(says "${!tool}" sbpf run -q --policy "$led" --)"
  is $tool/led-through-it yes "$( (($(wc -l <"$tmp/led") > before)) && echo yes)"
  before="$(requests) $(queries)"
  is $tool/denied tried "$(says "${!tool}; echo tried" sbpf run -q --policy "$other" --)"
  is $tool/denied-reaches-nobody "$before" "$(requests) $(queries)"
done
kill_all
finish
