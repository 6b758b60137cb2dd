-- SPDX-License-Identifier: Apache-2.0
-- What is misspelt, or of the wrong type, is answered by a sentence that names what may
-- be meant; never by LuaJIT's own message, and never by a crash.

local ffi = require("ffi")
local packet = require("core.packet")
local stack = require("lib.stack")
require("lib.stack.packet.buffer")

local OF_LUAJIT = {"has no member named", "attempt to ", "cannot convert",
  "bad argument", "cannot be indexed", "number expected",
  "table expected", "string expected"}

-- The sentence that the call raises.
local function refusal(...)
  local ok, message = pcall(...)
  assert.is_false(ok)
  message = tostring(message)
  for _, words in ipairs(OF_LUAJIT) do
    assert.is_nil(message:find(words, 1, true), message)
  end
  return message
end

-- The name with two letters swapped.
local function misspell(name)
  local at = math.max(2, #name - 2)
  local a, b = name:sub(at, at), name:sub(at + 1, at + 1)
  if a == b then return name .. "x" end
  return name:sub(1, at - 1) .. b .. a .. name:sub(at + 2)
end

describe("a cast", function ()
  local as = stack.createStack("eth", "ip4", "udp")
  local p
  before_each(function () p = packet.from_string(("\0"):rep(60)) end)
  after_each(function () packet.free(p) end)

  it("refuses what is no packet", function ()
    local function try(value, text)
      for _, f in ipairs{function (v) return as(v) end, as.check, stack.resolve} do
        assert.matches("takes a packet, not " .. text, refusal(f, value), 1, true)
      end
    end
    try(nil, "nil")
    try(5, "5")
    try(5ULL, "5ULL")
    try("eth", "'eth'")
    try({}, "a table")
    try(print, "a function")
    try(p.data, "cdata<unsigned char *>")
    try(ffi.cast("void *", p), "cdata<void *>")
    try(ffi.new("struct packet **"), "cdata<struct packet **>")
    assert.matches("ip4 is no packet", refusal(as, as(p).ip4), 1, true)
  end)

  it("takes a packet under any stack's type, and a resolved one", function ()
    local asEth = stack.createStack("eth")
    as(p):fill{pktLength = 60}
    for _, form in ipairs{p, as(p), asEth(p), stack.resolve(p), as(asEth(as(p)))} do
      assert.is_true(as(form).packet == p)
      assert.is_true(as.check(form).packet == p)
      assert.equal("eth_ip4_udp", stack.resolve(form):getName())
    end
  end)
end)

describe("a header of every protocol", function ()
  local p
  before_each(function () p = packet.from_string(("\0"):rep(2000)) end)
  after_each(function () packet.free(p) end)

  -- f(header, its layout, the protocol's name, number) for each protocol's header, of a
  -- stack (1) and of a view (2), if that has one.
  local function each_header(f)
    for _, name in ipairs(stack.protocols()) do
      local pkt = stack.createStack({name, name = "h"})(p)
      local view = stack.resolve(p, name)
      f(pkt.h, stack.registry.find(name).default, name, 1)
      if view[name] then f(view[name], view.shape.items[1].layout, name, 2) end
    end
  end

  it("says what there isn't, and what may be meant #slow", function ()
    each_header(function (h, layout, name)
      for _, field in ipairs(layout.fields) do
        for _, prefix in ipairs{"get", "set"} do
          local right = prefix .. field.name
          local wrong = misspell(right)
          local said = refusal(function () return h[wrong](h, 1) end)
          assert.matches(("%s has no '%s'"):format(name, wrong), said, 1, true)
          assert.matches("'" .. right .. "'", said, 1, true)
        end
        refusal(function () h[field.name .. "X"] = 1 end)
      end
    end)
  end)

  it("refuses values that its setters can't take", function ()
    for _, name in ipairs(stack.protocols()) do
      local h = stack.createStack({name, name = "h"})(p).h
      for _, field in ipairs(stack.registry.find(name).default.fields) do
        local set = h["set" .. field.name]
        for _, value in ipairs{{}, "zzz", print} do
          assert.matches("%a", refusal(set, h, value))
        end
        if field.bits > 1 and field.kind ~= "mac" then
          assert.matches("%a", refusal(set, h, true))
        end
        if field.kind ~= "uint" and field.kind ~= "bytes" then
          assert.matches("address", refusal(h["set" .. field.name .. "String"], h, 5))
          assert.matches("an? %w+ address has no", refusal(function ()
            h[field.member]:setStrin("x")
          end))
        end
      end
    end
  end)

  it("refuses values that its members can't take", function ()
    local numbers = ffi.new("struct { int a; }")
    local wrong = {5, -1.5, 5ULL, "zzz", "", true, {}, {"x"}, print, p, p.data,
      numbers, ffi.new("void *"), {n = nil}}
    local refused = 0
    each_header(function (h, layout, name, i)
      for _, cell in ipairs(layout.cells) do
        for v = 1, #wrong + 1 do -- the last is nil
          local value = wrong[v]
          local function assign() h[cell.member] = value end
          local field = cell.fields[1]
          if not field or field.kind ~= "uint" or type(value) == "table" then
            local said = refusal(assign)
            assert.matches(("%s.%s "):format(name, cell.member), said, 1, true)
          end
          if not pcall(assign) then
            refusal(assign)
            refused = refused + 1
          end
          local read = h[cell.member]
          assert.is_true(read ~= nil and type(read) ~= "string", i)
        end
      end
    end)
    assert.is_true(refused > 5000, refused)
  end)

  it("takes what its members can hold", function ()
    local pkt = stack.createStack("eth", "ip4", "udp", "vxlan")(p)
    pkt:fill{pktLength = 100, ip4Dst = 7}
    pkt.ip4.src = pkt.ip4.dst
    assert.equal(7, pkt.ip4:getSrc())
    pkt.ip4.tTL = 9
    pkt.ip4.protocol = 17ULL
    assert.equal(9, pkt.ip4.tTL)
    assert.equal(9, pkt.ip4:getTTL())
    assert.equal(17, pkt.ip4:getProtocol())
    assert.equal("vxlan.vNI can't be set to 5; setVNI takes the field's value",
      refusal(function () pkt.vxlan.vNI = 5 end):match(": (.*)"))
    local said = refusal(function () pkt.ip4.src = 5 end)
    assert.equal("ip4.src takes another IPv4 address, not 5; setSrc takes numbers too, "
      .. "and setSrcString text", said:match(": (.*)"))
  end)

  it("refuses methods that are called without it", function ()
    for _, name in ipairs(stack.protocols()) do
      local h = stack.createStack({name, name = "h"})(p).h
      for _, field in ipairs(stack.registry.find(name).default.fields) do
        local called = {"get" .. field.name, "set" .. field.name,
          "get" .. field.name .. "String"}
        if field.kind ~= "uint" and field.kind ~= "bytes" then
          called[4] = called[2] .. "String"
        end
        for _, method in ipairs(called) do
          for _, value in ipairs{64, "x", {}, print, true, 5ULL, p.data} do
            assert.matches(("%s:%s is called with its header, by a colon, not with ")
              :format(name, method), refusal(h[method], value), 1, true)
          end
          assert.matches("not with nil", refusal(h[method]), 1, true)
        end
      end
    end
  end)

  it("refuses labels that fill doesn't know #slow", function ()
    for _, name in ipairs(stack.protocols()) do
      local pkt = stack.createStack({name, name = "h"})(p)
      for _, field in ipairs(stack.registry.find(name).default.fields) do
        local label = "h" .. field.label
        local wrong = #field.label > 2 and misspell(label) or label .. "x"
        local said = refusal(pkt.fill, pkt, {[wrong] = 1})
        assert.matches(("fill: there is no field '%s'"):format(wrong), said, 1, true)
        assert.matches("'" .. label .. "'", said, 1, true)
        refusal(pkt.fill, pkt, {[label] = {}})
        refusal(pkt.fill, pkt, {[label] = print})
      end
    end
  end)
end)

describe("a packet under a stack", function ()
  local p, pkt
  before_each(function ()
    p = packet.from_string(("\0"):rep(60))
    pkt = stack.createStack("eth", "ip4", "tcp")(p)
    pkt:fill{pktLength = 60}
  end)
  after_each(function () packet.free(p) end)

  local function says(sentence, f, ...)
    assert.matches(sentence, refusal(f, ...), 1, true)
  end

  it("says what it doesn't have, and what may be meant", function ()
    says("no header or method 'ip5'; is 'ip4' meant?", function () return pkt.ip5 end)
    says("no header or method 'tpc'; is 'tcp' meant?", function () return pkt.tpc end)
    says("'fil'; is 'fill' meant?", function () pkt:fil{} end)
    says("is 'calculateTcpChecksum' or", function () pkt:calculateTpcChecksum() end)
    says("no member 'ttl' to set", function () pkt.ttl = 1 end)
    says("payload has no 'uint12'", function () return pkt.payload.uint12[0] end)
    says("ip4 has no member 'ttl' to assign to; is 'setTTL' meant?",
      function () pkt.ip4.ttl = 1 end)
    says("a stack has no 'chek'", function ()
      return stack.createStack("eth").chek
    end)
    says("lib.stack has no 'createStak'; is 'createStack' meant?",
      function () return stack.createStak("eth") end)
  end)

  it("says so where an operator is used with it", function ()
    local operators = {"#v", "-v", "v .. 'x'", "v * 2", "v / 2", "v % 2", "v ^ 2",
      "v < 5", "5 <= v", "v()", "{} + v", "'x' - v"}
    for what, v in pairs{
      ["the header ip4; `perigee proto ip4` lists its fields"] = pkt.ip4,
      ["a packet; it has length, and its headers have fields"] = pkt,
      ["payload; it has uint8,"] = pkt.payload,
      ["an Ethernet address; get gives a number, getString text"] = pkt.eth.dst,
      ["an IPv4 address; get gives"] = pkt.ip4.src,
      ["an IPv6 address; get gives"] = stack.createStack("eth", "ip6")(p).ip6.src,
    } do
      for _, text in ipairs(operators) do
        local said = refusal(loadstring("local v = ... return " .. text), v)
        local own = what:find("IP", 1, true) and text:find("[<+-]") -- these have some
        local expected = own and "address" or "' can't be used with " .. what
        assert.matches(expected, said, 1, true)
      end
    end
  end)

  it("says so when it was resolved, but for headers it may have", function ()
    local view = stack.resolve(p)
    assert.is_nil(view.udp)
    assert.is_nil(view.innerEth)
    assert.is_nil(view.inner3Ip6)
    assert.is_nil(view.problem)
    says("'verfy'; is 'verify' meant?", function () view:verfy() end)
    says("no header or method 'upd'; is 'udp' meant?", function () return view.upd end)
    says("there is no protocol 'ehter'", stack.resolve, p, "ehter")
  end)

  it("refuses arguments of the wrong type", function ()
    says("fill: it takes a table of labels", pkt.fill, pkt, 5)
    for _, form in ipairs{pkt, stack.resolve(p)} do
      says("setLength takes a number of bytes, not 'x'", form.setLength, form, "x")
      says("setLength takes a number of bytes, not nil", form.setLength, form)
      says("dump writes to a file", form.dump, form, 0, 5)
    end
    says("argument 2 is nil", stack.createStack, "eth", nil)
    says("`with` is a list", stack.createStack, "eth", {"gre", with = "Key"})
    says("no optional field 'Kye'; is 'Key' meant?", stack.createStack, "eth",
      {"gre", with = {"Kye"}})
    says("TCP option MSS is set at an offset", pkt.tcp.setMssOption, pkt.tcp, nil, 9)
    says("TCP option timestamps holds a number", pkt.tcp.setTSOption, pkt.tcp, 0)
  end)

  it("refuses a method that is called without it", function ()
    for _, name in ipairs{"fill", "get", "getString", "dump", "verify",
                          "resolveLastHeader"} do
      says("a stack takes a packet, not a table", pkt[name], {})
      says("a stack takes a packet, not nil", pkt[name])
    end
  end)

  it("refuses addresses' and lengths' methods without these", function ()
    local six = stack.createStack("eth", "ip6")(p).ip6
    local all = {IPv4 = pkt.ip4.src, IPv6 = six.src, Ethernet = pkt.eth.src}
    for kind, address in pairs(all) do
      for _, method in ipairs{"get", "set", "getString", "setString"} do
        for _, value in ipairs{64, {}, print, true, 5ULL} do
          says(("an %s address's method is called with it"):format(kind),
            address[method], value, 1)
        end
      end
    end
    for _, value in ipairs{64, "x", {}, print} do
      says("setLength is called with its packet", pkt.setLength, value, 60)
      says("checksums are calculated of a packet", pkt.calculateChecksums, value)
      says("checksums are calculated of a packet", pkt.calculateTcpChecksum, value)
      says("incAndWrap takes two numbers, not ", stack.incAndWrap, value)
      if value ~= 64 then
        says("incAndWrap takes two numbers, not 1 and ", stack.incAndWrap, 1, value)
      end
    end
  end)

  it("refuses to count or compare addresses with what isn't one", function ()
    local six = stack.createStack("eth", "ip6")(p).ip6
    for kind, address in pairs{IPv4 = pkt.ip4.src, IPv6 = six.src} do
      says("a number can be added to an " .. kind, address.add, address, "x")
      says("a number can be added to an " .. kind, function () return address + "x" end)
      says("a number can be added to an " .. kind, function () return address - {} end)
      says(("an %s address is compared with another, not with a number"):format(kind),
        function () return address < 5 end)
    end
  end)
end)
