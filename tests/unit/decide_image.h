// SPDX-License-Identifier: Apache-2.0
// The decisions of bpf/decide.h, which look their rules up in images here.
#pragma once

#include "tests/unit/images.h"

namespace {
const void* sbpf_policy_lookup(void* policy, const sbpf_rule_key* key) {
  const auto& entries = static_cast<sbpf::policy::Image*>(policy)->entries;
  const auto found = entries.find(*key);
  return found == entries.end() ? nullptr : &found->second;
}
}  // namespace

#include "bpf/decide.h"
