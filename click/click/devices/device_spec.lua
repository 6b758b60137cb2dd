-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local testing = require("testing.support")

-- How many packets are received from that device before these are sent, as the element
-- and the Port app say.
local function at_once(device, text)
  local r = assert(click.router(text))
  local element = r.devices.by_text[device].receivers[1]
  local port = r.devices.by_text[device]:argument(1)
  r:close()
  return element.at_once, port.burst
end

describe("click.devices.device", function ()
  it("has as many packets at once as the first cache holds", function ()
    assert.same({32}, {at_once("null", 'FromDPDKDevice("null") -> Discard')})
  end)

  it("has full bursts where the cache is filled anyway", function ()
    local nat = 'FromDPDKDevice("null") -> %s -> Discard'
    assert.is_nil((at_once("null", nat:format("IPRewriter(keep 0 0)"))))
  end)

  it("has as many as BURST says", function ()
    for burst, expected in pairs{[64] = 64, [1] = 4, [1000] = 256} do
      assert.same({expected}, {at_once("null",
        ('FromDPDKDevice("null", BURST %d) -> Discard'):format(burst))})
    end
  end)

  it("has a port receive so many if it would like full bursts", function ()
    local file = os.tmpname()
    local device = "pcap:tx=" .. file
    assert.same({8, 8}, {at_once(device,
      ('FromDPDKDevice("%s", BURST 8) -> Discard'):format(device))})
    assert.same({32}, {at_once(device,
      ('FromDPDKDevice("%s") -> Discard'):format(device))})
    os.remove(file)
  end)

  it("has no more of files than the smallest queue has room for", function ()
    local file = testing.temporary("\xd4\xc3\xb2\xa1\2\0\4\0" .. ("\0"):rep(8)
      .. "\0\0\1\0\1\0\0\0")
    local function burst(text, device)
      local r = assert(click.router((text:gsub("FILE", "pcap:rx=" .. file))))
      local port = r.devices.by_text[device or "pcap:rx=" .. file]:argument(1)
      r:close()
      return port.burst
    end
    local queues = 'FromDPDKDevice("FILE") -> Queue(%s) -> Unqueue -> Queue -> Discard'
    assert.equal(100, burst(queues:format(100)))
    assert.equal(4, burst(queues:format(1)))
    assert.is_nil(burst(queues:format(256)))
    assert.equal(50, burst(queues:format(100)
      .. '; FromDPDKDevice("null") -> Discard'))
    assert.is_nil(burst('FromDPDKDevice("null") -> Queue(9) -> Discard', "null"))
    os.remove(file)
  end)

  it("is another one for each name where each may have a port for itself", function ()
    local function devices(options, text)
      local r = assert(click.router(text, {ports = options}))
      local n = 0
      for _ in pairs(r.devices.by_text) do n = n + 1 end
      r:close()
      return n
    end
    local two = "FromDevice(a) -> ToDevice(b)"
    assert.equal(2, devices({a = "null", b = "null"}, two))
    assert.equal(1, devices({a = "null", b = "null"}, "FromDevice(a) -> ToDevice(a)"))
    local file = "pcap:tx=" .. os.tmpname()
    assert.equal(1, devices({a = file, b = file}, two))
    os.remove((file:gsub("^pcap:tx=", "")))
  end)

  it("gives each receiver the queue that it wants, if it can", function ()
    local function queues(...)
      local text = ""
      for i, wanted in ipairs{...} do
        text = text .. ("f%d :: FromDPDKDevice(null%s) -> Discard;"):format(i, wanted)
      end
      local r, names = assert(click.router(text)), {}
      r.devices.by_text["null"]:settle()
      for i, e in ipairs(r.devices.by_text["null"].receivers) do names[i] = e.name end
      r:close()
      return table.concat(names, " ")
    end
    assert.equal("f1 f2 f3", queues("", "", ""))
    assert.equal("f3 f1 f2", queues(", 1", ", QUEUE 2", ", 0"))
    assert.equal("f2 f1 f3", queues("", ", 0", ""))
    assert.equal("f1 f2", queues(", 0", ", 0"))
    assert.equal("f1 f2", queues(", 7", ", -1"))
  end)
end)
