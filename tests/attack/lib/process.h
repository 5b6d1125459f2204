// SPDX-License-Identifier: Apache-2.0
// Attacks from elsewhere: a child, a daemon, a thread, another program; and other processes as targets.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "tests/attack/lib/attack.h"

namespace attack {

using Step = std::function<void()>;

// Each runs `step` there and rethrows its Failure here.
void in_child(const Step& step);             // fork
void in_daemon(const Step& step);            // fork, setsid, fork; the middle one exits first
void in_vfork_like_child(const Step& step);  // clone(CLONE_VM | CLONE_VFORK)
void in_thread(const Step& step);
// clone3 with CLONE_INTO_CGROUP. "clone3"
void in_cgroup_child(int cgroup_fd, const Step& step);

// Replaces this process: `program exec NAME` with the same arguments and `extra`. "exec"
void exec_attack(const std::string& program, const char* name, const Context& ctx, const std::string& extra = {});
// The same from an open descriptor of a program.
void exec_attack_fd(int program_fd, const char* name, const Context& ctx);

// The attacker's own cgroup as a directory under the cgroup2 mount (argument cgroup_root). "own cgroup"
std::string own_cgroup(const Context& ctx);
// Writes this process's pid there. "open", "write"
void move_to_cgroup(const std::string& directory);

// open(2) and write(2) as steps "open" and "write".
Fd open_file(const std::string& path, int flags, int mode = 0600);
void write_text(const Fd& fd, const std::string& text);

// The controlling end of a new pseudo-terminal, and the path of the other one. "openpt", "unlockpt", "ptsname"
std::pair<Fd, std::string> new_terminal();

// A mount namespace of one's own, so that what happens to mounts there stays there. "unshare"
void private_mounts();

}  // namespace attack
