# SPDX-License-Identifier: Apache-2.0
# The attacks on rules for programs, by family; each PROGRAM_ATTACK is one attack, named for what is refused. What must
# stay possible is in running_stays_allowed.
set(SBPF_EXEC_ATTACKS
  denied_programs_are_refused
  mappings_are_refused
  moved_programs_are_refused
  placeless_programs_are_refused
  running_stays_allowed
  unlisted_programs_are_refused
  writable_programs_are_refused)
