-- SPDX-License-Identifier: Apache-2.0

local file = require("program.nfv.file")
local places = require("program.nfv.places")
local sandbox = require("program.nfv.sandbox")

local function said(text)
  local ok, err = pcall(file.parse, "f", text)
  assert.is_false(ok, text)
  assert.equal(2, err.status)
  return tostring(err)
end

describe("A configuration file of NFV", function ()
  it("is Lua that returns a list of ports", function ()
    local list = file.parse("f", [[
      local vlan = 40
      local ports = {}
      for i = 1, 3 do
        table.insert(ports, {port_id = ("vm-%d"):format(i), vlan = vlan + i,
          mac_address = "52:54:00:00:00:0" .. i})
      end
      return ports]])
    assert.same({port_id = "vm-3", vlan = 43, mac_address = "52:54:00:00:00:03"},
      list[3])
    assert.equal("vm_3", file.name_of(list[3]))
    assert.same({}, file.parse("f", "return {}"))
  end)

  it("may have older names, which are noted", function ()
    local list, notes = file.parse("f",
      "return {{port_id = 'A', rx_police_gbps = 1, tx_police = 2, gbps = 5}}")
    assert.same({1, 2}, {list[1].rx_police, list[1].tx_police})
    assert.same({"port 'A': rx_police_gbps is the old name of rx_police"}, notes)
  end)

  it("does no harm, whatever it is", function ()
    for text, sentence in pairs{
      ["while true do end"] = "f:1: the file takes too long",
      ["local function f() return f() end return f()"] = "takes too long",
      ["local function f() return 1 + f() end return f()"] = "stack overflow",
      ["local s = 'xxxxxxxx'\nwhile true do s = s .. s end"] =
        "f:2: the file takes too much memory",
      ["return ('x'):rep(1e9)"] = "string.rep can't be used here",
      ["local f = ('x').rep local s = f('x', 1e9) return s"] =
        "f:1: string.rep can't be used here",
      ["return ('x'):find(('a*'))"] = "string.find can't be used here",
      ["return os.exit()"] = "attempt to index global 'os'",
      ["return require('ffi')"] = "attempt to call global 'require'",
      ["return io"] = "it returns nil, not a list of ports",
      ["error('x')"] = "attempt to call global 'error'",
      ["return {"] = "f:1: unexpected symbol",
      [string.dump(function () end)] = "compiled Lua",
      [""] = "it returns nil",
      ["return {a = {}}"] = "it returns a table with keys",
      ["return {1}"] = "f: port number 1: 1 isn't a table",
    } do
      local s = said(text)
      assert.is_truthy(s:find(sentence, 1, true), s)
    end
    assert.equal("xx", ("x"):rep(2)) -- strings have their functions again
    assert.is_true((jit.status()))
    assert.is_nil((debug.gethook()))
  end)

  it("gives the file and the line of what is wrong, and what is near", function ()
    local text = [[
-- { not a port }
return {
  { port_id = "A", -- {
    vlan = 1, mac_address = "52:54:00:00:00:01",
    tunnel = { type = "L2TPv3", local_ip = "::1", remote_ip = "::2",
      next_hop = "::3", session = 5, local_cookie = "0102",
      remote_cookie = "03" } },
  { port_id = "B",
    ingress_filter = "ip or } [[ ",
    vlan = 2 },
}
]]
    local filter = 'ingress_filter = "ip or } [[ "'
    local function changed(from, to)
      local at, last = text:find(from, 1, true)
      assert.is_truthy(at, from)
      return (text:sub(1, at - 1) .. to .. text:sub(last + 1))
        :gsub("ip or } %[%[ ", "ip")
    end
    for from, case in pairs{
      ["vlan = 1"] = {"vlam = 1", "f:4: port 'A' has no key 'vlam'; is 'vlan' meant?"},
      ["vlan = 2"] = {"vlan = 4095",
        "f:10: port 'B': vlan: 4095 isn't a whole number from 0 to 4094"},
      [filter] = {'ingress_filter = "ipp"',
        "f:9: port 'B': ingress_filter: 'ipp' is no "
        .. "packet filter"},
      ['session = 5'] = {"sesion = 5",
        "f:6: port 'A': tunnel has no key 'sesion'; is 'session' meant?"},
      ['"03"'] = {'"0g"', "f:7: port 'A': tunnel.remote_cookie: it isn't a string of "
        .. "up to 16 hexadecimal digits"},
      ['"L2TPv3"'] = {'"GRE"', "f:5: port 'A': tunnel.type: 'GRE' is none of: L2TPv3"},
      ['mac_address = "52:54:00:00:00:01",'] = {"",
        "f:5: port 'A': a tunnel needs the port's mac_address"},
      ['port_id = "B"'] = {'port_id = "A"',
        "f:8: port 'A': port 1 has the same port_id"},
      ['port_id = "B",'] = {'', "f:8: port number 2 has no port_id"},
      ["vlan = 2 }"] = {'vlan = 2, crypto = true }',
        "f:10: port 'B': crypto: true isn't a table"},
    } do
      local s = said((changed(from, case[1])))
      assert.equal(case[2], s:sub(1, #case[2]))
    end
  end)

  it("tells nobody a secret", function ()
    local s = said([[return {{port_id = "A", crypto = {type = "esp-aes-128-gcm",
      spi = 1,
      transmit_key = "5ec3e7", transmit_salt = "01020304",
      receive_key = "00112233445566778899aabbccddeeff", receive_salt = "01020304"}}}]])
    assert.is_nil(s:find("5ec3e7", 1, true))
    assert.matches("f:3: port 'A': crypto.transmit_key: it isn't a string of 32", s)
    s = said([[return {{port_id = "A", crypto = {type = "esp-aes-128-gcm", spi = 1,
      transmit_key = "00112233445566778899aabbccddeeff", transmit_salt = "01020304",
      receive_key = "00112233445566778899aabbccddeeff", receive_salt = "01020304"}}}]])
    assert.matches("transmit_salt and receive_salt must differ", s)
  end)

  it("has each address of a VLAN once", function ()
    local text = [[return {{port_id = "A", vlan = %d,
      mac_address = "52:54:00:00:00:0a"},
{port_id = "B", vlan = 2, mac_address = "52:54:00:00:00:0A"}}]]
    assert.matches("f:3: port 'B': port 'A' has the address", said(text:format(2)))
    assert.equal(2, #file.parse("f", text:format(3)))
  end)
end)

describe("Lines of a file", function ()
  it("aren't told where they can't be", function ()
    assert.is_nil(places.new("local x = {{}} return x", 1)(1))
    assert.is_nil(places.new("return {{}}", 2)(1))
    assert.equal(1, places.new("return {{a = {b = 1}}}", 1)(1, "b"))
    for _, odd in ipairs{"return {{", "return {{'", "return {{ --[[", "return [[", "--",
        "\"\\"} do
      assert.is_nil(places.new(odd, 1)(1, "a", "b"))
    end
  end)
end)

describe("Random text #slow", function ()
  it("is read or refused, and nothing else", function ()
    local words = {"return", "{", "}", "port_id", "=", "\"A\"", ",", "vlan", "1", "--",
      "[[", "]]", "\n", "for", "do", "end", "'", "\\", "tunnel", "crypto", "while",
        "true",
      "function", "(", ")", "..", "5e9", "string.format", "math.floor", "0x", "nil"}
    for _ = 1, 1500 do
      local parts = {}
      for i = 1, math.random(1, 25) do parts[i] = words[math.random(#words)] end
      local text = (math.random(2) == 1 and "return {{ port_id = 'A', " or "")
        .. table.concat(parts, " ") .. (math.random(2) == 1 and "}}" or "")
      local ok, err = pcall(file.parse, "f", text)
      assert.is_true(ok or require("core.failure").is(err), text)
    end
    assert.is_not_nil(sandbox)
  end)
end)
