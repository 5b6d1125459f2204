# SPDX-License-Identifier: Apache-2.0
"""What the checks of the tree in tests/scripts share: its files, and how a case is told (tests/vm/README)."""
import pathlib
import subprocess

REPO = pathlib.Path(__file__).resolve().parents[1]
NOT_OURS = {"build", ".cache", ".git"}


def sources(endings=("",), folders=()):
    """Names of files with one of these endings: of git, or of a folder that is no clone."""
    asked = ["git", "-C", REPO, "ls-files", "--cached", "--others", "--exclude-standard", *folders]
    listed = subprocess.run(asked, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        names = listed.stdout.splitlines()
    else:
        tops = [REPO / folder for folder in folders] or [REPO]
        names = [str(path.relative_to(REPO)) for top in tops for path in top.rglob("*") if not NOT_OURS & set(path.relative_to(REPO).parts)]
    return [name for name in names if name.endswith(tuple(endings)) and (REPO / name).is_file()]


def is_(name, want, got):
    print(f"ok {name}" if got == want else f"not ok {name}: wanted {want!r}, got {got!r}")
    return got == want


def end(results):
    """Says how many cases there were; the exit code."""
    print(f"done {len(results)}")
    return 0 if all(results) else 1
