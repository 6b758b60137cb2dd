-- SPDX-License-Identifier: Apache-2.0
-- Lists of ports, [0, 2-4], and what `a[0,1], b => c, d` connects with what.
--
-- An item of a connection is {element=, inputs=, outputs=}; the latter are lists of
-- numbers, or nil where no ports were written. A list with `more = true` goes on behind
-- its last number, as far as the other side needs it: [0,] or [].

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local scanner = require("click.language.scanner")

local ports = {}

local function number_of(token)
  local text = token.text
  return text:match("^%d+$") and tonumber(text)
    or text:match("^0[xX]%x+$") and tonumber(text)
end

-- Add a port, or those up to it if there was a dash.
local function add(list, port, dash)
  local first = dash and #list > 0 and list[#list] + 1 or port
  for n = first, port do list[#list + 1] = n end
end

local MOST = 65536 -- a port beyond is a mistake, and [0-4000000000] would fill memory

local function report(p, token, message, ...)
  p.errors:at(scanner.landmark(token)):error(message, ...)
end

local function read_port(p, token)
  local port = number_of(token)
  if port and port < MOST then return port end
  report(p, token, port and "syntax error: port number '%s' is too large"
    or "syntax error: port number should be integer", token.text)
  return 0
end

--- The list of ports that stands here; nil if there is none.
function ports.parse(p)
  local tokens = p.scanner
  if not tokens:accept("[") then return nil end
  local list, dash = {}, false
  while true do
    local token = tokens:next()
    if token.kind == "name" then
      add(list, read_port(p, token), dash)
    elseif token.kind == "]" then
      if #list == 0 then list[1] = 0 end
      list.more = true
      return list
    else
      report(p, token, "syntax error: expected port number")
      tokens:back(token)
      return #list > 0 and list or nil
    end
    token = tokens:next()
    if token.kind == "]" then return list end
    if token.kind == "-" and not dash then
      dash = true
    elseif token.kind == "," then
      dash = false
    else
      report(p, token, "syntax error: expected ','")
      tokens:back(token)
    end
  end
end

-- Connecting -----------------------------------------------------------------------

-- How many ports a side has at least, and how many lists may go on.
local function count(items, field)
  local n, open = 0, 0
  for _, item in ipairs(items) do
    local list = item[field]
    n = n + (list and #list or 1)
    if list and list.more then open = open + 1 end
  end
  return n, open
end

-- The ports of a side, a list of {element, port}, with `extra` ones where the list may
-- go on; `whole`: the one item has no list, and all ports are meant.
local function spread(items, field, extra, whole)
  local all = {}
  for _, item in ipairs(items) do
    local list = item[field] or {0, more = whole}
    for _, port in ipairs(list) do all[#all + 1] = {item.element, port} end
    for n = 1, list.more and extra or 0 do
      all[#all + 1] = {item.element, list[#list] + n}
    end
    if list.more then extra = 0 end
  end
  return all
end

-- With `=>`, a side of one item without ports has as many as the other.
local function is_whole(items, field, n, n_other, arrow)
  return arrow == "=>" and n == 1 and n_other > 1 and not items[1][field]
end

local function check(outs, ins, arrow, problem)
  if arrow ~= "=>" then
    problem("syntax error: many-to-many connections require '=>'")
  end
  if outs.n == ins.n or outs.open and ins.n > outs.n or ins.open and outs.n > ins.n then
    return
  end
  problem("connection mismatch: %d%s outputs connected to %d%s inputs", outs.n,
    outs.open and " or more" or "", ins.n, ins.open and " or more" or "")
end

local function side(items, field)
  local n, open = count(items, field)
  return {items = items, field = field, n = n, open = open > 0, lists = open}
end

local function pairs_of(outs, ins, arrow, problem)
  if outs.lists + ins.lists > 1 then
    problem("at most one expandable port allowed per connection")
    local fixed = outs.n > ins.n and outs or ins
    fixed.open = false
  end
  for _, s in ipairs{outs, ins} do
    local other = s == outs and ins or outs
    s.whole = is_whole(s.items, s.field, s.n, other.n, arrow)
    s.open = s.open or s.whole
    s.many = s.n > 1 or s.open
  end
  if outs.many and ins.many then check(outs, ins, arrow, problem) end
  return spread(outs.items, "outputs", outs.open and ins.n - outs.n or 0, outs.whole),
    spread(ins.items, "inputs", ins.open and outs.n - ins.n or 0, ins.whole)
end

--- Connect the outputs of `left` with the inputs of `right`, lists of items, with the
--- arrow, a token.
function ports.connect(p, left, right, arrow)
  local landmark = scanner.landmark(arrow)
  local outs, ins = side(left, "outputs"), side(right, "inputs")
  local from, to = pairs_of(outs, ins, arrow.kind, function (...)
    p.errors:at(landmark):error(...)
  end)
  local n = outs.many and ins.many and math.min(#from, #to) or math.max(#from, #to)
  for i = 1, n do
    local a, b = from[i] or from[1], to[i] or to[1]
    p.compound:connect(a[1], a[2], b[1], b[2], landmark,
      arrow.kind == "~>" and arrow.text or nil)
  end
end

--- Report ports before the first item of a chain ("input"), or behind the last one.
function ports.check_end(p, items, direction, token)
  for _, item in ipairs(items) do
    if item[direction .. "s"] then
      return report(p, token, direction == "output"
        and "output ports ignored at end of chain"
        or "input ports ignored at start of chain")
    end
  end
end

return ports
