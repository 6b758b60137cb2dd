-- SPDX-License-Identifier: Apache-2.0
-- Savefiles of other link types than Ethernet.

local ffi = require("ffi")
local reader = require("lib.pcap.reader")
local testing = require("testing.savefiles")
local writer = require("lib.pcap.writer")

local KINDS = {"pcap", "pcapng"}
local path

describe("lib.pcap", function ()
  before_each(function () path = os.tmpname() end)
  after_each(function () os.remove(path) end)

  it("reads other link types where they are wanted", function ()
    local b = testing.order("little")
    local raw = b:section() .. b:interface{linktype = 101} .. b:enhanced("raw")
    for _, bytes in ipairs{b:pcap_header{linktype = 101} .. b:record("raw"), raw} do
      testing.save(path, bytes)
      local file = reader.open(path, {any_link = true})
      assert.equal(101, file.linktype)
      local data, length = file:next()
      assert.equal("raw", ffi.string(data, length))
      file:close()
    end
    testing.save(path, raw .. b:interface() .. b:enhanced("more"))
    local file = reader.open(path, {any_link = true})
    file:next()
    local ok, err = pcall(file.next, file)
    assert.is_false(ok)
    assert.matches("link type 1 .*; only that of its first", tostring(err))
    file:close()
  end)

  it("writes other link types", function()
    for _, kind in ipairs(KINDS) do
      local made = writer.open(path, {format = kind, linktype = 101})
      made:write("ip", 2, 2, 0)
      made:close()
      local file = reader.open(path, {any_link = true})
      assert.equal(101, file.linktype)
      file:close()
    end
  end)
end)
