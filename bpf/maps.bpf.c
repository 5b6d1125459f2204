// SPDX-License-Identifier: GPL-2.0-only
/* Maps, gate and licence of the linked object. */
#define SBPF_MAP
#include "maps.h"

struct sbpf_gate sbpf_gate;
struct sbpf_canary sbpf_canary;

char LICENSE[] SEC("license") = "GPL";
