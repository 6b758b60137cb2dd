-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local clock = require("posix.time")
local esp = require("lib.ipsec.esp")
local iv_store = require("lib.ipsec.iv_store")
local packet = require("core.packet")
local state = require("testing.state_folder")
local support = require("testing.support")

local CONF = {spi = 1, aead = "aes-gcm-16-icv", key = ("00"):rep(16), salt = "00112233"}

-- The IV that a packet gets.
local function iv_of(e)
  local p = assert(e:encapsulate_tunnel(packet.from_string("x"), 41))
  local iv = ffi.cast("uint64_t *", p.data + 8)[0]
  packet.free(p)
  return iv
end

local function file() return state.path .. "/esp-ivs" end

local function write(text)
  local f = assert(io.open(file(), "w"))
  f:write(text)
  f:close()
end

local function content()
  local f = assert(io.open(file()))
  local text = f:read("*a")
  f:close()
  return text
end

describe("lib.ipsec.iv_store", function ()
  local real = clock.clock_gettime

  before_each(function () state.make() end)
  after_each(function ()
    clock.clock_gettime = real
    state.remove()
  end)

  local function set_clock(s)
    clock.clock_gettime = function () return {tv_sec = s, tv_nsec = 0} end
  end

  it("gives no IV twice, however the clock is set", function ()
    local used = {}
    for _, s in ipairs{1e9, 1e9, 5, 1.7e9, 0, 2e9, 1e9, 2 ^ 33, 1e9, 2 ^ 40, 7} do
      set_clock(s)
      local first, last = iv_store.reserve()
      assert.equal(2ULL ^ 36 - 1, last - first)
      for _, other in ipairs(used) do
        assert.is_true(last < other[1] or first > other[2], tostring(first))
      end
      used[#used + 1] = {first, last}
    end
  end)

  it("begins with the time where there is no file", function ()
    set_clock(1.7e9)
    assert.equal(1700000000000000000ULL, (iv_store.reserve()))
    assert.equal("01700000068719476736\n", content())
  end)

  it("keeps a key's two senders of one time apart, and restarts with a clock set back",
    function ()
      set_clock(1e9)
      local one, other = esp.encrypt:new(CONF), esp.encrypt:new(CONF)
      local ivs, n = {}, 0
      local function take(e)
        local iv = tostring(iv_of(e))
        assert.is_nil(ivs[iv])
        ivs[iv], n = true, n + 1
      end
      for _ = 1, 100 do take(one) take(other) end
      set_clock(1e9 - 3600)
      local after = esp.encrypt:new(CONF)
      for _ = 1, 100 do take(after) end
      assert.equal(300, n)
    end)

  it("keeps processes that start at once apart", function ()
    local code = [[
      local first, last = require("lib.ipsec.iv_store").reserve()
      print(("%s %s"):format(tostring(first), tostring(last)))
    ]]
    local name = support.temporary(code)
    local me = require("posix.unistd").readlink("/proc/self/exe")
    local pipe = io.popen(("for i in 1 2 3 4; do %s run %s & done; wait")
      :format(me, name))
    local said = pipe:read("*a")
    pipe:close()
    os.remove(name)
    local firsts, n = {}, 0
    for first in said:gmatch("(%d+)ULL %d+ULL\n") do
      assert.is_nil(firsts[first], said)
      firsts[first], n = true, n + 1
    end
    assert.equal(4, n, said)
  end)

  it("takes others when its own are used, and none while the disk is away", function ()
    local e = esp.encrypt:new(CONF)
    local last = e.last_iv
    e.iv[0] = last - 2
    assert.equal(last - 1, iv_of(e))
    assert.equal(last, iv_of(e))
    local kept = content()
    write("")
    os.remove(file())
    os.execute("mkdir " .. file()) -- even root can't write to that
    local p = packet.from_string("x")
    assert.is_nil(e:encapsulate_tunnel(p, 41))
    assert.is_nil(e:encapsulate_tunnel(p, 41))
    assert.equal("x", ffi.string(p.data, p.length))
    packet.free(p)
    os.execute("rmdir " .. file())
    write(kept)
    local iv = iv_of(e)
    assert.is_true(iv > last)
    assert.equal(iv + 1, iv_of(e))
  end)

  it("refuses keys where it can't count", function ()
    for _, case in ipairs{
      {"/dev/null/no", "esp%-ivs' which IVs were used %(Not a directory%)"},
      {"/proc", "'/proc/esp%-ivs' which IVs were used %(No such file or directory%)"},
    } do
      local said, status = support.script([[
        require("posix.stdlib").setenv("PERIGEE_STATE", arg[1] or ...)
        require("apps.ipsec.esp").Transport6:new{spi = 1, aead = "aes-gcm-16-icv",
          transmit_key = ("0"):rep(32), receive_key = ("0"):rep(32),
          transmit_salt = "00000000", receive_salt = "00000001"}
      ]], nil, {case[1]})
      assert.equal(1, status, said)
      assert.matches(case[2], said)
      assert.matches("Set $PERIGEE_STATE to a folder", said, 1, true)
    end
    for _, text in ipairs{"no number", "12\n", ("9"):rep(21) .. "\n", "\0"} do
      write(text)
      assert.error_matches(iv_store.reserve, "should hold 20 digits, not '")
      assert.equal(text, content())
    end
    write("18446744073709551615\n")
    assert.error_matches(iv_store.reserve, "all 2%^64 numbers are used")
  end)

  it("needs no file for keys that are made for one sender", function ()
    require("posix.stdlib").setenv("PERIGEE_STATE", "/dev/null/no")
    local e = esp.encrypt:new{spi = 1, aead = "aes-gcm-16-icv", key = CONF.key,
      salt = CONF.salt, fresh_key = true}
    assert.same({1, 2}, {tonumber(iv_of(e)), tonumber(iv_of(e))})
  end)
end)
