# SPDX-License-Identifier: Apache-2.0
"""Faults that single attacks kill, many in one guest: it is restored and gets its files once for all of them.

After each fault the guest is asked whether it is still sound. If not, it is left, and what had not had its turn gets a guest
of its own.
"""
import re
import shlex

import faults as lists
import running

SIZE = 12
SECONDS = 150  # for one attack; it takes one to ten
# Red when a fault has left the guest so that later ones would be killed by that.
SOUND = "attack_test --only network/tcp4_connect_is_refused"


def may_share(fault):
    """An attack with a fault that is switched on in programs that run already."""
    return fault.by.startswith("guest attack_test ") and not fault.load and not fault.equivalent


def split(faults):
    """Lists of faults for one guest each, in their order; what may not share one is alone."""
    groups = []
    for fault in faults:
        last = groups[-1] if groups else []
        if last and may_share(fault) and may_share(last[0]) and last[0].kernel == fault.kernel and len(last) < SIZE:
            last.append(fault)
        else:
            groups.append([fault])
    return groups


def steps_of(faults):
    """(number, command) of each run: a test passes without a fault before it is believed."""
    steps = []
    for fault in faults:
        command = fault.by.removeprefix("guest ")
        if (0, command) not in steps:
            steps.append((0, command))
        steps.append((fault.number, command))
    return steps


def script(steps):
    lines = ["asked() { echo $2 >/run/sbpf-mutant; timeout $1 bash -c \"$3\" 2>&1; code=$?; echo 0 >/run/sbpf-mutant; }"]
    for place, (number, command) in enumerate(steps):
        lines.append(f"echo 'begin {place}'; asked {SECONDS} {number} {shlex.quote(running.TESTS + command)}; echo \"end {place} $code\"")
        if number:
            lines.append(f"asked {SECONDS} 0 {shlex.quote(running.TESTS + SOUND)} >/run/sound || {{ echo unsound; exit 1; }}")
    return "\n".join(lines)


def outcomes(output, steps):
    """By (number, command), of what had its turn."""
    found = {}
    for match in re.finditer(r"^begin (\d+)$(.*?)^end \1 (\d+)$", output, re.M | re.S):
        code = int(match[3])
        outcome = running.judge_guest(match[2], None if code == 124 else code)
        found[steps[int(match[1])]] = outcome
    return found


def verdicts(runner, faults):
    """(killed, text) for each."""
    if len(faults) == 1:
        return [runner.verdict(faults[0])]
    steps = steps_of(faults)
    output, _ = runner.guest(script(steps), faults[0].kernel, "attack_test", SECONDS * len(steps))
    found = outcomes(output, steps)
    results = []
    for fault in faults:
        command = fault.by.removeprefix("guest ")
        if (fault.number, command) not in found:
            results.append(runner.verdict(fault))
        elif not found[(0, command)].green:
            results.append((False, f"without a fault `{fault.by}` does not pass: {found[(0, command)].failed[:3]}"))
        else:
            results.append(running.verdict_of(fault, found[(fault.number, command)]))
    return results


def verdicts_or_error(runner, faults):
    try:
        return verdicts(runner, faults)
    except lists.ListError as error:
        return [(False, str(error))] * len(faults)
