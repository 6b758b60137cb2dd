-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local dumps = require("testing.click_dumps")
local ffi = require("ffi")
local ip = require("core.declare")("net/checksum/checksum.h")
local packet = require("core.packet")

local FIELDS = "src sport dst dport proto"

local function free_line(fields, p)
  local line = dumps.line(fields, p)
  packet.free(p)
  return line
end

describe("RoundRobinIPMapper", function ()
  it("maps by its patterns in turn", function ()
    local mapper = click.unit("RoundRobinIPMapper(7.0.0.1 - - - 0 0, "
      .. "8.0.0.1 - - - 1 0)")
    assert.same({}, mapper.errors)
    local unit = click.unit("IPRewriter(m)",
      {outputs = 2, others = {m = mapper.element}})
    local seen = {}
    for i = 1, 3 do
      local p, output = unit:pass(dumps.packet(FIELDS,
        ("1.0.0.%d 1 2.0.0.2 2 U"):format(i)))
      seen[i] = output .. " " .. free_line("src", p)
    end
    assert.same({"1 7.0.0.1", "2 8.0.0.1", "1 7.0.0.1"}, seen)
  end)

  it("wants patterns, and outputs that its rewriter has", function ()
    assert.same({"no patterns given"}, click.unit("RoundRobinIPMapper()").errors)
    local mapper = click.unit("RoundRobinIPMapper(7.0.0.1 - - - 0 5)", {name = "m"})
    assert.same({"only one pattern given"}, mapper.warnings)
    local unit = click.unit("IPRewriter(m)", {others = {m = mapper.element}})
    assert.same({"input spec 0: output port out of range in m :: RoundRobinIPMapper "
      .. "pattern 0"}, unit.errors)
  end)
end)

describe("SourceIPHashMapper", function ()
  it("maps a source always alike, and few others when a pattern goes", function ()
    local function mapped(text)
      local mapper = click.unit(text)
      assert.same({}, mapper.errors)
      local unit = click.unit("IPRewriter(m)", {others = {m = mapper.element}})
      local list = {}
      for i = 1, 60 do
        list[i] = free_line("dst", (unit:pass(dumps.packet(FIELDS,
          ("1.0.%d.%d 1 9.9.9.9 2 U"):format(i % 7, i)))))
      end
      return list
    end
    local one, three = "- - 7.0.0.1 - 0 0 1", "- - 7.0.0.3 - 0 0 3"
    local all = mapped(("SourceIPHashMapper(50 7, %s, - - 7.0.0.2 - 0 0 2, %s)"):format(
      one, three))
    local two = mapped(("SourceIPHashMapper(50 7, %s, %s)"):format(one, three))
    local used = {}
    for i, address in ipairs(all) do
      used[address] = true
      if address ~= "7.0.0.2" then assert.equal(address, two[i]) end
    end
    assert.same({["7.0.0.1"] = true, ["7.0.0.2"] = true, ["7.0.0.3"] = true}, used)
  end)
end)

-- The patterns (from 1) that FastClick chooses for 60 sources.
local CHOSEN = {
  ["5 195935983: 4055 80147 37181 36356 3719"] =
    "213233543122551115511543533231535553224421422454524513323355",
  ["1 7: 9 2 5"] = "223221222222222222222222212232212221222222222222222221322122",
  ["3 -3: 40 1"] = "122111121212211212212221211122112121112212211222112221111121",
  ["64 0: 3 2 1 0"] = "134442312211334111323424424112324243143341411143241312112322",
}

describe("SourceIPHashMapper", function ()
  for numbers, expected in pairs(CHOSEN) do
    it("chooses as FastClick does: " .. numbers, function ()
      local text, ids = numbers:match("^(.-): (.*)$")
      local n = 0
      for id in ids:gmatch("%d+") do
        n = n + 1
        text = text .. (", - - 7.0.0.%d - 0 0 %s"):format(n, id)
      end
      local mapper = click.unit(("SourceIPHashMapper(%s)"):format(text))
      local unit = click.unit("IPRewriter(m)", {others = {m = mapper.element}})
      local list = {}
      for i = 1, 60 do
        list[i] = free_line("dst", (unit:pass(dumps.packet(FIELDS,
          ("%d.%d.%d.%d 7 10.0.0.254 80 T"):format(i * 37 % 223 + 1, i * i % 256,
            i * 91 % 256, i))))):match("%d$")
      end
      assert.equal(expected, table.concat(list))
    end)
  end
end)

describe("FTPPortMapper", function ()
  it("maps the port that a command names, and all numbers after that", function ()
    local rewriter = click.unit("TCPRewriter(pattern 9.0.0.9 1024-65535# - - 0 0)",
      {name = "rw"})
    local mapper = click.unit("FTPPortMapper", {values = {
      CONTROL_REWRITER = rewriter.element, DATA_REWRITER = rewriter.element,
      DATA_REWRITER_INPUT = 0}, noutputs = 0})
    assert.same({}, mapper.errors)
    local fields = FIELDS .. " tcp_seq tcp_ack payload"
    local function pass(line)
      local p = rewriter:pass(mapper:pass(dumps.packet(fields, line)))
      local header, l4 = p.buf_addr + p.note16[1], p.buf_addr + p.note16[2]
      assert.equal(0, ip.pg_ip4_l4_checksum(header, l4,
        p.data_off + p.length - p.note16[2]))
      assert.equal(0, ip.pg_checksum_word(header, 20))
      return free_line("src sport tcp_seq tcp_ack payload", p)
    end
    local out, back = "1.0.0.1 30 2.0.0.2 21 T ", "2.0.0.2 21 9.0.0.9 1024 T "
    assert.equal('9.0.0.9 1024 0 0 "x"', pass(out .. '0 0 "x"'))
    assert.equal('9.0.0.9 1024 1 0 "PORT 9,0,0,9,4,1\\n"',
      pass(out .. '1 0 "PORT 200,200,200,200,200,200\\n"'))
    assert.equal('9.0.0.9 1024 18 0 "y"', pass(out .. '30 0 "y"'))
    assert.equal('9.0.0.9 1024 0 0 "x"', pass(out .. '0 0 "x"'))
    assert.equal('2.0.0.2 21 5 30 ""', pass(back .. '5 18 ""'))
    assert.equal('2.0.0.2 21 5 1 ""', pass(back .. '5 1 ""'))
    assert.equal("9.0.0.9 1025 2.0.0.2 20",
      rewriter:read("lookup", "200.200.200.200 51400 2.0.0.2 20"))
    mapper:free()
  end)
end)

describe("ICMPRewriter", function ()
  -- An error (time exceeded) about packet `p`, from 19.19.19.19.
  local function error_about(p)
    local quoted = ffi.string(p.data, math.min(p.length, 48))
    local source = ffi.string(p.data + 12, 4)
    local q = packet.from_string("\69\0\0\0\0\0\0\0\64\1\0\0\19\19\19\19" .. source
      .. "\11\0\0\0\0\0\0\0" .. quoted)
    q.note16[1], q.note16[2] = q.data_off, q.data_off + 20
    q.data[2], q.data[3] = 0, q.length
    ffi.cast("uint16_t *", q.data + 10)[0] = ip.pg_checksum_word(q.data, 20)
    ffi.cast("uint16_t *", q.data + 22)[0] = ip.pg_checksum_word(q.data + 20,
      q.length - 20)
    return q
  end

  local function check(line, fields)
    local rewriter = click.unit("IPRewriter(pattern 9.0.0.9 1024-65535# - - 0 0)",
      {name = "rw"})
    local unit = click.unit("ICMPRewriter(rw)", {others = {rw = rewriter.element}})
    local original = dumps.packet(fields, line)
    local bytes = ffi.string(original.data, original.length)
    local sent = rewriter:pass(original)
    local e = unit:pass(error_about(sent))
    assert.equal("19.19.19.19 1.0.0.1", dumps.line("src dst", e))
    assert.equal(0, ip.pg_checksum_word(e.data, 20))
    assert.equal(0, ip.pg_checksum_word(e.data + 20, e.length - 20))
    assert.equal(bytes:sub(1, 48), ffi.string(e.data + 28, e.length - 28))
    packet.free(e)
    packet.free(sent)
  end

  it("turns errors about what was sent to errors about what was received", function ()
    check("1.0.0.1 7 2.0.0.2 80 T", FIELDS)
    check("1.0.0.1 7 2.0.0.2 80 U \"payload\"", FIELDS .. " payload")
  end)

  it("drops other packets, or sends them to a second output", function ()
    local rewriter = click.unit("IPRewriter(drop)", {name = "rw"})
    local others = {rw = rewriter.element}
    local unit = click.unit("ICMPRewriter(rw)", {others = others})
    assert.same({}, unit:send(dumps.packet(FIELDS, "1.0.0.1 7 2.0.0.2 80 T")))
    assert.same({["no mapping"] = 1}, unit.lost)
    unit = click.unit("ICMPRewriter(rw)", {others = others, outputs = 2})
    assert.equal(2, unit:send(dumps.packet(FIELDS, "1.0.0.1 7 2.0.0.2 80 T"))[1][1])
    assert.equal(2, unit:send("short")[1][1])
    unit:free()
    assert.same({"x not an IP rewriter", "no IP rewriters supplied"},
      click.unit("ICMPRewriter(x)").errors)
  end)
end)

describe("A rewriter", function ()
  it("says once that fragments have no ports, and drops them by name", function ()
    local unit = click.unit("IPRewriter(pattern 9.0.0.9 1024-65535 - - 0 0)")
    for i = 1, 3 do
      local p = dumps.packet("src dst proto ip_frag ip_fragoff",
        ("1.0.0.1 2.0.0.2 U f %d"):format(i * 800))
      assert.is_nil((unit:pass(p)))
    end
    assert.equal(3, unit.lost["fragment without ports"])
    assert.equal(1, #unit.said)
    assert.matches("IPReassembler", unit.said[1])
  end)
end)
