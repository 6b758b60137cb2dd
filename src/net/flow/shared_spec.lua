-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local C = require("core.declare")("net/flow/shared.h")

local KEY_SIZES, MOST, STEPS = {1, 8, 13, 64}, 300, 6000

local function key_of(size, n)
  local key = ffi.new("uint8_t[?]", size)
  for i = 0, math.min(size, 2) - 1 do key[i] = math.floor(n / 256 ^ i) % 256 end
  return key
end

local function number(hold)
  return ffi.cast("uint64_t *", C.pg_flow_shared_value(hold))
end

-- What the table has is what a table of Lua's has.
local function compare(s, model, size, most)
  local h = ffi.new("struct flow_hold")
  for n = 0, most - 1 do
    local result = C.pg_flow_shared_hold(s, h, key_of(size, n), false)
    assert(result == (model[n] and C.FLOW_FOUND or C.FLOW_NONE), n)
    if model[n] then assert(number(h)[0] == model[n], n) end
  end
  C.pg_flow_shared_release(h)
end

local function clean(s, model, threshold)
  local n = 0
  for key, value in pairs(model) do
    if value < threshold then
      model[key] = nil
      n = n + 1
    end
  end
  assert.equal(n, C.pg_flow_shared_clean(s, threshold))
end

local function step(s, h, model, size, most)
  local n, what = math.random(0, most - 1), math.random()
  local may_add = what < 0.7
  local result = C.pg_flow_shared_hold(s, h, key_of(size, n), may_add)
  assert(result == (model[n] and C.FLOW_FOUND or may_add and C.FLOW_ADDED
    or C.FLOW_NONE))
  if result == C.FLOW_ADDED then
    assert(number(h)[0] == 0)
    model[n] = math.random(1, 1000)
    number(h)[0] = model[n]
  elseif result == C.FLOW_FOUND and not may_add then
    assert(C.pg_flow_shared_erase(s, h))
    model[n] = nil
  end
  if what > 0.99 then
    C.pg_flow_shared_release(h)
    clean(s, model, math.random(1, 200))
  end
end

describe("a table that threads share", function ()
  for _, size in ipairs(KEY_SIZES) do
    it("holds what Lua's does, with keys of " .. size .. " bytes", function ()
      local s, model = C.pg_flow_shared_new(size, 8), {}
      local h, most = ffi.new("struct flow_hold"), size == 1 and 200 or MOST
      for _ = 1, STEPS do step(s, h, model, size, most) end
      C.pg_flow_shared_release(h)
      compare(s, model, size, most)
      C.pg_flow_shared_clear(s)
      compare(s, {}, size, most)
      C.pg_flow_shared_free(s)
    end)
  end

  it("gives a removed record back when it is held no more", function ()
    local s = C.pg_flow_shared_new(8, 8)
    local a, b = ffi.new("struct flow_hold"), ffi.new("struct flow_hold")
    C.pg_flow_shared_hold(s, a, key_of(8, 1), true)
    number(a)[0] = 7
    C.pg_flow_shared_clear(s)
    assert.equal(C.FLOW_ADDED, C.pg_flow_shared_hold(s, b, key_of(8, 1), true))
    assert.is_true(a.number ~= b.number)
    assert.equal(7, tonumber(number(a)[0]))
    assert.is_false(C.pg_flow_shared_erase(s, a))
    C.pg_flow_shared_erase(s, b)
    for _ = 1, 1000 do
      C.pg_flow_shared_hold(s, a, key_of(8, 1), true)
      C.pg_flow_shared_clear(s)
      C.pg_flow_shared_release(a)
    end
    C.pg_flow_shared_hold(s, a, key_of(8, 1), true)
    assert.is_true(a.number < 4)
    C.pg_flow_shared_release(a)
    C.pg_flow_shared_free(s)
  end)

  it("knows whose hold it is", function ()
    local s, other = C.pg_flow_shared_new(8, 8), C.pg_flow_shared_new(8, 8)
    local h = ffi.new("struct flow_hold")
    assert.is_true(C.pg_flow_shared_value(h) == nil)
    assert.is_false(C.pg_flow_shared_erase(s, h))
    C.pg_flow_shared_hold(s, h, key_of(8, 1), true)
    assert.is_false(C.pg_flow_shared_erase(other, h))
    assert.is_true(C.pg_flow_shared_erase(s, h))
    C.pg_flow_shared_free(s)
    C.pg_flow_shared_free(other)
  end)
end)
