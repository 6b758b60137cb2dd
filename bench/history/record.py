# SPDX-License-Identifier: Apache-2.0
"""The file of measurements: one JSON object a line, one line a commit and benchmark.

    {"commit", "subject", "date", "machine", "benchmark", "rows": {NAME: [RATIO, ...]}}

Lines are only ever added, each with one write, so a run that is killed leaves those of
before; a last line without an end is left out when the file is read.
"""
import errno
import json
import os
import stat


class Unreadable(Exception):
    pass


def read(path):
    """The objects of a file; none where there is no file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise Unreadable("%s isn't a file" % path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable("can't read %s: %s" % (path, getattr(error, "strerror", error)))
    whole = text[:text.rfind("\n") + 1]
    return [_line(path, n, line) for n, line in enumerate(whole.splitlines(), 1)]


def _line(path, n, line):
    try:
        entry = json.loads(line)
        for key in ("commit", "subject", "machine", "benchmark"):
            if not isinstance(entry[key], str):
                raise ValueError("its '%s' is no text" % key)
        if not all(isinstance(r, (int, float)) and r > 0
                   for ratios in entry["rows"].values() for r in ratios):
            raise ValueError("a ratio that is no number above 0")
        return entry
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable("%s, line %d, isn't a measurement: %s" % (path, n, error))


def add(path, entry):
    """Add an object. A line that a killed run has left unfinished is ended first."""
    data = (json.dumps(entry) + "\n").encode()
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            os.ftruncate(fd, _last_end(fd, size))
        before = os.fstat(fd).st_size
        if os.write(fd, data) != len(data):
            os.ftruncate(fd, before)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        os.fsync(fd)
    finally:
        os.close(fd)


def _last_end(fd, size):
    return os.pread(fd, size, 0).rfind(b"\n") + 1


def series(entries):
    """{(MACHINE, BENCHMARK, ROW): [(entry, ratios)]}, in the file's order."""
    found = {}
    for entry in entries:
        for row, ratios in entry["rows"].items():
            key = entry["machine"], entry["benchmark"], row
            found.setdefault(key, []).append((entry, ratios))
    return found
