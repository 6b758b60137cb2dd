-- SPDX-License-Identifier: Apache-2.0
-- Elements that print packets, or messages.

local element = require("click.element")
local ffi = require("ffi")
local note = require("click.note")

-- Print --------------------------------------------------------------------

local Print = element.define{
  name = "Print", summary = "prints packets",
  live = true,
  arguments = {
    {"LABEL", "string", default = ""},
    {"MAXLENGTH", "int", default = 24},
    {"LENGTH", "int", keyword = true},
    {"NBYTES", "int", keyword = true},
    {"CONTENTS", "word", default = "HEX", keyword = true},
    {"TIMESTAMP", "bool", default = false, keyword = true},
    {"PRINTANNO", "bool", default = false, keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
    {"HEADROOM", "bool", default = false, keyword = true},
    {"CPU", "bool", default = false, keyword = true},
  },
  handlers = {active = element.data("active", "bool")},
}

local CONTENTS = {NONE = "none", FALSE = "none", ["0"] = "none", NO = "none",
                  HEX = "hex", TRUE = "hex", ["1"] = "hex", YES = "hex",
                  ASCII = "ascii"}

function Print:configure(a)
  local contents = CONTENTS[a.CONTENTS:upper()]
  if not contents then
    return self:error("bad contents value '%s'; should be 'NONE', 'HEX', or 'ASCII'",
      a.CONTENTS)
  end
  self.contents = contents
  self.label, self.most = a.LABEL, a.LENGTH or a.NBYTES or a.MAXLENGTH
  self.timestamp, self.annotations, self.active = a.TIMESTAMP, a.PRINTANNO, a.ACTIVE
  self.headroom, self.cpu = a.HEADROOM, a.CPU
end

local function hex_byte(c) return ("%02x"):format(c:byte()) end

-- Groups of `n` bytes, each as show(group) has it.
local function in_groups(text, n, show)
  local groups = {}
  for at = 1, #text, n do groups[#groups + 1] = show(text:sub(at, at + n - 1)) end
  return groups
end

-- "01020304 0506"
local function hex(text)
  return table.concat(in_groups(text, 4, function (group)
    return (group:gsub(".", hex_byte))
  end), " ")
end

-- " abcdefgh ij", with dots for what can't be printed.
local function ascii(text)
  return " " .. table.concat(in_groups(text, 8, function (group)
    return (group:gsub("[^\32-\126]", "."))
  end), " ")
end

local SHOW = {hex = hex, ascii = ascii}

local function text_of(self, p)
  local parts, separator = {}, ""
  local function add(text) parts[#parts + 1] = text end
  if self.label ~= "" then add(self.label); separator = ": " end
  if self.cpu then add("(0)"); separator = ": " end
  if self.timestamp then
    add(separator .. note.time_text(p.note64[note.TIMESTAMP]))
    separator = ": "
  end
  add(("%s%4d"):format(separator, p.length))
  if self.headroom then
    add((" (h%d t%d)"):format(p.data_off, p.buf_len - p.data_off - p.length))
  end
  if self.annotations then
    local notes = ffi.string(p.note8 + note.FIRST, note.BYTES)
    add(" | " .. notes:gsub(".", hex_byte))
  end
  local n = self.contents == "none" and 0 or self.most
  if n < 0 or n > p.length then n = p.length end
  if n > 0 then add(" | " .. SHOW[self.contents](ffi.string(p.data, n))) end
  return table.concat(parts)
end

function Print:process(p)
  if self.active then self.router:say(text_of(self, p)) end
  return p
end

-- Message, Error: while the configuration is read --------------------------

local Message = element.define{
  name = "Message", summary = "prints a message when it is configured", ports = "0/0",
  arguments = {
    {"MESSAGE", "string", required = true}, {"TYPE", "word", default = "MESSAGE"},
  },
}

function Message:configure(a)
  if a.TYPE == "MESSAGE" then
    self.router:complain(self, "message", "%s", a.MESSAGE)
  elseif a.TYPE == "WARNING" then
    self:warning("%s", a.MESSAGE)
  elseif a.TYPE == "ERROR" then
    self:error("%s", a.MESSAGE)
  else
    self:error("unrecognized message type")
  end
end

local Error = element.define{
  name = "Error", summary = "lets the router fail to initialize", ports = "0/0",
}

function Error:configure_raw() end
function Error:initialize() self.router.failed = true end

return {Print, Message, Error}
