-- SPDX-License-Identifier: Apache-2.0
-- A NAT in a flood of SYNs, each from another source, that fills its table or its
-- ports: each packet is passed or counted, and connections in use stay as they are.
-- PERIGEE_LONG=1 sends 10 million.

local click = require("testing.click")
local dumps = require("testing.click_dumps")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")

local LONG = os.getenv("PERIGEE_LONG")
local SYNS, A_SECOND = LONG and 10e6 or 40e3, 20e3
local OLD = 200 -- connections in use
local SOURCE, SOURCE_PORT, HEADER = 12, 20, 20 -- offsets, bytes

local words_t = ffi.typeof("uint32_t *")

-- A packet that becomes others: of(source, port) writes it anew.
local function packets(line)
  local p = dumps.packet("src sport dst dport proto tcp_flags", line)
  local bytes, length = ffi.string(p.data, p.length), p.length
  packet.free(p)
  return function (source, port)
    local q = packet.from_pointer(bytes, length)
    note.clear(q)
    q.note16[note.NETWORK_HEADER] = q.data_off
    q.note16[note.TRANSPORT_HEADER] = q.data_off + HEADER
    ffi.cast(words_t, q.data + SOURCE)[0] = source
    q.data[SOURCE_PORT], q.data[SOURCE_PORT + 1] = math.floor(port / 256), port % 256
    return q
  end
end

-- What the unit makes of the packet: its source's port there; or nil, and it is counted
-- in `lost`, by the number of the reason.
local function translated(unit, q, lost)
  local out, reason = unit.element:process(q, 1)
  if not out then
    lost[reason] = (lost[reason] or 0) + 1
    packet.free(q)
    return nil
  end
  local port = out.data[SOURCE_PORT] * 256 + out.data[SOURCE_PORT + 1]
  packet.free(out)
  return port
end

local function sum(list)
  local n = 0
  for _, count in pairs(list) do n = n + count end
  return n
end

-- Flood the NAT; returns how many of the flood it passed, and how many not.
local function flood(unit)
  local syn = packets("1.0.0.1 1000 2.0.0.2 80 T S")
  local data = packets("1.0.0.1 1000 2.0.0.2 80 T A")
  local port_of, lost, passed = {}, {}, 0
  for i = 1, OLD do
    port_of[i] = assert(translated(unit, syn(i, 5000), lost))
    assert.equal(port_of[i], translated(unit, data(i, 5000), lost))
  end
  for n = 1, SYNS do
    if translated(unit, syn(0x1000000 + n, n % 60000 + 1), lost) then
      passed = passed + 1
    end
    if n % 50 == 0 then -- one of those in use
      local i = n / 50 % OLD + 1
      local port = translated(unit, data(i, 5000), lost)
      if port ~= port_of[i] then
        error(("connection %d has port %s, and had %d, after %d SYNs"):format(i,
          tostring(port), port_of[i], n))
      end
    end
    if n % A_SECOND == 0 then unit:wait(1) end
  end
  return passed, sum(lost)
end

describe("A NAT in a flood of SYNs", function ()
  for name, config in pairs{
    ["with a full table"] = "IPRewriter(pattern 9.0.0.9 1024-65535 - - 0 0, "
      .. "MAPPING_CAPACITY 20000)",
    ["without ports left"] = "IPRewriter(pattern 9.0.0.9 1024-4095 - - 0 0)",
    ["with a full table, TCP alone"] = "TCPRewriter(pattern 9.0.0.9 1024-65535 - - "
      .. "0 0, MAPPING_CAPACITY 20000)",
  } do
    it("loses none in use, " .. name, function ()
      local unit = click.unit(config)
      local passed, lost = flood(unit)
      assert.equal(SYNS, passed + lost)
      assert.truthy(passed > 0 and lost > 0)
      assert.truthy(tonumber(unit:read("size")) <= 20000)
      assert.equal(lost, tonumber((tostring(unit:read("mapping_failures")))))
    end)
  end
end)
