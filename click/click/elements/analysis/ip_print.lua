-- SPDX-License-Identifier: Apache-2.0
-- IPPrint prints a line about each IP packet, as tcpdump does.

local ffi = require("ffi")

local element = require("click.element")
local lines = require("click.summary.ip_lines")
local note = require("click.note")
local text_file = require("click.devices.text_file")
local View = require("click.summary.view")

local IPPrint = element.define{
  name = "IPPrint", summary = "pretty-prints IP packets",
  arguments = {
    {"LABEL", "string", default = ""},
    {"CONTENTS", "word", default = "no", keyword = true},
    {"PAYLOAD", "word", default = "no", keyword = true},
    {"MAXLENGTH", "int", default = 1500, keyword = true},
    {"NBYTES", "int", keyword = true},
    {"ETHER", "bool", default = false, keyword = true},
    {"ID", "bool", default = false, keyword = true},
    {"TIMESTAMP", "bool", default = true, keyword = true},
    {"PAINT", "bool", default = false, keyword = true},
    {"TOS", "bool", default = false, keyword = true},
    {"TTL", "bool", default = false, keyword = true},
    {"SWAP", "bool", default = true, keyword = true},
    {"LENGTH", "bool", default = false, keyword = true},
    {"AGGREGATE", "bool", default = false, keyword = true},
    {"VLAN", "bool", default = false, keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
    {"OUTFILE", "filename", keyword = true},
    {"CHANNEL", "word", keyword = true},
  },
  handlers = {active = element.data("active", "bool")},
}

local KINDS = {NONE = "none", NO = "none", FALSE = "none", YES = "hex", TRUE = "hex",
               HEX = "hex", ASCII = "ascii", ["0"] = "none", ["1"] = "hex",
               N = "none", F = "none", Y = "hex", T = "hex"}

function IPPrint:configure(a)
  self.contents, self.payload = KINDS[a.CONTENTS:upper()], KINDS[a.PAYLOAD:upper()]
  if not self.contents then
    return self:error("bad contents value '%s'; should be 'NONE', 'HEX', or 'ASCII'",
      a.CONTENTS:upper())
  elseif not self.payload then
    return self:error("bad payload value '%s'; should be 'false', 'hex', or 'ascii'",
      a.PAYLOAD:upper())
  elseif self.contents ~= "none" and self.payload ~= "none" then
    return self:error("specify at most one of PAYLOAD and CONTENTS")
  end
  self.options, self.most, self.active = a, a.NBYTES or a.MAXLENGTH, a.ACTIVE
  self.view = View.new{}
end

function IPPrint:initialize()
  local name = self.options.OUTFILE
  if not name then return end
  local file, problem = text_file.open(self, name)
  if not file then return self:error("%s", problem) end
  self.file = file
end

-- Bytes in groups, a number of groups a line. ---------------------------------------

local function in_lines(bytes, in_group, in_line, show)
  local parts = {}
  for at = 1, #bytes do
    if at % in_line == 1 then
      parts[#parts + 1] = "\n  "
    elseif at % in_group == 1 then
      parts[#parts + 1] = " "
    end
    parts[#parts + 1] = show(bytes:byte(at))
  end
  return table.concat(parts)
end

local DUMPS = {
  hex = function (bytes)
    return in_lines(bytes, 4, 24, function (byte) return ("%02x"):format(byte) end)
  end,
  ascii = function (bytes)
    return in_lines(bytes, 8, 48, function (byte)
      return byte >= 32 and byte <= 126 and string.char(byte) or "."
    end)
  end,
}

local function dump(self, view)
  local kind, at = self.contents, view.start
  if self.payload ~= "none" then kind, at = self.payload, lines.payload(view) end
  if kind == "none" then return "" end
  local length = math.max(0, view.finish - at)
  if self.most >= 0 then length = math.min(length, self.most) end
  return DUMPS[kind](ffi.string(view.buffer + at, length))
end

-- What is before the packet's own line ----------------------------------------------

local function annotations(self, p)
  local options, parts = self.options, {}
  local function add(text) parts[#parts + 1] = text end
  if options.LABEL ~= "" then add(options.LABEL .. ": ") end
  if options.TIMESTAMP then
    add(note.time_text(p.note64[note.TIMESTAMP]) .. ": ")
  end
  if options.AGGREGATE then add("#" .. p.note32[note.AGGREGATE]) end
  if options.VLAN then add(" VLAN:" .. p.note16[note.VLAN_TCI]) end
  if options.PAINT then
    add((options.AGGREGATE and "." or "paint ") .. p.note8[note.PAINT])
  end
  if options.AGGREGATE or options.PAINT then add(": ") end
  return table.concat(parts)
end

local function line_of(self, p)
  local view, options = self.view, self.options
  view:look_at(p)
  local parts = {annotations(self, p)}
  local function add(text) parts[#parts + 1] = text end
  if options.ETHER then add(lines.ethernet(view)) end
  if view:network_length() < 20 then
    add("truncated-ip")
  else
    if options.ID then add(("id %d "):format(view:half(view.net + 4))) end
    if options.TTL then add(("ttl %d "):format(view:byte(view.net + 8))) end
    if options.TOS then add(("tos %d "):format(view:byte(view.net + 1))) end
    if options.LENGTH then add(("length %d "):format(view:half(view.net + 2))) end
    add(lines.ip(view, options.SWAP))
    add(dump(self, view))
  end
  return table.concat(parts)
end

function IPPrint:process(p)
  if not self.active or p.note16[note.NETWORK_HEADER] == 0 then return p end
  local line = line_of(self, p)
  if self.file then self.file:write(line, "\n") else self.router:say(line) end
  return p
end

function IPPrint:cleanup()
  if self.file then self.file:close() end
  self.file = nil
end

return {IPPrint}
