# SPDX-License-Identifier: Apache-2.0
"""The Lua shell on a terminal: lines are edited, and remembered."""

import os
import pty

import pytest

from helpers.command import PERIGEE, perigee, run, wait_until


class Terminal:
    def __init__(self, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(HOME=str(home), TERM="dumb", INPUTRC="/dev/null")
            os.execv(PERIGEE, [str(PERIGEE), "snsh"])
        os.set_blocking(self.fd, False)
        self.said = ""

    def read(self):
        try:
            self.said += os.read(self.fd, 65536).decode()
        except (BlockingIOError, OSError):
            pass
        return self.said

    def type(self, text, until):
        os.write(self.fd, text.encode())
        wait_until(lambda: until in self.read(), f"{until!r} in {self.said!r}")

    def end(self):
        os.write(self.fd, b"\4")
        wait_until(lambda: self.read() is None or os.waitpid(self.pid, os.WNOHANG)[0],
                   "its end")
        os.close(self.fd)


def has_readline():
    return run("luajit", "-e", "require 'readline'").returncode == 0 if \
        os.path.exists("/usr/bin/luajit") else \
        perigee("snsh", "-e", "require('readline')").returncode == 0


@pytest.mark.skipif(not has_readline(), reason="there is no lua-readline here")
def test_lines_are_edited_and_remembered(tmp_path):
    shell = Terminal(tmp_path)
    shell.type("x = 6 * 7\n", "perigee> ")
    shell.type("= x + 1\b\b\b\b + 100\n", "142")
    shell.type("= engine.configura\t ~= nil\n", "true")
    shell.end()
    assert "x = 6 * 7" in (tmp_path / ".perigee_history").read_text()
    shell = Terminal(tmp_path)
    shell.type("", "perigee> ")
    shell.type("\x10\n", "true")  # the line before
    shell.end()


def test_without_a_terminal_lines_are_read_as_they_come():
    result = perigee("snsh", "-i", input="= 6 *\n7\n")
    assert result.returncode == 0
    assert "perigee>       >> 42\n" in result.stdout
