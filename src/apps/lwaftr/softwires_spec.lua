-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local Softwires = require("apps.lwaftr.softwires")

local function softwire(ipv4, psid, length, b4, reserved)
  local s = ffi.new("struct softwire",
    {ipv4 = ipv4, psid = psid, psid_length = length, reserved = reserved or 0})
  ffi.cast("uint32_t *", s.ends.b4)[0] = b4
  s.ends.br[15] = 1
  return s
end

-- assert.equal takes its time.
local function same(a, b) if a ~= b then error(("%s, not %s"):format(b, a), 2) end end

local function b4(ends) return ends and ffi.cast("uint32_t *", ends.b4)[0] end

-- The same table, plainly: [address][psid] = B4, and the addresses' port sets.
local function model()
  return {sets = {}, count = 0, at = {}}
end

local function model_find(m, ipv4, port)
  local set = m.sets[ipv4]
  if not set then return nil end
  local length, reserved = unpack(set)
  if reserved > 0 and port < 2^reserved then return nil end
  return m.at[ipv4][math.floor(port / 2^(16 - length - reserved)) % 2^length]
end

local function add(m, t, ipv4, psid, value)
  local set = m.sets[ipv4] or {math.random(0, 16), 0}
  if not m.sets[ipv4] and math.random(3) == 1 then
    set[2] = math.random(0, 16 - set[1])
  end
  local at = m.at[ipv4] or {}
  if not at[psid] then m.count = m.count + 1 end
  m.sets[ipv4], m.at[ipv4], at[psid] = set, at, value
  t:add(softwire(ipv4, psid, set[1], value, set[2]), true)
end

local function remove(m, t, ipv4, psid)
  local there = m.at[ipv4] and m.at[ipv4][psid] ~= nil
  same(there or false, t:remove(ipv4, psid))
  if not there then return end
  m.count, m.at[ipv4][psid] = m.count - 1, nil
  if next(m.at[ipv4]) == nil then m.at[ipv4], m.sets[ipv4] = nil, nil end
end

describe("the binding table", function ()
  it("finds what a plain one finds, whatever is added and removed", function ()
    math.randomseed(16)
    local t, m = Softwires.new(), model()
    for round = 1, 30000 do
      local ipv4 = 0xc0000200 + math.random(0, 40)
      local set = m.sets[ipv4]
      local psid = math.random(0, set and math.min(2^set[1], 65535) or 300)
      -- Phases of growing and of shrinking.
      if math.random() < (round % 10000 < 6000 and 0.8 or 0.3) then
        add(m, t, ipv4, psid, round)
      else
        remove(m, t, ipv4, psid)
      end
      local port, other = math.random(0, 65535), 0xc0000200 + math.random(0, 41)
      same(model_find(m, other, port), b4(t:find(other, port)))
      same(m.sets[other] ~= nil and m.sets[other][2] < 16, t:is_managed(other))
    end
    assert.equal(m.count, t:count())
    local list, n = t:list()
    assert.equal(m.count, n)
    for i = 0, n - 1 do
      local s = list[i]
      same(m.at[s.ipv4][s.psid], b4(s.ends))
      same(m.sets[s.ipv4][1], s.psid_length)
      same(m.sets[s.ipv4][2], s.reserved)
      assert(i == 0 or list[i - 1].ipv4 < s.ipv4
        or list[i - 1].ipv4 == s.ipv4 and list[i - 1].psid < s.psid)
    end
  end)

  it("gives a port set all its ports, and no others", function ()
    local t = Softwires.new()
    t:add(softwire(1, 4, 6, 7)) -- ports 4096 to 5119
    t:add(softwire(2, 0, 0, 8)) -- all
    t:add(softwire(3, 1, 6, 9, 2)) -- bits: 2 + 6 + 8
    assert.equal(3, t:count())
    for port = 0, 65535 do
      same(port >= 4096 and port < 5120 and 7 or nil, b4(t:find(1, port)))
      same(8, b4(t:find(2, port)))
      local psid = math.floor(port / 256) % 64
      same(psid == 1 and 9 or nil, b4(t:find(3, port)))
    end
  end)

  it("refuses what can't be, in a sentence", function ()
    local t = Softwires.new()
    t:add(softwire(0xc0000201, 1, 6, 1))
    for wrong, s in pairs{
      ["softwire 192.0.2.1 psid 1 is there already"] = softwire(0xc0000201, 1, 6, 1),
      ["softwire 192.0.2.1 psid 2 has psid-length 7 and reserved-ports-bit-count 0, "
        .. "but others of its address have 6 and 0"] = softwire(0xc0000201, 2, 7, 1),
      ["softwire 192.0.2.2 psid 0: psid-length 16 and reserved-ports-bit-count 1 are "
        .. "more than 16 bits"] = softwire(0xc0000202, 0, 16, 1, 1),
      ["softwire 192.0.2.2 psid 0: '::' isn't the address of a B4"] =
        softwire(0xc0000202, 0, 16, 0),
    } do
      local ok, err = pcall(t.add, t, s)
      assert.same({false, wrong}, {ok, tostring(err)})
    end
    assert.equal(1, t:count())
  end)

  it("takes no more memory when softwires come and go #slow", function ()
    local t = Softwires.new()
    local function round(first)
      for psid = 0, 1023 do t:add(softwire(first, psid, 10, 1)) end
      for psid = 0, 1023 do same(true, t:remove(first, psid)) end
    end
    round(1)
    local before = t:bytes()
    for i = 2, 200 do round(i) end
    assert.equal(before, t:bytes())
    assert.equal(0, t:count())
  end)
end)
