#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A terminal, a small shell with job control on it, and who types.

terminal.py job SECONDS COMMAND...   runs it as a foreground job; prints how it stopped and ended, and how the terminal is after it
terminal.py type SHELL STEP...       types into a shell; STEP is "send TEXT", "expect TEXT" or "run COMMAND" (of this host, its output is printed)
"""
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time


def drain(master, seconds):
    """What comes from the terminal within that time at most."""
    if not select.select([master], [], [], seconds)[0]:
        return b""
    try:
        return os.read(master, 65536)
    except OSError:
        return b""


def shell_of_one_job(command, seconds, report):
    """As an interactive shell does it: the job has a group of its own and the terminal; it is left stopped if it stops."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    modes = termios.tcgetattr(0)[:4]
    said = []
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(command[0], command)
    end = time.monotonic() + seconds
    while True:
        pid, status = os.waitpid(job, os.WNOHANG | os.WUNTRACED)
        if pid == 0:
            if time.monotonic() > end:
                said.append("still there")
                break
            time.sleep(0.02)
            continue
        if os.WIFSTOPPED(status):
            said.append("stopped %d" % os.WSTOPSIG(status))
            os.tcsetpgrp(0, os.getpgrp())
            continue
        said.append("exit %d" % os.WEXITSTATUS(status) if os.WIFEXITED(status) else "signal %d" % os.WTERMSIG(status))
        break
    if "stopped" not in " ".join(said):
        said.append("terminal " + ("back" if os.tcgetpgrp(0) in (job, os.getpgrp()) else "taken"))
    if termios.tcgetattr(0)[:4] != modes:
        said.append("modes changed")
    os.write(report, ", ".join(said).encode())
    os.close(report)
    if "still there" in said:
        os.killpg(job, signal.SIGKILL)


def run_job(seconds, command):
    reader, writer = os.pipe()
    shell, master = pty.fork()
    if shell == 0:
        os.close(reader)
        shell_of_one_job(command, seconds, writer)
        os._exit(0)
    os.close(writer)
    while not select.select([reader], [], [], 0)[0]:
        drain(master, 0.1)
    print(os.read(reader, 4096).decode())
    os.kill(shell, signal.SIGKILL)


def type_into(shell, steps):
    pid, master = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", "exec " + shell])
    seen = b""
    for step in steps:
        verb, text = step.split(" ", 1)
        if verb == "send":
            seen = b""
            os.write(master, text.encode().decode("unicode_escape").encode())
        elif verb == "run":
            print(subprocess.run(["bash", "-c", text], stdout=subprocess.PIPE, text=True).stdout.strip())
        else:
            end = time.monotonic() + 60
            while text.encode() not in seen and time.monotonic() < end:
                seen += drain(master, 0.2)
            print("seen" if text.encode() in seen else "no '%s' in %r" % (text, seen[-400:]))
            seen = seen.partition(text.encode())[2]
    os.kill(pid, signal.SIGKILL)


if sys.argv[1] == "job":
    run_job(float(sys.argv[2]), sys.argv[3:])
else:
    type_into(sys.argv[2], sys.argv[3:])
