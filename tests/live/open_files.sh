#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a swap and an attach say of files that are open or mapped is what a hook would say of the file itself: a mount, a name that is
# gone or no name, and a place that was moved hide nothing. taken.sh has what follows from it.
. "$(dirname "$0")/lib.sh"
keep_loaded
modprobe overlay
# holder.py HOW FILE OTHER: has the file as HOW says. At each line that comes it writes by what it has.
cat >"$tmp/holder.py" <<'P'
import ctypes, os, sys
how, path, other = sys.argv[1:4]
libc = ctypes.CDLL(None, use_errno=True)
def opened():
    if how == "renamed":  # by another name, which is gone then
        os.link(path, other)
        fd = os.open(other, os.O_RDWR)
        os.unlink(other)
        return fd
    if how == "named-late":  # that never had the name by which it is open
        fd = os.open(os.path.dirname(other), os.O_RDWR | os.O_TMPFILE, 0o600)
        os.write(fd, b"text")
        os.unlink(path)
        if libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, path.encode(), 0x400):
            raise OSError(ctypes.get_errno(), "linkat")
        return fd
    if how == "deep":  # its path is longer than any that can be said
        at = os.open(os.path.dirname(path), os.O_PATH)
        for _ in range(17):
            at = os.open("d" * 250, os.O_PATH, dir_fd=at)
        return os.open("f", os.O_RDWR, dir_fd=at)
    if how == "code-of-no-file":
        fd = os.memfd_create("code", 0)
        os.write(fd, b"code")
        return fd
    return os.open(path, os.O_RDWR)
def mapped(protection, shared=True):  # without a descriptor
    libc.mmap.restype = ctypes.c_void_p
    at = libc.mmap(None, ctypes.c_size_t(4096), protection, 1 if shared else 2, fd, ctypes.c_long(0))
    os.close(fd)
    return at
fd = opened()
write = lambda: os.pwrite(fd, b"held", 0)
if how == "maps-to-read":  # and makes it writable later
    at = mapped(1)
    def write():
        if libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(4096), 3):
            raise OSError(ctypes.get_errno(), "mprotect")
        ctypes.memmove(at, b"held", 4)
if how.startswith("code"):
    code = mapped(5, False)
    write = lambda: None
if how in ("registered", "registered-memory"):
    if how == "registered-memory":
        at = mapped(3)
    ring = libc.syscall(425, 4, ctypes.create_string_buffer(120))
    if how == "registered":  # IORING_REGISTER_FILES
        done = libc.syscall(427, ring, 2, ctypes.byref(ctypes.c_int(fd)), 1)
        os.close(fd)
    else:  # IORING_REGISTER_BUFFERS
        class Vector(ctypes.Structure):
            _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
        done = libc.syscall(427, ring, 0, ctypes.byref(Vector(at, 4096)), 1)
        libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(4096))
    if ring < 0 or done < 0:
        raise OSError(ctypes.get_errno(), "io_uring")
    write = lambda: None
print("ready", flush=True)
for line in sys.stdin:
    try:
        write()
        print(0, flush=True)
    except OSError as e:
        print(e.errno, flush=True)
P
chmod 755 "$tmp/holder.py"
rules() { printf 'version: 1\nname: %s\nextends: [runtime-files]\nfilesystem:\n  read: [%s]\n%s' "$1" "$tmp/holder.py" "$2" | policy "$1"; }
# starts HOW FILE OTHER: a holder in sandbox box, beside a process that has nothing
starts() {
  rm -f "$tmp/in" "$tmp/out"
  mkfifo "$tmp/in" "$tmp/out"
  exec {to}<>"$tmp/in" {from}<>"$tmp/out"
  sbpf run -q --name box --policy "$open" -- sh -c 'exec 3<&0; "$@" <&3 3<&- & exec sleep infinity 3<&-' _ python3 -IS "$tmp/holder.py" "$@" \
    <"$tmp/in" >"$tmp/out" 2>"$tmp/holder.err" & holder=$!
  servers+=($holder)
  answer=none
  read -r -t 60 -u $from answer
  is "$name/ready" ready "$answer"
  [[ $answer == ready ]] || head -c 500 "$tmp/holder.err" >&2
}
writes() { local answer=none; echo now >&$to; read -r -t 20 -u $from answer; echo "$answer"; }
ends() {
  sbpf kill box >/dev/null 2>&1
  wait $holder 2>/dev/null
  exec {to}>&- {from}>&-
}
# joins HOW FILE OTHER: a holder in the cgroup $box
joins() {
  exec {to}<>"$tmp/in" {from}<>"$tmp/out"
  (echo $BASHPID >$box/cgroup.procs; exec python3 -IS "$tmp/holder.py" "$@" <"$tmp/in" >"$tmp/out" 2>"$tmp/holder.err" {to}>&- {from}>&-) & holder=$!
  servers+=($holder)
  answer=none
  read -r -t 60 -u $from answer
  is $name/ready ready "$answer"
  [[ $answer == ready ]] || head -c 500 "$tmp/holder.err" >&2
}
leaves() {
  kill $holder 2>/dev/null
  { wait $holder; } 2>/dev/null
  exec {to}>&- {from}>&-
  sbpf detach "$1" >/dev/null 2>&1
}
generation() { sbpf status box --json | jq .policy.generation; }
isolation() { sbpf status box --json | jq -r .isolation; }

# swapped NAME CODE POLICY: the swap ends with that code
swapped() {
  local code
  sbpf swap box --policy "$3" >"$tmp/said" 2>&1; code=$?
  is "$1" "$2" "$code"
  [[ $2 == "$code" ]] || head -c 500 "$tmp/said" >&2
}
# refused WORDS: the swap to $closed is, names the file so, and ends who has it where that is asked for
refused() {
  swapped $name/refused 125 "$closed"
  has $name/named "$1" "$(cat "$tmp/said")"
  sbpf swap box --policy "$closed" --evict --json >"$tmp/said"; is $name/evicted 0 $?
  has $name/told "$1" "$(jq -r '.ended[]' "$tmp/said")"
  is $name/active active "$(isolation)"
  is $name/the-other-lives 1 "$(sbpf status box --json | jq .processes)"
  ends
  rm -rf $w/in/* $w/out/*
}
# judged HOW FILE VICTIM WORDS [COMMAND…]: who has FILE as HOW says can write to it, and so to VICTIM after the host's COMMAND
judged() {
  name=$fs/$1
  [[ -e $2 ]] || echo text >"$2"
  starts "$1" "$2" $w/out/other
  "${@:5}"
  is $name/control-written 0 "$(writes)"
  is $name/control-harmed held "$(head -c 4 "$3")"
  swapped $name/allowing-policy 0 "$same"
  is $name/allowed 0 "$(writes)"
  refused "$4"
}

for fs in disk tmpfs overlay; do
  w=/srv/held-$fs view=/srv/view-$fs
  mkdir -p $w $view
  case $fs in
    tmpfs) mount -t tmpfs held $w ;;
    overlay)
      mkdir -p /srv/layers/{low,up,work}
      mount -t overlay -o lowerdir=/srv/layers/low,upperdir=/srv/layers/up,workdir=/srv/layers/work overlay $w
      ;;
  esac
  mkdir $w/in $w/out
  open=$(rules open-$fs "  write: [$w, $view]"$'\n')
  same=$(rules same-$fs "  write: [$w, $view, /srv/none]"$'\n')
  closed=$(rules closed-$fs "  write: [$w]"$'\n'"  protect: [$w/in]"$'\n')

  judged opened $w/out/f $w/in/f "$w/in/f open for writing" mv $w/out/f $w/in/f
  mkdir $w/out/d
  judged moved-with-its-directory $w/out/d/f $w/in/d/f "$w/in/d/f open for writing" mv $w/out/d $w/in/d
  mount --bind $w/in $view
  judged bound $view/f $w/in/f "$view/f open for writing"
  judged unmounted $view/f $w/in/f "f open for writing" umount -l $view
  judged maps-to-read $w/in/f $w/in/f "$w/in/f mapped for writing"
  name=$fs/maps-to-read-alone # and has not written yet
  echo text >$w/in/f
  starts maps-to-read $w/in/f -
  refused "$w/in/f mapped for writing"
  if [[ $fs != overlay ]]; then
    judged renamed $w/in/f $w/in/f "$w/out/other open for writing, whose name is gone while it has another"
    judged named-late $w/in/f $w/in/f "open for writing, whose name is gone while it has another"
  else # nothing tells there which file it is
    name=$fs/renamed
    echo text >$w/in/f
    starts renamed $w/in/f $w/out/other
    is $name/control-written 0 "$(writes)"
    is $name/control-harmed held "$(head -c 4 $w/in/f)"
    swapped $name/refused-by-any 125 "$same"
    refused "$w/out/other open for writing, whose name is gone while it has another"
  fi

  # ---- what is gone is what it was ----
  name=$fs/removed
  echo text >$w/in/f
  starts removed $w/in/f -
  rm $w/in/f
  swapped $name/allowing-policy 0 "$same"
  refused "$w/in/f open for writing"

  # ---- elsewhere, which no rule of the new policy takes away ----
  name=$fs/elsewhere
  echo text >$w/out/f
  starts elsewhere $w/out/f -
  swapped $name/allowed 0 "$closed"
  is $name/written 0 "$(writes)"
  ends
  rm $w/out/f
done

# ---- names that are long, or look like those of what has no place ----
fs=disk w=/srv/held-disk
long=$(printf 'd%.0s' {1..250})
(cd $w/in && for _ in {1..17}; do mkdir $long && cd $long || exit; done; echo text >f)
in_the_depth() { (cd $w/in && for _ in {1..17}; do cd $long || exit; done; head -c 4 f); }
open=$(rules open "  write: [$w]"$'\n') closed=$(rules closed "  write: [$w/out]"$'\n')
name=long
starts deep $w/in/f -
is long/control-written 0 "$(writes)"
is long/control-harmed held "$(in_the_depth)"
swapped long/allowing-policy 0 "$open"
refused "open for writing"
for directory in /memfd:x /dev/zero.x /SYSV00000000; do
  mkdir -p $directory
  open=$(rules open "  write: [\"$directory\"]"$'\n') same=$(rules same "  write: [\"$directory\", /srv/none]"$'\n') closed=$(rules closed "  write: [$w]"$'\n')
  fs=names judged "${directory//\//-}" $directory/f $directory/f "$directory/f open for writing"
  rm -r $directory
done

# ---- code, which is forbidden by other rules ----
fs=code
echo text >$w/out/f
open=$(rules open "  write: [$w]"$'\n') same=$(rules same "  write: [$w, /srv/none]"$'\n')
closed=$(rules closed "  write: [$w]"$'\n''process: {exec: {allow: [/usr, /bin, /lib, /lib64]}}'$'\n')
declare -A code=([code]="$w/out/f mapped to be executed" [code-of-no-file]="/memfd:code mapped to be executed")
for how in code code-of-no-file; do
  name=$how
  echo text >$w/out/f
  starts $how $w/out/f -
  swapped $how/allowing-policy 0 "$same"
  refused "${code[$how]}"
done

# ---- what an io_uring keeps, where a runtime lets it be used: nobody tells what it is, so only the same rules leave it alone ----
fs=tmpfs w=/srv/held-tmpfs box=$cgroots/held
mkdir $box
open=$(rules open "  write: [$w, $tmp]"$'\n') closed=$(rules closed "  write: [$w/out, $tmp]"$'\n')
declare -A kept=([registered]="descriptors that are registered with an io_uring" [registered-memory]="memory that is registered with an io_uring")
for how in registered registered-memory; do
  name=$how
  head -c 4096 /dev/zero >$w/in/f
  sbpf attach --cgroup $box --name box --policy "$open" >/dev/null 2>&1
  joins $how $w/in/f -
  before=$(generation)
  sbpf swap box --policy "$open" >/dev/null 2>&1; is $how/allowing-policy $((before + 1)) "$(generation)"
  swapped $how/refused 125 "$closed"
  has $how/named "${kept[$how]}" "$(cat "$tmp/said")"
  sbpf swap box --policy "$closed" --evict >/dev/null 2>&1
  within 20 eval '! kill -0 $holder 2>/dev/null'; is $how/evicted 0 $?
  leaves box
done

# ---- what was accepted stays told until it is gone ----
fs=accepted w=/srv/held-disk
open=$(rules open "  write: [$w]"$'\n') closed=$(rules closed "  write: [$w/out]"$'\n') again=$(rules again "  write: [$w/out, /srv/none]"$'\n')
name=accepted
echo text >$w/in/f
starts opened $w/in/f -
sbpf swap box --policy "$closed" --keep-open-files >/dev/null 2>&1; is accepted/control-kept degraded "$(isolation)"
for policy in closed again; do
  swapped accepted/$policy/swapped 3 "${!policy}"
  is accepted/$policy/still-told "degraded files kept" "$(sbpf status box --json | jq -r '"\(.isolation) \(.degraded[] | "\(.what) \(.effective)")"')"
  is accepted/$policy/still-written 0 "$(writes)"
done
sbpf swap box --policy "$again" --evict --json >"$tmp/said"; is accepted/evicted 0 $?
has accepted/told "$w/in/f open for writing" "$(jq -r '.ended[]' "$tmp/said")"
is accepted/active active "$(isolation)"
ends

# ---- an attach asks the same ----
mkdir -p $w/in $w/out
mount --bind $w/in $view
closed=$(rules closed "  write: [$w, $tmp]"$'\n'"  protect: [$w/in]"$'\n') open=$(rules open "  write: [$w, $view, $tmp]"$'\n')
declare -A file=([bound]=$view/f [renamed]=$w/in/f [elsewhere]=$w/out/f)
for how in bound renamed elsewhere; do
  name=attach/$how
  echo text >"${file[$how]}"
  joins $how "${file[$how]}" $w/out/other
  sbpf attach --cgroup $box --name box --policy "$closed" >"$tmp/said" 2>&1; code=$?
  if [[ $how == elsewhere ]]; then
    is attach/$how/allowed 0 $code
  else
    is attach/$how/refused 125 $code
    has attach/$how/named "open for writing" "$(cat "$tmp/said")"
    sbpf attach --cgroup $box --name box --policy "$open" >/dev/null 2>&1; is attach/$how/allowing-policy 0 $?
  fi
  leaves box
  rm -f $w/in/f $w/out/f
done
rmdir $box
clean
is left-behind "" "$(left_behind)"
finish
