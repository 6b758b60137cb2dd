-- SPDX-License-Identifier: Apache-2.0
-- A push function of the known shape (core.lift.shape) as one that is given a packet at
-- a time: process(p) of a per-packet app. It has the same upvalues, and its lines are
-- those of the push function's file.

local syntax = require("core.lift.syntax")

local rewrite = {}

local VIEW = "__view" -- an app's: nobody has such a name

-- The text from one offset to another, with the packet in the place of the call that
-- receives it.
local function slice(s, from, to)
  local text, call = s.tree.text, s.received
  if call.offset < from or call.end_offset > to then return text:sub(from, to) end
  return text:sub(from, call.offset - 1) .. s.packet
    .. text:sub(call.end_offset + 1, to)
end

-- What sends the packet in the place of link.transmit().
local function sending(s, send)
  local packet = slice(s, send.packet.offset, send.packet.end_offset)
  if not send.last then
    return ("%s.emit(%d, %s)"):format(VIEW, send.output, packet)
  end
  return ("do return (%s) or %s.nothing(), %d end"):format(packet, VIEW, send.output)
end

-- The text of the loop's statements, with packets received and sent as above.
local function body_text(s)
  local parts, at = {}, s.after
  table.sort(s.sends, function (a, b) return a.node.offset < b.node.offset end)
  for _, send in ipairs(s.sends) do
    parts[#parts + 1] = slice(s, at, send.node.offset - 1)
    parts[#parts + 1] = sending(s, send)
    at = send.node.end_offset + 1
  end
  parts[#parts + 1] = slice(s, at, s.body[#s.body].end_offset)
  return table.concat(parts)
end

-- What is named before the loop.
local function kept_text(s)
  local parts = {}
  for _, kept in ipairs(s.kept) do
    parts[#parts + 1] = ("local %s = %s;"):format(kept.name,
      s.tree.text:sub(kept.node.offset, kept.node.end_offset))
  end
  return table.concat(parts, " ")
end

local function newlines(text)
  return select(2, text:gsub("\n", ""))
end

local function text_of(s)
  local upvalues = syntax.upvalues(s.push)
  local kept = kept_text(s)
  local lines = newlines(s.tree.text:sub(1, s.after - 1)) - newlines(kept)
  return ("\n"):rep(lines) .. ("%s return function (%s, %s) return function (_, %s) %s "
    .. "do %s end return false end end"):format(
      #upvalues > 0 and "local " .. table.concat(upvalues, ", ") or "",
      s.self or "__self", VIEW,
      s.packet, kept, body_text(s))
end

local function join_upvalues(process, push)
  local place = {}
  for i, name in ipairs(syntax.upvalues(push)) do place[name] = i end
  for i, name in ipairs(syntax.upvalues(process)) do
    if place[name] then debug.upvaluejoin(process, i, push, place[name]) end
  end
end

--- What makes process(_, p) of apps whose push() has the shape `s`: a function of the
--- app, its push(), and `view`, a table by which it emits. Nil if the text that is made
--- can't be loaded.
function rewrite.maker(s)
  local callee = s.callee -- not push itself, which may belong to an app
  local chunk = loadstring(text_of(s), s.tree.source)
  if not chunk then return nil end
  setfenv(chunk, getfenv(s.push))
  local make = chunk()
  return function (app, push, view)
    local process = make(app, view)
    join_upvalues(process, callee or push)
    return process
  end
end

return rewrite
