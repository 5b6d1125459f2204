// SPDX-License-Identifier: Apache-2.0
// Code that is mapped instead of run: what a dynamic loader does, step by step.
#include <sys/mman.h>

#include "tests/attack/lib/process.h"
#include "tests/attack/lib/programs.h"

using namespace attack;

namespace {

void admin_unlisted_code(const FileScene& s) { admin_code(s, s("workspace/secret/code")); }

std::string unlisted_code(const Context& ctx) { return workspace(ctx, "secret/code"); }

}  // namespace

PROGRAM_ATTACK(executable_mapping_is_refused,
               {.at = "mmap", .programs = Programs::listed, .prepare = admin_unlisted_code}) {
  run_code(ctx, map_file(unlisted_code(ctx), PROT_READ | PROT_EXEC));
}

PROGRAM_ATTACK(executable_mapping_of_denied_code_is_refused,
               {.at = "mmap", .programs = Programs::named, .prepare = admin_unlisted_code}) {
  run_code(ctx, map_file(unlisted_code(ctx), PROT_READ | PROT_EXEC));
}

PROGRAM_ATTACK(executable_mapping_on_overlay_is_refused, {.at = "mmap",
                                                          .programs = Programs::listed,
                                                          .ground = Ground::overlay,
                                                          .prepare = admin_unlisted_code}) {
  run_code(ctx, map_file(unlisted_code(ctx), PROT_READ | PROT_EXEC));
}

PROGRAM_ATTACK(executable_shared_mapping_is_refused,
               {.at = "mmap", .programs = Programs::listed, .prepare = admin_unlisted_code}) {
  const Fd fd = open_file(unlisted_code(ctx), O_RDONLY);
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) throw Failure{errno, "mmap"};
  run_code(ctx, memory);
}

PROGRAM_ATTACK(mapping_made_executable_is_refused,
               {.at = "mprotect", .programs = Programs::listed, .prepare = admin_unlisted_code}) {
  void* memory = map_file(unlisted_code(ctx), PROT_READ);
  protect(memory, PROT_READ | PROT_EXEC);
  run_code(ctx, memory);
}

PROGRAM_ATTACK(mapping_of_denied_code_made_executable_is_refused,
               {.at = "mprotect", .programs = Programs::named, .prepare = admin_unlisted_code}) {
  void* memory = map_file(unlisted_code(ctx), PROT_READ);
  protect(memory, PROT_READ | PROT_EXEC);
  run_code(ctx, memory);
}

// The mapping holds the file of the overlay's layer, not the overlay's.
PROGRAM_ATTACK(mapping_on_overlay_made_executable_is_refused, {.at = "mprotect",
                                                               .programs = Programs::listed,
                                                               .ground = Ground::overlay,
                                                               .prepare = admin_unlisted_code}) {
  void* memory = map_file(unlisted_code(ctx), PROT_READ);
  protect(memory, PROT_READ | PROT_EXEC);
  run_code(ctx, memory);
}

PROGRAM_ATTACK(mapping_of_denied_code_on_overlay_made_executable_is_refused, {.at = "mprotect",
                                                                              .programs = Programs::named,
                                                                              .ground = Ground::overlay,
                                                                              .prepare = admin_unlisted_code}) {
  void* memory = map_file(unlisted_code(ctx), PROT_READ);
  protect(memory, PROT_READ | PROT_EXEC);
  run_code(ctx, memory);
}

PROGRAM_ATTACK(written_mapping_made_executable_is_refused,
               {.at = "mprotect", .programs = Programs::listed, .prepare = admin_unlisted_code}) {
  void* memory = map_file(unlisted_code(ctx), PROT_READ | PROT_WRITE);
  static_cast<char*>(memory)[4095] = 1;  // a copy of its own
  protect(memory, PROT_READ | PROT_EXEC);
  run_code(ctx, memory);
}

PROGRAM_ATTACK(readable_mapping_that_is_executable_is_refused,
               {.at = "mmap", .programs = Programs::listed, .prepare = admin_unlisted_code}) {
  reading_is_executing();
  run_code(ctx, map_file(unlisted_code(ctx), PROT_READ));
}

PROGRAM_ATTACK(mapping_made_readable_that_is_executable_is_refused,
               {.at = "mprotect", .programs = Programs::listed, .prepare = admin_unlisted_code}) {
  void* memory = map_file(unlisted_code(ctx), PROT_NONE);
  reading_is_executing();
  protect(memory, PROT_READ);
  run_code(ctx, memory);
}

// What is mapped when the policy comes cannot be taken back.
PROGRAM_ATTACK(attach_with_executable_mapping_is_refused,
               {.programs = Programs::listed, .prepare = admin_unlisted_code, .launch = Launch::attach_refused}) {
  void* memory = map_file(unlisted_code(ctx), PROT_READ | PROT_EXEC);
  ctx.join();
  run_code(ctx, memory);
}
