-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local LPM = require("lib.lpm.lpm").LPM

describe("lib.lpm.lpm", function ()
  local TYPES = {"uint8_t", "uint16_t", "uint32_t", "uint64_t"}

  -- Lua reads s[name] before NAME_new makes it another array.
  it("bears a write by the index that makes an array grow", function ()
    for round = 1, 200 do
      local s = LPM:new()
      s.alloc_storable = TYPES
      for _, name in ipairs(TYPES) do
        s:alloc(name, ffi.typeof(name), 16)
        local grown = 0
        for i = 0, 127 do
          local old, last = s[name], s[name .. "_length"]()
          local index = s[name .. "_new"]()
          assert.equal(i, index)
          old[index] = 1 + i
          if old ~= s[name] then
            grown = grown + 1
            assert.equal(last, index)
            assert.is_true(ffi.sizeof(old) >= (index + 1) * ffi.sizeof(name))
          else
            assert.equal(1 + i, tonumber(s[name][i]))
          end
        end
        assert.equal(3, grown)
        s[name .. "_grow"](s, 3)
        assert.equal(384, s[name .. "_length"]())
        assert.is_true(ffi.sizeof(s[name]) >= 385 * ffi.sizeof(name))
      end
      if round % 50 == 0 then collectgarbage() end
    end
  end)

  it("writes arrays to memory and reads them, of the length told", function ()
    local s, t = LPM:new(), LPM:new()
    local memory = ffi.new("uint8_t[1000]")
    for _, one in ipairs{s, t} do
      one.alloc_storable = {"a", "b"}
      one:alloc("a", ffi.typeof("uint16_t"), 4)
      one:alloc("b", ffi.typeof("uint64_t"), 2)
    end
    for i = 0, 3 do s.a[i] = 7 * i end
    s.b[s:b_new()] = 99
    s:alloc_store(memory)
    assert.equal(8, memory[0])
    assert.equal(16, memory[8 + 8])
    t:alloc_load(memory)
    assert.same({4, 2}, {t:a_length(), t:b_length()})
    assert.same({0, 7, 14, 21}, {t.a[0], t.a[1], t.a[2], t.a[3]})
    assert.equal(99, tonumber(t.b[0]))
    t.a[t:a_new()] = 1
    assert.equal(8, t:a_length())
  end)
end)
