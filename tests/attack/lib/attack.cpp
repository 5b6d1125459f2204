// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/lib/attack.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace attack {

namespace {

std::vector<Attack>& registry() {
  static std::vector<Attack> all;
  return all;
}

constexpr std::size_t kLoot = 1024;

std::uint16_t port_of(const std::map<std::string, std::string>& arguments, const char* key) {
  const auto it = arguments.find(key);
  return it == arguments.end() ? std::uint16_t{0} : static_cast<std::uint16_t>(std::stoul(it->second));
}

}  // namespace

Registration::Registration(const char* name, const Spec& spec, Body body) {
  if (spec.victim == Victim::claim && !spec.harmless && !spec.claims) {
    std::fprintf(stderr, "%s: a victim sees the harm, or `claims` says why none can\n", name);
    std::abort();
  }
  registry().push_back({name, spec, body});
}

const std::vector<Attack>& attacks() {
  auto& all = registry();
  const auto by_name = [](const Attack& a, const Attack& b) { return std::strcmp(a.name, b.name) < 0; };
  if (!std::is_sorted(all.begin(), all.end(), by_name)) std::sort(all.begin(), all.end(), by_name);
  return all;
}

const Attack* find(const std::string& name) {
  for (const Attack& attack : attacks())
    if (name == attack.name) return &attack;
  return nullptr;
}

Context::Context(std::map<std::string, std::string> arguments) : arguments_(std::move(arguments)) {
  void* shared = mmap(nullptr, kLoot, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw Failure{errno, "mmap"};
  loot_ = static_cast<char*>(shared);
  token = text("token");
  port = port_of(arguments_, "port");
  decoy = port_of(arguments_, "decoy");
  denied = text("phase") == "denied";
}

const std::string& Context::text(const std::string& key) const {
  const auto it = arguments_.find(key);
  if (it == arguments_.end()) throw Failure{ENOKEY, "argument " + key};
  return it->second;
}

long Context::number(const std::string& key) const { return std::stol(text(key)); }

void Context::join() const {
  std::printf("ready pid=%d\n", static_cast<int>(getpid()));
  std::fflush(stdout);
  char go = 0;
  if (read(STDIN_FILENO, &go, 1) != 1) std::_Exit(3);
}

// One word, whatever it was, so that it fits into the outcome's line.
void Context::loot(std::string_view text) const {
  std::size_t at = std::strlen(loot_);
  for (const char c : text) {
    if (at + 1 >= kLoot) return;
    loot_[at++] = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
}

std::string Context::loot() const { return *loot_ ? loot_ : "-"; }

}  // namespace attack
