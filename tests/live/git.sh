#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A checkout that a sandbox writes and the host's git reads: under `git-safe` nothing inside has the host run a program.
. "$(dirname "$0")/lib.sh"
keep_loaded
export GIT_CONFIG_GLOBAL=$tmp/gitconfig GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
touch "$GIT_CONFIG_GLOBAL"
w=/workspace
ran=/srv/ran
printf '#!/bin/sh\ntouch %s\n' $ran >/srv/program
chmod 755 /srv/program
fresh() {
  rm -rf $w/* $w/.git $ran
  git -c init.defaultBranch=main init -q $w
  (cd $w && echo one >f && git add f && git commit -qm one)
}
rules() {
  printf 'version: 1\nname: %s\nextends: [%s]\nfilesystem: {write: [%s]}\nprocess: {env: {set: {HOME: /tmp, GIT_AUTHOR_NAME: a, GIT_AUTHOR_EMAIL: a@b, GIT_COMMITTER_NAME: a, GIT_COMMITTER_EMAIL: a@b}}}\n' \
    "$1" "$2" $w | policy "$1"
}
plain=$(rules plain runtime-files) safe=$(rules safe "runtime-files, git-safe")
inside() { sbpf run -q --policy "$1" -- sh -c "cd $w && $2" </dev/null >"$tmp/said" 2>&1; }
# What the host does next. No program of its own is to run, whatever it says of the tree.
host() { (cd $w && git status && git diff && git log -1 -p && GIT_EDITOR=true git commit -q --allow-empty --allow-empty-message; git status; git commit -qm by-host --allow-empty) </dev/null >/dev/null 2>&1; }
was_run() { [[ -e $ran ]] && echo yes || echo no; }

hook="printf '#!/bin/sh\\ntouch $ran\\n' >.git/hooks/pre-commit && chmod 755 .git/hooks/pre-commit"
elsewhere="mkdir -p other/hooks && cp .git/config other/ && cp -r .git/refs .git/objects other/ && git -C . config -f other/config core.fsmonitor /srv/program"
declare -A ways=(
  [monitor]="git config core.fsmonitor /srv/program"
  [monitor-by-hand]="printf '[core]\\nfsmonitor = /srv/program\\n' >>.git/config"
  [replaced]="cp .git/config new && git config -f new core.fsmonitor /srv/program && mv new .git/config"
  [hooks-path]="mkdir h && printf '#!/bin/sh\\ntouch $ran\\n' >h/pre-commit && chmod 755 h/pre-commit && git config core.hooksPath $w/h"
  [hook]="$hook"
  [hooks-moved]="mv .git/hooks .git/old; mkdir -p .git/hooks && $hook"
  [git-moved]="mv .git old && git init -q . && git config core.fsmonitor /srv/program"
  [git-file]="$elsewhere && cp .git/HEAD other/ && mv .git old && echo 'gitdir: $w/other' >.git"
  [common]="$elsewhere && echo $w/other >.git/commondir"
  [bare]="cp -r .git/HEAD .git/config .git/objects .git/refs .git/index . && git config -f config core.bare false && git config -f config core.worktree $w && git config -f config core.fsmonitor /srv/program && rm .git/HEAD"
  [submodule]="git init -q sub && (cd sub && echo x >x && git add x && git commit -qm x && git config core.fsmonitor /srv/program) && git add sub && git commit -qm sub"
  [message]="cp .git/config .git/SQUASH_MSG && printf '[core]\\n\\tfsmonitor = /srv/program\\n' >>.git/SQUASH_MSG && ln -sf config .git/COMMIT_EDITMSG"
  [filter]="mkdir -p .git/info && echo '* filter=x' >.git/info/attributes && git config filter.x.clean /srv/program && touch f"
)
for way in "${!ways[@]}"; do
  fresh
  inside "$plain" "${ways[$way]}"; is "$way/control" 0 $?
  host; is "$way/control-runs" yes "$(was_run)"
  fresh
  inside "$safe" "${ways[$way]}"; is "$way/refused" no "$([[ $? == 0 ]] && echo yes || echo no)"
  host; is "$way/does-not-run" no "$(was_run)"
  is "$way/host-goes-on" by-host "$(git -C $w log -1 --format=%s)"
done

# ---- what programs inside do all day ----
fresh
works() { inside "$safe" "$2"; is "works/$1" "0 " "$? $(grep -v 'isolation active' "$tmp/said")"; }
works edit 'echo two >>f && echo three >g && mkdir d && mv g d/'
works status 'git status --short | grep -q "^ M f"'
works diff 'git diff | grep -q "^+two"'
works log 'git log -1 --format=%s | grep -qx one'
works blame 'git blame f | grep -q one'
works grep 'git grep -q one'
works clone 'git clone -q --no-local . /tmp/own && cd /tmp/own && echo x >>f && git commit -qam own && git log -1 --format=%s | grep -qx own'
inside "$safe" 'git commit -qam two'; is works/no-commit no "$([[ $? == 0 ]] && echo yes || echo no)"
(cd $w && git add -A && git commit -qm two); is works/host-commits 0 $?
finish
