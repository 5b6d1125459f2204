#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# workloads.sh [--learn] [NAME…]: programs that people run, under the profile that is meant for them: they do their work, and are
# told of no denial. With --learn, also what `sbpf learn` takes where the network is closed and only what runtimes read is open: a
# run under what was learnt works and is denied nothing. docs/WORKLOADS.md has what that gave.
. "$(dirname "$0")/lib.sh"
learns=0
if [[ ${1:-} == --learn ]]; then learns=1 && shift; fi
keep_loaded
ip link set lo up
chmod 755 "$tmp"
serve tcp 127.0.0.1 7001
. "$here/workloads_made.sh" >/dev/null
profile_of() {
  case $1 in
    notebook) echo jupyter ;;
    chromium | selenium) echo browser ;;
    *) echo benchmark-task ;;
  esac
}
files_only=$(policy files-only <<'P'
version: 1
name: files-only
extends: [no-network, runtime-base, runtime-files]
filesystem: {write: [/workspace]}
process: {env: {set: {HOME: /workspace}}, limits: {timeout: 4m}}
P
)
# as_new NAME: its directory, as it was before anything ran
as_new() { rm -rf "$tmp/w" && cp -a "/srv/w/$1" "$tmp/w"; }
# in_sandbox POLICY COMMAND…: as the user, in the directory as /workspace
in_sandbox() { sbpf run -u user -p "$1" --workspace "$tmp/w" -- "${@:2}" </dev/null 2>&1; }
# none_told NAME OUTPUT: no denial is told in it
none_told() { is "$1" '' "$(grep '^sbpf: denied' <<<"$2")"; }
for name in ${*:-$workloads}; do
  profile=$(profile_of "$name")
  as_new "$name"
  out=$(in_sandbox "$profile" sh -c 'cd /workspace && sh ./do'); is "$name/works" 0 $?
  none_told "$name/no-denials" "$out"
  ((learns)) || continue
  as_new "$name"
  began=$EPOCHSECONDS learnt=$tmp/$name.yaml
  out=$(sbpf learn -u user -p "$files_only" -o "$learnt" --workspace "$tmp/w" -- sh -c 'cd /workspace && sh ./do' </dev/null 2>&1)
  is "$name/learnt" 0 $?
  sed 's/^/# /' <<<"$out"
  # Nothing was denied: there is nothing to write.
  [[ -e $learnt ]] || cp "$files_only" "$learnt"
  lines=$(wc -l <"$learnt")
  echo "# $name: learnt in $(grep -c '^sbpf: run ' <<<"$out") runs, $((EPOCHSECONDS - began)) s, $lines lines"
  sed 's/^/# | /' "$learnt"
  is "$name/at-most-30-lines" yes "$( ((lines <= 30)) && echo yes || echo "$lines")"
  as_new "$name"
  out=$(in_sandbox "$learnt" sh -c 'cd /workspace && sh ./do'); is "$name/works-as-learnt" 0 $?
  none_told "$name/no-denials-as-learnt" "$out"
  # What was learnt opens neither the host's loopback nor its secrets.
  out=$(in_sandbox "$learnt" sh -c "cat /etc/shadow; $probe connect tcp 127.0.0.1 7001 && echo reached; echo marker")
  has "$name/floor/ran" marker "$out"
  hasnt "$name/floor/secret" root: "$out"
  hasnt "$name/floor/loopback" reached "$out"
done
is floor/nobody-came 0 "$(visits tcp 127.0.0.1 7001)"
is floor/control 0 "$("$probe" connect tcp 127.0.0.1 7001 >/dev/null; echo $?)"
finish
