# SPDX-License-Identifier: Apache-2.0
"""Tasks of MoonGen's scripts that wait for packets sleep until the port says that one
has come; `perigee web` does until a browser comes."""

import contextlib
import time

import pytest

from helpers.command import PERIGEE, running, wait_until
from helpers.idle import cpu_seconds
from helpers.network import Wire, veth

MOST_SHARE = 1 / 4      # of what busy polling takes; a task that polls has as much
BURST = 400             # the kernel keeps 500 for a TAP port
FRAME = b"\2\0\0\0\0\1\2\0\0\0\0\2\x88\xb6"

SCRIPT = """
local ffi = require "ffi"
local device, memory, mg = require "device", require "memory", require "moongen"
function master()
  local d = device.config{{port = 0, rxQueues = 1}}
  device.waitForLinks()
  mg.startTask("rx", d:getRxQueue(0))
  mg.waitForTasks()
end
function tell(text)
  print(text)
  io.stdout:flush()
end
function rx(queue)
  local bufs, n = memory.bufArray(), 0
  tell("receives")
  while mg.running() do
    local got = queue:{}
    for i = 1, got do
      local bytes = ffi.cast("uint8_t *", bufs[i]:getData())
      if bytes[12] == 0x88 and bytes[13] == 0xb6 then n = n + 1 end
    end
    if n == 1 or n == {} then tell("frames " .. n) end
    bufs:free(got)
  end
end
"""
CALLS = {"recv": "recv(bufs)", "tryRecv": "tryRecv(bufs, 300000)",
         "tryRecvIdle": "tryRecvIdle(bufs, 300000)"}


def waker(namespace, kind):
    near, far = namespace("near"), namespace("far")
    if kind != "tap":
        veth(near, "port", far, "wire", offloads=False)
    return near, (near, "port") if kind == "tap" else (far, "wire")


@pytest.mark.parametrize("kind", ["packet", "tap", "xdp"])
@pytest.mark.parametrize("call", CALLS)
def test_a_receiving_task_sleeps(kind, call, namespace, tmp_path):
    script = tmp_path / "rx.lua"
    script.write_text(SCRIPT.format(CALLS[call], BURST + 1))
    near, wire_at = waker(namespace, kind)
    command = near.command(PERIGEE, "--port", f"0={kind}:port", "moongen", script)
    with running(*command) as program:
        program.wait_for("receives")
        with Wire(*wire_at) as wire, running(PERIGEE, "--sleep", "never", "echo",
                                             "null:size=60", "1") as busy:
            busy.wait_for_engine()
            time.sleep(0.5)     # the task has waited for longer than it polls
            before = cpu_seconds(program.pid), cpu_seconds(busy.pid)
            wait_until(lambda: cpu_seconds(busy.pid) - before[1] > 1, "busy polling")
            took = cpu_seconds(program.pid) - before[0]
            assert took <= (cpu_seconds(busy.pid) - before[1]) * MOST_SHARE, program.said
            wire.send(FRAME + bytes(46))
            program.wait_for("frames 1")
            for _ in range(BURST):
                wire.send(FRAME + bytes(46))
            program.wait_for(f"frames {BURST + 1}")
        assert program.interrupt() == 0, program.said


def test_web_wakes_seldom_while_nobody_looks():
    with contextlib.ExitStack() as stack:
        program = stack.enter_context(running(PERIGEE, "web", "--listen", "0"))
        program.wait_for("http://")

        def slept():
            with open(f"/proc/{program.pid}/status") as status:
                return next(int(line.split()[1]) for line in status
                            if line.startswith("voluntary_ctxt_switches"))
        before, began = slept(), time.monotonic()
        assert program.runs_for(2), program.said
        assert slept() - before <= 10 * (time.monotonic() - began) + 10
        assert program.interrupt() == 0, program.said
