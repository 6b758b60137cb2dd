-- SPDX-License-Identifier: Apache-2.0
-- Client and server on wires of all kinds, with a simulated clock.

local bytes = require("net.wire.bytes")
local checksum = require("net.checksum.checksum")
local ffi = require("ffi")
local packet = require("core.packet")
local tcp_wire = require("testing.tcp_wire")

local IP, TCP = 14, 34
local PATTERN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+\n"
local FILLING = PATTERN:rep(1600)

local function balance(c)
  return c.closed + c.reset + c.refused + c.timed_out + c.aborted + c.open
end

-- Both sides count each connection once.
local function balanced(wire)
  for _, name in ipairs{"client", "server"} do
    local c = wire:counts(name)
    assert.equal(c.started, balance(c), name)
  end
end

-- Run it; what both sides counted.
local function run(options, n, most)
  local wire = tcp_wire.new(options)
  local over = wire:run(n, most)
  local client, server = wire:counts("client"), wire:counts("server")
  balanced(wire)
  wire:free()
  return client, server, over, wire
end

local function read16(p, at) return bytes.read16(p.data + at) end

local function write16(p, at, value) bytes.write16(p.data + at, value) end

-- Set the checksums of IPv4 and TCP, for `n` bytes of the latter.
local function set_checksums(p, n)
  write16(p, IP + 10, 0)
  write16(p, IP + 10, checksum.of(p.data + IP, 20))
  write16(p, TCP + 16, 0)
  local pseudo = checksum.pseudo4(p.data + IP, 6, n)
  write16(p, TCP + 16, checksum.of(p.data + TCP, n, pseudo))
end

-- Is each byte of the servers' data the one that its place in the answer says?
local function checked_data(length)
  local first, checked, wrong = {}, {n = 0}, 0
  return function (p, _, from_client)
    if from_client then return end
    local flags, seq = p.data[TCP + 13], bytes.read32(p.data + TCP + 4)
    local flow = ffi.string(p.data + IP + 16, 4) .. ffi.string(p.data + TCP + 2, 2)
    if bit.band(flags, 2) ~= 0 then first[flow] = seq + 1 end
    local header = bit.rshift(p.data[TCP + 12], 4) * 4
    local n = read16(p, IP + 2) - 20 - header
    if n <= 0 then return end
    local place = (seq - first[flow]) % 2^32 % length % #PATTERN
    if ffi.string(p.data + TCP + header, n) ~= FILLING:sub(place + 1, place + n) then
      wrong = wrong + 1
    end
    checked.n = checked.n + 1
  end, function () return checked.n, wrong end
end

describe("connections", function ()
  it("are opened, used and closed", function ()
    local client, server, over, wire = run({both = {request = 300, response = 20000,
      requests = 3, time_wait = 1}, delay = 4}, 100)
    assert.is_true(over)
    assert.same({100, 100, 100, 300, 300, 6e6, 9e4},
      {client.started, client.established, client.closed, client.requests,
       client.answers, client.bytes_received, client.bytes_sent})
    assert.same({100, 100, 100, 300, 300, 9e4, 6e6},
      {server.started, server.established, server.closed, server.requests,
       server.answers, server.bytes_received, server.bytes_sent})
    assert.equal(0, client.retransmits + server.retransmits)
    assert.equal(100, client.in_time_wait)
    assert.equal(100, wire.connect.count)
    assert.equal(300, wire.first_byte.count)
    assert.is_true(math.abs(wire.connect.least - 8 * 2^20) < 2e3)
  end)

  it("lose nothing where packets are lost, late and swapped", function ()
    local look, found = checked_data(50000)
    local client, server, over, wire = run({both = {response = 50000, requests = 2},
      loss = 0.03, swap = 0.05, late = 7, delay = 3, seen = look}, 200)
    assert.is_true(over)
    assert.equal(200, client.closed)
    assert.equal(200, server.closed)
    assert.equal(200 * 2 * 50000, client.bytes_received)
    assert.equal(200 * 2 * 100, server.bytes_received)
    assert.is_true(wire.lost > 200)
    assert.is_true(server.fast_retransmits > 50)
    assert.is_true(client.out_of_order > 50)
    local checked, wrong = found()
    assert.is_true(checked > 200 * 2 * 34)
    assert.equal(0, wrong)
  end)

  it("are 10,000 with loss, and whole #slow", function ()
    local client, server, over = run({both = {response = 20000, http = "/"},
      loss = 0.01, swap = 0.02, late = 9, delay = 5, seed = 99}, 10000)
    assert.is_true(over)
    assert.same({10000, 10000, 10000}, {client.closed, server.closed, client.answers})
    assert.equal(0, client.unreadable + server.unreadable + client.failed_answers)
  end)

  it("are a million at once #slow", function ()
    local wire = tcp_wire.new{both = {life = 8, idle = 60, response = 100}, delay = 1}
    for _ = 1, 4000 do wire:step(250) end
    for _ = 1, 20 do wire:step(0) end
    local client, server = wire:counts("client"), wire:counts("server")
    assert.same({1e6, 1e6, 1e6, 1e6, 0}, {client.open, client.answers, server.open,
      server.established, client.retransmits})
    assert.is_true(wire:run(1e6))
    client, server = wire:counts("client"), wire:counts("server")
    assert.same({1e6, 1e6}, {client.closed, server.closed})
    balanced(wire)
    wire:free()
  end)

  it("are IPv6's, and tagged, too", function ()
    local client, server, over = run({both = {clients = "2001:db8::1..2001:db8::9",
      servers = "2001:db8:1::/120", vlan = 100, peer_mac = "02:00:00:00:00:02",
      response = 5000}, loss = 0.02}, 300)
    assert.is_true(over)
    assert.same({300, 300}, {client.closed, server.closed})
    assert.equal(300 * 5000, client.bytes_received)
  end)

  it("speak HTTP, and close when asked to", function ()
    local client, server, over = run({both = {http = "/a", response = 3000,
      requests = 4}}, 50)
    assert.is_true(over)
    assert.same({200, 200, 0, 0}, {client.answers, server.answers, client.unreadable,
      client.failed_answers})
    local head = ("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
      .. "Content-Length: 3000\r\n\r\n")
    assert.equal(200 * (#head + 3000), client.bytes_received)
  end)

  it("exchange datagrams, and ask again for those that are lost", function ()
    for _, addresses in ipairs{{"10.0.0.1", "10.0.1.1"},
                               {"2001:db8::1", "2001:db8::2"}} do
      local client, server, over = run({both = {udp = true, requests = 4,
        clients = addresses[1], servers = addresses[2], response = 700, think = 0.1,
        timeout = 60},
        loss = 0.1, swap = 0.1, late = 3, delay = 2}, 200)
      assert.is_true(over)
      assert.same({200, 200, 200, 800}, {client.started, client.established,
        client.closed, client.answers})
      assert.is_true(client.retransmits > 80 and client.timeouts >= client.retransmits)
      assert.equal(800 * 100, client.bytes_sent)
      assert.equal(client.bytes_received, (800 + client.duplicates) * 700)
      assert.is_true(server.requests >= 800)
      assert.equal(0, server.started)
    end
  end)

  it("end where datagrams get no answer", function ()
    local client, _, over = run({both = {udp = true, timeout = 4}, loss = 1}, 20, 60000)
    assert.is_true(over)
    assert.same({20, 0}, {client.timed_out, client.established})
  end)

  it("are refused where nobody listens", function ()
    local client, server, over = run({client = {server_ports = "81"},
      server = {server_ports = "80"}}, 5)
    assert.is_true(over)
    assert.same({5, 0, 0, 5}, {client.refused, client.established, server.started,
      server.resets_sent})
    client, server = run({server = {held = true}}, 5)
    assert.same({5, 0}, {client.refused, server.started})
  end)

  it("are none of groups'", function ()
    for _, at in ipairs{6, IP + 12} do
      local client, server = run({both = {timeout = 2}, change = function (p)
          p.data[at] = 0xe1
          set_checksums(p, read16(p, IP + 2) - 20)
        end}, 2, 5000)
      assert.same({2, 0, 0}, {client.timed_out, server.started, server.resets_sent})
      assert.is_true(server.malformed > 0)
    end
  end)

  it("send short segments to those that don't say how long they may be", function ()
    for most, addresses in pairs{[536] = {"10.0.0.1", "10.0.1.1"},
                                 [1220] = {"2001:db8::1", "2001:db8::2"}} do
      local longest, v6 = 0, most == 1220
      local tcp = v6 and 54 or TCP
      local client, _, over = run({both = {response = 9000, clients = addresses[1],
          servers = addresses[2]}, change = function (p, from_client)
          if not from_client then longest = math.max(longest, p.length - tcp - 20) end
          if bit.band(p.data[tcp + 13], 2) == 0 or not from_client then return end
          ffi.fill(p.data + tcp + 20, 4, 1) -- no operation
          local pseudo = v6 and checksum.pseudo6 or checksum.pseudo4
          write16(p, tcp + 16, 0)
          write16(p, tcp + 16, checksum.of(p.data + tcp, p.length - tcp,
            pseudo(p.data + IP, 6, p.length - tcp)))
        end}, 1)
      assert.is_true(over)
      assert.same({1, most}, {client.closed, longest})
    end
  end)

  it("believe no segment with a wrong checksum", function ()
    local client, server = run({change = function (p, from_client)
        if from_client then return end
        p.data[TCP + 13] = 0x14 -- RST and ACK
      end}, 5, 30000)
    assert.equal(5, client.timed_out)
    assert.is_true(client.bad_checksum > 0)
    assert.equal(0, server.established)
  end)

  it("end after the timeout where nothing comes through", function ()
    local client, server, over, wire = run({both = {timeout = 4}, loss = 1}, 20, 60000)
    assert.is_true(over)
    assert.same({20, 0, 0}, {client.timed_out, client.established, server.started})
    assert.is_true(wire.tick > 3800 and wire.tick < 3900)
    -- after 1 s, and 2 more (RFC 6298)
    assert.equal(40, client.timeouts)
  end)

  it("end where the peer goes away within", function ()
    local silent = false
    local wire = tcp_wire.new{both = {response = 1e6, timeout = 2, idle = 5},
      delay = 2, change = function (_, _, w) w.options.loss = silent and 1 or 0 end}
    for _ = 1, 20 do wire:step(2) end
    silent = true
    for _ = 1, 20000 do wire:step(0) end
    local client, server = wire:counts("client"), wire:counts("server")
    assert.equal(client.started, client.timed_out)
    assert.equal(server.started, server.timed_out)
    balanced(wire)
    wire:free()
  end)

  it("wait for a window that is closed", function ()
    local closed = true
    local function change(p, from_client, wire)
      if not from_client or bit.band(p.data[TCP + 13], 2) ~= 0 then return end
      closed = wire.tick < 3000
      if not closed then return end
      write16(p, TCP + 14, 0) -- the window
      set_checksums(p, read16(p, IP + 2) - 20)
    end
    local client, server, over = run({both = {response = 30000, timeout = 20},
      change = change}, 3)
    assert.is_true(over)
    assert.same({3, 3, 90000}, {client.closed, server.closed, client.bytes_received})
    assert.is_true(server.probes > 3)
    assert.is_false(closed)
  end)

  it("wait for a window for as long as the peer answers", function ()
    local first
    local function change(p, from_client, wire)
      local syn = bit.band(p.data[TCP + 13], 2) ~= 0
      if not from_client or syn or wire.tick >= 20000 then return end
      first = first or ffi.string(p.data + TCP + 8, 4)
      ffi.copy(p.data + TCP + 8, first, 4) -- nothing more is acknowledged,
      write16(p, TCP + 14, 0)              -- nor wanted
      set_checksums(p, read16(p, IP + 2) - 20)
    end
    local client, server, over = run({both = {response = 30000, timeout = 60},
      server = {timeout = 5}, change = change}, 1)
    assert.is_true(over)
    assert.same({1, 1, 30000}, {client.closed, server.closed, server.bytes_sent})
    assert.equal(0, server.fast_retransmits)
    assert.equal(server.probes - 1, server.bytes_resent) -- a byte each
  end)

  it("live as long as they are to, with pauses", function ()
    local _, _, over, wire = run({both = {requests = 3, think = 0.5, life = 4}}, 10)
    assert.is_true(over)
    assert.is_true(wire.tick > 3800 and wire.tick < 4200)
  end)

  it("are limited, and use addresses again", function ()
    local client, server, over = run({both = {clients = "10.0.0.1..10.0.0.2",
      client_ports = "1..20", time_wait = 0.01}, client = {limit = 8}}, 500)
    assert.is_true(over)
    assert.same({500, 500, 0}, {client.closed, server.closed, server.reset})
  end)

  it("are aborted with resets", function ()
    local C = require("core.native")
    local wire = tcp_wire.new{both = {life = 100}}
    for _ = 1, 20 do wire:step(2) end
    local e = wire.client.endpoint
    assert.is_true(C.pg_tcp_abort(e, ffi.new("uint32_t[1]")))
    for _ = 1, 20 do wire:step(0) end
    local client, server = wire:counts("client"), wire:counts("server")
    assert.same({40, 0}, {client.aborted, client.open})
    assert.equal(server.started, server.reset)
    balanced(wire)
    wire:free()
  end)

  it("bear any packet", function ()
    local random = {state = 5}
    local function draw(n)
      random.state = (random.state * 16807) % 2147483647
      return random.state % n
    end
    local function change(p)
      if draw(3) > 0 then return end
      for _ = 1, 1 + draw(4) do p.data[draw(p.length)] = draw(256) end
      if draw(4) == 0 then packet.resize(p, draw(p.length + 1)) end
      if draw(2) == 0 and p.length > TCP + 20 then -- let it be looked at
        set_checksums(p, p.length - TCP)
      end
    end
    local client, server, over = run({both = {http = "/", response = 9000, requests = 3,
      timeout = 5, idle = 20}, change = change}, 3000)
    assert.is_true(over)
    assert.is_true(client.malformed + server.malformed > 100)
  end)
end)
