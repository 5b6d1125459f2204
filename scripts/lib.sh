# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the scripts share: where things are kept, how they speak, and which Debian mirror this machine trusts.
# Sourced, never run.

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Kernels and images are large and slow to make; they survive `git clean` of build/ and may be shared between trees.
CACHE=${SBPF_CACHE:-$REPO/.cache}
# shellcheck disable=SC2034  # for those who source this
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
# shellcheck disable=SC2034
KERNELS=(5.10 6.1 6.12 newest)

# Diagnostics go to stderr, so that what a script computes can be taken from its stdout.
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "error: $*"; exit 1; }

# need COMMAND...: a missing tool is named together with the way to get it.
need() {
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null || [[ -x /usr/sbin/$tool || -x /sbin/$tool ]] ||
      die "$tool is not installed; run scripts/setup"
  done
}

# debian_targets: "LABEL CODENAME URI" for each package index of Debian itself that this machine uses. The mirror is
# never written down here: a machine behind a proxy or with a local mirror must work as it is configured. What a source
# is, its signed Release file says; a machine that never fetched those gets them in a place of ours.
debian_targets() {
  local own=$CACHE/apt/own found
  found=$(debian_targets_in)
  if [[ -z $found ]]; then
    mkdir -p "$own/lists/partial"
    apt-get update -qq -o Dir::State::lists="$own/lists" -o APT::Sandbox::User="$(id -un)" \
      -o Acquire::Languages=none -o Acquire::Retries=3 >&2 || true
    found=$(debian_targets_in -o Dir::State::lists="$own/lists")
  fi
  printf '%s\n' "$found"
}

debian_targets_in() {
  # shellcheck disable=SC2016  # apt expands these, not the shell
  apt-get indextargets "$@" \
    --format '$(CREATED_BY)|$(ORIGIN)|$(COMPONENT)|$(LABEL)|$(CODENAME)|$(REPO_URI)' |
    awk -F '|' '$1 == "Packages" && $2 == "Debian" && $3 == "main" { print $4, $5, $6 }'
}

# debian_mirror: the main archive's URI; the security archive does not carry whole suites.
debian_mirror() {
  local uri
  uri=$(debian_targets | awk '$1 == "Debian" && uri == "" { uri = $3 } END { print uri }')
  [[ -n $uri ]] || die "no Debian mirror in this machine's apt configuration (apt-get indextargets shows none)"
  printf '%s\n' "$uri"
}

# locked NAME COMMAND...: one at a time per cache, so that two trees or two runs never build the same thing together.
locked() {
  local name=$1 fd status=0
  shift
  mkdir -p "$CACHE"
  exec {fd}>"$CACHE/$name.lock"
  flock "$fd"
  # The lock must not leak into what the command leaves running.
  "$@" {fd}>&- || status=$?
  exec {fd}>&-
  return $status
}
