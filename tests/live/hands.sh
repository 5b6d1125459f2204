# SPDX-License-Identifier: Apache-2.0
# Processes that carry out operations on files, in sandboxes and outside, for tests that come after lib.sh.
EACCES=13
hands=$(cat "$here/files.py")

# hands_of NAME COMMAND…: a process that carries out what `ask NAME` says. Its program comes as an argument and its
# orders by a pipe that is open already, so that it needs no file of ours.
hands_of() {
  local name=$1
  shift
  mkfifo "$tmp/$name.in" "$tmp/$name.out"
  exec {in_fd}<>"$tmp/$name.in" {out_fd}<>"$tmp/$name.out"
  declare -g "in_$name=$in_fd" "out_$name=$out_fd"
  "$@" python3 -c "$hands" <"$tmp/$name.in" >"$tmp/$name.out" 2>"$tmp/$name.err" &
  declare -g "pid_$name=$!"
}
# ask NAME OPERATION PATH…: prints its errno, or "none" when there is no answer
ask() {
  local in_fd=in_$1 out_fd=out_$1 pid=pid_$1 answer=none
  shift
  kill -0 "${!pid}" 2>/dev/null || { echo gone; return; }
  echo "$*" >&"${!in_fd}"
  read -r -t 60 -u "${!out_fd}" answer
  echo "$answer"
}
# box NAME POLICY-FILE [OPTION…]: the same in a sandbox
box() {
  local name=$1 file=$2
  shift 2
  hands_of "$name" sbpf run --name "$name" --policy "$file" "$@" --
  within 300 grep -q '^sbpf: ' "$tmp/$name.err"
}
end() {
  local name pid
  for name in "$@"; do
    pid=pid_$name
    sbpf kill "$name" >/dev/null 2>&1
    wait "${!pid}" 2>/dev/null
    rm -f "$tmp/$name.in" "$tmp/$name.out"
  done
}
# denied NAME BOX OPERATION PATH…: EACCES in the box, though it works outside, and in a sandbox whose rules allow it
denied() {
  local name=$1 where=$2
  shift 2
  is "$name/control-open" 0 "$(ask free "$@")"
  is "$name/allowed-elsewhere" 0 "$(ask open "$@")"
  is "$name/denied" $EACCES "$(ask "$where" "$@")"
}
# allowed NAME BOX OPERATION PATH…
allowed() {
  local name=$1 where=$2
  shift 2
  is "$name/allowed" 0 "$(ask "$where" "$@")"
}

open_policy=$(policy open <<'P'
version: 1
name: open
filesystem: {default: write}
P
)
