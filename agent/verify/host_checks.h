// SPDX-License-Identifier: Apache-2.0
// Features that the host lacks, found by trying.
#pragma once

#include <string>
#include <vector>

#include "agent/kernel/kernel.h"
#include "base/seen.h"

namespace sbpf::agent {

struct Check {
  std::string name;    // "cgroup2", "bpffs", "btf", "lsm", "lockdown", "capabilities", "seccomp", "programs", "canary"
  std::string domain;  // the domain that falls with it: "network", "guard", or "all"
  bool ok = false;
  std::string probe;   // what was tried
  std::string reason;  // why it failed; empty when ok
  std::string fix;     // how to mend it; empty when ok
};

// A check that found nothing wrong, and one that did.
Check check(std::string name, std::string domain, std::string probe);
Check& broken(Check& check, std::string reason, std::string fix);

// The cheap checks: mounts, BTF, LSM list, lockdown, capabilities, namespaces, seccomp. No BPF is loaded.
std::vector<Check> check_host();

// The first thing that check_host() finds missing, as an error of `run`; `fallback` if it finds nothing.
Error explain_failure(Error fallback);

// The programs, loaded now if they are not. On a host that lacks something nothing is loaded, because loading takes a
// while and would be useless. Errors: the first thing that is missing, else those of Kernel::ensure(). The caller holds
// lock_host().
Result<Kernel> ready_kernel();

// Is there a list of the kernel's LSMs? There is none where securityfs is not mounted; then only the canary and the
// sentinel tell whether LSM programs run.
bool has_lsm_list();

// The kernel's active LSMs, as in "lockdown,capability,yama,bpf"; "" where they cannot be read.
std::string lsm_list();

// Is `bpf` in that list? Without it LSM programs attach and never run. A list that cannot be read says nothing.
Seen bpf_lsm_seen();

}  // namespace sbpf::agent
