-- SPDX-License-Identifier: Apache-2.0
-- FTPPortMapper: FTP's command PORT names an address and a port that the other side is
-- to connect to (RFC 959). Behind a rewriter they must be those that the connection
-- will have there: it makes the mapping, and rewrites the command.

local bit = require("bit")
local ffi = require("ffi")

local C = require("core.declare")("native/flows.h")
local element = require("click.element")
local FlowSet = require("click.rewriter.flow_set")
local ip = require("core.declare")("net/checksum/checksum.h")
local note = require("click.note")
local packet = require("core.packet")
local bytes = require("net.wire.bytes")

local NET, TRANSPORT = note.NETWORK_HEADER, note.TRANSPORT_HEADER
local TCP, TCP_HEADER, IP_HEADER, LEAST = 6, 20, 20, 5
local P, O, R, T, SPACE = 80, 79, 82, 84, 32 -- "PORT "

local FTPPortMapper = element.define{
  name = "FTPPortMapper", summary = "manipulates rewriters for FTP",
  arguments = {
    {"CONTROL_REWRITER", "element", required = true},
    {"DATA_REWRITER", "element", required = true},
    {"DATA_REWRITER_INPUT", "int", required = true},
  },
}

function FTPPortMapper:configure(a)
  self.control, self.data = a.CONTROL_REWRITER, a.DATA_REWRITER
  if not self.control.class.rewrites_tcp then
    return self:error("CONTROL_REWRITER: element '%s' is not of type TCPRewriter",
      self.control.name)
  elseif not self.data.find_flow then
    return self:error("DATA_REWRITER: element '%s' is not of type IPRewriterBase",
      self.data.name)
  elseif a.DATA_REWRITER_INPUT < 0 or a.DATA_REWRITER_INPUT >= self.data.ninputs then
    return self:error("DATA_REWRITER_INPUT out of range")
  end
  self.data_input = a.DATA_REWRITER_INPUT + 1
end

-- Is the element downstream of `from`?
local function leads_to(router, from, wanted, seen)
  if from == wanted then return true end
  if seen[from] then return false end
  seen[from] = true
  for port = 1, from.noutputs do
    for _, far in ipairs(router:joined(from, true, port)) do
      if leads_to(router, far.element, wanted, seen) then return true end
    end
  end
  return false
end

function FTPPortMapper:initialize()
  if not leads_to(self.router, self, self.control, {}) then
    self:warning("control packet rewriter '%s :: %s' is not downstream",
      self.control.name, self.control.class.name)
  end
end

-- The command -----------------------------------------------------------------------

local COMMAND = "^[Pp][Oo][Rr][Tt] +()(%d+),(%d+),(%d+),(%d+),(%d+),(%d+)()[\r\n]"

-- The address and port of a command, and the argument's first and last byte; or nil.
local function parse(text)
  local first, a, b, c, d, e, f, behind = text:match(COMMAND)
  local numbers = {a, b, c, d, e, f}
  for i = 1, 6 do
    numbers[i] = tonumber(numbers[i])
    if not numbers[i] or numbers[i] > 255 then return nil end
  end
  a, b, c, d, e, f = unpack(numbers)
  return ((a * 256 + b) * 256 + c) * 256 + d, e * 256 + f, first, behind - 1
end

local function argument(address, port)
  return ("%s,%d,%d"):format(FlowSet.address_text(address):gsub("%.", ","),
    math.floor(port / 256), port % 256)
end

-- The packet ------------------------------------------------------------------------

local function half(p, at) return bytes.read16(p.buf_addr + at) end
local function word(p, at) return bytes.read32(p.buf_addr + at) end

local function set_half(p, at, value)
  bytes.write16(p.buf_addr + at, value)
end

local function key_of(p)
  local net, transport = p.note16[NET], p.note16[TRANSPORT]
  return FlowSet.key(word(p, net + 12), half(p, transport), word(p, net + 16),
    half(p, transport + 2))
end

-- Put `payload` in the place of the packet's own, and set lengths and sums.
local function set_payload(p, at, payload)
  local net, transport = p.note16[NET], p.note16[TRANSPORT]
  p.length = at - p.data_off + #payload
  ffi.copy(p.buf_addr + at, payload, #payload)
  local last = p.data_off + p.length
  set_half(p, net + 2, last - net)
  set_half(p, net + 10, 0)
  local header = p.buf_addr + net
  local sum = ip.pg_checksum_word(header, bit.band(header[0], 15) * 4)
  ffi.cast("uint16_t *", header + 10)[0] = sum
  set_half(p, transport + 16, 0)
  sum = ip.pg_ip4_l4_checksum(header, p.buf_addr + transport, last - transport)
  ffi.cast("uint16_t *", p.buf_addr + transport + 16)[0] = sum
end

-- Rewrite the command in the `length` bytes at `at`, if it is one.
local function rewrite(self, p, at, length)
  local payload = ffi.string(p.buf_addr + at, length)
  local address, port, first, last = parse(payload)
  local control = address and self.control:find_flow(TCP, key_of(p))
  if not control then return end
  local net, transport = p.note16[NET], p.note16[TRANSPORT]
  local data = self.data:find_flow(TCP, FlowSet.key(address, port, word(p, net + 16),
    (half(p, transport + 2) - 1) % 65536), self.data_input)
  if not data then return end
  local new = argument(FlowSet.parts(self.data.set:rewritten(data)))
  local longer = #new - (last - first + 1)
  if p.length + longer > packet.max_payload then return end
  local control_flows = self.control.native.flows
  C.pg_flow_shift(control_flows, control, word(p, transport + 4) + length, longer)
  self.data.native.flows.flow[bit.rshift(data, 1)].reply_note =
    control_flows.flow[bit.rshift(control, 1)].reply_note
  set_payload(p, at, payload:sub(1, first - 1) .. new .. payload:sub(last + 1))
end

local function letter(byte) return bit.band(byte, 0xdf) end

function FTPPortMapper:process(p)
  local net, transport = p.note16[NET], p.note16[TRANSPORT]
  local last = p.data_off + p.length
  if net == 0 or transport < net + IP_HEADER or transport + TCP_HEADER + LEAST > last
      or p.buf_addr[net + 9] ~= TCP then
    return p
  end
  local at = transport + bit.rshift(p.buf_addr[transport + 12], 4) * 4
  local b = p.buf_addr + at
  if at + LEAST <= last and letter(b[0]) == P and letter(b[1]) == O
      and letter(b[2]) == R and letter(b[3]) == T and b[4] == SPACE then
    rewrite(self, p, at, last - at)
  end
  return p
end

return {FTPPortMapper}
