-- SPDX-License-Identifier: Apache-2.0
local config = require("core.config")
local counter = require("core.counter")
local engine = require("core.app")
local link = require("core.link")
local metadata = require("apps.rss.metadata")
local packet = require("core.packet")
local rss = require("apps.rss.rss").rss

local bytes = require("net.wire.bytes").from_hex

local MACS = "020000000001020000000002"
-- To 10.0.0.2, TTL 64, UDP, with 4 bytes behind the UDP header.
local function ip4(source, port, fragment)
  return bytes(("%s0800 45000020 0001%04x 4011 0000 0a00%04x 0a000002 %04x0035 000c0000"
    .. "61626364"):format(MACS, fragment or 0, source, port))
end

-- UDP behind a hop-by-hop header, a fragment header and an authentication header.
local EXTENSIONS = bytes[[2c00000000000000 3300001000000001
  1104000000000001 00000002 aabbccdd00112233 44556677]]
local function ip6(extensions)
  local first = #extensions > 0 and "00" or "11"
  return bytes(("%s86dd 60000000 %04x %s40 20010db8000000000000000000000001"
    .. "20010db8000000000000000000000002"):format(MACS, 12 + #extensions, first))
    .. extensions .. bytes("04d20035000c0000 61626364")
end

local function tagged(frame, vlan)
  return frame:sub(1, 12) .. bytes(("8100%04x"):format(vlan)) .. frame:sub(13)
end

local function text(p) return require("ffi").string(p.data, p.length) end

describe("apps.rss.metadata", function ()
  it("tells what is in the headers", function ()
    for _, tag in ipairs{0, 4} do
      local frame = ip4(1, 1234)
      local p = packet.from_string(tag == 0 and frame or tagged(frame, 0x2007))
      local m = metadata.add(p)
      assert.equal(0x0800, m.ethertype)
      assert.equal(tag == 0 and 0 or 7, m.vlan)
      assert.same({32, 17, 0, 0, tag, 14 + tag, 34 + tag, 46}, {m.total_length, m.proto,
        m.frag_offset, m.length_delta, m.filter_offset, m.l3_offset, m.l4_offset,
        m.filter_length})
      assert.is_true(m.l3 == p.data + 14 + tag and m.l4 == p.data + 34 + tag)
      assert.is_true(m.filter_start == p.data + tag)
      packet.free(p)
    end
  end)

  it("takes IPv6 extension headers off, or passes over them", function ()
    local size = #EXTENSIONS
    local p = packet.from_string(ip6(EXTENSIONS))
    local m = metadata.add(p, false)
    assert.same({17, 2, 54 + size, 40 + 12 + size, 0},
      {m.proto, m.frag_offset, m.l4_offset, m.total_length, m.length_delta})
    assert.equal(ip6(EXTENSIONS), text(p))
    m = metadata.add(p, true)
    assert.same({17, 2, 54, 52, 0},
      {m.proto, m.frag_offset, m.l4_offset, m.total_length, m.length_delta})
    assert.equal(ip6(""), text(p))
    packet.free(p)
  end)

  it("reads nothing behind a packet's end", function ()
    for _, frame in ipairs{ip4(1, 2), ip6(EXTENSIONS), tagged(ip4(1, 2), 5),
      tagged(ip6(EXTENSIONS), 5)} do
      for n = 0, #frame - 1 do
        local p = packet.from_string(frame:sub(1, n))
        local m = metadata.add(p, true)
        assert.is_true(m.filter_length <= p.length)
        if n < 14 + 20 then assert.equal(0, m.proto) end
        assert.is_true(p.length == n or m.proto == 17)
        packet.free(p)
      end
    end
  end)

  it("stays with the packet as its start moves, and with copies", function ()
    local p = packet.from_string(tagged(ip4(1, 1234), 9))
    metadata.add(p, false, 12)
    p = packet.shiftright(packet.shiftleft(p, 18), 100)
    assert.equal(12, metadata.get(p).vlan)
    p = packet.shiftleft(p, 82)
    local copied = metadata.copy(p)
    local m = metadata.get(copied)
    assert.is_true(m.l3 == copied.data + 18 and m.vlan == 12)
    packet.free(p)
    packet.free(copied)
  end)

  it("makes room for itself", function ()
    local p = packet.from_string(ip4(1, 1234))
    packet.prepend(p, p.data, p.data_off - 3)
    p.length = 0
    packet.append(p, ip4(1, 1234), 46)
    assert.equal(3, p.data_off)
    metadata.add(p)
    assert.equal(ip4(1, 1234), text(p))
    assert.is_true(metadata.get(p).l3 == p.data + 14)
    packet.free(p)
  end)

  it("says that there is none", function ()
    local p = packet.allocate()
    p.buf_addr[0] = 0
    assert.has_error(function () metadata.get(p) end, "the packet has no metadata")
    packet.free(p)
  end)
end)

-- An rss app of this configuration, with these links out.
local function start(conf, outputs)
  local c = config.new()
  local idle = {new = function (self) return setmetatable({}, {__index = self}) end}
  config.app(c, "source", idle)
  config.app(c, "rss", rss, conf)
  config.link(c, "source.output -> rss.input")
  config.link(c, "source.tagged -> rss.vlan77")
  for _, name in ipairs(outputs) do
    config.app(c, "to_" .. name, idle)
    config.link(c, ("rss.%s -> to_%s.input"):format(name, name))
  end
  engine.configure(c)
  return engine.app_table.rss
end

local function push(app, frames, input)
  input = input or "input"
  for _, frame in ipairs(frames) do
    link.transmit(app.input[input], packet.from_string(frame))
  end
  app.push_link[input](app, app.input[input])
end

-- What came out of the link: an array of strings.
local function came(app, name)
  local list = {}
  for _ = 1, link.nreadable(app.output[name]) do
    local p = link.receive(app.output[name])
    list[#list + 1] = text(p)
    packet.free(p)
  end
  return list
end

describe("apps.rss.rss", function ()
  after_each(function () engine.configure(config.new()) end)

  it("hands flows out, each to one link", function ()
    local app = start({}, {"default_1", "default_2", "default_c_2"})
    local link_of, shares = {}, {}
    for _ = 1, 2 do
      for flow = 0, 1999 do
        push(app, {ip4(flow, 1000 + flow)})
        for _, name in ipairs{"default_1", "default_2", "default_c_2"} do
          for _, frame in ipairs(came(app, name)) do
            assert.equal(link_of[frame] or name, name)
            link_of[frame] = name
            shares[name] = (shares[name] or 0) + 1
          end
        end
      end
    end
    assert.is_true(math.abs(shares.default_1 - 1000) < 200) -- of 4000, weight 1 of 4
    assert.is_true(math.abs(shares.default_2 - 1000) < 200)
    assert.is_true(math.abs(shares.default_c_2 - 2000) < 250)
    assert.equal(4000, tonumber(counter.read(app.shm.rxpackets)))
  end)

  it("sends later fragments of a datagram to one link", function ()
    local app = start({}, {"default_1", "default_2"})
    for port = 1, 50 do push(app, {ip4(5, port, 0x2004)}) end
    local one, two = #came(app, "default_1"), #came(app, "default_2")
    assert.equal(50, one + two)
    assert.is_true(one == 0 or two == 0)
  end)

  it("sorts into classes, with copies where they continue", function ()
    local app = start({classes = {
      {name = "dns", filter = "udp dst port 53", continue = true},
      {name = "tag", filter = "VLAN 5 77"},
      {name = "both", filter = "VLAN 6 BPF ip6"},
    }}, {"dns_1", "tag_1", "both_1", "default_1"})
    local plain, five = ip4(1, 1), tagged(ip4(2, 2), 5)
    local six4, six6 = tagged(ip4(3, 3), 6), tagged(ip6(""), 6)
    push(app, {plain, five, six4, six6, "short"})
    assert.same({plain, five, six4, six6}, came(app, "dns_1"))
    assert.same({five}, came(app, "tag_1"))
    assert.same({six6}, came(app, "both_1"))
    assert.same({plain, six4, "short"}, came(app, "default_1"))
    push(app, {plain}, "vlan77")
    assert.same({plain}, came(app, "tag_1"))
    assert.equal(6, tonumber(counter.read(app.shm.rxpackets)))
  end)

  it("drops and counts what is in no class", function ()
    local app = start({default_class = false,
      classes = {{name = "v6", filter = "ip6"}}}, {"v6_1"})
    push(app, {ip4(1, 1), ip6(EXTENSIONS), ip4(1, 2)})
    assert.same({ip6("")}, came(app, "v6_1"))
    assert.equal(2, tonumber(counter.read(app.shm.rxdrops_filter)))
  end)

  it("refuses wrong classes", function ()
    assert.has_error(function ()
      rss:new{classes = {{name = "a", filter = "ip"}, {name = "a", filter = "ip6"}}}
    end)
    local wrong = {a = "ipp", b = "VLAN x", c = "VLAN 4096", ["a-b"] = "ip"}
    for name, filter in pairs(wrong) do
      local conf = {classes = {{name = name, filter = filter}}}
      assert.has_error(function () rss:new(conf) end)
    end
  end)
end)
