# SPDX-License-Identifier: Apache-2.0
"""A service manager, as a process that it starts hears and tells it (sd_notify(3))."""

import os
import socket

from helpers.command import wait_until

GRAPH = """\
local basic = require("apps.basic.basic_apps")
local c = config.new()
config.app(c, "source", basic.Source)
config.app(c, "sink", basic.Sink)
config.link(c, "source.output -> sink.input")
engine.configure(c)
"""


class Manager:
    """What a service manager hears."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path) if isinstance(path, os.PathLike) else path)
        self.socket.setblocking(False)
        self.heard = []

    def listen(self):
        try:
            while True:
                self.heard += self.socket.recv(4096).decode().split("\n")
        except BlockingIOError:
            return self.heard

    def wait_for(self, line, process):
        def heard():
            assert process.read(), process.said
            return line in self.listen()
        wait_until(heard, lambda: f"{line}; heard {self.heard}")


def environment(**more):
    return {**os.environ, **more}
