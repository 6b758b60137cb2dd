# SPDX-License-Identifier: Apache-2.0
"""What tools/clickconf and tools/clickcompare share: which configurations there are, and
whether a process runs one yet."""

import pathlib
import re
import signal
import sys


def find(paths, tool):
    """The configurations that the paths name, folders and files."""
    found = []
    for path in paths:
        if not path.exists():
            sys.exit(f"{tool}: {path}: no such file or folder")
        found += sorted(file for file in path.rglob("*.click") if not file.is_dir()) \
            if path.is_dir() else [path]
    return found


def checkout_of(path):
    """The checkout that the folder or file belongs to: where conf/ is."""
    for folder in [path.resolve(), *path.resolve().parents]:
        if (folder / "conf").is_dir():
            return folder
    return path.resolve()


def started(process, name=""):
    """Does the process, called so by now, run a router? It catches SIGINT then (proc(5))."""
    try:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return True
    caught = int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16)
    return name in re.search(r"Name:\s*(.*)", status)[1] \
        and bool(caught & 1 << signal.SIGINT - 1)
