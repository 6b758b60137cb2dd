-- SPDX-License-Identifier: Apache-2.0

local waiting = require("lib.waiting")

describe("Waiting", function ()
  local said, time
  local stream = {flush = function () end, write = function (_, ...)
    said = said .. table.concat({...})
  end}
  local function start(what, terminal)
    said, time = "", 100
    return waiting.start(what, {stream = stream, terminal = terminal,
      now = function () return time end})
  end

  it("is told to a terminal, after a second", function ()
    local w = start("reading a\27.pcap", true)
    w:show(7, nil, "packets")
    time = 100.9
    w:show(7, nil, "packets")
    assert.equal("", said)
    time = 102
    w:show(1234567, nil, "packets")
    w:show(1234568, nil, "packets")
    assert.equal("\r\27[Kreading a?.pcap: 1,234,567 packets (2 s)", said)
    time, said = 103, ""
    w:show(3, 4, "packets")
    assert.equal("\r\27[Kreading a?.pcap: 75 % (3 s)", said)
    said = ""
    w:finish()
    assert.equal("\r\27[K", said)
    w:finish()
    assert.equal("\r\27[K", said)
  end)

  it("tells seconds", function ()
    local w = start("trial", true)
    time = 112
    w:show(12, 60, "s")
    assert.equal("\r\27[Ktrial: 12 of 60 s", said)
  end)

  it("says nothing elsewhere, nor of what is short", function ()
    local w = start("trial", false)
    time = 112
    w:show(12, 60, "s")
    w:finish()
    w = start("trial", true)
    w:finish()
    assert.equal("", said)
  end)
end)
