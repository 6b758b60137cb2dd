-- SPDX-License-Identifier: Apache-2.0
-- ICMPRewriter: ICMP errors about packets that rewriters have sent, as errors about the
-- packets that they got.

local bit = require("bit")
local ffi = require("ffi")

local arguments = require("click.arguments")
local C = require("core.declare")("native/flows.h")
local element = require("click.element")
local note = require("click.note")
local text_of = require("click.language.text")

local NO_NOTE = -1

local ICMPRewriter = element.define{
  name = "ICMPRewriter", summary = "rewrites ICMP errors by the mappings of rewriters",
  ports = "1/1-", processing = "h/h", drops = {"no mapping"},
  division = "within",
  arguments = {
    {"MAPS", "argument", required = true},
    {"DST_ANNO", "bool", default = true, keyword = true},
    {"REPLY_ANNO", "anno", size = 1, keyword = true},
  },
}

-- "NAME" or "NAME:OUTPUT": the rewriter, and what is added to its outputs.
local function parse_map(self, word)
  local name, offset = word:match("^([^:]*):(.*)$")
  local rewriter = self.router:find(name or word, self)
  offset = offset and arguments.types.int(offset, {})
  if not rewriter or not rewriter.flow_set or name and not offset then
    return self:error("%s not an IP rewriter", word)
  end
  if offset and offset >= 0 and offset + rewriter.noutputs > self.noutputs then
    return self:error("%s port offset requires more than %d %s", word, self.noutputs,
      self.noutputs == 1 and "output" or "outputs")
  end
  return {rewriter = rewriter, offset = offset and offset >= 0 and offset}
end

function ICMPRewriter:configure(a)
  self.maps = {}
  for _, word in ipairs(text_of.words(a.MAPS)) do
    self.maps[#self.maps + 1] = parse_map(self, word)
  end
  if #self.maps == 0 then self:error("no IP rewriters supplied") end
  self.set_destination = a.DST_ANNO
  self.reply_note = a.REPLY_ANNO and note.FIRST + a.REPLY_ANNO or NO_NOTE
end

-- The rewriters' own part is there once they are initialized, which may be later.
local function prepare(self)
  self.natives = ffi.new("const struct click_rewriter *[?]", #self.maps)
  self.quoted = ffi.new("struct click_quoted")
  self.quoted.maps, self.quoted.n = self.natives, #self.maps
  for i, map in ipairs(self.maps) do self.natives[i - 1] = map.rewriter.native end
end

local rewrite = C.pg_rewrite_icmp

-- The output of a packet of the flow and direction.
local function output_of(self, number)
  local map = self.maps[self.quoted.map + 1]
  if not map.offset then return 1 end
  local flow = map.rewriter.native.flows.flow[bit.rshift(number, 1)]
  return map.offset + flow.output[number % 2] + 1
end

function ICMPRewriter:process(p)
  if not self.quoted then prepare(self) end
  local number = rewrite(self.quoted, p, self.set_destination, self.reply_note)
  if number > 0 then return p, output_of(self, number) end
  if self.noutputs == 2 then return p, 2 end
  return nil, 1
end

return {ICMPRewriter}
