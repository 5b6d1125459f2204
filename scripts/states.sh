# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
# Saved guests of scripts/vm: booted, and booted with sbpf's programs loaded. Sourced by scripts/vm.
#
# A state is a folder in the cache, named by all that went into it: memory (the guest's, as a file), device (the state of
# QEMU's devices), disk (what the guest wrote, over the image below), files (what it got, by contents and name).

# What a `loaded` guest has done: a sandbox has come and gone, the programs stay.
LOADED_BY=(/opt/sbpf/bin/sbpf run -q --policy no-network -- /bin/true)

# state_key STATE: a hash of what is in it.
state_key() {
  {
    declare -f start_guest kernel_command_line processor pack_initramfs pack_job save_guest
    echo "$kernel $(cat "$kernel_dir/release") $image $append $bpffs $hybrid $systemd $suite $smp $mem $clock $JOB_MIB"
    readlink -f "$kernel_dir/modules.cpio"
    cat "$REPO"/tests/vm/{init,stage2,parts} "$REPO"/tests/vm/systemd/*
    if [[ $1 == loaded ]]; then
      echo "${LOADED_BY[*]}"
      find "$build/bin" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sed 's/ .*//'
    fi
  } | sha256sum | cut -c1-16
}

# state_folder STATE: prints where it is kept, having made it if it was not there.
state_folder() {
  local folder tries=1
  folder=$CACHE/states/$kernel-$1-$(state_key "$1")
  # Emulation of two processors dies now and then while a kernel that boots patches its own code. Nothing of sbpf's is in it yet.
  if [[ $1 == booted ]]; then tries=3; fi
  until [[ -f $folder/device ]] || (locked "state-${folder##*/}" make_state "$1" "$folder") >&2; do
    if ((--tries == 0)); then return 1; fi
  done
  touch "$folder"
  echo "$folder"
}

# make_state STATE FOLDER
make_state() {
  local below='' base=$image format=raw
  [[ ! -f $2/device ]] || return 0
  work=$work/make-$1
  mkdir -p "$work" "$CACHE/states"
  trap end_guest EXIT
  # States of earlier builds are of no use. Others that are in use are touched at each restore.
  find "$CACHE/states" -mindepth 1 -maxdepth 1 -mmin +360 -exec rm -rf {} +
  rm -rf "$2.new"
  mkdir "$2.new"
  if [[ $1 == loaded ]]; then
    below=$(state_folder booted) || return 1
    base=$below/disk format=qcow2
    cp --sparse=always "$below/memory" "$2.new/memory"
  fi
  say "making the guest '$1' of kernel $kernel (once for each build)"
  qemu-img create -q -f qcow2 -b "$base" -F "$format" "$2.new/disk" || return 1
  if [[ $1 == loaded ]]; then pack_job "$below" "${LOADED_BY[@]}"; else : >"$work/job"; truncate -s "${JOB_MIB}M" "$work/job"; fi
  start_guest "$below" "$2.new/memory" "$2.new/disk"
  if [[ $1 == loaded ]]; then
    send_job
    pump
    [[ $result == 0 ]] || { show_console; return 1; }
    mv "$work/files" "$2.new/files"
  else
    wait_ready || { show_console; return 1; }
  fi
  # The last word comes before the guest waits.
  sleep 1
  save_guest "$2.new/device" || return 1
  mv "$2.new" "$2"
}

# save_guest FILE: ends the guest and leaves the state of its devices there.
save_guest() {
  local left=600
  ask_monitor "migrate \"exec:cat > '$1.part'\"" quit
  while kill -0 "$qemu_pid" 2>/dev/null && ((left-- > 0)); do sleep 0.1; done
  end_guest
  [[ -s $1.part ]] || { say "QEMU did not save the guest: $(tr -d '\r' <"$work/monitor.log" | tail -3)"; return 1; }
  mv "$1.part" "$1"
}
