# SPDX-License-Identifier: Apache-2.0
"""The lists of faults (tests/mutate/README) and the sources with all of them in one build, each switched off."""
import os
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path


class ListError(Exception):
    """A list that is not what its README says, or no longer fits the sources."""


@dataclass
class Fault:
    id: str
    file: str
    place: str = ""  # file and line of the list, for messages
    context: list = field(default_factory=list)
    old: list = field(default_factory=list)
    new: list = field(default_factory=list)
    by: str = ""
    kernel: str = "6.12"
    load: bool = False
    refused: bool = False
    always: bool = False
    equivalent: str = ""

    @property
    def number(self):
        """Of the id alone: a new fault changes no other file than its own. 0 is no fault."""
        return zlib.crc32(self.id.encode()) & 0x7FFFFFFF or 1

    @property
    def is_statement(self):
        return "\n".join(self.old).rstrip().endswith((";", "}"))


FLAGS = ("load", "refused", "always")
WORDS = ("by", "kernel", "equivalent")


def parse(text, name):
    """The faults of one list."""
    faults, defaults, fault, code = [], {"file": "", "by": ""}, None, None

    def wrong(why):
        raise ListError(f"{name}:{number}: {why}")

    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        if not line.strip():
            fault = code = None
            continue
        if line[0] in "\t " and code is not None:
            code.append(line)
            continue
        word, _, rest = line.partition(" ")
        if word == "id":
            if not re.fullmatch(r"[a-z0-9]+(/[a-z0-9_-]+)+", rest):
                wrong(f"'{rest}' is no id: area/what-is-wrong")
            fault = Fault(rest, defaults["file"], f"{name}:{number}", by=defaults["by"])
            faults.append(fault)
        elif fault is None:
            if word not in defaults or not rest:
                wrong(f"'{word}' stands outside of a fault")
            defaults[word] = rest
        elif word in ("in", "-", "+"):
            code = {"in": fault.context, "-": fault.old, "+": fault.new}[word]
            code.append(rest)
        elif word in FLAGS and not rest:
            setattr(fault, word, True)
        elif word in WORDS and rest:
            setattr(fault, word, rest)
        else:
            wrong(f"'{word}' is unknown here")
    for fault in faults:
        check(fault)
    return faults


def check(fault):
    def wrong(why):
        raise ListError(f"{fault.place}: {fault.id}: {why}")

    if not fault.file:
        wrong("no file")
    if not fault.old:
        wrong("no line with '-'")
    if fault.always:
        return
    if not fault.new and not fault.is_statement:
        wrong("an expression needs a line with '+'")
    if not fault.equivalent and not fault.by:
        wrong("no test that kills it (by)")
    if fault.by and not re.match(r"(unit|guest) \S", fault.by):
        wrong(f"by '{fault.by}': it is `unit PATTERN` or `guest COMMAND`")


def read_lists(folder):
    faults = []
    for path in sorted(Path(folder).glob("*.faults")):
        faults += parse(path.read_text(), path.name)
    for kind, values in (("id", [f.id for f in faults]), ("number", [f.number for f in faults])):
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            raise ListError(f"the same {kind} twice: {twice}")
    return faults


TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\w+|[^\w\s]')


def pattern_of(code):
    """Matches the code however its lines are broken and indented, and however the lines of a comment."""
    parts, word = [], False
    for token in TOKEN.findall(code.replace("//", " ")):
        is_word = token[0].isalnum() or token[0] == "_"
        gap = (r"(?:\s|//)+" if word and is_word else r"(?:\s|//)*") if parts else ""
        parts.append(gap + re.escape(token))
        word = is_word
    return re.compile(r"(?<!\w)" * (parts[0][0].isalnum() or parts[0][0] == "_") + "".join(parts) + r"(?!\w)" * word)


def only_place(text, begin, end, code, where):
    """Where the code is in text[begin:end], which must be there exactly once: a fault whose line has changed must not be silently gone."""
    found = [match.span() for match in pattern_of(code).finditer(text, begin, end)]
    if len(found) != 1:
        raise ListError(f"{where}: " + ("not found" if not found else f"found {len(found)} times") + f": {code!r}")
    return found[0]


def span(fault, text):
    """Of the original code that the fault changes."""
    where = f"{fault.place}: {fault.id}: {fault.file}"
    begin, end = 0, len(text)
    if fault.context:
        begin, end = only_place(text, begin, end, "\n".join(fault.context), where)
    return only_place(text, begin, end, "\n".join(fault.old), where)


def switch(fault, original):
    new = "\n".join(fault.new)
    if fault.always:
        return new
    # The programs are as small as they can be: a verifier gives up the larger ones.
    on = f"SBPF_MUTANT_OF_UNITS({fault.number}u)" if fault.by.startswith("unit ") else f"SBPF_MUTANT({fault.number}u)"
    if fault.is_statement:
        return f"{{ if ({on}) {{ {new} }} else {{ {original} }} }}"
    return f"({on} ? ({new}) : ({original}))"


def render(text, begin, end, placed):
    """text[begin:end] with the placed faults (begin, end, fault), outermost first, switched into it."""
    parts, at = [], begin
    while placed:
        (first, last, _), same, inside = placed[0], [], []
        rest = []
        for one in placed:
            if one[:2] == (first, last):
                same.append(one[2])
            elif one[0] >= first and one[1] <= last:
                inside.append(one)
            elif one[0] < last:
                raise ListError(f"{one[2].place}: {one[2].id} overlaps {same[0].id}")
            else:
                rest.append(one)
        code = render(text, first, last, inside)
        for fault in reversed(same):
            code = switch(fault, code)
        parts += [text[at:first], code]
        at, placed = last, rest
    return "".join(parts) + text[at:end]


def mutated(text, file, faults):
    """The file's contents with all its faults, and what switches them."""
    placed = sorted(((*span(fault, text), fault) for fault in faults), key=lambda one: (one[0], -one[1]))
    header = os.path.relpath("tests/mutate/mutant.h", os.path.dirname(file))
    return f'#include "{header}"\n' + render(text, 0, len(text), placed)
