-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local Lines = require("click.summary.lines")
local note = require("click.note")
local packet = require("core.packet")
local Reader = require("click.summary.tcpdump")

-- What each line comes to: bytes as hexadecimal from `at` on, or false; and the extra
-- length. Then what was said.
local function read(lines, at)
  local said, list = {}, {}
  local reader = Reader.new(Lines.of_text(table.concat(lines, "\n")), {}, {
    say = function (kind, where, text) said[#said + 1] = {kind, where, text} end,
  })
  reader:begin()
  while true do
    local p, at_end = reader:next()
    if at_end then return list, said end
    list[#list + 1] = p and {(ffi.string(p.data, p.length):sub(at or 1)
      :gsub(".", function (c) return ("%02x"):format(c:byte()) end)),
      p.note32[note.EXTRA_LENGTH]} or false
    if p then packet.free(p) end
  end
end

local A, B = "1.0 10.0.0.1.80 > 10.0.0.2.90: ", "1.0 10.0.0.2.90 > 10.0.0.1.80: "

describe("tcpdump's text", function ()
  it("becomes packets", function ()
    assert.same({{"4500002800050000400600000a0000010a000002" .. "0050005a"
      .. "0000000a00000000" .. "500216d000000000", 0}},
      (read{A .. "S 10:10(0) win 5840 (ttl 64, id 5)"}))
    local ends = "0a0000010a000002" .. "0050005a"
    assert.same({{"450000800000400002110000" .. ends .. "006c0000", 100}},
      (read{A .. "udp 100 (DF)"}))
    assert.same({{"450000800000000002110000" .. ends .. "006c0000", 100}},
      (read{A .. "[udp sum ok] udp 100"}))
    assert.same({{"4500005400000000020100000a0000010a000002", 64}},
      (read{"1.0 10.0.0.1 > 10.0.0.2: icmp: echo request (len 84)"}))
  end)

  it("gets its sequence numbers back", function ()
    local list = read({
      A .. "S 1000:1000(0)", B .. "S 5000:5000(0) ack 1001", A .. ". ack 1",
      A .. "P 1:101(100) ack 1", B .. ". ack 101",
    }, 25)
    local numbers = {}
    for i, one in ipairs(list) do numbers[i] = one[1]:sub(1, 16) end
    assert.same({"000003e800000000", "00001388000003e9", "000003e900001389",
      "000003e900001389", "000013890000044d"}, numbers)
    assert.same({0, 0, 0, 100, 0}, {list[1][2], list[2][2], list[3][2], list[4][2],
      list[5][2]})
  end)

  it("has TCP's options", function ()
    local list = read({
      A .. "S 1:1(0) <mss 1460,sackOK,timestamp 1 2,nop,wscale 7>",
      A .. "S 1:1(0) <what 4,mss 1460,eol>", A .. "S 1:1(0) win 4 (len 52)",
      A .. "S 1:1(0) <mss 1", A .. "S 1:1(0) <" .. ("timestamp 1 2,"):rep(9) .. ">",
      A .. "S 1:1(0) win 4 (len 20)",
    }, 33)
    assert.same({
      {"a002000000000000" .. "020405b4" .. "0402" .. "080a0000000100000002"
        .. "01030307", 0},
      {"7002000000000000" .. "020405b4" .. "00000000", 0},
      {"8002000400000000" .. ("00"):rep(12), 0}, {"5002000000000000", 0},
      {"f002000000000000" .. ("080a0000000100000002"):rep(4), 0},
      {"5002000400000000", 0},
    }, list)
  end)

  it("has fragments, and the bits of ECN", function ()
    local list = read({
      A .. "udp 1472 (frag 7:1480@0+)", "1.0 10.0.0.1 > 10.0.0.2: udp (frag 7:20@1480)",
      A .. "udp 1 [tos 0x6,ECT(0)]", A .. "udp 1 [ECT(1)] (DF)", A .. "udp 1 [CE]",
    })
    local heads = {}
    for i, one in ipairs(list) do heads[i] = one[1]:sub(1, 16) .. " " .. one[2] end
    assert.same({"450005dc00072000 1472", "45000028000700b9 20", "4506001d00000000 1",
      "4501001d00004000 1", "4503001d00000000 1"}, heads)
  end)

  it("says once what is no packet", function ()
    local list, said = read{"hello", "", "# remark", "1.0 10.0.0.1 > x: ", A .. "udp 1",
      "1 2 3", "1.0 10.0.0.1.80 > 10.0.0.2: udp 1"}
    assert.equal(5, #list)
    assert.same({{"warning", "<data>",
      "first line suspicious; is this a tcpdump output file?"},
      {"error", "<data>:1", "packet parse error"}}, said)
  end)

  it("may be anything", function ()
    local words = {A, B, "10:20(10) ", "9999999999999999999:0(0) ", "ack 4294967297 ",
      "<mss 99999,", "sack sack 9 {1:2}{3:4}", ">", "(len 99999)", "[tos 0xfff]",
      "(frag 99999:99999@99999+)", "S ", "udp 999999", "win 70000 ", "((", "]"}
    math.randomseed(7)
    local lines = {}
    for i = 1, 2000 do
      local line = {words[math.random(2)]}
      for j = 2, math.random(7) do line[j] = words[math.random(#words)] end
      lines[i] = table.concat(line)
    end
    assert.equal(2000, #(read(lines)))
  end)
end)
