-- SPDX-License-Identifier: Apache-2.0
-- A push function of the known shape (core.lift.shape) as one that is given a packet at
-- a time: process(p) of a per-packet app. It has the same upvalues, and its lines are
-- those of the push function's file.

local syntax = require("core.lift.syntax")

local rewrite = {}

local VIEW, BEFORE = "__view", "__before" -- nobody has such names

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

-- What is done once for each call of push(), each part in its line of `text` on.
local function once_text(s)
  local parts, line = {}, 1
  local function add(text) parts[#parts + 1], line = text, line + newlines(text) end
  for _, once in ipairs(s.once) do
    add(("\n"):rep(once.line - line))
    local text = once.from and s.tree.text:sub(once.from, once.to) or "nil"
    add(once.names and ("%s = %s;"):format(once.names, text) or text .. ";")
  end
  return table.concat(parts)
end

-- The function of app and view that makes process(), and what is to be called before
-- each burst, if anything.
local function text_of(s)
  local upvalues = syntax.upvalues(s.push)
  local kept, once = kept_text(s), once_text(s)
  local head = ("%s return function (%s, %s) %s"):format(
    #upvalues > 0 and "local " .. table.concat(upvalues, ", ") or "",
    s.self or "__self", VIEW,
    #s.variables > 0 and "local " .. table.concat(s.variables, ", ") or "")
  local before = #s.once > 0
    and ("local function %s() %s %s end"):format(BEFORE, kept, once) or ""
  local lines = newlines(s.tree.text:sub(1, s.after - 1)) - newlines(kept)
    - newlines(before)
  return ("%s %s %s return function (_, %s) %s do %s end return false end%s end")
    :format(head, before, ("\n"):rep(lines), s.packet, kept, body_text(s),
      #s.once > 0 and ", " .. BEFORE or "")
end

local function join_upvalues(process, push)
  local place = {}
  for i, name in ipairs(syntax.upvalues(push)) do place[name] = i end
  for i, name in ipairs(syntax.upvalues(process)) do
    if place[name] then debug.upvaluejoin(process, i, push, place[name]) end
  end
end

--- What makes process(_, p) of apps whose push() has the shape `s`, and what is to be
--- called in each breath before it, or nil: a function of the app, its push(), and
--- `view`, a table by which it emits. Nil if the text that is made can't be loaded.
function rewrite.maker(s)
  local callee = s.callee -- not push itself, which may belong to an app
  if #s.once > 0 and newlines(kept_text(s)) > 0 then return nil end
  local chunk = loadstring(text_of(s), s.tree.source)
  if not chunk then return nil end
  setfenv(chunk, getfenv(s.push))
  local make = chunk()
  return function (app, push, view)
    local process, before = make(app, view)
    join_upvalues(process, callee or push)
    if before then join_upvalues(before, callee or push) end
    return process, before
  end
end

return rewrite
