-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local C = require("core.declare")("native/flows.h")
local FlowSet = require("click.rewriter.flow_set")

local GUARANTEE, TIMEOUT, STREAMING = 5, 20, 60

local function key_of(i) return FlowSet.key(0x01000000 + i, 1000, 0x02000002, 80) end
local function new_key_of(i) return FlowSet.key(0x09000009, i, 0x02000002, 80) end

local function new_set()
  local set, counts = FlowSet.new(), ffi.new("uint32_t[256]")
  local kind = set:kind(C.REWRITE_PORTS, GUARANTEE, {TIMEOUT, STREAMING}, counts)
  return set, kind, counts
end

local function add(set, kind, i, now, input)
  local model = ffi.new("struct click_flow")
  model.key[0], model.kind, model.input = key_of(i), kind, input or 0
  return C.pg_flows_add(set.flows, model, new_key_of(i), now)
end

local function find(set, kind, i)
  return C.pg_flows_find(set.flows, kind, key_of(i))
end

describe("a set of flows", function ()
  it("finds a flow by its key, and by that of replies", function ()
    local set, kind, counts = new_set()
    local flow = add(set, kind, 7, 0)
    assert.equal(2 * flow, find(set, kind, 7))
    local reply = FlowSet.reversed(new_key_of(7))
    assert.equal(2 * flow + 1, C.pg_flows_find(set.flows, kind, reply))
    assert.equal(0, find(set, kind, 8))
    assert.same({0x09000009, 7, 0x02000002, 80},
      {FlowSet.parts(set:rewritten(2 * flow))})
    assert.same({0x02000002, 80, 0x01000007, 1000},
      {FlowSet.parts(set:rewritten(2 * flow + 1))})
    assert.same({1, 1}, {set:size(), counts[0]})
    set:reap(0, true)
    assert.same({0, 0, 0}, {set:size(), counts[0], find(set, kind, 7)})
  end)

  it("removes what an input has made", function ()
    local set, kind, counts = new_set()
    for i = 1, 10 do add(set, kind, i, 0, i % 2) end
    C.pg_flows_remove_input(set.flows, kind, 1)
    assert.same({5, 5, 0}, {set:size(), counts[0], counts[1]})
    assert.equal(0, find(set, kind, 3))
    assert.is_true(find(set, kind, 4) > 0)
  end)

  it("replaces a flow whose replies another one takes", function ()
    local set, kind = new_set()
    add(set, kind, 1, 0)
    local model = ffi.new("struct click_flow")
    model.key[0], model.kind = key_of(2), kind
    assert.is_true(C.pg_flows_add(set.flows, model, new_key_of(1), 0) > 0)
    assert.same({1, 0}, {set:size(), find(set, kind, 1)})
  end)

  it("shows mappings and when they end", function ()
    local set, kind = new_set()
    add(set, kind, 7, 0)
    assert.equal("(1.0.0.7, 1000, 2.0.0.2, 80) => (9.0.0.9, 7, 2.0.0.2, 80)"
      .. " [*0 0] i0 exp20\n"
      .. "(2.0.0.2, 80, 9.0.0.9, 7) => (2.0.0.2, 80, 1.0.0.7, 1000)"
      .. " [0 *0] i0 exp20\n", set:table(kind, 0))
  end)
end)

-- What the same does in a few lines of Lua: flows in order of expiry.
local Model = {}
Model.__index = Model

local function best_effort(f)
  return f.expiry + (TIMEOUT - GUARANTEE) * 1000
end

function Model:touch(i, now)
  local f = self.flows[i]
  f.guaranteed, f.expiry = true, now + GUARANTEE * 1000
end

function Model:end_guarantees(now)
  for _, f in pairs(self.flows) do
    if f.guaranteed and f.expiry <= now then
      f.guaranteed, f.expiry = false, best_effort(f)
    end
  end
end

-- The flow that goes first, of those with or without a guarantee.
function Model:first(guaranteed)
  local best
  for i, f in pairs(self.flows) do
    if f.guaranteed == guaranteed
        and (not best or f.expiry < self.flows[best].expiry) then
      best = i
    end
  end
  return best
end

function Model:remove(i)
  self.flows[i] = nil
  self.n = self.n - 1
end

function Model:add(i, now)
  self.flows[i] = {}
  self.n = self.n + 1
  self:touch(i, now)
  if self.n <= self.capacity then return end
  self:end_guarantees(now)
  self:remove(self:first(false) or i)
end

function Model:reap(now)
  self:end_guarantees(now)
  local i = self:first(false)
  while i and self.flows[i].expiry <= now do
    self:remove(i)
    i = self:first(false)
  end
  while self.n > self.capacity do self:remove(self:first(false) or self:first(true)) end
end

describe("a set of flows that grows", function ()
  -- Every flow is found by its key, and by that of replies, or isn't.
  local function check(set, kind, flows, most)
    for i = 1, most do
      local flow = flows[i]
      assert(find(set, kind, i) == (flow and 2 * flow or 0))
      local reply = C.pg_flows_find(set.flows, kind, FlowSet.reversed(new_key_of(i)))
      assert(reply == (flow and 2 * flow + 1 or 0))
    end
  end

  -- Is it between one number of lines and twice as many?
  local function growing_now(set, kind)
    local index = set.flows.kind[kind].index
    return index.lines > index.mask + 1
  end

  it("finds all, whatever goes meanwhile", function ()
    math.randomseed(3)
    local set, kind = new_set()
    local flows, growing = {}, 0
    for i = 1, 20000 do
      flows[i] = add(set, kind, i, 0, i % 16)
      if growing_now(set, kind) then
        growing = growing + 1
        if growing % 40 == 5 then
          local input = math.random(0, 15)
          C.pg_flows_remove_input(set.flows, kind, input)
          for j = input, i, 16 do flows[j] = nil end
          check(set, kind, flows, i)
        end
      end
    end
    assert.is_true(growing > 200)
    check(set, kind, flows, 20000)
    set:reap(0, true)
    check(set, kind, {}, 20000)
    assert.same({0, 0}, {set:size(), set.flows.kind[kind].index.entries})
  end)

  it("takes over what another one's replies had, in the midst of that", function ()
    local set, kind = new_set()
    local i = 0
    repeat
      i = i + 1
      assert(add(set, kind, i, 0) > 0)
    until i > 2000 and growing_now(set, kind)
    for j = 1, i, 50 do
      local model = ffi.new("struct click_flow")
      model.key[0], model.kind = key_of(100000 + j), kind
      local flow = C.pg_flows_add(set.flows, model, new_key_of(j), 0)
      local reply = FlowSet.reversed(new_key_of(j))
      assert.equal(2 * flow + 1, C.pg_flows_find(set.flows, kind, reply))
      assert.equal(0, find(set, kind, j))
    end
    assert.same({i, 2 * i}, {set:size(), set.flows.kind[kind].index.entries})
  end)

  it("keeps the changes of sequence numbers", function ()
    local set, kind = new_set()
    local flows = {}
    for i = 1, 5000 do
      flows[i] = add(set, kind, i, 0)
      if i % 7 == 3 then
        assert.is_true(C.pg_flow_shift(set.flows, 2 * flows[i], 1000, i))
      end
    end
    for i = 1, 5000 do
      assert.equal(i % 7 == 3 and i or 0, C.pg_flow_delta(set.flows, 2 * flows[i]))
    end
  end)
end)

describe("a set of flows that is full", function ()
  it("keeps those that a few lines of Lua keep", function ()
    math.randomseed(1)
    local set, kind = new_set()
    local model = setmetatable({flows = {}, n = 0, capacity = 30}, Model)
    set:set_capacity(30, 0)
    local now = 0
    for _ = 1, 4000 do
      now = now + math.random(1, 400) -- no two expire at once
      local i, action = math.random(1, 60), math.random(1, 50)
      if action == 1 then
        model:reap(now)
        set:reap(now, false)
      elseif action == 2 then
        model.capacity = math.random(20, 40)
        set:set_capacity(model.capacity, now)
        model:reap(now)
      elseif model.flows[i] then
        model:touch(i, now)
        C.pg_flows_touch(set.flows, find(set, kind, i) / 2, now)
      else
        model:add(i, now)
        add(set, kind, i, now)
      end
      assert(set:size() == model.n)
    end
    local kept, wanted = {}, {}
    for i = 1, 60 do
      kept[i], wanted[i] = find(set, kind, i) > 0, model.flows[i] ~= nil
    end
    assert.same(wanted, kept)
  end)

  it("keeps each of many for its time, and hardly longer", function ()
    math.randomseed(2)
    local STEP, FLOWS, FEW, LATE = 100, 1000, 300, GUARANTEE * 1000 / 2
    local set, kind = new_set()
    local last, wrong = {}, {}
    for now = STEP, 60000, STEP do
      for _ = 1, 100 do
        local i = math.random(1, now < 30000 and FLOWS or FEW)
        local number = find(set, kind, i)
        if number > 0 then
          C.pg_flows_touch(set.flows, number / 2, now)
        else
          add(set, kind, i, now)
        end
        last[i] = now
      end
      set:reap(now, false)
      for i, time in pairs(last) do
        local passed, there = now - time - TIMEOUT * 1000, find(set, kind, i) > 0
        if passed < 0 and not there or passed > LATE and there then
          wrong[#wrong + 1] = ("%d at %d: %d"):format(i, now, passed)
        end
      end
    end
    assert.same({}, wrong)
    assert.equal(FEW, set:size())
  end)

  it("finds those that are left, wherever others were removed", function ()
    local set, kind = new_set()
    local CAPACITY = 250 -- so many that many keys aren't at their place
    set:set_capacity(CAPACITY, 0)
    for i = 1, 5000 do
      assert(add(set, kind, i, i * GUARANTEE * 1000) > 0)
      if i % 250 == 0 then
        for j = 1, i do
          local found, reply = find(set, kind, j) > 0,
            C.pg_flows_find(set.flows, kind, FlowSet.reversed(new_key_of(j))) > 0
          assert(found == (j > i - CAPACITY) and reply == found)
        end
      end
    end
    assert.equal(CAPACITY, set:size())
  end)

  it("holds a million flows outside Lua's memory #slow", function ()
    local set, kind = new_set()
    collectgarbage()
    local before = collectgarbage("count")
    local model = ffi.new("struct click_flow")
    model.kind = kind
    local new = ffi.new("struct click_flow_key", 1, 2, 3, 4)
    for i = 1, 1e6 do
      model.key[0].source, new.source = i, i
      assert(C.pg_flows_add(set.flows, model, new, i) > 0)
    end
    local found = 0
    for i = 1, 1e6 do
      model.key[0].source = i
      if C.pg_flows_find(set.flows, kind, model.key[0]) > 0 then found = found + 1 end
    end
    assert.equal(1e6, found)
    collectgarbage()
    assert.is_true(collectgarbage("count") - before < 1000) -- kilobytes
    set:reap(0, true)
    assert.equal(0, set:size())
  end)
end)
