/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Which fault of tests/mutate is switched on. Included only by the copy of the sources that scripts/mutate makes. */
#ifndef SBPF_TESTS_MUTANT_H
#define SBPF_TESTS_MUTANT_H

/* Of both sides of a switch one is wrong on purpose: what the compiler says of it is no news. */
#ifdef __bpf__
#pragma clang diagnostic ignored "-Wlogical-op-parentheses"
#pragma clang diagnostic ignored "-Wextra"
/* Beside what the programs read first: each sbpf command writes its own number there, so programs that are loaded
 * already change with it. */
#define SBPF_MUTANT(number) (*(volatile unsigned long long*)&sbpf_gate.mutant == (number))
/* Unit tests do not run programs. */
#define SBPF_MUTANT_OF_UNITS(number) 0
#else
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <cstdio>
#include <cstdlib>

/* The environment comes first. Services and sandboxes get an environment of their own, so there is a file, too. */
inline unsigned int sbpf_read_mutant() {
  if (const char* text = std::getenv("SBPF_MUTANT")) return static_cast<unsigned int>(std::strtoul(text, nullptr, 10));
  unsigned int number = 0;
  if (std::FILE* file = std::fopen("/run/sbpf-mutant", "re")) {
    if (std::fscanf(file, "%u", &number) != 1) number = 0;
    (void)std::fclose(file);
  }
  return number;
}
/* Read before main(), when nothing is confined yet. */
inline const unsigned int sbpf_mutant = sbpf_read_mutant();
#define SBPF_MUTANT(number) (sbpf_mutant == (number))
#define SBPF_MUTANT_OF_UNITS(number) SBPF_MUTANT(number)
#endif

#endif
