-- SPDX-License-Identifier: Apache-2.0
-- `perigee lwaftr generate`: a configuration of as many softwires as wanted, with the
-- arguments of upstream's generate-configuration, and packets for it.

local ffi = require("ffi")
local atomic_file = require("core.lib.atomic_file")
local cli = require("lib.cli")
local failure = require("core.failure")
local sample = require("program.lwaftr.sample")
local values = require("apps.lwaftr.conf_values")
require("apps.lwaftr.softwires") -- declares struct softwire

local M = {}

local INTERFACE = [[
  %s {
    allow-incoming-icmp false;
    error-rate-limiting {
      packets 600000;
    }
    reassembly {
      max-fragments-per-packet 40;
    }
  }
]]

local INSTANCE = [[
  instance {
    device test;
    queue {
      id 0;
      external-interface {
        ip 10.0.1.1;
        mac 02:aa:aa:aa:aa:aa;
        next-hop {
          mac 02:99:99:99:99:99;
        }
      }
      internal-interface {
        ip fc00::100;
        mac 02:aa:aa:aa:aa:aa;
        next-hop {
          mac 02:99:99:99:99:99;
        }
      }
    }
  }
]]

local function address(kind)
  return function (text)
    local value = kind.read(text)
    if value then return value end
    return nil, ("'%s' isn't %s"):format(text, kind.what)
  end
end

-- The address `n` behind an IPv6 one.
local function ahead(base, n, result)
  for i = 15, 0, -1 do
    n = n + base[i]
    result[i] = n % 256
    n = math.floor(n / 256)
  end
end

--- A function from an index to its struct softwire, and how many there are: each of
--- `addresses` IPv4 addresses from `ipv4` on has the PSIDs 1 and up (only 0 if it is of
--- one softwire); B4s count up from `b4`.
function M.softwires(o)
  local each = math.max(1, 2^o.psid_length - 1)
  local softwire = ffi.new("struct softwire",
    {psid_length = o.psid_length, reserved = 16 - o.psid_length - o.shift})
  ffi.copy(softwire.ends.br, o.br_address, 16)
  return function (i)
    softwire.ipv4 = o.ipv4 + math.floor(i / each)
    softwire.psid = o.psid_length == 0 and 0 or i % each + 1
    ahead(o.b4, i, softwire.ends.b4)
    return softwire
  end, o.addresses * each
end

local function line(softwire, br)
  local reserved = softwire.reserved > 0
    and (" reserved-ports-bit-count %d;"):format(softwire.reserved) or ""
  return ("    softwire { ipv4 %s; psid %d; b4-ipv6 %s; br-address %s; "
    .. "port-set { psid-length %d;%s }}\n"):format(values.ipv4.write(softwire.ipv4),
    softwire.psid, values.ipv6.write(softwire.ends.b4), br, softwire.psid_length,
    reserved)
end

local function write(put, options)
  local nth, count = M.softwires(options)
  local br = values.ipv6.write(options.br_address)
  put("softwire-config {\n  binding-table {\n")
  for i = 0, count - 1 do put(line(nth(i), br)) end
  put("  }\n" .. INTERFACE:format("external-interface")
    .. INTERFACE:format("internal-interface") .. INSTANCE .. "}\n")
end

local PIECE = 65536 -- bytes

-- Write it by put(), in pieces.
local function write_pieces(put, options)
  local list, size = {}, 0
  local function flush()
    put(table.concat(list))
    list, size = {}, 0
  end
  write(function (text)
    list[#list + 1], size = text, size + #text
    if size >= PIECE then flush() end
  end, options)
  flush()
end

local function parse(args)
  local p = cli.parser("lwaftr generate",
    "Write a configuration: NUMBER IPv4 addresses from IPV4 on, each shared by "
    .. "softwires with PSIDs from 1 to 2^PSID_LENGTH - 1, whose B4s' addresses count "
    .. "up from B4.")
  p:argument("ipv4", "the first IPv4 address"):convert(address(values.ipv4))
  p:argument("number", "how many IPv4 addresses"):convert(cli.integer(1, 2^24))
  p:argument("br_address", "the lwAFTR's IPv6 address"):convert(address(values.ipv6))
  p:argument("b4", "the first B4's IPv6 address"):convert(address(values.ipv6))
  p:argument("psid_length", "bits of a PSID"):convert(cli.integer(0, 16))
  p:argument("shift", "bits of a port behind the PSID (default: all)"):args("?")
    :convert(cli.integer(0, 16))
  p:option("-o --output", "write to this file instead of standard output")
  p:option("-4 --pcap-v4", "write packets from the internet to this file")
  p:option("-6 --pcap-v6", "write packets from B4s to this file")
  p:option("-s --packet-size", "bytes of those packets", 300)
    :convert(cli.integer(0, 10240))
  p:option("-n --npackets", "how many packets", 1000):convert(cli.count)
  local options = cli.parse(p, args)
  options.addresses, options.shift =
    options.number, options.shift or 16 - options.psid_length
  if options.psid_length + options.shift > 16 then
    failure.usage("psid_length %d and shift %d are more than 16 bits",
      options.psid_length, options.shift)
  elseif options.ipv4 + options.addresses > 2^32 then
    failure.usage("there aren't %d addresses from %s on", options.addresses,
      values.ipv4.write(options.ipv4))
  end
  return options
end

--- Run the command.
function M.run(args)
  local options = parse(args)
  if options.output then
    local file = atomic_file.open(options.output)
    write_pieces(function (text) file:put(text) end, options)
    file:finish()
  else
    write_pieces(function (text) io.stdout:write(text) end, options) -- see core.main
  end
  local nth, count = M.softwires(options)
  for _, kind in ipairs{{options.pcap_v4, sample.from_internet},
    {options.pcap_v6, sample.from_b4}} do
    if kind[1] then
      sample.write(kind[1], kind[2], options.packet_size, options.npackets, nth, count)
    end
  end
end

return M
