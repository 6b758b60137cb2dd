-- SPDX-License-Identifier: Apache-2.0
-- Elements of Ethernet and IP get packets that mean nothing, with annotations that
-- point anywhere in them. They may do what they like with those but read or write
-- outside of them, or raise errors.

local bit = require("bit")
local click = require("testing.click")
local ffi = require("ffi")
local note = require("click.note")
local packet = require("core.packet")
local patterns = require("click.classification.patterns")

local CONFIGS = {
  "EtherRewrite(1:1:1:1:1:1, 2:2:2:2:2:2)", "EtherMirror", "EnsureEther()",
  "EtherEncap(1, 1:1:1:1:1:1, 2:2:2:2:2:2)", "VLANEncap(ANNO)", "VLANDecap()",
  "EtherVLANEncap(1, 1:1:1:1:1:1, 2:2:2:2:2:2, ANNO)", "StripEtherVLANHeader(-1)",
  "HostEtherFilter(1:1:1:1:1:1, true, true)", "MarkMACHeader(3, 14)", "TruncateFCS",
  "GetEtherAddress(4, 30)", "StoreEtherAddress(1:1:1:1:1:1, 30)", "EtherSwitch", "Hub",
  "ARPResponder(0/0 1:1:1:1:1:1)", "ARPQuerier(1.0.0.1, 1:1:1:1:1:1, CAPACITY 4)",
  "CheckARPHeader", "ARPPrint(ETHER true)", "CheckIPHeader(INTERFACES 1.0.0.1/8)",
  "CheckIPHeader(OFFSET 14, CHECKSUM false)", "MarkIPHeader(5)", "StripIPHeader",
  "UnstripIPHeader", "UnstripTransportHeader", "UnstripAnno()", "GetIPAddress(16)",
  "GetIPAddress(IP src)", "StoreIPAddress(1.0.0.1, 16)", "StoreIPAddress(1.0.0.1, src)",
  "DecIPTTL", "FixIPSrc(1.0.0.1)", "IPGWOptions(1.0.0.1)", "IPFragmenter(68)",
  "IPFragmenter(30, false)", "IPReassembler(HIMEM 9999)", "IPInputCombo(1)",
  "IPOutputCombo(1, 1.0.0.1, 40)", "SetIPDSCP(1)", "SetIPECN(1)", "MarkIPCE(true)",
  "SetIPChecksum", "ResetIPChecksum(true)", "IPEncap(4, 1.0.0.1, DST_ANNO)", "IPMirror",
  "RadixIPLookup(0/0 1.0.0.1 0)", "ICMPError(1.0.0.1, parameterproblem)",
  "ICMPError(1.0.0.1, redirect)", "ICMPPingResponder", "CheckICMPHeader",
  "ICMPPingEncap(1.0.0.1, 1.0.0.2)", "CheckTCPHeader", "CheckUDPHeader",
  "SetTCPChecksum(true)", "SetUDPChecksum", "UDPIPEncap(1.0.0.1, 1, 1.0.0.2, 2)",
  "StripTransportHeader", "GTPDecap", "Search(ab)", "CheckIP6Header(PROCESS_EH true)",
  "GetIP6Address(24)", "DecIP6HLIM", "IP6Mirror", "ICMP6Error(::1, 4, 0)",
  "LookupIP6Route(::/0 ::1 0)", "IP6NDAdvertiser(::/0 1:1:1:1:1:1)",
  "IP6NDSolicitor(::1, 1:1:1:1:1:1)", "ProtocolTranslator46", "ProtocolTranslator64",
  "AddressTranslator(0, true, true, false, ::1 1 65535)",
}
if patterns.new({"a"}, true) then -- Hyperscan is there
  table.insert(CONFIGS, "StringMatcher(aa, \"\\<ffff>\")")
  table.insert(CONFIGS, "RegexMatcher(\"a.*b\", PAYLOAD_ONLY true)")
end
local INPUTS = {ARPQuerier = 2, IP6NDSolicitor = 2, EtherSwitch = 2, Hub = 2,
  AddressTranslator = 2}

-- Something like a packet: the beginning of headers, and chance.
local SEEDS = {
  "\2\0\0\0\0\1\2\0\0\0\0\2\8\0\69\0\0\60\0\1\32\0\64\17", "\69\0\0\60\0\1\0\0\64\6",
  "\79\0\0\90\0\1\0\0\1\1", "\70\0\0\40\0\1\32\3\9\17\0\0\1\1\1\1\2\2\2\2\7\4",
  "\1\1\1\1\1\1\2\0\0\0\0\2\8\6\0\1\8\0\6\4\0\1", "\96\0\0\0\0\40\58\255",
  "\255\255\255\255\255\255\2\0\0\0\0\2\129\0\16\1\8\0", "\96\0\0\0\0\60\0\1", "",
}

local GUARD = 64 -- bytes of the buffer's beginning, which nobody may write to

local function packet_of_chance(random)
  local p = packet.allocate()
  local seed = SEEDS[random(#SEEDS)]
  p.data_off = random(100, 500)
  p.length = random(3) == 1 and random(0, 40) or random(0, 300)
  for i = 0, p.length - 1 do p.data[i] = random(0, 255) end
  ffi.copy(p.data, seed, math.min(#seed, p.length))
  note.clear(p)
  for i = 0, 2 do
    local where = random(4)
    p.note16[i] = where == 1 and 0 or where == 2 and random(GUARD, 11000)
      or p.data_off + (where == 3 and 0 or random(0, 60))
  end
  for i = 16, 63 do p.note8[i] = random(3) == 1 and random(0, 255) or 0 end
  p.note64[note.TIMESTAMP] = random(0, 5) * 1000000000
  return p
end

local function is_sound(p)
  return p.length <= packet.max_payload and p.data_off + p.length <= p.buf_len
end

describe("elements of Ethernet and IP", function ()
  it("live through packets of chance #slow", function ()
    math.randomseed(42)
    local unsound
    for _, config in ipairs(CONFIGS) do
      local name = config:match("^%w+")
      local unit = click.unit(config, {inputs = INPUTS[name] or 1, outputs = 2})
      assert.same({}, unit.errors, config)
      for i = 1, 400 do
        local ok, why = pcall(unit.send, unit, packet_of_chance(math.random),
          INPUTS[name] and bit.band(i, 1) + 1)
        if not ok then error(config .. ": " .. tostring(why)) end
        for _, p in ipairs(unit.packets) do
          if not is_sound(p) then unsound = config end
        end
        unit:free()
      end
      unit.element:cleanup()
    end
    assert.is_nil(unsound)
  end)
end)
