-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local C = require("core.declare")("net/flow/numbers.h")

local function new(n)
  return ffi.gc(C.pg_flow_numbers_new(n), C.pg_flow_numbers_free)
end

local function next_of(s, from) return tonumber(C.pg_flow_numbers_next(s, from)) end

-- The first that isn't marked, by going through all.
local function plain_next(marked, n, from)
  for i = from, n - 1 do if not marked[i] then return i end end
  return -1
end

describe("numbers", function ()
  it("are marked and found as in a list", function ()
    math.randomseed(7)
    local wrong = {}
    for _, n in ipairs{1, 63, 64, 65, 4096, 4097, 5000} do
      local s, marked = new(n), {}
      for step = 1, 6 * n do
        -- First most are marked, then most not.
        local number = math.random(0, n - 1)
        local mark = math.random() < (step < 4 * n and 0.9 or 0.2)
        local changed
        if mark then
          changed = C.pg_flow_numbers_mark(s, number)
        else
          changed = C.pg_flow_numbers_unmark(s, number)
        end
        if changed ~= ((marked[number] or false) ~= mark) then wrong[#wrong + 1] = n end
        marked[number] = mark
        if step % 16 == 0 then
          local from = math.random(0, n - 1)
          if next_of(s, from) ~= plain_next(marked, n, from) then
            wrong[#wrong + 1] = ("%d from %d"):format(n, from)
          end
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("may all be marked but one, or all, on each level", function ()
    for _, n in ipairs{1, 64, 65, 4096, 4097, 262144, 262145} do
      local s = new(n)
      for i = 0, n - 1 do C.pg_flow_numbers_mark(s, i) end
      assert.equal(-1, next_of(s, 0))
      for _, i in ipairs{0, math.floor(n / 2), n - 1} do
        assert.is_true(C.pg_flow_numbers_unmark(s, i))
        assert.equal(i, next_of(s, 0))
        assert.is_true(C.pg_flow_numbers_mark(s, i))
      end
      assert.equal(-1, next_of(s, n - 1))
    end
  end)
end)
