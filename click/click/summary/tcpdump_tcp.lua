-- SPDX-License-Identifier: Apache-2.0
-- TCP headers from tcpdump's text: "S 10:10(0) ack 7 win 5840 <mss 1460,nop>". Behind a
-- flow's first packets tcpdump counts sequence numbers from there on; the numbers are
-- completed here.

local options = require("click.summary.options")
local tcp_flag = require("net.wire.tcp_flag")

local tcpdump_tcp = {}

local HEADER, MOST_OPTIONS = 20, 40
local FLAGS = {F = 1, S = 2, R = 4, P = 8, A = 16, U = 32, E = 64, W = 128, ["."] = 16}
local FIN, SYN, ACK = tcp_flag.FIN, tcp_flag.SYN, tcp_flag.ACK
local NOP, END = "\1", "\0"
local MSS, SCALE, SACK_OK, SACK, TIME = 2, 3, 4, 5, 8
-- An acknowledgement of more, early in a flow, isn't counted from the flow's start.
local LARGE = 8000

local WORD = 2 ^ 32
local bytes_of = options.bytes

local function has(flags, flag) return math.floor(flags / flag) % 2 == 1 end

--- What is known of flows.
function tcpdump_tcp.new_flows() return {by_ends = {}, absolute = nil} end

-- The flow of a packet; its directions are 1 and 2, and the packet's is the second
-- result.
local function find_flow(flows, source, destination)
  local a = ("%d.%d"):format(source.address, source.port)
  local b = ("%d.%d"):format(destination.address, destination.port)
  local way = a <= b and 1 or 2
  local key = way == 1 and a .. " " .. b or b .. " " .. a
  local flow = flows.by_ends[key]
  if not flow then
    flow = {first = {0, 0}, last = {}}
    flows.by_ends[key] = flow
  end
  return flow, way
end

-- Sequence numbers as they were on the wire.
local function make_whole(flows, flow, way, t)
  local back = 3 - way
  if flow.first[1] == 0 and flow.first[2] == 0 or has(t.flags, SYN) then
    flow.first[way], flow.first[back] = t.seq, (t.ack - 1) % WORD
  else
    if flows.absolute == nil then
      local ahead = (t.ack - flow.first[back]) % WORD
      flows.absolute = ahead < WORD / 2 and t.ack > LARGE
    end
    if t.seq == 0 and t.behind == 0 then
      t.seq = flow.last[way] or 0
      t.behind = t.seq
    elseif not flows.absolute then
      t.seq = (t.seq + flow.first[way]) % WORD
      t.behind = (t.behind + flow.first[way]) % WORD
    end
    if not flows.absolute then t.ack = (t.ack + flow.first[back]) % WORD end
  end
  flow.last[way] = (t.behind + (has(t.flags, SYN) and 1 or 0)
    + (has(t.flags, FIN) and 1 or 0)) % WORD
  flow.last[back] = flow.last[back] or t.ack
end

-- Options ---------------------------------------------------------------------------

local function sack_bytes(text, base)
  local blocks = {}
  for from, to in text:gmatch("{(%d+):(%d+)}") do
    blocks[#blocks + 1] = bytes_of((from + base) % WORD, 4)
      .. bytes_of((to + base) % WORD, 4)
  end
  return string.char(SACK, #blocks * 8 % 256 + 2) .. table.concat(blocks)
end

-- Patterns of options, and their bytes; `base` is added to acknowledged numbers.
local OPTIONS = {
  {"^nop$", function () return NOP end}, {"^eol$", function () return END end},
  {"^mss (%d+)$", function (n)
    return string.char(MSS, 4) .. bytes_of(n % 65536, 2)
  end},
  {"^wscale (%d+)$", function (n) return string.char(SCALE, 3, n % 256) end},
  {"^sackOK()$", function () return string.char(SACK_OK, 2) end},
  {"^timestamp (%d+ %d+)$", function (text)
    local value, echo = text:match("(%d+) (%d+)")
    return string.char(TIME, 10) .. bytes_of(value % WORD, 4)
      .. bytes_of(echo % WORD, 4)
  end},
  {"^sack sack %d+ ([{}%d: ]+)$", sack_bytes},
}

local function option_bytes(word, base)
  for _, option in ipairs(OPTIONS) do
    local value = word:match(option[1])
    if value then return option[2](value, base) end
  end
  return "" -- one that isn't known
end

local function read_options(text, base)
  local list, n = {}, 0
  for word in text:gmatch("[^,]+") do
    local bytes = option_bytes(word:match("^%s*(.-)%s*$"), base)
    if n + #bytes > MOST_OPTIONS then break end
    list[#list + 1], n = bytes, n + #bytes
  end
  return table.concat(list) .. END:rep(-n % 4)
end

-- The line --------------------------------------------------------------------------

local function read_flags(text)
  local letters, rest = text:match("^([.FSRPAUEW]+)(.*)$")
  local flags, seen = 0, {}
  for letter in (letters or ""):gmatch(".") do
    local flag = FLAGS[letter]
    flags = flags + (seen[flag] and 0 or flag)
    seen[flag] = true
  end
  return flags, rest or text
end

-- Cut a number that stands behind `word`; it or 0, and the rest.
local function cut(text, word)
  local n, rest = text:match("^" .. word .. " (%d+) ?(.*)$")
  if not n then return nil, text end
  return tonumber(n) % WORD, rest
end

--- The header without its ports from the text behind "FROM > TO: ", and how many bytes
--- follow it, if the text says so.
function tcpdump_tcp.read(flows, text, source, destination)
  local t = {seq = 0, behind = 0, ack = 0}
  local flags, rest = read_flags(text)
  t.flags = flags
  rest = rest:gsub("^ %[bad hdr[^%]]*%]", ""):gsub("^ %[tcp sum ok%]", "")
    :gsub("^ %[bad tcp[^%]]*%]", ""):gsub("^ ", "")
  local length
  local seq, behind, more = rest:match("^(%d+):(%d+)%(%d*%) ?(.*)$")
  if seq then
    t.seq, t.behind, rest = seq % WORD, behind % WORD, more
    length = (t.behind - t.seq) % WORD
  elseif rest:find("^ack ") then
    length = 0
  end
  local ack, window, urgent
  ack, rest = cut(rest, "ack")
  if ack then
    t.ack = ack
    if not has(t.flags, ACK) then t.flags = t.flags + ACK end
  end
  local base = 0
  if has(t.flags, ACK) then
    local flow, way = find_flow(flows, source, destination)
    make_whole(flows, flow, way, t)
    if not flows.absolute then base = flow.first[3 - way] end
  end
  window, rest = cut(rest, "win")
  urgent, rest = cut(rest, "urg")
  local list = rest:match("^<([^>]*)>")
  local bytes = list and read_options(list, base) or ""
  return bytes_of(t.seq, 4) .. bytes_of(t.ack, 4)
    .. string.char((HEADER + #bytes) * 4, t.flags) .. bytes_of((window or 0) % 65536, 2)
    .. "\0\0" .. bytes_of((urgent or 0) % 65536, 2) .. bytes, length
end

--- The header (with its ports) with so many bytes of options more, a multiple of 4.
function tcpdump_tcp.lengthen(header, bytes)
  return header:sub(1, 12) .. string.char((#header + bytes) * 4) .. header:sub(14)
    .. END:rep(bytes)
end

return tcpdump_tcp
