// SPDX-License-Identifier: Apache-2.0
// Attacks on rules for programs: what must not be run holds a secret that it gives away when it is. Files are not
// judged (but by Programs::unwritable), so the attacker may read, copy and move them.
#pragma once

#include "tests/attack/lib/files.h"

namespace attack {

// PROGRAM_ATTACK(name_of_what_is_refused, {.at = "exec", .programs = Programs::listed, …}) { body }
#define PROGRAM_ATTACK FILE_ATTACK

// ---- for the driver's part ----

// A file of machine code: a function at its beginning gives the secret. No program, as a library is none.
void admin_code(const FileScene& scene, const std::string& path);
// The `attacker` program with the secret, and with this ELF interpreter, whose path has the system's length at most.
void admin_program_of(const FileScene& scene, const std::string& path, const std::string& interpreter);

// ---- for attackers ----

// A private mapping of the beginning of a file. "mmap"
void* map_file(const Fd& fd, int protection);
void* map_file(const std::string& path, int protection);  // "open", "mmap"
void protect(void* memory, int protection);               // "mprotect"
// Calls the function of admin_code() there; what it gives is loot.
void run_code(const Context& ctx, const void* memory);
// All of the file, as far as the attacker may read it. "open", "read", "write"
void copy_into(const Fd& to, const std::string& from);
// A copy that may be run. As above, and "create"
void copy_program(const std::string& from, const std::string& to);
Fd memory_file();  // a memfd that may be run. "memfd_create"
// From here on this process's readable mappings are executable. "personality"
void reading_is_executing();

}  // namespace attack
