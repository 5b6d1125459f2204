// SPDX-License-Identifier: Apache-2.0
// stop_in CGROUP: whoever makes a system call in this cgroup is stopped (SIGSTOP) as soon as the call ends, until this
// process ends. Says "ready" once it is so.
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "base/fd.h"

int main(int argc, char** argv) {
  struct stat info {};
  if (argc != 2 || ::stat(argv[1], &info) != 0) return 2;
  // The number of a cgroup is that of its directory's inode.
  const bpf_insn insns[] = {{BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_current_cgroup_id},
                            // NOLINTNEXTLINE(misc-redundant-expression): two of these are 0, and name the instruction
                            {BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, 0, 0, static_cast<std::int32_t>(info.st_ino)},
                            {0, 0, 0, 0, static_cast<std::int32_t>(info.st_ino >> 32)},
                            {BPF_JMP | BPF_JNE | BPF_X, BPF_REG_0, BPF_REG_1, 2, 0},
                            {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, SIGSTOP},
                            {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_send_signal},
                            {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0},
                            {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  const sbpf::Fd program(
      bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "stop_in", "GPL", insns, sizeof insns / sizeof *insns, nullptr));
  const sbpf::Fd link(program ? bpf_raw_tracepoint_open("sys_enter", program.get()) : -1);
  if (!link) return 1;
  std::puts("ready");
  std::fflush(stdout);
  while (true) ::pause();
}
