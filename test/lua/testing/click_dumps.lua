-- SPDX-License-Identifier: Apache-2.0
-- For specs of Click's elements: packets from lines of summary dumps, and back.
--
--   local p = dumps.packet("src sport dst dport proto", "1.0.0.1 1 2.0.0.2 2 T")
--   assert.equal("1.0.0.1 T", dumps.line("src proto", p))

local Lines = require("click.summary.lines")
local Reader = require("click.summary.reader")
local Writer = require("click.summary.writer")
local packet = require("core.packet")

local dumps = {}

--- The packets of a dump's text (without a banner), a list; their checksums are right.
--- The second result is what was said of it.
function dumps.packets(text, options)
  local said, list = {}, {}
  options = options or {checksums = true}
  options.say = function (kind, landmark, message)
    said[#said + 1] = ("%s: %s: %s"):format(landmark, kind, message)
  end
  local reader = Reader.new(Lines.of_text(text), {}, options)
  reader:begin()
  while true do
    local p, ended = reader:next()
    if ended then return list, said end
    list[#list + 1] = p
  end
end

--- The packet of a line with these fields.
function dumps.packet(fields, line, options)
  local list, said = dumps.packets(("!data %s\n%s\n"):format(fields, line), options)
  return list[1] or error(table.concat(said, "\n"))
end

--- The line of a packet with these fields.
function dumps.line(fields, p, options)
  local words, text = {}, ""
  for word in fields:gmatch("%S+") do words[#words + 1] = word end
  local writer = Writer.new(words, options or {extra = true, careful = true}, {
    error = function (_, fmt, ...) error(fmt:format(...)) end,
  })
  writer:add(p, function (part) text = text .. part end)
  return (text:gsub("\n$", ""))
end

--- What the packet of a line becomes in the unit (testing.click), a line; nil if it is
--- dropped.
function dumps.pass(fields, unit, line, input)
  local p = unit:pass(dumps.packet(fields, line), input)
  if not p then return nil end
  local text = dumps.line(fields, p)
  packet.free(p)
  return text
end

return dumps
