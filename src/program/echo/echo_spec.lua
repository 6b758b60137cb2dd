-- SPDX-License-Identifier: Apache-2.0
-- What comes back through echo, whole files byte for byte, is in test/; here are
-- its graph and its arguments.

local config = require("core.config")
local echo = require("program.echo.echo")
local testing = require("testing.support")

describe("echo's graph", function ()
  it("is a circle of the port and the chain", function ()
    assert.same({"fwd1.output -> fwd2.input", "fwd2.output -> port.input",
                 "port.output -> fwd1.input"},
      config.sorted_keys(echo.graph("null", 2).links))
    assert.same({"port.output -> port.input"},
      config.sorted_keys(echo.graph("null", 0).links))
  end)
end)

describe("echo", function ()
  local function number(text)
    return tonumber((text:gsub(",", "")))
  end

  it("sends back what it receives, and its sum holds #slow", function ()
    for _, length in ipairs{"0", "1", "10"} do
      local said, status = testing.perigee{"echo", "null:size=100", length, "100ms"}
      assert.equal(0, status, said)
      local received, sent, links = said:match("packets: received ([%d,]+) .*= sent "
        .. "([%d,]+) .* in links ([%d,]+) ")
      assert.is_true(number(received) > 0)
      assert.equal(number(received), number(sent) + number(links))
      assert.equal(tonumber(length), select(2, said:gsub("\nfwd%d+\n", "")))
      assert.matches("100 byte/packet", said)
    end
  end)

  it("ends with the file #slow", function ()
    local rx, tx = os.tmpname(), os.tmpname()
    assert.equal(0, select(2, testing.script([[
      local writer = require("lib.pcap.pcap")
      local path = ...
      local file = assert(io.open(path, "wb"))
      writer.write_file_header(file)
      for i = 1, 50 do
        local p = packet.from_string(("x"):rep(50 + i))
        writer.write_record(file, p.data, p.length)
      end
      file:close()]], {}, {rx})))
    local files = ("pcap:rx=%s,tx=%s"):format(rx, tx)
    local said, status = testing.perigee{"echo", files, "3"}
    assert.equal(0, status)
    assert.matches("packets: received 50 %+ allocated 0 = sent 50 ", said)
    os.remove(rx)
    os.remove(tx)
  end)

  it("refuses what it can't do in a sentence", function ()
    for _, case in ipairs{
      {{}, "missing argument 'port'"}, {{"null", "x"}, "chain_length: 'x' isn't"},
      {{"null", "10001"}, "'10001' isn't a whole number from 0 to 10000"},
      {{"null", "1", "soon"}, "duration: 'soon' isn't a duration"},
      {{"nosuch"}, "'nosuch' isn't a port"}, {{"null", "1", "1", "1"}, "too many"},
      {{"pcap:rx=/no/file"}, "there is no file '/no/file'"},
    } do
      local said, status = testing.perigee{"echo", unpack(case[1])}
      assert.equal(2, status)
      assert.matches(case[2], said, 1, true)
      assert.equal(1, select(2, said:gsub("perigee: ", "")))
    end
  end)
end)
