-- SPDX-License-Identifier: Apache-2.0
-- No Lua allocation per packet in what reads and writes files: the heap grows by less
-- than 4 bytes a packet (filling the window of a file leaves some), where one object
-- would be 16 or more. Each case in a process of its own: what LuaJIT compiles
-- depends on what came before.

local testing = require("testing.support")
local files = require("testing.savefiles")

local HEAP = [[
  local Replayer = require("apps.pcap.replayer").Replayer
  local PcapWriter = require("apps.pcap.pcap").PcapWriter
  local Port = require("apps.port.port").Port
  local kind, file, key, value = ...
  local c = config.new()
  if kind == "read" then
    config.app(c, "from", Replayer, {filename = file, loops = math.huge,
                                     [key] = tonumber(value)})
    config.app(c, "to", Port, "null")
  else
    config.app(c, "from", Port, "null:size=200")
    config.app(c, "to", PcapWriter, {"/dev/null", "w", format = key})
  end
  config.link(c, "from.output -> to.input")
  engine.configure(c)
  engine.busywait = true
  local link = engine.link_table["from.output -> to.input"]
  local function breathe(packets)
    local before = link.rxbytes
    while link.rxbytes - before < packets * 200 do engine.breathe() end
    return tonumber(link.rxbytes - before) / 200
  end
  breathe(1e6)
  collectgarbage()
  collectgarbage("stop")
  local heap = collectgarbage("count")
  local packets = breathe(3e6)
  print(1024 * (collectgarbage("count") - heap) / packets)]]

describe("the heap doesn't grow with packets #slow", function ()
  local path

  before_each(function () path = os.tmpname() end)
  after_each(function () os.remove(path) end)

  local function check(...)
    local said, status = testing.script(HEAP, {}, {...})
    assert.equal(0, status, said)
    local bytes = tonumber(said:match("([%d.e+-]+)\n$"))
    assert.is_true(bytes < 4, said)
  end

  for _, order in ipairs{"little", "big"} do
    local host, data = files.order(order), ("x"):rep(200)
    local kinds = {
      pcap = host:pcap_header() .. host:record(data):rep(5000),
      pcapng = host:section() .. host:interface() .. host:enhanced(data):rep(5000),
    }
    for kind, bytes in pairs(kinds) do
      it(("read from %s, %s-endian"):format(kind, order), function ()
        files.save(path, bytes)
        check("read", path, "limit", "1e9")
      end)
    end
  end

  for _, schedule in ipairs{{"speed", "1e6"}, {"bit_rate", "1e12"},
                            {"packet_rate", "1e9"}} do
    it("sent by " .. schedule[1], function ()
      local host, records = files.order("little"), {}
      for i = 1, 5000 do
        records[i] = host:record(("x"):rep(200), {sec = 1000, fraction = i})
      end
      files.save(path, host:pcap_header() .. table.concat(records))
      check("read", path, unpack(schedule))
    end)
  end

  for _, format in ipairs{"pcap", "pcapng"} do
    it("written to " .. format, function () check("write", path, format) end)
  end
end)
