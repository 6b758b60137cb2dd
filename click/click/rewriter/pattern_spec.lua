-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local C = require("core.declare")("native/flows.h")
local FlowSet = require("click.rewriter.flow_set")
local Pattern = require("click.rewriter.pattern")

local function parse(text)
  local words = {}
  for word in text:gmatch("%S+") do words[#words + 1] = word end
  return Pattern.parse(words, {})
end

local function new_set()
  local set = FlowSet.new()
  return set, set:kind(C.REWRITE_PORTS, 5, {300}, ffi.new("uint32_t[256]"))
end

-- Add a flow that rewrites `key` so.
local function add(set, kind, key, rewritten, input)
  local model = ffi.new("struct click_flow")
  model.key[0], model.kind, model.input = key, kind, input or 0
  assert(C.pg_flows_add(set.flows, model, rewritten, 0) > 0)
end

local function shown(key)
  local source, sport, destination, dport = FlowSet.parts(key)
  return ("%s %d %s %d"):format(FlowSet.address_text(source), sport,
    FlowSet.address_text(destination), dport)
end

describe("a rewriter's pattern", function ()
  it("has a text of its own", function ()
    for text, wanted in pairs{
      ["1.0.0.1 1024-65535# - -"] = "1.0.0.1 1024-65535 - -",
      ["1.0.0.1 80 2.0.0.2 81"] = "1.0.0.1 80 2.0.0.2 81",
      ["- - - -"] = "- - - -", ["1.0.0.1 -"] = "1.0.0.1 -",
      ["1.0.0.1-1.0.0.9? 2.0.0.2"] = "1.0.0.1-1.0.0.9 2.0.0.2",
      ["1.0.0.1/24 -"] = "1.0.0.1-1.0.0.254 -", ["1.0.0.1/31 -"] = "1.0.0.0-1.0.0.1 -",
      ["1.0.0.1/32 -"] = "1.0.0.1 -", ["2.0.0.2 - 0-65535"] = "2.0.0.2 - - -",
    } do
      assert.equal(wanted, parse(text):text())
    end
  end)

  it("is refused in Click's words", function ()
    for text, wanted in pairs{
      [""] = "syntax error", ["1 2 3 4 5"] = "syntax error",
      ["pat"] = "no such pattern 'pat'", ["x -"] = "bad source address",
      ["1.0.0.9-1.0.0.1 -"] = "bad source address",
      ["1.0.0.1 70000 - -"] = "bad source port",
      ["1.0.0.1 9-1 - -"] = "bad source port",
      ["1.0.0.1 0 - -"] = "bad source port", ["1.0.0.1 x"] = "bad destination address",
      ["1.0.0.1 - - x"] = "bad destination port",
    } do
      assert.same({nil, wanted}, {parse(text)})
    end
  end)

  it("takes the packet's own port if it can, else one that is free", function ()
    local set, kind = new_set()
    local pattern = parse("9.0.0.9 1024-1026 - -")
    local ports = {}
    for i = 1, 3 do
      local key = FlowSet.key(0x01000000 + i, 1025, 0x02000002, 80)
      local new = pattern:rewrite(key, set.flows, kind)
      local _, sport = FlowSet.parts(new)
      if i == 1 then assert.equal("9.0.0.9 1025 2.0.0.2 80", shown(new)) end
      ports[sport] = true
      add(set, kind, key, new)
    end
    assert.same({[1024] = true, [1025] = true, [1026] = true}, ports)
    local other = FlowSet.key(0x01000009, 1025, 0x02000002, 80)
    assert.is_nil(pattern:rewrite(other, set.flows, kind))
    -- To another place all are free.
    local elsewhere = FlowSet.key(0x01000009, 1025, 0x02000003, 80)
    assert.equal("9.0.0.9 1025 2.0.0.3 80",
      shown(pattern:rewrite(elsewhere, set.flows, kind)))
  end)

  local function key_from(source) return FlowSet.key(source, 7, 0x02000002, 80) end

  -- Add flows `first` to `last`; the last one's port.
  local function fill(pattern, set, kind, first, last)
    local port
    for i = first, last do
      local key = key_from(i)
      local new = assert(pattern:rewrite(key, set.flows, kind), i)
      add(set, kind, key, new)
      port = select(2, FlowSet.parts(new))
    end
    return port
  end

  it("looks at 512 numbers for a packet, and goes on with the next", function ()
    local set, kind = new_set()
    local pattern = parse("9.0.0.9 1024-65535# - -")
    assert.equal(1024 + 5 * 512, fill(pattern, set, kind, 1, 5 * 512 + 1))
    pattern.next = 0
    for _ = 1, 5 do
      assert.is_nil(pattern:rewrite(key_from(9999), set.flows, kind))
    end
    assert.equal(1024 + 5 * 512 + 1, fill(pattern, set, kind, 9999, 9999))
  end)

  it("finds ports until 97 of 100 are used, also side by side", function ()
    for _, order in ipairs{"#", "?"} do
      local set, kind = new_set()
      fill(parse("9.0.0.9 1024-19023" .. order .. " - -"), set, kind, 1, 17400)
      fill(parse("9.0.0.9 1024-21023 - -"), set, kind, 20001, 22000)
      assert.equal(17400 + 2000, set:size())
    end
  end)

  -- How many numbers each of the packets from `first` to `last` makes it look at, by
  -- whether it gets one.
  local function work(pattern, set, kind, first, last)
    local sum, found = 0, 0
    for i = first, last do
      local before = set.flows.choices
      local new = pattern:rewrite(key_from(i), set.flows, kind)
      sum = sum + tonumber(set.flows.choices - before)
      if new then
        found = found + 1
        add(set, kind, key_from(i), new)
      end
    end
    return sum / (last - first + 1), found
  end

  it("looks at each number that is used once, however full the range is", function ()
    for text, n in pairs{["9.0.0.9 1024-21023 - -"] = 20000,
                         ["9.0.0.9 1024-21023# - -"] = 20000,
                         ["9.0.0.9 2000-2299? - -"] = 300,
                         ["10.0.0.1-10.0.78.32 -"] = 20000} do
      local set, kind = new_set()
      local pattern = parse(text)
      local filling, found = work(pattern, set, kind, 1, n)
      assert.equal(n, found) -- each gets one, the last one too
      assert.is_true(filling < 4, text .. ": " .. filling)
      work(pattern, set, kind, n + 1, n + 40) -- what wasn't noted yet
      assert.same({0, 0}, {work(pattern, set, kind, n + 100, n + 200)})
    end
  end)

  it("finds what comes free in a full range, and forgets an emptied one", function ()
    local set, kind = new_set()
    local pattern = parse("9.0.0.9 1024-3023 - -")
    for i = 1, 2000 do
      local new = pattern:rewrite(key_from(i), set.flows, kind)
      add(set, kind, key_from(i), new, i % 100 == 0 and 1 or 0)
    end
    work(pattern, set, kind, 3001, 3010)
    for turn = 1, 3 do
      C.pg_flows_remove_input(set.flows, kind, 1)
      local filled = turn * 10000
      for i = filled, filled + 19 do
        local new = assert(pattern:rewrite(key_from(i), set.flows, kind))
        add(set, kind, key_from(i), new, 1)
      end
      assert.same({0, 0}, {work(pattern, set, kind, filled + 20, filled + 30)})
    end
    C.pg_flows_remove_input(set.flows, kind, 0)
    assert.same({1, 1}, {work(pattern, set, kind, 90001, 90001)})
    assert.same(1980 - 1, select(2, work(pattern, set, kind, 90002, 93000)))
  end)

  it("finds one exactly when one is free, of two ranges that overlap", function ()
    math.randomseed(37)
    local set, kind = new_set()
    local ranges = {{1024, 1323}, {1200, 1449}}
    local inputs, used, wrong = {}, {}, {}
    for i, r in ipairs(ranges) do
      local mark = i == 1 and "" or "?"
      inputs[i] = parse(("9.0.0.9 %d-%d%s - -"):format(r[1], r[2], mark))
    end
    local function is_full(r)
      for port = r[1], r[2] do if not used[port] then return false end end
      return true
    end
    for i = 1, 20000 do
      local which, input = math.random(2), math.random(0, 30)
      local key = key_from(i)
      local full = is_full(ranges[which])
      local new = inputs[which]:rewrite(key, set.flows, kind)
      if full ~= (new == nil) then wrong[#wrong + 1] = i end
      if new then
        local port = select(2, FlowSet.parts(new))
        if used[port] then wrong[#wrong + 1] = i end
        used[port] = input + 1
        add(set, kind, key, new, input)
      end
      if i % 600 == 0 or i % 40 == 0 and i % 3000 > 2000 then
        C.pg_flows_remove_input(set.flows, kind, input)
        for port, by in pairs(used) do if by == input + 1 then used[port] = nil end end
      end
    end
    assert.same({}, wrong)
  end)

  it("goes in order with '#', for addresses too", function ()
    local set, kind = new_set()
    local pattern = parse("9.0.0.1-9.0.0.3# -")
    local list = {}
    for i = 1, 4 do
      local key = FlowSet.key(i, 7, 0x02000002 + i, 80)
      list[i] = FlowSet.address_text((FlowSet.parts(
        pattern:rewrite(key, set.flows, kind))))
    end
    assert.same({"9.0.0.1", "9.0.0.2", "9.0.0.3", "9.0.0.1"}, list)
  end)
end)
