// SPDX-License-Identifier: GPL-2.0-only
/* All programs as one object. Compiled together rather than linked: libbpf before 1.2 links no function of the kernel
 * that two objects declare. */
#include "maps.bpf.c"
#include "guard.bpf.c"
#include "own.bpf.c"
#include "announce.bpf.c"
#include "filesystem.bpf.c"
#include "exec.bpf.c"
#include "inodes.bpf.c"
#include "links.bpf.c"
#include "moved.bpf.c"
#include "network_cgroup.bpf.c"
#include "flows.bpf.c"
#include "network_lsm.bpf.c"
#include "network_unix.bpf.c"
#include "origins.bpf.c"
#include "process.bpf.c"
#include "sysctl.bpf.c"
