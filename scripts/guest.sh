# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# One guest of scripts/vm: what it gets, how it is started, spoken to and ended. Sourced by scripts/vm, whose options these
# functions read; `work` is a folder of this run.
#
# A guest boots, says `sbpf-vm ready` on its second serial port, and waits there for a line: MARK. Then it unpacks the job,
# a tar on its second disk, runs /opt/sbpf/vm/command, and says `MARK start`, the command's output, `MARK exit CODE`. After
# that it waits for the next line, so that it can be saved with what the first job left (scripts/states.sh).

# A guest boots in 3-10 s on an idle machine; ten times that means that it hangs.
BOOT_LIMIT=180
# The disk of the job has one size, as a restored guest believes in the size that it saw before.
JOB_MIB=1024

qemu_pid='' guard_pid='' output='' input=''

# ---- what the guest gets ---------------------------------------------------------------------------------------------

# The first file system: what brings the Debian image up. It holds nothing that is built here, so that booted guests can be
# kept for later builds.
pack_initramfs() {
  local tree=$work/tree
  mkdir -p "$tree"/{bin,dev,proc,newroot,vm}
  cp "$(command -v busybox)" "$tree/bin/busybox"
  install -m 0755 "$REPO/tests/vm/init" "$tree/init"
  cp -a "$REPO"/tests/vm/{stage2,parts,systemd} "$tree/vm/"
  printf "KERNEL='%s' BPFFS=%s HYBRID=%s SYSTEMD=%s CLOCK=%s\n" \
    "$kernel" "$bpffs" "$hybrid" "$systemd" "$clock" >"$tree/vm/settings"
  # Uncompressed: unpacking costs more under emulation than loading.
  (cd "$tree" && find . | cpio -o -H newc --quiet -R 0:0) >"$work/initramfs"
  # The kernel takes archives one after another.
  cat "$kernel_dir/modules.cpio" >>"$work/initramfs"
  rm -rf "$tree"
}

# is_program FILE: an ELF executable or a script, not an object or a library of the build.
is_program() {
  [[ -f $1 && -x $1 ]] && case $1 in *.so | *.so.* | *.o | *.a) false ;; esac
}

# quoted WORD...: for /bin/sh, which knows less than bash's %q.
quoted() {
  local word
  for word in "$@"; do printf " '%s'" "${word//\'/\'\\\'\'}"; done
}

stage_build() {
  local to=$1 file
  [[ $build == none ]] && return
  [[ -d $build/bin ]] && cp -aL "$build/bin/." "$to/bin/"
  if [[ -d $build/tests ]]; then
    while IFS= read -r file; do
      if is_program "$file"; then cp -L "$file" "$to/tests/"; fi
    done < <(find "$build/tests" \( -name CMakeFiles -o -name fuzz -o -name unit \) -prune -o -type f -print)
  fi
  [[ -n $(find "$to/bin" "$to/tests" -type f -print -quit) ]] ||
    die "$build holds no programs (bin/, tests/); run scripts/build first (or --build none)"
}

# pack_job FOLDER COMMAND...: the disk with the command and with what it needs, $work/job, but for the files that the saved
# guest in FOLDER has already. $work/files lists them all.
pack_job() {
  local known=/dev/null tree=$work/tree to=$work/tree/opt/sbpf folder spec
  if [[ -f $1/files ]]; then known=$1/files; fi
  shift
  mkdir -p "$to"/{bin,tests,vm,policy,scripts}
  stage_build "$to"
  for folder in live vm; do cp -a "$REPO/tests/$folder" "$to/tests/"; done
  cp -a "$REPO/policy/profiles" "$to/policy/"
  cp -a "$REPO/scripts/demo" "$to/scripts/"
  for spec in "${files[@]}"; do
    [[ $spec == *:/* ]] || die "--file wants SRC:DST with an absolute DST, not '$spec'"
    mkdir -p "$tree$(dirname "${spec#*:}")"
    cp -aL "${spec%%:*}" "$tree${spec#*:}"
  done
  printf 'exec%s\n' "$(quoted "$@")" >"$to/vm/command"
  (cd "$tree" && find . -type f -print0 | xargs -0 sha256sum | LC_ALL=C sort) >"$work/files"
  # No folders: those that the guest has keep their modes.
  (cd "$tree" && { comm -23 "$work/files" "$known" | cut -c67-; find . -type l; } | tar -c --owner=0 --group=0 -T - -f "$work/job")
  truncate -s "${JOB_MIB}M" "$work/job"
  rm -rf "$tree"
}

# ---- the guest -------------------------------------------------------------------------------------------------------

# Where instructions are counted as costs (--icount), the kernel is as a host has it. Elsewhere, what costs time under
# emulation and changes no verdict is off: the large registers that each switch of tasks saves, the fifth level of page
# tables, waiting for quiet grace periods, clearing of memory that is filled anyway, and what guards a processor against
# speculation that QEMU does not do. norandmaps: QEMU translates code anew for each address that it runs at, so starting
# programs at addresses of their own costs two to three times as much. oops=panic: a kernel that has gone wrong proves
# nothing, so it ends the guest. no_timer_check: the check fails on a busy machine.
kernel_command_line() {
  local quick="noxsave no5lvl rcupdate.rcu_expedited=1 mitigations=off init_on_alloc=0" slab=''
  [[ $clock == icount ]] && quick=''
  # Without cmpxchg16b kernels since 6.18 give programs no task storage but from slabs that are checked.
  [[ $kernel == newest ]] && slab='slab_debug=Z,kmalloc-*'
  echo "console=ttyS0 quiet loglevel=3 panic=-1 oops=panic norandmaps no_timer_check $quick $slab rdinit=/init $append"
}

# processor: what QEMU is to emulate. Without cx16, as QEMU 7.2 emulates cmpxchg16b so that 6.12 crashes at random. Where
# instructions are no costs (see above) without erms and smap, too: QEMU copies each byte of `rep movsb` by itself, and a
# switch of access to user memory ends a translated block. That is a quarter of a test's time.
processor() {
  local quick=,erms=off,smap=off
  [[ $clock == icount ]] && quick=''
  echo "max,cx16=off$quick"
}

# start_guest FOLDER [MEMORY DISK]: boots if FOLDER is empty, else restores the state that is kept there. With MEMORY and
# DISK its memory and its writes go into these files, so that it can be saved; else they end with it.
start_guest() {
  local folder=$1 memory=${2:-} disk=${3:-} share=off
  local -a accel=(-accel "tcg,thread=multi" -smp "$smp") more=()
  [[ $clock == host ]] || accel=(-accel "tcg,thread=single" -smp 1 -icount "shift=0,sleep=off")
  rm -f "$work/timed-out" "$work/in" "$work"/monitor.{in,out}
  if [[ $folder || $disk ]]; then
    mkfifo "$work/monitor.in" "$work/monitor.out"
    more+=(-chardev "pipe,id=monitor,path=$work/monitor" -mon chardev=monitor,mode=readline)
  fi
  if [[ $disk ]]; then
    share=on
    more+=(-drive "file=$disk,if=none,id=root,format=qcow2,cache=unsafe")
  elif [[ $folder ]]; then
    memory=$folder/memory
    more+=(-drive "file=$folder/disk,if=none,id=root,format=qcow2,snapshot=on")
  else
    more+=(-drive "file=$image,if=none,id=root,format=raw,snapshot=on")
  fi
  # The memory of a restored guest is the file itself, copied as it is written to.
  if [[ $memory ]]; then
    more+=(-object "memory-backend-file,id=ram,size=${mem}M,mem-path=$memory,share=$share" -machine pc,memory-backend=ram)
  fi
  if [[ $folder ]]; then
    more+=(-incoming defer)
  else
    pack_initramfs
    more+=(-kernel "$kernel_dir/vmlinuz" -initrd "$work/initramfs" -append "$(kernel_command_line)")
  fi
  mkfifo "$work/in"
  exec {input}<>"$work/in"
  # Output comes through a file descriptor of this shell; $! is QEMU itself because of the exec.
  exec {output}< <(exec qemu-system-x86_64 -nodefaults -no-user-config "${accel[@]}" -cpu "$(processor)" -m "$mem" \
    -display none -no-reboot -nic none \
    -chardev "file,id=console,path=$work/console" -serial chardev:console \
    -chardev stdio,id=output,signal=off -serial chardev:output \
    "${more[@]}" -device virtio-blk-pci,drive=root,serial=root \
    -drive "file=$work/job,if=none,id=job,format=raw,readonly=on" -device virtio-blk-pci,drive=job,serial=job \
    <"$work/in" 2>"$work/qemu")
  qemu_pid=$!
  restored=${folder:+1}
  if [[ $folder ]]; then ask_monitor "migrate_incoming \"exec:cat '$folder/device'\""; fi
}

# ask_monitor LINE...: of QEMU's monitor. What it answers is thrown away. Memory is not in what is saved: it is a file.
ask_monitor() {
  cat "$work/monitor.out" >"$work/monitor.log" {output}<&- {input}<&- &
  printf '%s\n' "migrate_set_capability x-ignore-shared on" "$@" >"$work/monitor.in"
}

# guard SECONDS: end the guest after that time, unless guarded anew before; 0 takes the guard away. It holds none of our
# descriptors, or whoever reads our output would wait for it; what it waits with ends with the guest.
guard() {
  if [[ -n $guard_pid ]]; then kill "$guard_pid" 2>/dev/null || true; wait "$guard_pid" 2>/dev/null || true; fi
  guard_pid=
  (($1)) || return 0
  (
    timeout "$1" tail --pid="$qemu_pid" -f /dev/null || { : >"$work/timed-out"; kill -9 "$qemu_pid"; }
  ) >/dev/null 2>&1 {output}<&- {input}<&- &
  guard_pid=$!
}

# wait_ready: until a booted guest waits for its job. A restored one waits already.
wait_ready() {
  local line
  [[ $restored ]] && return
  guard "$BOOT_LIMIT"
  while IFS= read -r -u "$output" line; do
    if [[ $line == *"sbpf-vm ready"* ]]; then guard 0; return 0; fi
  done
  guard 0
  return 1
}

# send_job: sets `mark`, by which the output of this job is told apart.
send_job() {
  mark="sbpf-vm-$RANDOM$RANDOM$RANDOM"
  wait_ready || true
  # What arrives while a guest is being restored is lost: a line that says nothing goes first. The time of the host: a
  # restored guest has that of when it was saved.
  printf '################################\n%s %s\n' "$mark" "$(date +%s)" >&"$input"
}

# pump: print what the command writes until its result comes. Sets `started` and `result`; result stays empty when the
# guest ended or the time was up. Without `read -t`: when its time is up just as a line ends, bash 5.2 forgets the line's
# end, and two results become one.
pump() {
  local line status
  started=0 result=''
  guard "$BOOT_LIMIT"
  while :; do
    status=0
    IFS= read -r -u "$output" line || status=$?
    if [[ $line == *"$mark start" ]]; then
      started=1
      guard "$limit"
    elif [[ $line == *"$mark exit "* ]]; then
      # The command may have ended without a newline.
      printf '%s' "${line%"$mark exit "*}"
      result=${line##*"$mark exit "}
      break
    elif ((status == 0)); then
      printf '%s\n' "$line"
    else
      printf '%s' "$line"
      break
    fi
  done
  guard 0
}

end_guest() {
  guard 0
  if [[ -n $qemu_pid ]]; then
    kill -9 "$qemu_pid" 2>/dev/null || true
    wait "$qemu_pid" 2>/dev/null || true
  fi
  qemu_pid=
  if [[ -n $output ]]; then exec {output}<&- {input}<&-; fi
  output='' input=''
}

show_console() {
  cat "$work/qemu" >&2
  say "the kernel's last messages:"
  tail -n 100 "$work/console" 2>/dev/null | tr -d '\r' | sed 's/^/  | /' >&2 || true
}
