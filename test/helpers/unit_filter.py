# SPDX-License-Identifier: Apache-2.0
"""Runs a command as systemd would by a unit's SystemCallFilter= and
RestrictAddressFamilies= (systemd.exec(5)): `unit_filter.py UNIT[,DROP-IN...] COMMAND...`.
What isn't allowed fails with EPERM, or EAFNOSUPPORT. systemd-analyze names the calls."""

import ctypes
import errno
import os
import re
import socket
import struct
import subprocess
import sys

NUMBERS = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2  # <linux/prctl.h>
ALLOW, ERRNO = 0x7FFF0000, 0x00050000  # <linux/seccomp.h>
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # <linux/filter.h>
NUMBER_AT, ARGUMENT_AT = 0, 16  # struct seccomp_data
AF = {"AF_XDP": 44}


def values(files, name):
    """The words of all lines NAME=..., in their order."""
    return [line.split() for path in files for line in
            re.findall(rf"^{name}=(.*)$", open(path, encoding="utf-8").read(), re.M)]


def expand(word):
    """The names of a group of calls, or the one name."""
    if not word.startswith("@"):
        return {word}
    said = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", word],
                          capture_output=True, text=True, check=True).stdout
    plain = re.sub(r"\x1b\[[\d;]*m", "", said)  # systemd 255 colours groups for files, too
    names = re.findall(r"^ +([@\w-]+)$", plain, re.M)
    return set().union(*map(expand, names))


def allowed_calls(files):
    allowed = set()
    for words in values(files, "SystemCallFilter"):
        forbids = words[0].startswith("~")
        names = set().union(*map(expand, [word.lstrip("~") for word in words]))
        allowed = allowed - names if forbids else allowed | names
    return allowed


def program(files):
    numbers = dict(re.findall(r"^#define __NR_(\w+) (\d+)$", open(NUMBERS).read(), re.M))
    calls = [int(numbers[name]) for name in allowed_calls(files) if name in numbers]
    families = [AF[name] if name in AF else getattr(socket, name)
                for words in values(files, "RestrictAddressFamilies") for name in words]
    lines = [(LOAD, 0, 0, NUMBER_AT)]
    check = [(LOAD, 0, 0, ARGUMENT_AT)]
    for family in families:
        check += [(JUMP_IF_EQUAL, 0, 1, family), (RETURN, 0, 0, ALLOW)]
    check.append((RETURN, 0, 0, ERRNO | errno.EAFNOSUPPORT))
    lines += [(JUMP_IF_EQUAL, 0, len(check), int(numbers["socket"])), *check]
    for number in calls:
        lines += [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    return [*lines, (RETURN, 0, 0, ERRNO | errno.EPERM)]


def install(lines):
    code = b"".join(struct.pack("HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code)
    fprog = ctypes.create_string_buffer(
        struct.pack("HxxxxxxP", len(lines), ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((PR_SET_NO_NEW_PRIVS, 1, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, fprog)):
        if libc.prctl(call[0], call[1], call[2], 0, 0) != 0:
            sys.exit(f"prctl{call}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    install(program(sys.argv[1].split(",")))
    os.execv(sys.argv[2], sys.argv[2:])
