-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local packet = require("core.packet")

local function ip_packet(bytes)
  local p = packet.from_string(bytes)
  p.note16[0], p.note16[1], p.note16[2] = 0, p.data_off, p.data_off + 20
  return p
end

-- An IP packet of a protocol, with ports.
local function with_ports(protocol, sport, dport)
  local function half(n) return string.char(math.floor(n / 256), n % 256) end
  return ip_packet("\69\0\0\28\0\0\0\0\64" .. string.char(protocol)
    .. "\0\0\10\0\0\1\10\0\0\2" .. half(sport) .. half(dport) .. "\0\8\0\0")
end

describe("Classifier", function ()
  it("sends packets by their bytes, and drops what no pattern matches", function ()
    local unit = click.unit("Classifier(0/61, 0/62)", {outputs = 2})
    assert.same({{1, "abc"}}, unit:send("abc"))
    assert.same({{2, "b"}}, unit:send("b"))
    assert.same({}, unit:send("c"))
    assert.same({}, unit:send(""))
    assert.same({["no match"] = 2}, unit.lost)
    assert.equal(" 0   0/61000000%ff000000  yes->[0]  no->step 1\n"
      .. " 1   0/62000000%ff000000  yes->[1]  no->[X]\nsafe length 1\n"
      .. "alignment offset 0\n", unit:read("program"))
    unit:free()
  end)

  it("wants a pattern for each output, and warns of some", function ()
    assert.same({"need 2 arguments, one per output port"},
      click.unit("Classifier(-)", {outputs = 2}).errors)
    assert.same({"output 1 matches no packets"},
      click.unit("Classifier(-, 0/61)", {outputs = 2}).warnings)
  end)
end)

describe("IPFilter", function ()
  it("filters by rules", function ()
    local unit = click.unit("IPFilter(deny src port 7, 1 udp, allow tcp)",
      {outputs = 2})
    local function output(...)
      return (unit:send(with_ports(...))[1] or {})[1]
    end
    assert.is_nil(output(6, 7, 80))
    assert.equal(2, output(17, 8, 80))
    assert.equal(1, output(6, 8, 80))
    assert.is_nil(output(1, 8, 80))
    unit:free()
  end)

  it("passes packets without a noted IP header only if it asks nothing", function ()
    local unit = click.unit("IPFilter(allow all)")
    assert.same({{1, "x"}}, unit:send("x"))
    unit:free()
    unit = click.unit("IPFilter(allow tcp, 1 all)", {outputs = 2})
    assert.same({{2, "x"}}, unit:send("x"))
    unit:free()
  end)

  it("reports all errors, and takes CACHING", function ()
    assert.same({"pattern 0: partial directive", "pattern 1: unknown slot ID 'x'"},
      click.unit("IPFilter(allow src, x tcp)").errors)
    local unit = click.unit("IPFilter(CACHING false, allow tcp)")
    assert.same({}, unit.errors)
    assert.equal(-1, unit:read("cache_hits_count"))
  end)
end)

describe("IPClassifier", function ()
  it("has a pattern for each output, which may be written", function ()
    local unit = click.unit("IPClassifier(tcp, dst port 53)", {outputs = 2})
    local e = unit.element
    local function output(...) return (unit:send(with_ports(...))[1] or {})[1] end
    assert.equal(1, output(6, 1, 2))
    assert.equal(2, output(17, 1, 53))
    assert.equal("dst port 53", e.own_handlers.pattern1.read(e))
    e.router.collect = function (_, element, f)
      local errors = {}
      element.error = function (_, fmt, ...) errors[1] = fmt:format(...) end
      f()
      element.error = nil
      return errors[1]
    end
    assert.is_nil(e.own_handlers.pattern1.write(e, "dst port 54"))
    assert.is_nil(output(17, 1, 53))
    assert.equal(2, output(17, 1, 54))
    unit:free()
  end)
end)
