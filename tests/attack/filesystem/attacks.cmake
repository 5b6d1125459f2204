# SPDX-License-Identifier: Apache-2.0
# The attacks on files, by family; each FILE_ATTACK is one attack, named for what is refused. What must stay possible is
# in what_stays_allowed.
set(SBPF_FILESYSTEM_ATTACKS
  descriptors_are_refused
  detached_files_are_refused
  devices_are_refused
  handles_are_refused
  links_are_refused
  metadata_changes_are_refused
  mounts_are_refused
  other_names_are_refused
  outside_changes_do_not_open
  overlay_files_are_refused
  programs_are_refused
  protected_names_are_refused
  races_are_refused
  reads_are_refused
  renames_are_refused
  single_names_are_refused
  terminals_are_refused
  uring_requests_are_refused
  what_stays_allowed
  writes_are_refused)
