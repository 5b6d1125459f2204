# SPDX-License-Identifier: Apache-2.0
# The attacks on the kernel and on other processes, by family; each PROCESS_ATTACK is one attack, named for what is
# refused.
set(SBPF_PROCESS_ATTACKS
  capabilities_are_refused
  control_files_are_refused
  interfaces_are_refused
  kernel_files_are_refused
  namespaces_are_refused
  other_processes_are_refused
  terminals_of_others_are_refused)
