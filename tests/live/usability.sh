#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What people do with files every day, under each profile that has rules for files: in a workspace that is a directory, that is mounted
# there, and that is a link of root's.
. "$(dirname "$0")/lib.sh"
keep_loaded
source=$tmp/source
mkdir -p "$source/hello-1.0" "$source/js/package"
git -c init.defaultBranch=main init -q "$source/repo"
(cd "$source/repo" && echo one >f && git add f && git -c user.name=a -c user.email=a@b commit -qm one)
printf 'from setuptools import setup\nsetup(name="hello", version="1.0", py_modules=["hello"])\n' >"$source/hello-1.0/setup.py"
echo 'WORD = "hello"' >"$source/hello-1.0/hello.py"
(cd "$source/hello-1.0" && python3 setup.py -q bdist_wheel -d "$source") >/dev/null 2>&1
echo '{"name": "hello", "version": "1.0.0", "main": "index.js"}' >"$source/js/package/package.json"
echo 'module.exports = "hello"' >"$source/js/package/index.js"
tar -C "$source/js" -czf "$source/hello-1.0.0.tgz" package
cat >"$source/wal.py" <<'P'
import os, sqlite3
writer = sqlite3.connect("db")
assert writer.execute("pragma journal_mode=wal").fetchone() == ("wal",)
writer.execute("create table t (a)")
reader = sqlite3.connect("db")
for i in range(100):
    writer.execute("insert into t values (?)", (i,))
    writer.commit()
assert reader.execute("select count(*) from t").fetchone() == (100,) and os.path.getsize("db-wal") > 0
reader.close()
assert writer.execute("pragma wal_checkpoint(truncate)").fetchone()[0] == 0
P
declare -A tasks=(
  [git-clone]='git clone -q source/repo clone && cd clone && git checkout -q -b b && echo two >>f && git commit -qam two && git gc -q && git fsck --no-progress && test 2 = "$(git rev-list --count HEAD)"'
  [git-worktree]='git clone -q --no-hardlinks source/repo clone && git -C clone worktree add -q -b w ../tree && cd tree && echo two >f && git commit -qam two && cd .. && git -C clone merge -q w && git -C clone worktree remove tree && test two = "$(cat clone/f)"'
  [pip]='python3 -m pip install -q --no-index --no-cache-dir --find-links source --target site hello && PYTHONPATH=site python3 -c "import hello; assert hello.WORD"'
  [npm]='npm install --offline --no-audit --no-fund ./source/hello-1.0.0.tgz && test hello = "$(node -p "require(\"hello\")")"'
  [sed-in-place]='echo a >f && sed -i.old s/a/b/ f && test "b a" = "$(cat f) $(cat f.old)"'
  [sqlite-wal]='python3 source/wal.py'
  [tar]='mkdir t && echo x >t/f && ln t/f t/hard && ln -s f t/soft && tar czf t.tgz t && rm -r t && tar xzpf t.tgz && test x = "$(cat t/hard)" && test f = "$(readlink t/soft)"'
  [mktemp]='f=$(mktemp) && d=$(mktemp -d) && mv "$f" "$d/f" && rm -r "$d" && f=$(mktemp -p .) && mv "$f" made && test -f made'
  [linked-copy]='mkdir -p store/a && echo x >store/a/f && cp -al store copy && mv copy/a copy/b && echo y >>store/a/f && rm -r store && test y = "$(tail -1 copy/b/f)"'
  [vim]='printf "one\ntwo\n" >f && vim.tiny -es -u NONE -c "set backup backupcopy=no" -c "%s/one/three/" -c wq f && test "three one" = "$(head -1 f) $(head -1 f~)" && vim.tiny -es -u NONE -c "set nobackup backupcopy=yes" -c "%s/two/four/" -c wq f && test four = "$(tail -1 f)"'
  [rsync]='mkdir a && echo x >a/f && ln a/f a/hard && ln -s f a/soft && rsync -aH a/ b/ && echo y >a/f && rm a/soft && rsync -acH --delete a/ b/ && test "y y" = "$(cat b/f b/hard | paste -sd" ")" && test ! -e b/soft && rsync -a --link-dest=../b b/ c/ && test b/f -ef c/f'
  [save]='echo a >f && cp -p f .f.new && echo b >.f.new && ln f f~ && mv .f.new f && test "b a" = "$(cat f) $(cat f~)"'
)
# The profiles' limits are for a real processor.
for profile in code-interpreter untrusted benchmark-task; do
  policy "$profile" >/dev/null <<P
version: 1
name: $profile
extends: [$profile]
process: {limits: {processes: 128, memory: 1GiB, cpu: 2, timeout: 10m}}
P
done
task() { # task PROFILE TASK: its exit code
  find /workspace/ -mindepth 1 -delete
  cp -r "$source" /workspace/source
  sbpf run -q --policy "$tmp/$1.yaml" -- env GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b \
    sh -ec "cd /workspace; $2" </dev/null >"$tmp/said" 2>&1
  local code=$?
  [[ $code == 0 ]] || sed "s/^/# /" "$tmp/said" | tail -5 >&2
  echo $code
}
all() { # all NAME TASK…
  local name=$1 profile task
  shift
  for profile in code-interpreter untrusted benchmark-task; do
    for task in "$@"; do is "$name/$profile/$task" 0 "$(task $profile "${tasks[$task]}")"; done
    is "$name/$profile/git-commits" 0 "$(task $profile 'git init -q new && cd new && echo x >f && git add f && git commit -qm all')"
    is "$name/$profile/git-warns-of-nothing" 0 "$(grep -c warning "$tmp/said")"
    is "$name/$profile/outside" 1 "$(task $profile 'touch /srv/outside' 2>/dev/null)"
    is "$name/$profile/outside-is-not-there" no "$([[ -e /srv/outside ]] && echo yes || echo no)"
  done
}
mkdir -p /workspace
all directory "${!tasks[@]}"
few=(git-clone sed-in-place linked-copy save)
mkdir /srv/real
mount --bind /srv/real /workspace
all mounted "${few[@]}"
umount /workspace
mount -t tmpfs workspace /workspace
all tmpfs "${few[@]}"
umount /workspace
rm -r /workspace
ln -s /srv/real /workspace
all link "${few[@]}"
end_all
finish
