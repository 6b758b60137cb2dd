-- SPDX-License-Identifier: Apache-2.0
-- What all rewriters have in common: their inputs, flows, handlers, and the path of a
-- packet. C rewrites what belongs to a flow; a new flow is made here.

local ffi = require("ffi")

local arguments = require("click.arguments")
local C = require("core.declare")("native/flows.h")
local drops = require("click.rewriter.drops")
local element = require("click.element")
local engine_time = require("click.rewriter.time")
local FlowSet = require("click.rewriter.flow_set")
local inputs = require("click.rewriter.inputs")
local keywords = require("click.rewriter.keywords")
local note = require("click.note")
local packet_thread = require("click.threads.packet_thread")
local succession = require("click.rewriter.succession")

local base = {}

local NO_NOTE = -1
local UNKNOWN = -1 -- pg_rewrite: it knows no mapping
local REAP_INTERVAL = 15 * 60
local PING = C.REWRITE_PING

local rewrite, rewrite_by = C.pg_rewrite, C.pg_rewrite_by
local detours_t = ffi.typeof("int64_t[1]")

local Rewriter = {}
base.Rewriter = Rewriter

-- Configuration -----------------------------------------------------------------------

-- The keywords' values by name; the other arguments are those of inputs.
local function read_keywords(self, reader)
  local a = {}
  for _, spec in ipairs(self.class.keywords) do
    local value, _, length = reader:read(spec)
    a[spec[1]] = value
    if length then a[spec[1] .. "_LENGTH"] = length end
  end
  return a
end

-- A capacity: a number, or the name of the rewriter whose it is.
local function set_capacity(self, text)
  local number = arguments.types.unsigned(text, {max = 2 ^ 31 - 1})
  local other = not number and self.router:find(text, self)
  if number then
    self.own_capacity = number
  elseif other and other.flow_set then
    self.shares_with = other
  else
    return self:error("bad MAPPING_CAPACITY")
  end
end

local function parse_inputs(self, texts)
  self.specs = {}
  for i, text in ipairs(texts) do
    local spec, problem = inputs.parse(text, self)
    if not spec then
      self:error("input spec %d: %s", i - 1, problem)
    else
      self.specs[i] = spec
    end
  end
end

function Rewriter:configure_raw(list)
  local reader = arguments.reader(list, self)
  local a = read_keywords(self, reader)
  local texts = reader:rest()
  if not reader:complete() then return end
  local capacity = a.MAPPING_CAPACITY or a.CAPACITY
  if capacity then set_capacity(self, capacity) end
  if #texts ~= self.ninputs then
    return self:error("need %d arguments, one per input port", self.ninputs)
  end
  parse_inputs(self, texts)
  self.values = a
  self.reap_interval = a.REAP_INTERVAL or a.REAP_TIME or REAP_INTERVAL
  self.counts = ffi.new("uint32_t[256]")
  self.detours = detours_t() -- packets that began flows
end

--- The set of its flows, which it may share.
function Rewriter:flow_set()
  if self.set then return self.set end
  if self.shares_with and not self.resolving then
    self.resolving = true
    self.set = self.shares_with:flow_set()
    self.resolving = nil
  end
  self.set = self.set or FlowSet.new()
  return self.set
end

function Rewriter:initialize()
  self.seconds = engine_time.of(self.router)
  local set, a = self:flow_set(), self.values
  set.sharers = (set.sharers or 0) + 1
  table.insert(set.rewriters, self)
  set:divide(self.router.options and self.router.options.copy)
  local r = ffi.new("struct click_rewriter")
  r.flows, r.how, r.tcp, r.other = set.flows, self.class.how, -1, -1
  r.reply_note = a.REPLY_ANNO and note.FIRST + a.REPLY_ANNO or NO_NOTE
  r.set_destination, r.set_aggregate = a.DST_ANNO and 1 or 0, a.SET_AGGREGATE and 1 or 0
  self.native, self.model = r, ffi.new("struct click_flow")
  self:make_kinds(set, r, a)
  if self.own_capacity then set:set_capacity(self.own_capacity, self:time()) end
  for i, spec in ipairs(self.specs) do
    if spec.mapper then spec.mapper:check_rewriter(self, i - 1) end
  end
  if self.reap_interval > 0 then
    local timer
    timer = self.router:timer(function ()
      set:reap(self:time(), false)
      timer:after(self.reap_interval)
    end)
    timer:after(self.reap_interval)
  end
end

--- Go on with the flows of a rewriter that this one replaces.
function Rewriter:take_state(old) succession.take(self, old) end

--- What of it outlives the process (click.router.kept).
Rewriter.kept_state = require("click.rewriter.kept")

--- Milliseconds, by which flows live.
function Rewriter:time() return FlowSet.milliseconds(self.seconds()) end

-- How copies divide its flows.
Rewriter.divided = require("click.rewriter.divided")

-- Packets -----------------------------------------------------------------------------

-- A pattern chooses an identifier; replies come with the next number as the other port.
local function complete_ping(key) key.dport = (key.sport + 1) % 65536 end

local function fill_model(self, key, kind, protocol, input, forward, reply)
  local model = self.model
  model.key[0] = key
  model.kind, model.input, model.protocol = kind, input - 1, protocol
  model.output[0], model.output[1] = forward, reply
end

--- Make the flow of packets with `key` of a thread, as those at an input. The number of
--- the flow (forward); or nil, the output of the packet without it (from 0), if any,
--- and whether it is for want of a free port or address.
function Rewriter:add_flow(key, kind, protocol, input, reply_note, thread)
  local spec = self.specs[input]
  local flows = self.native.flows
  local new, forward, reply = inputs.map(spec, key, flows, kind, thread)
  if not new then return nil, forward, reply end
  if self.class.how == PING then complete_ping(new) end
  if not self.class.accepts(new) or forward >= self.noutputs
      or reply >= self.noutputs then
    return nil
  end
  fill_model(self, key, kind, protocol, input, forward, reply)
  self.model.reply_note = reply_note
  local flow = C.pg_flows_add(flows, self.model, new, self:time())
  if flow == 0 then
    spec.failures = spec.failures + 1
    return nil
  end
  return 2 * flow
end

-- A packet that belongs to no flow, and makes none.
local function send_alone(output)
  if output then return output + 1 end
end

local key_type = ffi.typeof("struct click_flow_key")

-- The output of a packet without a flow, from 1; or nil, and why it is dropped, an
-- index of drops.NAMES.
local function begin_flow(self, p, i)
  local r = self.native
  self.detours[0] = self.detours[0] + 1
  local reply_note = r.reply_note >= 0 and p.note8[r.reply_note] or 0
  local number, output, full = self:add_flow(key_type(r.key), r.kind,
    self.class.any_protocol and 0 or r.protocol, i, reply_note,
    packet_thread.at(p, self.router))
  if not number then
    return send_alone(output), full and drops.NONE_FREE or drops.NO_MAPPING
  end
  return rewrite_by(r, p, number, self:time())
end

-- What becomes of a packet that belongs to no flow.
local function without_flow(self, p, i, output)
  if output == UNKNOWN then
    local reason
    output, reason = begin_flow(self, p, i)
    if output then return p, output end
    return nil, reason
  end
  local spec = self.specs[i]
  if spec.kind == "nochange" then return p, spec.forward + 1 end
  if not drops.lacks_ports(p) then return nil, drops.NOT_REWRITTEN end
  if not self.told_of_fragments then
    self.told_of_fragments = true
    self:remark("fragments have no ports, and are dropped; let an IPReassembler "
      .. "be in front of it, and an IPFragmenter behind")
  end
  return nil, drops.FRAGMENT
end

function Rewriter:make_process()
  local native, seconds, milliseconds = self.native, self.seconds, FlowSet.milliseconds
  return function (_, p, i)
    local output = rewrite(native, p, milliseconds(seconds()))
    if output > 0 then return p, output end
    local q, o = without_flow(self, p, i, output)
    return q, o
  end
end

-- Flows from which on the table is too large for a core's own cache (64 bytes a flow,
-- and 16 to 32 for its slots); and below which it surely fits.
local MANY, FEW = 16384, 8192

--- Ask the memory for the flows of these packets.
function Rewriter:ahead(packets, n) C.pg_rewrite_ahead(self.native, packets, n) end

--- Is it better to ask?
function Rewriter:outgrows_cache()
  local flows = self.native.flows
  self.large = flows.records.count >= (self.large and FEW or MANY)
  return self.large
end

-- Annotations: the rewriter's own of replies, and those that C reads.
function Rewriter:reads()
  local at = self.native.reply_note
  local list = {"NETWORK_HEADER", "TRANSPORT_HEADER"}
  if at >= 0 then list[3] = {at - note.FIRST, 1} end
  if self.router.options.part then list[#list + 1] = "THREAD" end
  return list
end

--- The flow and direction of packets with a key and a protocol, or nil; made if there
--- is none and `input` (from 1) is given.
function Rewriter:find_flow(protocol, key, input)
  local number = C.pg_rewriter_find(self.native, protocol, key, false)
  if number > 0 or not input then return number > 0 and number or nil end
  local kind = protocol == 6 and self.native.tcp or self.native.other
  if kind < 0 then kind = math.max(self.native.tcp, self.native.other) end
  return (self:add_flow(key, kind, protocol, input, 0, packet_thread.own(self.router)))
end

-- Handlers ----------------------------------------------------------------------------

local function sum(self, f)
  local total = 0
  for i = 1, self.ninputs do total = total + f(self, i) end
  return total
end

local function count(self, i) return self.counts[i - 1] end
local function failures(self, i) return self.specs[i].failures end

local function set_input(self, i, text)
  local spec, problem = inputs.parse(text, self)
  if not spec then return ("input spec %d: %s"):format(i - 1, problem) end
  for _, kind in ipairs{self.native.tcp, self.native.other} do
    if kind >= 0 then C.pg_flows_remove_input(self.native.flows, kind, i - 1) end
  end
  self.specs[i] = spec
end

local function pattern_handler(i)
  return {
    join = "all",
    read = function (self) return inputs.text(self.specs[i], count(self, i)) end,
    write = function (self, text) return set_input(self, i, text) end,
  }
end

--- Handlers of all rewriters.
function base.handlers(more)
  local table_size = {read = function (self) return sum(self, count) end}
  local handlers = {
    table_size = table_size, nmappings = table_size,
    mapping_failures = {read = function (self) return sum(self, failures) end},
    size = {read = function (self) return self.set:size() end},
    capacity = {
      join = "sum",
      read = function (self) return self.set:capacity() end,
      write = function (self, text)
        local number = arguments.types.unsigned(text, {max = 2 ^ 31 - 1})
        if not number then return "CAPACITY: parse error" end
        self.set:set_capacity(number, self:time())
      end,
    },
    clear = element.command(function (self) self.set:reap(self:time(), true) end),
    patterns = {join = "all", read = function (self)
      local lines = {}
      for i, spec in ipairs(self.specs) do
        lines[i] = inputs.text(spec, count(self, i))
      end
      return table.concat(lines)
    end},
  }
  for name, handler in pairs(more) do handlers[name] = handler end
  return handlers
end

--- A handler that shows the mappings of a kind: "tcp" or "other".
function base.table_handler(which)
  return {read = function (self)
    return self.set:table(self.native[which], self:time())
  end}
end

function Rewriter:add_pattern_handlers()
  for i = 1, self.ninputs do
    self:add_handler("pattern" .. i - 1, pattern_handler(i))
  end
end

--- A rewriter class from a table, which has name, summary, how (C.REWRITE_...),
--- accepts(key): may packets get that key; times: its own keywords for seconds, each
--- with what it says; make_kinds(self, set, native, values).
function base.define(class)
  for name, method in pairs(Rewriter) do class[name] = class[name] or method end
  class.ports, class.processing = "1-/1-", "h/h"
  class.division = class.division or "answers"
  class.drops = drops.NAMES
  class.keywords = keywords.of(class)
  class.usage = "INPUT, ... [, keywords]"
  class.notes = keywords.NOTES
  class.lengthens, class.fills_cache = 0, true
  local configure_raw = class.configure_raw
  function class:configure_raw(list)
    configure_raw(self, list)
    self:add_pattern_handlers()
  end
  return element.define(class)
end

return base
