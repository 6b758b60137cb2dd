# SPDX-License-Identifier: Apache-2.0
"""A control socket of Click's (ControlSocket), asked line by line."""

import socket
import time

from helpers.command import TIMEOUT_S


def connect(path):
    """A file of the control socket there, once it listens."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        control = socket.socket(socket.AF_UNIX)
        try:
            control.connect(str(path))
            return control.makefile("rw", newline="")
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.05)


def reply(control):
    """The lines of a reply."""
    lines = [control.readline().rstrip()]
    while lines[-1][3] == "-":
        lines.append(control.readline().rstrip())
    return lines


def ask(control, command):
    """The lines of the reply, or the data behind them if there are any."""
    control.write(command + "\r\n")
    control.flush()
    lines = reply(control)
    if not command.startswith("READ") or not lines[-1].startswith("200"):
        return lines
    length = int(control.readline().split()[1])
    return control.read(length)


def write_data(control, handler, text):
    """The lines of the reply to this text."""
    control.write(f"WRITEDATA {handler} {len(text)}\r\n{text}")
    control.flush()
    return reply(control)
