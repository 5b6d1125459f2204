#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scale.sh N: N sandboxes of `sbpf attach` on one host. Each is verified, what they cost, that one that is tampered with is
# found among them, and that nothing is left of them.
. "$(dirname "$0")/lib.sh"
n=${1:?how many sandboxes}
most_kernel_kb=64 # a sandbox
most_rss_kb=20480 # sbpf watch; sbpfd with its watch
out=$tmp/watch.json
crowd=$cgroots/crowd.runtime
meter=$cgroots/meter
socket=/run/sbpf/api.sock
# at_most NAME MOST GOT
at_most() { if (($3 <= $2)); then ok "$1"; else not_ok "$1" "at most $2, got $3"; fi; }
uptime_ms() { awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime; }
rss_kb() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$1/status"; }
# What the kernel charged to the cgroup that everything is attached from: pages of rings and maps, slabs, per-CPU memory. Some
# KB of each sandbox (labels of inodes, areas of address space) are charged to nobody: used_kb counts all slabs of the host.
charged_kb() {
  sleep 3 # what is freed after a grace period
  sync
  echo 3 >/proc/sys/vm/drop_caches
  awk '$1 == "kernel" { print int($2 / 1024) }' "$meter/memory.stat"
}
used_kb() {
  awk '$1 == "Slab:" { n += $2 } $1 == "kernel" { n += $2 / 1024 } $1 == "slab" { n -= $2 / 1024 } END { printf "%d\n", n }' \
    /proc/meminfo "$meter/memory.stat"
}
pass_of() { jq -c "select(.pass.sandboxes == $1) | .pass" "$out" | tail -1; }

keep_loaded
# Four policies by turns: of the network, of files, of both, and one with many entries.
policy p0 >/dev/null <<Y
version: 1
name: p0
on_loss: alert
network: {connect: [{address: 127.0.0.1, ports: [7001]}]}
Y
policy p1 >/dev/null <<Y
version: 1
name: p1
on_loss: alert
filesystem: {read: [/usr, /etc, /opt], write: [/tmp]}
Y
policy p2 >/dev/null <<Y
version: 1
name: p2
on_loss: alert
network: {connect: [{cidr: 10.0.0.0/8, ports: [443]}]}
filesystem: {read: [/], deny: [/etc/shadow]}
Y
{
  printf 'version: 1\nname: p3\non_loss: alert\nnetwork:\n  connect:\n'
  for i in {1..50}; do printf '    - {address: 192.0.2.%s, ports: [443]}\n' "$i"; done
} >"$tmp/p3.yaml"
mkdir "$crowd" "$meter"
echo +memory >"$cgroots/cgroup.subtree_control"
for ((i = 0; i <= n; i++)); do mkdir "$crowd/c$i"; done # the runtime's own cost, not a sandbox's
sbpf attach --cgroup "$crowd/c0" --name c0 --policy "$tmp/p1.yaml" >/dev/null 2>&1; is first/attached 0 $?

# ---- attach: each is verified by its canary, or `attach` fails ----
metered() { (
  echo $BASHPID >"$meter/cgroup.procs"
  exec sbpf "$@"
); }
began=$(uptime_ms)
failures=0 slowest=0
for ((i = 1; i <= n; i++)); do
  # Of the second half: by then the tables that all share have their size.
  ((i == n / 2 + 1)) && charged=$(charged_kb) && used=$(used_kb)
  start=$(uptime_ms)
  metered attach --cgroup "$crowd/c$i" --name "c$i" --policy "$tmp/p$((i % 4)).yaml" >"$tmp/attach" 2>&1 || {
    failures=$((failures + 1))
    sed 's/^/# /' "$tmp/attach"
  }
  took=$(($(uptime_ms) - start))
  ((took > slowest)) && slowest=$took
  ((i == 10 || i == n / 10 || i == n)) && echo "# attach $i took $took ms"
done
is attach/failures 0 $failures
echo "# $n attached in $(($(uptime_ms) - began)) ms, the slowest in $slowest ms"
each=$((($(charged_kb) - charged) / (n - n / 2)))
all=$((($(used_kb) - used) / (n - n / 2)))
echo "# kernel memory of each: $each KB charged, $all KB with all slabs of the host"
at_most kernel-memory $most_kernel_kb "$each"
# Of few the second is lost among what else the host does.
if ((n >= 1000)); then at_most kernel-memory/all $most_kernel_kb "$all"; fi
is listed $((n + 2)) "$(sbpf list | wc -l)" # with the first and the keeper
for i in 1 $((n / 2)) "$n"; do
  is "status/c$i" "active p$((i % 4))" "$(sbpf status "c$i" --json | jq -r '.isolation + " " + .policy.name')"
done

# ---- one watch for all of them ----
sbpf watch --json </dev/null >"$out" 2>"$tmp/watch.err" & watch=$!
servers+=($watch)
all_seen() { [[ -n $(pass_of $((n + 2))) ]]; }
within 120 all_seen; is watch/sees-all 0 $?
sleep 10
is watch/all-active "$((n + 2)) 0 0" "$(pass_of $((n + 2)) | jq -r '"\(.active) \(.degraded) \(.inactive)"')"
# Late it may be where the guest's time is the emulation's.
late() { if time_is_counted; then echo '^$'; else echo 'the watch is late|something keeps the processors from it'; fi; }
quiet watch/no-errors jq -c "select(.error and .error.code != \"$(time_is_counted || echo late)\")" "$out"
quiet watch/no-complaint sed -E "/$(late)/d" "$tmp/watch.err"
is watch/no-loss 0 "$(grep -c '"loss"' "$out")"
echo "# passes: $(jq -r "select(.pass.sandboxes == $((n + 2))) | .pass.duration_us" "$out" | sort -n | awk '{ v[NR] = $1 } END { print "median " v[int((NR + 1) / 2)] " us, longest " v[NR] " us, of " NR }'); RSS $(rss_kb $watch) KB"
at_most watch/rss $most_rss_kb "$(rss_kb $watch)"
# Canaries come one after another, so that each sandbox has its own within the minute as far as the host can.
echo "# canaries in $(jq -c 'select(.pass)' "$out" | wc -l) passes: $(jq -r 'select(.sandbox.canary_at != null) | .sandbox.name' "$out" | sort -u | wc -l)"

# ---- one is tampered with ----
victim=c$((n / 2))
sbpf break-glass --reason scale --for 30m 2>/dev/null
bpftool map update pinned $pins/maps/cgroup_refs key $(hex "$(sbpf status "$victim" --json | jq .cgroup_id)") value $(yes 0 | head -40)
lost() { grep -q "\"loss\":{\"sandbox\":\"$victim\"" "$out"; }
within 30 lost; is tampered/found 0 $?
is tampered/named '["storage"]' "$(jq -c 'select(.loss) | .loss.hooks' "$out")"
counted() { [[ $(jq -c 'select(.pass) | .pass.inactive' "$out" | tail -1) == 1 ]]; }
within 30 counted; is tampered/inactive 0 $?
sbpf break-glass --close 2>/dev/null
restored() { grep -q "\"restored\":{\"sandbox\":\"$victim\"" "$out"; }
within 30 restored; is tampered/restored 0 $?
is tampered/alone "$victim" "$(jq -r 'select(.loss) | .loss.sandbox' "$out" | sort -u)" # its canary may tell it once more
kill $watch
wait $watch; is watch/end 0 $?

# ---- the service, with its watch ----
printf 'limits: {connections: 4}\n' >"$tmp/sbpfd.yaml"
sbpfd --config "$tmp/sbpfd.yaml" >"$tmp/sbpfd.log" 2>&1 & daemon=$!
servers+=($daemon)
names() { curl -s -m 60 --unix-socket "$socket" http://sbpf/v1/sandboxes | jq '.sandboxes | length' 2>/dev/null; }
has_all() { [[ $(names) == $((n + 2)) ]]; }
within 120 has_all; is service/lists-all 0 $?
child=$(cat "/proc/$daemon/task/$daemon/children")
echo "# sbpfd: RSS $(rss_kb $daemon) KB, its watch $(rss_kb ${child%% *}) KB"
at_most service/rss $most_rss_kb "$(rss_kb $daemon)"
at_most service/rss-of-its-watch $most_rss_kb "$(rss_kb ${child%% *})"
# Together, with the pages of libraries and programs counted once.
both_kb=$(cat /proc/{$daemon,${child%% *}}/smaps_rollup | awk '$1 == "Pss:" { n += $2 } END { print n }')
echo "# both: $both_kb KB"
at_most service/memory-of-both $most_rss_kb "$both_kb"
kill $daemon
wait $daemon; is service/end 0 $?

# ---- the end: cgroups that are gone take their sandboxes along ----
for ((i = 0; i <= n; i++)); do rmdir "$crowd/c$i"; done
rmdir "$crowd" "$meter"
is gone/list keeper "$(sbpf list)"
sbpf unload 2>/dev/null # which collects all that has ended, and leaves the programs for the keeper
is gone/pins keeper "$(ls $pins/sandboxes)"
sbpf break-glass --reason counting --for 1m 2>/dev/null
is gone/maps 1 "$(bpftool map show | grep -c 'name sbpf_ring ')"
clean
is left-behind "" "$(left_behind)"
finish
