-- SPDX-License-Identifier: Apache-2.0
-- Protocols defined at run time: fields of every shape, and what is refused.

local ffi = require("ffi")
local packet = require("core.packet")
local stack = require("lib.stack")

local function hex(p)
  return (ffi.string(p.data, p.length):gsub(".", function (c)
    return ("%02x"):format(c:byte())
  end))
end

describe("define", function ()
  local number = 0

  teardown(function ()
    for i = 1, number do stack.registry.remove("test" .. i) end
  end)

  local function define(fields, more)
    number = number + 1
    local def = {name = "test" .. number, fields = fields}
    for key, value in pairs(more or {}) do def[key] = value end
    stack.define(def)
    return def.name
  end

  it("refuses names that mean something else", function ()
    local fields = {{"Type", 16}}
    for name, said in pairs{
      [""] = "protocol '': its name is letters and digits",
      Payload = "protocol 'Payload': its name is letters and digits",
      payload = "protocol 'payload': packets have a member or method of that name",
      fill = "have a member or method", packet = "have a member or method",
      calculateChecksums = "have a member or method", dump = "have a member or method",
      set = "protocol 'set': it can't be called that: 'set' means something else",
      ["end"] = "protocol 'end': it can't be called that: 'end' is a word of Lua's",
      ["function"] = "'function' is a word of Lua's",
      eth = "there is already a protocol 'eth'",
      ethernet = "there is already a protocol 'ethernet'",
    } do
      assert.error_matches(function () stack.define{name = name, fields = fields} end,
        said, 1, true)
    end
    for name, said in pairs{
      [""] = "a field's name is letters and digits, not ''",
      Payload = "a field can't be called 'Payload': 'payload' means something else",
      Set = "'set' means something else", get = "'get' means something else",
      End = "a field can't be called 'End': 'end' is a word of Lua's",
      ["while"] = "'while' is a word of Lua's",
    } do
      number = number + 1
      assert.error_matches(function ()
        stack.define{name = "test" .. number, fields = {{name, 16}}}
      end, said, 1, true)
    end
  end)

  it("takes fields of every width, at any bit, in both orders", function ()
    local p = packet.allocate()
    for _, bits in ipairs{1, 3, 7, 8, 9, 12, 16, 20, 24, 31, 32, 33, 40, 48, 53, 63, 64}
    do
      for before = 0, 7 do
        local rest = (8 - (before + bits) % 8) % 8
        if before + bits + rest <= 64 then
          local fields = {{"Value", bits}}
          if before > 0 then table.insert(fields, 1, {"Before", before}) end
          if rest > 0 then table.insert(fields, {"Behind", rest}) end
          local name = define(fields)
          local pkt = stack.createStack({name, name = "h"})(p)
          local value = bits == 64 and 0x8123456789abcdefULL
            or 0x15123456789abcULL % (2ULL ^ bits)
          ffi.fill(p.data, 9, 0xff)
          pkt.h:setValue(bits <= 53 and tonumber(value) or value)
          assert.is_true(pkt.h:getValue() == (bits <= 53 and tonumber(value) or value),
            ("%d bits at %d"):format(bits, before))
          if before > 0 then assert.equal(2 ^ before - 1, pkt.h:getBefore()) end
          if rest > 0 then assert.equal(2 ^ rest - 1, pkt.h:getBehind()) end
          local bytes = (before + bits + rest) / 8
          assert.equal(0xff, p.data[bytes])
          local total = 0ULL
          for i = 0, bytes - 1 do total = bit.bor(bit.lshift(total, 8), p.data[i]) end
          total = bit.band(bit.rshift(total, rest), bits == 64 and -1ULL
            or bit.lshift(1ULL, bits) - 1)
          assert.is_true(total == value)
        end
      end
    end
    local name = define{{"A", 16, order = "le"}, {"B", 24, order = "le"},
      {"C", 32, signed = true}, {"D", 8, signed = true}, {"E", 64, signed = true}}
    local pkt = stack.createStack({name, name = "h"})(p)
    pkt:fill{hA = 0x0102, hB = 0x030405, hC = -2, hD = -3, hE = -4}
    assert.equal("0201050403fffffffefdfffffffffffffffc", hex(p))
    assert.equal(-2, pkt.h:getC())
    assert.equal(-3, pkt.h:getD())
    assert.is_true(pkt.h:getE() == -4)
    packet.free(p)
  end)

  it("compiles accesses to what they are when interpreted", function ()
    local p = packet.allocate()
    local name = define{{"A", 3}, {"B", 21}, {"C", 32}, {"D", 24}, {"E", 16}, {"F", 5},
      {"G", 43}, {"H", 32, signed = true}, {"I", 64}}
    local pkt = stack.createStack({name, name = "h"})(p)
    local function sum(from, n)
      local total = 0
      for i = from, from + n - 1 do
        local value = i * 104729
        pkt.h:setA(value) pkt.h:setB(value) pkt.h:setC(value) pkt.h:setD(value)
        pkt.h:setE(value) pkt.h:setF(value) pkt.h:setG(value) pkt.h:setH(value)
        pkt.h:setI(value)
        total = total + pkt.h:getA() + pkt.h:getB() * 3 + pkt.h:getC() * 5
          + pkt.h:getD() * 7 + pkt.h:getE() * 11 + pkt.h:getF() * 13
          + pkt.h:getG() * 17 + pkt.h:getH() * 19 + tonumber(pkt.h:getI()) * 23
      end
      return total
    end
    local function right(from, n)
      local total = 0
      for i = from, from + n - 1 do
        local v = i * 104729
        local signed = (v + 2^31) % 2^32 - 2^31
        total = total + v % 2^3 + v % 2^21 * 3 + v % 2^32 * 5 + v % 2^24 * 7
          + v % 2^16 * 11 + v % 2^5 * 13 + v % 2^43 * 17 + signed * 19 + v * 23
      end
      return total
    end
    assert.equal(right(0, 5000), sum(0, 5000))
    jit.off(sum)
    assert.equal(right(30000, 50), sum(30000, 50))
    packet.free(p)
  end)

  it("says what is wrong with a definition", function ()
    local function refuses(sentence, ...)
      local ok, message = pcall(define, ...)
      assert.is_false(ok)
      assert.matches(sentence, message, 1, true)
    end
    refuses("the fields have 7 bits in all, which isn't whole bytes", {{"A", 7}})
    refuses("field A has type 'int'", {{"A", 8, "int"}})
    refuses("field A has 40 bits, but type mac has 48", {{"A", 40, "mac"}})
    refuses("two fields are called A", {{"A", 8}, {"A", 8}})
    refuses("a definition has no key 'field'; is 'fields' meant?", {{"A", 8}},
      {field = 1})
    refuses("the variable member data has the label of field Data",
      {{"Data", 8, length = "header"}}, {variable = {"data", from = "Data"}})
    refuses("length = 'some'", {{"A", 8, length = "some"}})
    refuses("`next` names field B", {{"A", 8}}, {next = {field = "B"}})
    refuses("there is already a protocol 'udp'", {{"A", 8}}, {name = "udp"})
    refuses("a member's name can't be used in C", {{"A", 8, member = "a b"}})
  end)

  local function refuses(sentence, fields, more)
    local ok, message = pcall(define, fields, more)
    assert.is_false(ok, sentence)
    assert.matches(sentence, message, 1, true)
    assert.is_nil(stack.registry.find("test" .. number))
  end

  it("refuses keys that there aren't, and names what may be meant", function ()
    refuses("field A has no key 'defualt'; is 'default' meant?",
      {{"A", 8, defualt = 1}})
    refuses("a definition has no key 'titel'; is 'title' meant?", {{"A", 8}},
      {titel = "A"})
    refuses("next has no key 'feild'; is 'field' meant?", {{"A", 8}},
      {next = {feild = "A"}})
    refuses("variable has no key 'form'; is 'from' meant?",
      {{"A", 8, length = "header"}}, {variable = {"data", form = "A"}})
    refuses("subtype x has no key 'wehn'; is 'when' meant?", {{"A", 8}},
      {subtypes = {x = {fields = {{"A", 8}}, wehn = {A = 1}}}})
    refuses("a field is a table", {"A"})
    refuses("`next` names no field", {{"A", 8}}, {next = {}})
    refuses("it has no list of fields", false)
  end)

  it("refuses values that can't be meant", function ()
    refuses("field A: unit = 0; it is a number of bytes, 1 or more",
      {{"A", 8, length = "header", unit = 0}})
    refuses("field A: bias = x", {{"A", 8, length = "header", bias = "x"}})
    refuses("field A: order = 'be'; it is \"le\", or left away",
      {{"A", 8, order = "be"}})
    for _, bits in ipairs{8, 32} do
      for _, over in ipairs{"header", "all", "pseudo"} do
        refuses(("field A: a checksum of %s has 16 bits, not %d"):format(over, bits),
          {{"A", bits, checksum = over}})
      end
    end
    refuses("field A: a checksum of crc32c has 32 bits, not 16",
      {{"A", 16, checksum = "crc32c"}})
    refuses("field A is a length, so its type is uint, not mac",
      {{"A", 48, "mac", length = "all"}})
    refuses("`when` of a field names A, which isn't a field of 1 bit",
      {{"A", 8}, {"B", 8, when = "A"}})
  end)

  it("refuses protocols that there aren't, and values that don't fit", function ()
    refuses("`next` names protocol 'ip5', which there isn't; is 'ip4'", {{"A", 8}},
      {next = "ip5"})
    refuses("`next` names protocol 'etth', which there isn't; is 'eth' meant?",
      {{"A", 8}}, {next = {field = "A", as = "etth"}})
    refuses("`next` names protocol 'upd', which there isn't; is 'udp' meant?",
      {{"A", 8}}, {next = {field = "A", values = {[3] = "upd"}}})
    refuses("`over` names protocol 'upd', which there isn't; is 'udp' meant?",
      {{"A", 8}}, {over = {upd = 7}})
    refuses("`over` names ip6, whose numbers are those of ip4: say over = {ip4 = ...}",
      {{"A", 8}}, {over = {ip6 = 200}})
    refuses("`over` names arp, which has no field that says what follows", {{"A", 8}},
      {over = {arp = 1}})
    refuses("DstPort of udp is a number from 0 to 65535, not '65536'",
      {{"A", 8}}, {over = {udp = 65536}})
    refuses("DstPort of udp is a number", {{"A", 8}}, {over = {udp = "x"}})
    refuses("A of test", {{"A", 8}}, {next = {field = "A", values = {[256] = "ip4"}}})
    refuses("`below` names field Dts, which eth doesn't have", {{"A", 8}},
      {below = {eth = {Dts = 1}}})
  end)

  it("refuses a number that is taken, unless the bytes can tell", function ()
    refuses("DstPort 53 of udp is taken by dns", {{"A", 8}}, {over = {udp = 53}})
    local taken = define({{"A", 8}}, {over = {tcp = 7779}})
    refuses("DstPort 7779 of tcp is taken by " .. taken, {{"A", 8}},
      {over = {tcp = {7780, 7779}}})
    local other = define({{"A", 8}}, {over = {tcp = 7779}, when = {A = 9}})
    local p = packet.allocate()
    local pkt = stack.createStack("eth", "ip4", "tcp", other)(p)
    pkt:fill{}
    assert.equal("eth_ip4_tcp_" .. other, stack.resolve(p):getName())
    pkt[other]:setA(8)
    assert.equal("eth_ip4_tcp_" .. taken, stack.resolve(p):getName())
    packet.free(p)
  end)

  it("maps a field's values to protocols that there are", function ()
    local name = define({{"Kind", 8}, {"Rest", 8}}, {over = {udp = 7781},
      next = {field = "Kind", values = {[1] = "ip4", [2] = "ip6", [9] = "eth"}}})
    local p = packet.allocate()
    for value, upper in pairs{[1] = "ip4", [2] = "ip6", [9] = "eth"} do
      local as = stack.createStack("eth", "ip4", "udp", name, {upper, name = "inner"})
      local pkt = as(p)
      pkt:fill{}
      pkt:calculateChecksums()
      assert.equal(value, pkt[name]:getKind())
      assert.equal(as.getName(), stack.resolve(p):getName())
      assert.is_truthy(as.check(p))
      assert.is_true(pkt:verify())
      pkt[name]:setKind(77)
      assert.equal("eth_ip4_udp_" .. name, stack.resolve(p):getName())
      assert.equal(name .. " doesn't announce inner", select(2, as.check(p)))
      p.length = 0
    end
    local text = require("lib.stack.page").text(stack.registry.find(name))
    assert.matches("as Kind says: ip4 (1), ip6 (2), eth (9)", text, 1, true)
    packet.free(p)
  end)
end)
