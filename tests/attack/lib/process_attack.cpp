// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/lib/process_attack.h"

namespace attack {

namespace {

std::map<std::string, const ProcessSpec*>& specs() {
  static std::map<std::string, const ProcessSpec*> all;
  return all;
}

Spec common(const ProcessSpec& process) {
  Spec spec;
  spec.victim = process.victim;
  spec.allow = process.allow;
  spec.deny = process.deny;
  spec.expected = process.expected;
  spec.or_expected = process.or_expected;
  spec.at = process.at;
  spec.launch = process.launch;
  spec.root = process.root;
  spec.machine_wide = process.machine_wide;
  spec.lacking = process.lacking;
  return spec;
}

}  // namespace

ProcessRegistration::ProcessRegistration(const char* name, const ProcessSpec& spec, Body body) {
  specs()[name] = &spec;
  Registration(name, common(spec), body);
}

const ProcessSpec* process_spec_of(const Attack& attack) {
  const auto found = specs().find(attack.name);
  return found == specs().end() ? nullptr : found->second;
}

std::string corpus_name(const Attack& attack) {
  return process_spec_of(attack) ? "process/" + std::string(attack.name) : attack.full_name();
}

}  // namespace attack
