-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local link = require("core.link")
local packet = require("core.packet")
local reader = require("lib.pcap.reader")
local Tap = require("apps.pcap.tap").Tap

local MACS = ("\2"):rep(12)

describe("Tap", function ()
  local path, input, output

  before_each(function ()
    path = os.tmpname()
    input, output = link.new("spec_in"), link.new("spec_out")
  end)
  after_each(function ()
    os.remove(path)
    link.free(input, "spec_in")
    link.free(output, "spec_out")
  end)

  -- Pass the frames; the last bytes of those in the file then.
  local function tap(conf, frames)
    conf.filename = path
    local app = Tap:new(conf)
    app:begin()
    app.input, app.output = {input = input}, {output = output}
    for _, frame in ipairs(frames) do
      link.transmit(input, packet.from_string(frame))
    end
    app:push()
    app:stop()
    for _, frame in ipairs(frames) do
      local p = link.receive(output)
      assert.equal(frame, ffi.string(p.data, p.length))
      packet.free(p)
    end
    local file, list = reader.open(path), {}
    while true do
      local data, length = file:next()
      if not data then break end
      list[#list + 1] = ffi.string(data, length):sub(-1)
    end
    file:close()
    return table.concat(list)
  end

  local function frames(first, last)
    local list = {}
    for i = first, last do
      list[#list + 1] = MACS .. (i % 2 == 0 and "\8\0" or "\8\6") .. string.char(64 + i)
    end
    return list
  end

  it("writes what it passes on", function ()
    assert.equal("ABC", tap({}, frames(1, 3)))
    assert.equal("D", tap({}, frames(4, 4)))
    assert.equal("DEF", tap({mode = "append"}, frames(5, 6)))
  end)

  it("writes what a filter accepts, or some of it", function ()
    assert.equal("BDF", tap({filter = "ip"}, frames(1, 7)))
    assert.equal("ACEG", tap({sample = 2}, frames(1, 7)))
    assert.equal("BH", tap({sample = 3, filter = "ip"}, frames(1, 9)))
  end)

  it("refuses what can't be", function ()
    for _, conf in ipairs{{filename = path, mode = "x"}, {filename = path, sample = 0},
                          {filename = path, filter = "no filter"}, {}} do
      assert.has_error(function () Tap:new(conf) end)
    end
    local app = Tap:new{filename = "/no/such/directory/x.pcap"}
    assert.has_error(function () app:begin() end)
  end)
end)
