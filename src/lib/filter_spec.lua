-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local C = require("core.native")
local filter = require("lib.filter")
local guard = require("testing.fuzz.guard")

local SEED = os.time()

local ETHERNET = "\2\0\0\0\0\1\2\0\0\0\0\2\8\0"
-- 10.0.0.1:1024 to 10.0.0.2:53, UDP, 8 bytes of it
local DNS = ETHERNET .. "\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\10\0\0\1\10\0\0\2"
  .. "\4\0\0\x35\0\8\0\0"

-- Instructions, by the numbers of Linux's Documentation/networking/filter.rst.
local RET, RET_A = 0x06, 0x16
local function op(code, k, jt, jf)
  return {code = code, k = k or 0, jt = jt or 0, jf = jf or 0}
end

-- What both ways of running `program` say of the packet, which must be the same.
local function verdict(program, bytes)
  local data = ffi.cast("const uint8_t *", bytes)
  local compiled = C.pg_filter(filter.assemble(program), data, #bytes)
  assert.equal(compiled, C.pg_filter(filter.assemble(program, true), data, #bytes))
  return compiled
end

describe("lib.filter", function ()
  it("takes what pflua takes, as libpcap means it", function ()
    for pflua, libpcap in pairs{
      ["ip proto tcp"] = "ip proto \\tcp", ["ip6 proto udp"] = "ip6 proto \\udp",
      ["ether proto arp"] = "arp", ["proto tcp"] = "proto \\tcp",
      ["ip proto \\6"] = "ip proto 6", ["not (ip  proto udp) or tcp"] = "not udp and "
        .. "not (ip proto 17) or not ip or tcp", ["ip proto \\tcp"] = "ip proto 6",
      ["len-4 = 10"] = "len = 14", ["ip6 protochain udp"] = "ip6 protochain 17",
      ["net 10.0.0.0/8 and ip proto tcp and port 80"] = "net 10.0.0.0/8 and tcp and "
        .. "ip and port 80",
    } do
      local taken, meant = filter.program(pflua), filter.program(libpcap)
      for length = 0, #DNS do
        local bytes = DNS:sub(1, length)
        assert.equal(verdict(meant, bytes), verdict(taken, bytes), pflua)
      end
      for protocol = 0, 255 do
        local bytes = DNS:sub(1, 23) .. string.char(protocol) .. DNS:sub(25)
        assert.equal(verdict(meant, bytes), verdict(taken, bytes), pflua)
      end
    end
  end)

  it("accepts what the expression says", function ()
    for expression, expected in pairs{
      [""] = true, ["udp"] = true, ["udp port 53"] = true, ["port 54"] = false,
      ["tcp"] = false, ["ip6"] = false, ["src host 10.0.0.1"] = true,
      ["dst host 10.0.0.1"] = false, ["dst net 10.0.0.0/8"] = true,
      ["ip[8] = 64"] = true, ["ip[8] + 1 = 64"] = false, ["len > 42"] = false,
      ["ether src 02:00:00:00:00:02"] = true, ["udp[100] = 0"] = false,
      ["ip and not udp"] = false, ["1 = 2"] = false, ["ip protochain 17"] = true,
      ["ip protochain 6"] = false, ["udp portrange 50-60"] = true,
      ["ip[2:2] / 2 = 14 and ip[2:2] % 5 = 3"] = true,
    } do
      assert.equal(expected, filter.compile(expression)(DNS, #DNS), expression)
    end
  end)

  it("rejects what would be read behind the packet's end", function ()
    local dns = filter.compile("udp port 53")
    for length = 0, 37 do assert.is_false(dns(DNS, length)) end
    assert.is_true(dns(DNS, 38)) -- ports are all that is looked at
  end)

  it("says what is wrong with an expression", function ()
    for expression, pattern in pairs{
      ["udp port"] = "'udp port' is no packet filter: .*syntax error",
      ["host no.such.host.invalid"] = "is no packet filter",
      ["udp\0"] = "bytes that are 0",
    } do
      local ok, err = pcall(filter.new, expression)
      assert.is_false(ok)
      assert.matches(pattern, tostring(err))
    end
    assert.has_error(function () filter.new(nil) end)
  end)

  it("computes as filter.rst says", function ()
    local function result(...)
      local program = {...}
      program[#program + 1] = op(0x15, program[#program].k, 0, 1) -- JEQ
      table.remove(program, #program - 1)
      program[#program + 1] = op(RET, 1)
      program[#program + 1] = op(RET, 0)
      return verdict(program, DNS) == 1
    end
    local function expected(value) return {k = value} end
    local LDA, LDX, X = 0, 1, 8
    assert.is_true(result(op(LDA, 7), op(0x04, 0xfffffffe), expected(5)))       -- add
    assert.is_true(result(op(LDA, 7), op(0x14, 8), expected(0xffffffff)))       -- sub
    assert.is_true(result(op(LDA, 0x10001), op(0x24, 0x10001), expected(0x20001)))
    assert.is_true(result(op(LDA, 0xfffffffe), op(0x34, 2), expected(0x7fffffff)))
    assert.is_true(result(op(LDA, 0xffffffff), op(0x94, 16), expected(15)))     -- mod
    assert.is_true(result(op(LDA, 6), op(0xa4, 5), expected(3)))                -- xor
    assert.is_true(result(op(LDA, 1), op(0x84), expected(0xffffffff)))          -- neg
    assert.is_true(result(op(LDA, 3), op(0x64, 31), expected(0x80000000)))      -- lsh
    assert.is_true(result(op(LDA, 3), op(LDX, 32), op(0x64 + X), expected(0)))
    assert.is_true(result(op(LDA, 0x80000000), op(LDX, 31), op(0x74 + X), expected(1)))
    assert.is_true(result(op(LDX, 4), op(3, 15), op(LDA, 9), op(0x60, 15), expected(4)))
    assert.is_true(result(op(0x60, 3), expected(0)))           -- memory is 0 at first
    assert.is_true(result(op(0x80), expected(#DNS)))           -- len
    assert.is_true(result(op(0xb1, 14), op(0x48, 16), expected(53))) -- msh, ind half
    assert.is_true(result(op(0x20, 26), expected(0x0a000001)))
    assert.equal(0, verdict({op(LDA, 1), op(0x3c), op(RET, 1)}, DNS)) -- by X = 0
    assert.equal(0, verdict({op(LDX, 0xfffffff0), op(0x50, 32), op(RET, 1)}, DNS))
    assert.equal(0, verdict({op(0x20, 0xfffffffe), op(RET, 1)}, DNS))
    assert.equal(1, verdict({op(0x87), op(LDA, 5), op(RET_A)}, DNS))
  end)

  it("refuses programs that aren't sound", function ()
    for _, program in ipairs{
      {}, {op(0)}, {op(RET, 1), op(0)}, {op(0x15, 0, 1, 0), op(RET)},
      {op(0x05, 1), op(RET)}, {op(0x05, 0xfffffffe), op(RET)},
      {op(0x60, 16), op(RET)}, {op(2, 16), op(RET)}, {op(0x34, 0), op(RET)},
      {op(0x64, 32), op(RET)}, {op(0x38), op(RET)}, {op(0xb4), op(RET)},
      {op(0x0d, 5), op(RET)}, {op(0x1234), op(RET)}, {op(0x0e), op(RET)},
    } do
      assert.has_error(function () filter.assemble(program) end)
    end
  end)

  it("ends programs that loop", function ()
    assert.equal(0, verdict({op(0x05, 0xffffffff), op(RET, 1)}, DNS))
  end)
end)

-- Random programs against a page that may not be read ------------------------------

local random = math.random

-- Offsets near the packet's ends, and any.
local function offset()
  local kind = random(8)
  if kind == 1 then return 2^32 - random(20) end
  return kind == 2 and random(0, 2^31) or random(0, 80)
end

local LOADS = {0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x40, 0x48, 0x50, 0xb1}
local function random_load() return op(LOADS[random(#LOADS)], offset()) end
local function random_constant() return op(random(0, 1), offset()) end
local function random_memory()
  return op(({0x60, 0x61, 2, 3})[random(4)], random(0, 15))
end
local function random_misc() return op(({0x80, 0x81, 7, 0x87})[random(4)]) end
local function random_computation()
  local code = random(0, 10) * 16 + 4
  if random(2) == 1 then return op(code + 8) end
  return op(code, (code == 0x64 or code == 0x74) and random(0, 31) or 1 + offset() % 9)
end

local function random_jump(left)
  local code = ({0x15, 0x25, 0x35, 0x45, 0x1d, 0x2d, 0x3d, 0x4d, 0x05})[random(9)]
  if code == 0x05 then return op(code, random(0, math.min(left, 3))) end
  return op(code, offset() % 256, random(0, math.min(left, 5)),
    random(0, math.min(left, 5)))
end

local makers = {random_load, random_load, random_constant, random_memory, random_misc,
  random_computation, random_jump}

local function random_program()
  local n = random(1, 25)
  local program = {}
  for i = 1, n do program[i] = makers[random(#makers)](n - i) end
  program[n + 1] = op(random(2) == 1 and RET_A or RET, random(0, 1))
  return program
end

describe("random programs of lib.filter", function ()
  local p, bytes = guard.packet(), ffi.new("uint8_t[?]", 100)

  teardown(function () guard.free(p) end)

  -- A random packet up against the page behind it.
  local function place()
    local length = random(0, 90)
    for i = 0, length - 1 do bytes[i] = random(0, 255) end
    guard.place(p, bytes, length)
  end

  it("say the same as machine code, and read nothing outside", function ()
    math.randomseed(SEED)
    local accepted, rejected = 0, 0
    for number = 1, 4000 do
      local program = random_program()
      local compiled = filter.assemble(program)
      local interpreted = filter.assemble(program, true)
      for _ = 1, 5 do
        place()
        local said = C.pg_filter(compiled, p.data, p.length)
        if said ~= C.pg_filter(interpreted, p.data, p.length) then
          error(("program %d of seed %d"):format(number, SEED))
        end
        if said == 1 then accepted = accepted + 1 else rejected = rejected + 1 end
      end
      C.pg_filter_free(ffi.gc(compiled, nil))
      C.pg_filter_free(ffi.gc(interpreted, nil))
    end
    assert.is_true(accepted > 1000 and rejected > 1000)
  end)

  it("are refused or harmless with any instruction changed", function ()
    math.randomseed(SEED)
    local sound = 0
    for _ = 1, 4000 do
      local program = random_program()
      local i = random(#program)
      program[i] = op(random(0, 511), offset(), random(0, 9), random(0, 9))
      local ok, f = pcall(filter.assemble, program)
      if ok then
        sound = sound + 1
        place()
        C.pg_filter(f, p.data, p.length)
      end
    end
    assert.is_true(sound > 10 and sound < 3000)
  end)
end)
