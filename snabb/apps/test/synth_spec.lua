-- SPDX-License-Identifier: Apache-2.0
-- The Synth app.

local ffi = require("ffi")
local lib = require("core.lib")
local link = require("core.link")
local packet = require("core.packet")
local Synth = require("apps.test.synth").Synth
local testing = require("testing.support")

describe("apps.test.synth", function()
  local output

  local function synth(conf)
    local app = Synth:new(lib.parse(conf, Synth.config))
    app.output = {output}
    return app
  end

  local function receive() return testing.bytes_of(link.receive(output)) end

  before_each(function() output = link.new("synth_test") end)
  after_each(function() link.free(output, "synth_test") end)

  it("sends frames of the sizes in turn", function()
    local app = synth{sizes = {14, 400, 60}, src = "02:00:00:00:00:0a",
                      dst = "ff:ff:ff:ff:ff:ff"}
    app:pull()
    for _ = 1, 2 do
      for _, length in ipairs{0, 386, 46} do
        assert.are.equal(("\255"):rep(6) .. "\2\0\0\0\0\10"
          .. string.char(math.floor(length / 256), length % 256) .. ("\0"):rep(length),
          receive())
      end
    end
    app:stop()
  end)

  it("numbers packets, and fills them with random bytes", function()
    local app = synth{sizes = {60}, packet_id = true, random_payload = true}
    app:pull()
    local first, second = receive(), receive()
    assert.are.equal("\0\0\0\0", first:sub(15, 18))
    assert.are.equal("\0\0\0\1", second:sub(15, 18))
    assert.are.equal(first:sub(19), second:sub(19))
    assert.are_not.equal(("\0"):rep(42), first:sub(19))
    app:stop()
  end)

  it("sends the same to each output", function()
    local other = link.new("synth_other")
    local app = synth{sizes = {60, 70}, packet_id = true}
    app.output[2] = other
    for _ = 1, 1000 do link.transmit(other, packet.allocate()) end
    app:pull() -- the other has room for 23
    for _ = 1, 1000 do packet.free(link.receive(other)) end
    for i = 0, 22 do
      local p = link.receive(other)
      local bytes = ffi.string(p.data, p.length)
      packet.free(p)
      assert.are.equal(receive(), bytes)
      assert.are.equal("\0\0\0" .. string.char(i), bytes:sub(15, 18))
    end
    app:stop()
    link.free(other, "synth_other")
  end)

  it("sends no more than there is room for", function()
    local app = synth{}
    for _ = 1, 20 do
      app:pull()
    end
    assert.is_true(link.full(output))
    assert.are.equal(0, link.stats(output).txdrop)
    app:stop()
  end)

  it("refuses what it can't send", function()
    for pattern, conf in pairs{
      ["packets of 13 bytes"] = {sizes = {13}},
      ["packets of 10241 bytes"] = {sizes = {60, 10241}},
      ["at least one size"] = {sizes = {}},
      ["number packets of 17 bytes"] = {sizes = {17}, packet_id = true},
      ["'1:2:3' isn't a MAC address"] = {src = "1:2:3"},
    } do
      local ok, err = pcall(synth, conf)
      assert.is_false(ok)
      assert.matches(pattern, tostring(err), 1, true)
    end
  end)
end)
