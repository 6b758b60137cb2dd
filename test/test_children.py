# SPDX-License-Identifier: Apache-2.0
"""Programs that a script starts have none of its descriptors, such as DPDK's sockets and
memory: they get the standard ones, and what the process itself was given."""

import os
import re
import signal

import pytest

from helpers.command import PERIGEE, perigee, running, wait_until

# It opens ports whose drivers open a lot, and starts a program that lives on; or not.
SCRIPT = """
local unistd = require("posix.unistd")
local Port = require("apps.port.port").Port
local basic = require("apps.basic.basic_apps")
local folder, how = ...
local c = config.new()
config.app(c, "sink", basic.Sink)
config.app(c, "vhost", Port, "vhost:" .. folder .. "/vhost")
config.app(c, "memif", Port, "memif:" .. folder .. "/memif,role=server")
config.link(c, "vhost.output -> sink.input1")
config.link(c, "memif.output -> sink.input2")
engine.configure(c)
local command = "ls -l /proc/self/fd > " .. folder .. "/list; echo $$ > " .. folder
  .. "/child; mv " .. folder .. "/child " .. folder .. "/pid; exec sleep 1000"
local kept
if how == "os.execute" then os.execute("sh -c '" .. command .. "' > /dev/null 2>&1 &")
elseif how == "io.popen" then kept = io.popen("{ " .. command .. "; } 2> /dev/null")
elseif how == "exec" and unistd.fork() == 0 then
  unistd.exec("/bin/sh", {"-c", command})
elseif how == "execp" and unistd.fork() == 0 then
  unistd.execp("sh", {"-c", command})
end
print("begins")
io.stdout:flush()
engine.main{duration = how == "none" and 0.1 or nil, no_report = true}
"""


@pytest.mark.parametrize("how", ["os.execute", "io.popen", "exec", "execp"])
def test_a_child_has_none_of_the_descriptors(tmp_path, how):
    script = tmp_path / "script.lua"
    script.write_text(SCRIPT)
    given, other_end = os.pipe()
    child = tmp_path / "pid"
    try:
        with running(PERIGEE, "run", script, tmp_path, how, pass_fds=[given]) as program:
            program.wait_for("begins")
            wait_until(lambda: program.read() and child.exists(), "the child")
            program.send(signal.SIGKILL)
            program.process.wait()
            listed = (tmp_path / "list").read_text()
            # ls has the folder that it reads open.
            found = {int(fd): what for fd, what in re.findall(r" (\d+) -> (.*)$", listed,
                                                             re.MULTILINE)
                     if not re.fullmatch(r"/proc/\d+/fd", what)}
            assert set(found) - {0, 1, 2} == {given}, listed
            again = perigee("run", script, tmp_path, "none")
            assert os.path.exists(f"/proc/{int(child.read_text())}"), again.stderr
            assert again.returncode == 0, again.stderr
    finally:
        if child.exists():
            os.kill(int(child.read_text()), signal.SIGKILL)
        os.close(given)
        os.close(other_end)
