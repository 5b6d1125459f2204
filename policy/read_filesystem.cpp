// SPDX-License-Identifier: Apache-2.0
// The lists of paths of `filesystem`.
#include "policy/rules_reader.h"

namespace sbpf::policy::internal {

void read_fs_paths(const YamlNode& node, const std::string& key, FsAccess access, Reader& reader, Draft& draft) {
  RulesReader<FsRule, FsAccess>{reader,
                                draft.filesystem,
                                &FsRule::access,
                                "a list of paths, as in [/usr, /lib]",
                                ", with another access",
                                "keep one: write includes read, and protect is read that nobody changes"}
      .read_list(node, key, access);
}

}  // namespace sbpf::policy::internal
