-- SPDX-License-Identifier: Apache-2.0
-- Methods of headers that each class has for itself: compiled with the loop that calls
-- them, and what derived classes make of them.

local ffi = require("ffi")
local class = require("lib.lua.class")
local datagram = require("lib.protocol.datagram")
local ethernet = require("lib.protocol.ethernet")
local ipv4 = require("lib.protocol.ipv4")
local packet = require("core.packet")
local tcp = require("lib.protocol.tcp")
local udp = require("lib.protocol.udp")
local util = require("jit.util")

local METHODS = {"new_from_mem", "free", "header", "header_ptr", "sizeof",
  "upper_layer"}

-- Where LuaJIT keeps the function's code, and counts its calls.
local function code_of(f) return util.funcinfo(f).proto end

describe("methods of headers", function ()
  it("are of each class itself", function ()
    for _, name in ipairs(METHODS) do
      assert.is_not_nil(rawget(ethernet, name))
      assert.not_equal(rawget(ethernet, name), rawget(ipv4, name))
      assert.not_equal(code_of(ethernet[name]), code_of(ipv4[name]))
    end
  end)

  it("are the base's for a class that says no types", function ()
    local Mine = class.subClass(ethernet)
    Mine._name = "mine"
    local bytes = ffi.new("uint8_t[14]", 2)
    local o = Mine:new_from_mem(bytes, 14)
    assert.equal(0x0202, o:type())
    assert.equal(Mine, o:class())
    o:free()
    assert.equal(o, Mine:new_from_mem(bytes, 14))
    assert.not_equal(o, ethernet:new_from_mem(bytes, 14))
  end)

  it("use the types of a derived class", function ()
    local Longer = class.subClass(ethernet)
    Longer:init{ffi.typeof("struct { uint8_t bytes[20]; }")}
    local bytes = ffi.new("uint8_t[20]")
    assert.is_nil(Longer:new_from_mem(bytes, 19))
    local o = Longer:superClass().new_from_mem(Longer, bytes, 20)
    assert.equal(20, o:sizeof())
    assert.is_nil(Longer:superClass().new_from_mem(Longer, bytes, 19))
  end)

  it("use an object again that is asked itself", function ()
    local bytes = ffi.new("uint8_t[40]")
    local o = udp:new_from_mem(bytes, 8)
    o:src_port(7)
    assert.equal(o, o:new_from_mem(bytes + 8, 8))
    assert.equal(0, o:src_port())
    assert.equal(7, bytes[1])
  end)

  it("take fields of 32 bits, whatever their sign", function ()
    local o = tcp:new{}
    for _, value in ipairs{0, 1, 2 ^ 31 - 1, 2 ^ 31, 2 ^ 32 - 1, 0x12345678} do
      assert.equal(value, o:seq_num(value))
      assert.equal(value, o:seq_num())
    end
  end)

  it("take addresses as arrays, pointers and strings", function ()
    local o, ip = ethernet:new{}, ipv4:new{}
    o:src("abcdef")
    o:dst(o:src())
    assert.is_true(o:dst_eq("abcdef"))
    o:src(ffi.cast("uint8_t *", ethernet:pton("02:00:00:00:00:01")))
    o:swap()
    assert.equal("02:00:00:00:00:01", ethernet:ntop(o:dst()))
    assert.is_true(o:src_eq("abcdef"))
    ip:src("wxyz")
    ip:dst(ip:src())
    assert.is_true(ip:dst_eq("wxyz"))
    assert.is_false(ip:dst_eq("wxyy"))
  end)
end)

describe("a datagram", function ()
  -- Ethernet, IPv4, UDP, and 20 bytes.
  local function parsed(n)
    local d = datagram:new()
    d:payload(("x"):rep(20), 20)
    local ports = udp:new{src_port = 1, dst_port = 2}
    d:push(ports)
    d:push(ipv4:new{protocol = 17})
    d:push(ethernet:new{type = 0x0800})
    d:new(d:packet(), ethernet, {delayed_commit = true})
    return d, d:parse_n(n)
  end

  it("parses as many headers as there are", function ()
    for n, class_of in ipairs{ethernet, ipv4, udp} do
      local d, last = parsed(n)
      assert.equal(class_of, last:class())
      assert.equal(n, #d:stack())
      packet.free(d:packet())
    end
    local d, last = parsed(4)
    assert.is_nil(last)
    assert.equal(3, #d:stack())
    d:new(d:packet(), ethernet)
    assert.is_nil(d:parse_n(0))
    assert.equal(0, #d:stack())
    packet.free(d:packet())
  end)

  it("parses a sequence up to what isn't there", function ()
    local d = parsed(0)
    local function yes() return true end
    assert.equal(udp, d:parse{{ethernet}, {ipv4, yes}, {udp, yes}}:class())
    d:new(d:packet(), ethernet)
    assert.is_nil(d:parse{{ethernet}, {ipv4, function () return false end}, {udp}})
    assert.equal(1, #d:stack())
    assert.is_nil(d:parse{})
    packet.free(d:packet())
  end)

  it("pops some of its headers", function ()
    for n = 0, 3 do
      local d = parsed(3)
      local rest = {unpack(d:stack(), n + 1)}
      d:pop(n)
      assert.same(rest, d:stack())
      d:unparse(3 - n)
      d:commit()
      assert.equal(62 - ({[0] = 0, 14, 34, 42})[n], d:packet().length)
      packet.free(d:packet())
    end
  end)

  -- Bytes that an object takes which nobody frees, when it isn't compiled away.
  local function bytes_of_object(kind)
    local memory = ffi.new("uint8_t[64]")
    local function objects(n)
      for _ = 1, n do kind:new_from_mem(memory, 64) end
    end
    jit.off(objects, true)
    jit.off(kind.new_from_mem, true)
    objects(1)
    collectgarbage()
    collectgarbage("stop")
    local before = collectgarbage("count")
    objects(1000)
    local taken = collectgarbage("count") - before
    collectgarbage("restart")
    jit.on(kind.new_from_mem, true)
    return taken * 1024 / 1000
  end

  it("make small objects for programs that don't free them", function ()
    for _, kind in ipairs{ethernet, ipv4, udp, tcp} do
      assert.is_true(bytes_of_object(kind) <= 540)
    end
  end)

  it("give objects memory of their own when they need it", function ()
    local bytes = ffi.new("uint8_t[14]", 3)
    local o = ethernet:new_from_mem(bytes, 14)
    local copy = o:clone()
    bytes[12] = 7
    assert.same({0x0703, 0x0303}, {o:type(), copy:type()})
    o:free()
    local zeros = ethernet:new{}
    assert.equal(o, zeros)
    assert.equal(0, zeros:type())
    assert.equal(7, bytes[12])
  end)
end)
