# SPDX-License-Identifier: Apache-2.0
"""--check of libmoon's scripts: who writes to a buffer after it was sent or freed."""

import pytest

from helpers.command import PERIGEE, run

SCRIPT = """
local memory = require "memory"
local device = require "device"
function master(what, times)
  local dev = device.config{port = 0}
  local other = device.config{port = 1}
  local mem = memory.createMemPool(function (buf)
    buf:getEthernetPacket():fill{ethType = 0x1234}
  end)
  local bufs, queue = mem:bufArray(8), dev:getTxQueue(0)
  local received = memory.bufArray(8)
  bufs:alloc(60)
  local buf = bufs[3]
  if what == "free" then bufs:freeAll() else queue:send(bufs) end
  if what == "send" or what == "free" then
    buf:getEthernetPacket().eth:setType(0x1111)
  elseif what == "receive" then -- who receives it may
    for i = 1, other:getRxQueue(0):recv(received) do
      received[i]:getEthernetPacket().eth:setType(0x1111)
    end
  end
  for _ = 1, times do
    bufs:alloc(60)
    for _, b in ipairs(bufs) do b:getEthernetPacket().eth:setType(0x2222) end
    bufs:freeAll()
  end
end
"""
LINE = SCRIPT.split("\n").index('  if what == "free" then bufs:freeAll() '
                                "else queue:send(bufs) end") + 1


def script(tmp_path, what, times, *options, ports=("ring:check", "ring:check")):
    (tmp_path / "script.lua").write_text(SCRIPT)
    ports = [word for i, port in enumerate(ports) for word in ("--port", f"{i}={port}")]
    return run(PERIGEE, *options, *ports, "moongen", "script.lua", what, times,
               cwd=tmp_path)


@pytest.mark.parametrize("port", ["null", "pcap:tx=/dev/null"])
@pytest.mark.parametrize("times", [0, 1000])
@pytest.mark.parametrize("what", ["send", "free"])
def test_a_write_is_found(tmp_path, what, times, port):
    """When the pool gives the buffer again, or at the end."""
    result = script(tmp_path, what, times, "--check", ports=(port, "null"))
    assert result.returncode == 1
    word = "sent" if what == "send" else "freed"
    assert (f"script.lua:{LINE}: a buffer that is {word} here is written to afterwards: "
            "byte 12 of it was 0x12 and is 0x11 now") in result.stderr


@pytest.mark.parametrize("what", ["nothing", "receive"])
def test_nothing_is_found_where_nothing_is_wrong(tmp_path, what):
    result = script(tmp_path, what, 1000, "--check")
    assert (result.returncode, result.stderr) == (0, "")


def test_nothing_is_looked_at_without_it(tmp_path):
    result = script(tmp_path, "send", 1000, ports=("null", "null"))
    assert (result.returncode, result.stderr) == (0, "")
