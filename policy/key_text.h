// SPDX-License-Identifier: Apache-2.0
// The part of the canonical text that each key of a policy writes: its lines, or none. Internal to policy/.
#pragma once

#include <string>
#include <string_view>

#include "policy/keys.h"

namespace sbpf::policy::internal {

std::string line(const Key& key, std::string_view value);     // "  record_flows: true\n"
std::string head_text(const Key& key, const Policy& policy);  // of a section that is always written: "network:\n"

std::string version_text(const Key& key, const Policy& policy);
std::string name_text(const Key& key, const Policy& policy);

std::string connect_text(const Key& key, const Policy& policy);
std::string bind_text(const Key& key, const Policy& policy);
std::string sockets_text(const Key& key, const Policy& policy);
std::string dns_text(const Key& key, const Policy& policy);
std::string trusted_programs_text(const Key& key, const Policy& policy);
std::string interfaces_text(const Key& key, const Policy& policy);
std::string unix_text(const Key& key, const Policy& policy);

std::string filesystem_text(const Key& key, const Policy& policy);
std::string fs_paths_text(const Key& key, const Policy& policy, FsAccess access);

std::string exec_text(const Key& key, const Policy& policy);
std::string exec_allow_text(const Key& key, const Policy& policy);
std::string exec_deny_text(const Key& key, const Policy& policy);
std::string exec_sha256_text(const Key& key, const Policy& policy);
std::string env_allow_text(const Key& key, const Policy& policy);
std::string env_set_text(const Key& key, const Policy& policy);
std::string limits_text(const Key& key, const Policy& policy);
std::string seccomp_text(const Key& key, const Policy& policy);
std::string capabilities_text(const Key& key, const Policy& policy);
std::string user_text(const Key& key, const Policy& policy);
std::string kernel_allow_text(const Key& key, const Policy& policy);
std::string kernel_deny_text(const Key& key, const Policy& policy);
std::string host_capabilities_text(const Key& key, const Policy& policy);
std::string secrets_text(const Key& key, const Policy& policy);

}  // namespace sbpf::policy::internal
