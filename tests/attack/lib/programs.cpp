// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/lib/programs.h"

#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

#include "tests/attack/lib/process.h"

namespace attack {

namespace {

// lea rax, [rip + 1]; ret; and the text right behind it.
constexpr std::array<char, 8> kCode = {'\x48', '\x8d', '\x05', '\x01', '\x00', '\x00', '\x00', '\xc3'};
constexpr std::size_t kMapped = 4096;

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure{errno, "open"};
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

void admin_code(const FileScene& scene, const std::string& path) {
  admin_write(path, std::string(kCode.data(), kCode.size()) + scene.secret + std::string(1, '\0'), 0755);
}

void admin_program_of(const FileScene& scene, const std::string& path, const std::string& interpreter) {
  const std::string usual = "/lib64/ld-linux-x86-64.so.2";
  admin_program(scene, path);
  std::string program = read_text(path);
  const auto at = program.find(usual);
  if (at == std::string::npos || interpreter.size() > usual.size()) throw Failure{ENOEXEC, "interpreter"};
  program.replace(at, usual.size(), interpreter + std::string(usual.size() - interpreter.size(), '\0'));
  admin_write(path, program, 0755);
}

void* map_file(const Fd& fd, int protection) {
  void* memory = mmap(nullptr, kMapped, protection, MAP_PRIVATE, fd.get(), 0);
  if (memory == MAP_FAILED) throw Failure{errno, "mmap"};
  return memory;
}

void* map_file(const std::string& path, int protection) { return map_file(open_file(path, O_RDONLY), protection); }

void protect(void* memory, int protection) { must(mprotect(memory, kMapped, protection), "mprotect"); }

void run_code(const Context& ctx, const void* memory) {
  using Function = const char* (*)();
  ctx.loot(reinterpret_cast<Function>(reinterpret_cast<std::uintptr_t>(memory))());
}

void copy_into(const Fd& to, const std::string& from) { write_text(to, read_text(from)); }

void copy_program(const std::string& from, const std::string& to) {
  const Fd fd(must(open(to.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0755), "create"));
  copy_into(fd, from);
}

Fd memory_file() {
  constexpr unsigned kMfdExec = 0x10;
  long fd = syscall(SYS_memfd_create, "attack", MFD_CLOEXEC | kMfdExec);
  if (fd < 0 && errno == EINVAL) fd = syscall(SYS_memfd_create, "attack", MFD_CLOEXEC);
  return Fd(static_cast<int>(must(fd, "memfd_create")));
}

void reading_is_executing() { must(personality(READ_IMPLIES_EXEC), "personality"); }

}  // namespace attack
