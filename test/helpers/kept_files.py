# SPDX-License-Identifier: Apache-2.0
"""What files of kept records have (src/net/keep/keep.h), read without Perigee."""

import contextlib
import re
import struct
import time

HEADER = struct.Struct("<8s4I4Q40s24s256s256s3Q")
NO_AGE = 0xffffffff
EXPIRY, LIST, AGE_END = 8, 20, 24  # in a struct flow_age; before LIST are times and links
PER_SECOND, PART, LEAST_S = 1000, 8, 0.1  # src/net/replica/source.c
SLACK_S = 1  # a batch comes late


class Kept:
    """A file's records: {number: (bytes but for the age, that but for times, expiry)}."""

    def __init__(self, path):
        data = path.read_bytes()
        (magic, self.version, _, size, age_at, most, notes_at, bits_at, records_at, _, _,
         of, layout, _, notes_size, per_second) = HEADER.unpack_from(data)
        assert magic == b"PERIGEE\0", path
        self.per_second = per_second or PER_SECOND
        of = re.sub(rb" former \d+$", b"", of.rstrip(b"\0"))  # a file that was put aside
        self.same = (of, layout.rstrip(b"\0"), size, age_at, most,
                     self.per_second, data[notes_at:notes_at + notes_size])
        self.records = {}
        top = min((len(data) - records_at) // size, most + 1)
        for number in range(1, top):
            if data[bits_at + number // 8] >> number % 8 & 1:
                at = records_at + number * size
                self.records[number] = split(data[at:at + size], age_at)


def split(record, age_at):
    if age_at == NO_AGE:
        return record, b"", 0
    expiry, = struct.unpack_from("<q", record, age_at + EXPIRY)
    end = age_at + AGE_END
    return record[:age_at] + record[end:], record[age_at + LIST:end], expiry


def is_near(a, b, per_second):
    """Do the expiries differ by no more than is promised?"""
    now = time.monotonic() * per_second
    left = max(abs(a - now), abs(b - now))
    return abs(a - b) <= left / PART + (LEAST_S + SLACK_S) * per_second


def difference(one, other):
    """What two files, of a master and of its backup, have that isn't the same, a text."""
    if one.same != other.same:
        return "another kind, or other notes"
    mine, theirs = one.records, other.records
    if mine.keys() != theirs.keys():
        return (f"{len(mine.keys() - theirs.keys())} of {len(mine)} records are missing, and "
                f"{len(theirs.keys() - mine.keys())} are there too many")
    changed = sum(mine[n][:2] != theirs[n][:2] for n in mine)
    late = sum(not is_near(mine[n][2], theirs[n][2], one.per_second) for n in mine)
    return (changed or late) and f"{changed} of {len(mine)} have other bytes, {late} other ages"


def files(folder):
    """The files of a name's folder, by name."""
    found = {}
    for path in folder.iterdir() if folder.exists() else ():
        if not path.name.startswith("."):
            with contextlib.suppress(FileNotFoundError, struct.error):
                found[path.name] = Kept(path)
    return found


def differences(master, backup):
    """Of two names' folders: [text]."""
    one, other = files(master), files(backup)
    problems = [f"{name} is only on one host" for name in one.keys() ^ other.keys()]
    for name in one.keys() & other.keys():
        what = difference(one[name], other[name])
        if what:
            problems.append(f"{name}: {what}")
    return problems
