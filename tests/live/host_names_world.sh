# SPDX-License-Identifier: Apache-2.0
# Sourced after lib.sh and hands.sh: a world with names in it, and policies with host names.
good=93.184.216.34 good_w=93.184.216.35 good_x=93.184.216.36 evil=45.33.32.156 good6=2606:4700::1111

# ---- the world outside: public addresses on lo, servers there, dnsmasq, and a foreign server of DNS ----
ip link set lo up
for address in $good $good_w $good_x $evil 10.1.2.3; do ip addr add "$address/32" dev lo; done
ip -6 addr add $good6/128 dev lo nodad
for where in "$good 443" "$good 8444" "$good_w 443" "$good_x 443" "$evil 443" "$evil 853" "127.0.0.1 443" "10.1.2.3 443" "$good6 443"; do
  # shellcheck disable=SC2086
  serve tcp $where
done
mkdir "$tmp/web"; echo "it works" >"$tmp/web/page"
python3 -m http.server -d "$tmp/web" -b $good 80 >/dev/null 2>&1 & servers+=($!)
socat TCP-LISTEN:7,bind=$good,fork,reuseaddr EXEC:cat & servers+=($!)
dnsmasq --no-daemon --no-resolv --no-hosts --listen-address=127.0.0.1 --bind-interfaces --user=root --log-queries \
  --log-facility="$tmp/dnsmasq" --pid-file= --cache-size=10000 \
  --host-record=a.example,$good,$good6 --host-record=ttl0.example,$good_x --host-record=rebind.example,127.0.0.1 \
  --host-record=lan.example,10.1.2.3 --host-record=meta.example,169.254.169.254 --host-record=zero.example,0.0.0.0 \
  --host-record=evil.example,$evil --cname=leads.example,rebind.example --cname=alias.example,a.example \
  --address=/w.example/$good_w --address=/many.example/$good_x --address=/nothing.invalid/$good --address=/zone.example/$good --txt-record=a.example,secret >/dev/null 2>&1 & servers+=($!)
python3 "$here/host_names_dns.py" $evil "$tmp/foreign" >"$tmp/foreign.out" & servers+=($!)
python3 "$here/host_names_dns.py" 127.0.0.9 "$tmp/odd" >"$tmp/odd.out" & servers+=($!)
python3 "$here/host_names_dns.py" $good6 "$tmp/foreign6" >"$tmp/foreign6.out" & servers+=($!)
within 60 grep -q ready "$tmp/foreign.out"
within 60 grep -q ready "$tmp/odd.out"
within 60 grep -q ready "$tmp/foreign6.out"
resolve_by() { printf 'nameserver %s\noptions timeout:5 attempts:2\n' "$@" >/etc/resolv.conf; }
resolve_by 127.0.0.1
within 30 getent hosts a.example >/dev/null
asked() { grep -c "query\[.*$1 " "$tmp/dnsmasq"; }

# names NAME MODE ENTRY…: a policy that asks dnsmasq, or $server
server=127.0.0.1
names() {
  local name=$1 mode=$2
  shift 2
  { printf 'version: 1\nname: %s\nmode: %s\nnetwork:\n  dns: {resolver: %s}\n  connect:\n' "$name" "$mode" "$server"
    printf '    - %s\n' "$@"; } | policy "$name"
}
hosts() { local host; for host in "$@"; do echo "{host: \"$host\", ports: [443]}"; done; }
