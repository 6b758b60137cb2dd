-- SPDX-License-Identifier: Apache-2.0
-- EtherSpanTree: bridges find a tree in their network (IEEE 802.1D-1998, clauses 8, 9),
-- and those ports of a switch are closed that aren't in it.

local ffi = require("ffi")
local element = require("click.element")
local note = require("click.note")
local packet = require("core.packet")

local floor, max, min = math.floor, math.max, math.min

local PRIORITY = "\222\173" -- of bridges; it is unlikely that this one becomes the root
local BRIDGES = "\1\128\194\0\0\0" -- their group address
local LLC = "\66\66\3\0\0\0" -- with the protocol and its version, 0
local CONFIGURATION, CHANGE = "\0", "\128" -- types of messages
local CHANGING, ACKNOWLEDGED = 1, 128 -- flags
local LEAST_FRAME = 60 -- bytes; the FCS follows

-- What a message says of the way to the root: root, cost, bridge and port, so that the
-- better of two comes first in the order of strings. At these bytes of frames.
local VECTOR_FIRST, VECTOR_LAST = 23, 44
local COST, BRIDGE = 9, 13 -- where these begin
local WORST = ("\255"):rep(VECTOR_LAST - VECTOR_FIRST + 1)
local MOST_COST = 2 ^ 32 - 1

local BLOCK, LISTEN, LEARN, FORWARD = 0, 1, 2, 3

-- Seconds: what this bridge says when it is the root, and the range of what others may
-- say (802.1D, table 8-3).
local AGE, HELLO, DELAY = 20, 2, 15
local RANGES = {max_age = {6, 40}, hello = {1, 10}, delay = {4, 30}}

local EtherSpanTree = element.define{
  name = "EtherSpanTree", summary = "closes ports of a switch that make loops",
  ports = "-/=", processing = "h/h", emits = true, flow = "#/[^#]#",
  arguments = {
    {"ADDR", "eth", required = true},
    {"INPUT_SUPPRESSOR", "element", required = true, class = "Suppressor"},
    {"OUTPUT_SUPPRESSOR", "element", required = true, class = "Suppressor"},
    {"SWITCH", "element", required = true, class = "EtherSwitch"},
  },
}

local function word(value, n)
  local bytes = {}
  for i = n, 1, -1 do
    bytes[i] = string.char(value % 256)
    value = floor(value / 256)
  end
  return table.concat(bytes)
end

local function number(text, first, last)
  local value = 0
  for i = first, last do value = value * 256 + text:byte(i) end
  return value
end

-- Ports ----------------------------------------------------------------------------

local function forget(port)
  port.vector, port.heard, port.changing = WORST, nil, false
  port.max_age, port.hello, port.delay = AGE, HELLO, DELAY
end

-- The tree is another: the root is to know, or tells the others if it is this bridge.
local function note_change(e)
  if e.root_port then
    e.tell_root = true
  else
    e.changing_until = e.router:steady() + AGE + DELAY
  end
end

local function move(e, i, state)
  local port = e.ports_here[i]
  e:say("Changing port %d from %d to %d", i - 1, port.state, state)
  if state == FORWARD or state == BLOCK and port.state >= LEARN then note_change(e) end
  port.state, port.since = state, e.router:steady()
  e.input.allowed[i] = state >= LEARN
  e.output.allowed[i] = state == FORWARD
end

function EtherSpanTree:configure(a)
  self.eth, self.id = a.ADDR, PRIORITY .. a.ADDR
  self.input, self.output = a.INPUT_SUPPRESSOR, a.OUTPUT_SUPPRESSOR
end

-- What this bridge says of itself: the way to that root, from that port.
local function vector_of(e, root_and_cost, i)
  return root_and_cost .. e.id .. word(i - 1, 2)
end

local function as_root(e)
  return {vector = vector_of(e, e.id .. "\0\0\0\0", 1), max_age = AGE, hello = HELLO,
          delay = DELAY, changing = e.router:steady() < e.changing_until}
end

-- The tree -------------------------------------------------------------------------

local function one_further(vector)
  local cost = min(number(vector, COST, BRIDGE - 1) + 1, MOST_COST)
  return vector:sub(1, COST - 1) .. word(cost, 4) .. vector:sub(BRIDGE)
end

-- The best that is known: what this bridge would say if it were the root, or what it
-- has heard at one of its ports.
local function find_best(e)
  e.best, e.root_port = as_root(e), nil
  for i, port in ipairs(e.ports_here) do
    local vector = one_further(port.vector)
    if port.heard and vector < e.best.vector then
      e.root_port = i
      e.best = {vector = vector, heard = port.heard, max_age = port.max_age,
                hello = port.hello, delay = port.delay, changing = port.changing}
    end
  end
end

-- Is this bridge the one that others use on that port?
local function is_designated(e, i)
  return i ~= e.root_port
    and vector_of(e, e.best.vector:sub(1, BRIDGE - 1), i) <= e.ports_here[i].vector
end

local function find_tree(e)
  find_best(e)
  for i, port in ipairs(e.ports_here) do
    local open = i == e.root_port or is_designated(e, i)
    if open and port.state == BLOCK then
      move(e, i, LISTEN)
    elseif not open and port.state ~= BLOCK then
      move(e, i, BLOCK)
    end
  end
end

-- Messages -------------------------------------------------------------------------

local function seconds(name, text, first)
  local range = RANGES[name]
  return max(min(number(text, first, first + 1) / 256, range[2]), range[1])
end

local function take_configuration(e, i, text)
  local port, vector = e.ports_here[i], text:sub(VECTOR_FIRST, VECTOR_LAST)
  local age = number(text, 45, 46) / 256
  -- A bridge may change its mind for the worse, too.
  if vector > port.vector and vector:sub(BRIDGE) ~= port.vector:sub(BRIDGE)
    or age >= seconds("max_age", text, 47) then
    return
  end
  local flags = text:byte(22)
  port.vector, port.heard = vector, e.router:steady() - age
  port.changing = flags % 2 == CHANGING
  port.max_age, port.hello = seconds("max_age", text, 47), seconds("hello", text, 49)
  port.delay = seconds("delay", text, 51)
  if i == e.root_port and flags >= ACKNOWLEDGED then e.tell_root = false end
  find_tree(e)
end

function EtherSpanTree:process(p, i)
  local text = ffi.string(p.data, min(p.length, LEAST_FRAME))
  packet.free(p)
  if text:sub(15, 19) ~= LLC:sub(1, 5) then return false end
  local kind = text:sub(21, 21)
  if kind == CHANGE then
    self.ports_here[i].acknowledge = is_designated(self, i)
    note_change(self)
  elseif kind == CONFIGURATION and #text >= 52 then
    take_configuration(self, i, text)
  end
  return false
end

local function send(e, o, contents)
  local frame = BRIDGES .. e.eth .. word(#LLC + #contents, 2) .. LLC .. contents
  local p = packet.from_string(frame .. ("\0"):rep(LEAST_FRAME - #frame))
  note.clear(p)
  e.emit(o, p)
end

local function send_configuration(e, o)
  local port, best = e.ports_here[o], e.best
  local age = best.heard and e.router:steady() - best.heard or 0
  if age >= best.max_age then return end
  local flags = (best.changing and CHANGING or 0)
    + (port.acknowledge and ACKNOWLEDGED or 0)
  port.acknowledge = false
  send(e, o, CONFIGURATION .. word(flags, 1)
    .. vector_of(e, best.vector:sub(1, BRIDGE - 1), o) .. word(floor(age * 256), 2)
    .. word(best.max_age * 256, 2) .. word(best.hello * 256, 2)
    .. word(best.delay * 256, 2))
end

-- Time -----------------------------------------------------------------------------

-- Old messages are forgotten; ports that have waited are opened further.
local function grow_old(e)
  local now = e.router:steady()
  for i, port in ipairs(e.ports_here) do
    if port.heard and port.heard + port.max_age <= now then
      e:say("Expiring message on port %d", i - 1)
      forget(port)
    end
    local waits = port.state == LISTEN or port.state == LEARN
    if waits and port.since + e.best.delay <= now then move(e, i, port.state + 1) end
  end
end

local function hello(e)
  grow_old(e)
  find_tree(e)
  for o = 1, e.noutputs do
    if o == e.root_port then
      if e.tell_root then send(e, o, CHANGE) end
    elseif is_designated(e, o) then
      send_configuration(e, o)
    end
  end
  e.timer:after(e.best.hello)
end

function EtherSpanTree:initialize()
  self.changing_until, self.tell_root, self.ports_here = 0, false, {}
  for i = 1, self.noutputs do
    self.ports_here[i] = {state = BLOCK}
    forget(self.ports_here[i])
    move(self, i, LISTEN)
  end
  find_best(self)
  self.timer = self.router:timer(function () hello(self) end)
  self.timer:after(self.best.hello)
end

local function hexadecimal(text)
  local digits = text:gsub(".", function (c) return ("%02x"):format(c:byte()) end)
  return (digits:gsub("^0+(.)", "%1"))
end

local function message_text(m)
  local v = m.vector
  return (" %16s:%04x: %2s  %x -> %16s  m/h/d: %x/%x/%x\n"):format(
    hexadecimal(v:sub(BRIDGE, BRIDGE + 7)), number(v, BRIDGE + 8, #v),
    m.changing and "TC" or "tc", number(v, COST, BRIDGE - 1),
    hexadecimal(v:sub(1, COST - 1)), m.max_age, m.hello, m.delay)
end

EtherSpanTree.handlers = {
  msgs = {read = function (e)
    local lines = {}
    for i, port in ipairs(e.ports_here) do lines[i] = message_text(port) end
    return table.concat(lines) .. message_text(e.best)
  end},
}

return {EtherSpanTree}
