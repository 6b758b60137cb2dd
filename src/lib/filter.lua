-- SPDX-License-Identifier: Apache-2.0
-- Packet filters in the language of pcap-filter(7): libpcap compiles an expression to
-- a program of the BSD packet filter, native/kernels/filter.c that to machine code.

local ffi = require("ffi")
local C = require("core.native")
local failure = require("core.failure")
local pieces = require("lib.filter_pieces")

local filter = {}

-- Under names of its own: pflua declares these too, with other types.
ffi.cdef[[
void *perigee_pcap_open_dead(int linktype, int snaplen) __asm__("pcap_open_dead");
int perigee_pcap_compile(void *p, struct bpf_code *program, const char *text,
  int optimize, uint32_t netmask) __asm__("pcap_compile");
void perigee_pcap_freecode(struct bpf_code *program) __asm__("pcap_freecode");
const char *perigee_pcap_geterr(void *p) __asm__("pcap_geterr");
void perigee_pcap_close(void *p) __asm__("pcap_close");
]]

local ETHERNET = 1 -- DLT_EN10MB, pcap/dlt.h
local SNAPLEN = 65535 -- bytes: what an accepting program returns
local NETMASK_UNKNOWN = 0xffffffff -- PCAP_NETMASK_UNKNOWN
local MOST_BYTES, MOST_SHOWN = 2^20, 200 -- of an expression, and in a sentence
local MOST_INSTRUCTIONS = 65536 -- MOST_BPF, native/kernels/filter.h
local NOTHING = "expression rejects all packets" -- libpcap's words: no program

local library

local function libpcap()
  if library then return library end
  local ok, found = pcall(ffi.load, "libpcap.so.0.8")
  if not ok then ok, found = pcall(ffi.load, "pcap") end
  if not ok then
    failure.raise("filters need libpcap (libpcap0.8 in Debian): %s", found)
  end
  library = found
  return library
end

-- IANA's numbers of the protocols above IP that pcap-filter(7) names.
local PROTOCOLS = {icmp = 1, igmp = 2, tcp = 6, igrp = 9, udp = 17, esp = 50, ah = 51,
  icmp6 = 58, pim = 103, vrrp = 112, sctp = 132}
-- Words before `proto` that mean the link layer's.
local LINKS = {ether = true, link = true, fddi = true, tr = true, wlan = true}

-- What pflua (Snabb's compiler) takes and libpcap writes otherwise: `ip proto tcp` is
-- `ip proto \tcp` there (a name that is a keyword, too), `ip proto \6` is `ip proto 6`,
-- and `len-4` is `len - 4`, not a host. Names of protocols become numbers: libpcap
-- looks for those in /etc/protocols, which not every system has.
local function for_libpcap(expression)
  local function named(before, proto, name)
    local number = not LINKS[before:match("^%a*")] and PROTOCOLS[name]
    return before .. proto .. (number or "\\" .. name)
  end
  local text = expression
  for _, word in ipairs{"proto", "protochain"} do
    text = text:gsub(("(%%a*%%s*)%%f[%%w](%s%%s+)\\?(%%a%%w*)"):format(word), named)
      :gsub(("%%f[%%w]%s(%%s+)\\(%%d)"):format(word), word .. "%1%2")
  end
  return (text:gsub("%f[%w]len%-", "len - "))
end

-- What the compiled expression gives func(program, error): nil and libpcap's words
-- if it doesn't compile.
local function with_program(text, func)
  local pcap = libpcap()
  local p = pcap.perigee_pcap_open_dead(ETHERNET, SNAPLEN)
  if p == nil then failure.raise("libpcap is out of memory") end
  local program = ffi.new("struct bpf_code")
  local result
  if pcap.perigee_pcap_compile(p, program, text, 1, NETMASK_UNKNOWN) == 0 then
    result = func(program)
    pcap.perigee_pcap_freecode(program)
  else
    result = func(nil, ffi.string(pcap.perigee_pcap_geterr(p)))
  end
  pcap.perigee_pcap_close(p)
  return result
end

local function check_text(expression)
  if type(expression) ~= "string" then
    failure.usage("a packet filter is a string, as in pcap-filter(7), not a %s",
      type(expression))
  elseif #expression > MOST_BYTES then
    failure.usage("a packet filter has up to %d bytes, not %d", MOST_BYTES, #expression)
  elseif expression:find("%z") then
    failure.usage("a packet filter can't have bytes that are 0 in it")
  end
end

-- What libpcap makes of the expression, as program() gives it.
local function compiled(expression)
  local list, reason = {}, nil
  with_program(for_libpcap(expression), function (program, err)
    reason = err
    for i = 0, program and program.n - 1 or -1 do
      local b = program.program[i]
      list[i + 1] = {code = b.code, jt = b.jt, jf = b.jf, k = b.k}
    end
  end)
  if reason == NOTHING then return {{code = 6, jt = 0, jf = 0, k = 0}} end -- RET 0
  if reason then failure.usage("%s", reason) end
  return list
end

--- The program of the expression: an array of {code =, jt =, jf =, k =}. Raises a
--- failure that says what is wrong with it.
function filter.program(expression)
  check_text(expression)
  local text = expression:gsub("%s+", " ")
  local ok, list = pcall(pieces.program, text, compiled, SNAPLEN)
  if not ok and not failure.is(list) then error(list, 0) end
  local problem = not ok and tostring(list)
    or #list > MOST_INSTRUCTIONS and ("it takes %d instructions, of up to %d"):format(
      #list, MOST_INSTRUCTIONS)
  if not problem then return list end
  local shown = expression:sub(1, MOST_SHOWN)
  failure.usage("'%s%s' is no packet filter: %s; see pcap-filter(7)", shown,
    #expression > MOST_SHOWN and "..." or "", problem)
end

--- A filter of an array of instructions, as program() gives: a struct filter, for
--- C.pg_filter(f, data, length). With `interpret` it isn't compiled to machine code.
--- Raises a failure if they aren't sound.
function filter.assemble(program, interpret)
  local code = ffi.new("struct bpf[?]", #program)
  for i, b in ipairs(program) do code[i - 1] = b end
  local f = C.pg_filter_new(code, #program, not interpret)
  if f == nil then
    failure.raise("these %d instructions are no sound packet filter", #program)
  end
  return ffi.gc(f, C.pg_filter_free)
end

--- The expression, for Ethernet frames, as a struct filter. Raises a failure that
--- says what is wrong with it.
function filter.new(expression)
  return filter.assemble(filter.program(expression))
end

--- The expression as a function of (data, length): whether it accepts the packet.
function filter.compile(expression)
  local f, match = filter.new(expression), C.pg_filter
  return function (data, length) return match(f, data, length) ~= 0 end
end

return filter
