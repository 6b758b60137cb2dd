-- SPDX-License-Identifier: Apache-2.0
-- AggregateCounter counts packets, or bytes, by their aggregate annotation.

local C = require("core.native")
local bit = require("bit")
local ffi = require("ffi")

local amount = require("click.traffic.amount")
local arguments = require("click.arguments")
local element = require("click.element")
local note = require("click.note")
local text_of = require("click.language.text")
local trust = require("click.script.trust")
local wire = require("click.net.wire")

local AGGREGATE, amount_of = note.AGGREGATE, amount.of
local ALL = 2 ^ 32 - 1

-- What is called when a number is reached -------------------------------------------

-- Set `which` ("aggregate" or "count") to "N HANDLER [VALUE]"; what is wrong, or nil.
local function set_call(self, which, text)
  local first, rest = text_of.first_word(text)
  local n = arguments.types.count(first, {})
  if text == "" then
    self[which .. "_limit"], self[which .. "_call_text"] = math.huge, nil
    return nil
  elseif not n then
    return ("argument to '%s_call' should be 'N HANDLER [VALUE]'"):format(which)
  end
  local call, problem = self.router:writer(rest, self)
  if not call then return problem end
  self[which .. "_limit"], self[which .. "_call"] = n, call
  self[which .. "_call_text"] = text
end

local function call_handler(which)
  return {
    read = function (self)
      return self[which .. "_limit"] < math.huge and self[which .. "_call_text"] or ""
    end,
    write = function (self, text) return set_call(self, which, text) end,
  }
end

-- Call it, once.
local function reached(self, which)
  self[which .. "_limit"] = math.huge
  self[which .. "_call"]()
end

-- Files -----------------------------------------------------------------------------

local LINES = {
  text = function (aggregate, count)
    return ("%.0f %.0f\n"):format(aggregate, count)
  end,
  ip = function (aggregate, count)
    return ("%s %.0f\n"):format(wire.ip_text(aggregate), count)
  end,
  pdf = function (aggregate, count, total)
    return ("%.0f %.12g\n"):format(aggregate, count / total)
  end,
  packed = function (aggregate, count)
    return ffi.string(ffi.new("uint32_t[2]", aggregate, count % 2 ^ 32), 8)
  end,
}
local HEADS = {packed = "!packed_le\n", ip = "!ip\n"}

local function dump(self, form)
  local banner = self.banner
  if banner ~= "" and banner:sub(-1) ~= "\n" then banner = banner .. "\n" end
  local parts = {"!IPAggregate 1.0\n", banner,
                 ("!num_nonzero %d\n"):format(self.aggregates), HEADS[form] or ""}
  local order = {}
  for aggregate, count in pairs(self.counts) do
    if count > 0 then order[#order + 1] = aggregate end
  end
  table.sort(order)
  for _, aggregate in ipairs(order) do
    parts[#parts + 1] = LINES[form](aggregate, self.counts[aggregate], self.total)
  end
  return table.concat(parts)
end

local function file_handler(form)
  return {write = function (self, text)
    local name = text_of.unquote(text)
    if name == "" then return "argument should be filename" end
    if name == "-" then return self.router:print(dump(self, form)) end
    local file, problem = trust.open(self.router, name, "wb")
    local written, why = file, problem
    if file then written, why = file:write(dump(self, form)) end
    local closed, last = true, nil
    if file then closed, last = file:close() end
    if written and closed then return nil end
    C.pg_note_failure()
    return ("can't write %s"):format(why or last)
  end}
end

-- The element -----------------------------------------------------------------------

local function clear(self) self.counts, self.aggregates, self.total = {}, 0, 0 end

-- Counts become aggregates: how often was each of them?
local function reaggregate(self)
  local old = self.counts
  clear(self)
  for _, count in pairs(old) do
    if not self.counts[count] then self.aggregates = self.aggregates + 1 end
    self.counts[count] = (self.counts[count] or 0) + 1
    self.total = self.total + 1
  end
end

local function limit(name) return {name, "count", keyword = true} end
local function flag(name, default)
  return {name, "bool", default = default, keyword = true}
end

local AggregateCounter = element.define{
  name = "AggregateCounter", summary = "counts packets per aggregate annotation",
  aliases = {"AggregateCounterIMP"}, ports = "1-2/1-2", emits = true,
  arguments = {
    flag("BYTES", false), {"MASK", "unsigned", default = ALL, keyword = true},
    flag("IP_BYTES", false), flag("MULTIPACKET", true), flag("EXTRA_LENGTH", true),
    limit("AGGREGATE_FREEZE"), limit("COUNT_FREEZE"), limit("AGGREGATE_STOP"),
    limit("COUNT_STOP"), {"AGGREGATE_CALL", "argument", keyword = true},
    {"COUNT_CALL", "argument", keyword = true},
    {"BANNER", "string", default = "", keyword = true},
  },
  handlers = {
    write_text_file = file_handler("text"), write_ascii_file = file_handler("text"),
    write_file = file_handler("packed"), write_ip_file = file_handler("ip"),
    write_pdf_file = file_handler("pdf"),
    freeze = element.data("frozen", "bool"), active = element.data("active", "bool"),
    stop = element.command(function (self)
      self.active = false
      self.router:stop()
    end),
    reaggregate_counts = element.command(reaggregate),
    counts_pdf = element.command(reaggregate),
    banner = {
      read = function (self) return self.banner end,
      write = function (self, text) self.banner = text end,
    },
    clear = element.command(clear),
    aggregate_call = call_handler("aggregate"), count_call = call_handler("count"),
    count = element.data("total"), nagg = element.data("aggregates"),
  },
}

-- The call that the arguments of one kind ask for: "N HANDLER", or nil.
local function call_of(self, kind, a)
  local freeze, stop = a[kind .. "_FREEZE"], a[kind .. "_STOP"]
  local call = a[kind .. "_CALL"]
  local n = (freeze and 1 or 0) + (stop and 1 or 0) + (call and 1 or 0)
  if n > 1 then
    return self:error("'%s_FREEZE', '%s_STOP', and '%s_CALL' are mutually exclusive",
      kind, kind, kind)
  end
  return freeze and ("%d %s.freeze true"):format(freeze, self.name)
    or stop and ("%d %s.stop"):format(stop, self.name) or call
end

function AggregateCounter:configure(a)
  amount.configure(self, a)
  self.mask, self.banner = a.MASK, a.BANNER
  self.calls = {aggregate = call_of(self, "AGGREGATE", a) or "",
                count = call_of(self, "COUNT", a) or ""}
end

function AggregateCounter:initialize()
  for which, text in pairs(self.calls) do
    local problem = set_call(self, which, text)
    if problem then return self:error("%s", problem) end
  end
  clear(self)
  self.frozen, self.active = false, true
end

-- Count the packet; was it counted?
local function update(self, p, frozen)
  if not self.active then return false end
  local aggregate = bit.band(p.note32[AGGREGATE], self.mask) % 2 ^ 32
  local more, before = amount_of(self, p), self.counts[aggregate] or 0
  if before == 0 then
    if frozen then return false end
    if more > 0 then
      if self.aggregates >= self.aggregate_limit then
        reached(self, "aggregate")
        return update(self, p, self.frozen) -- the call may have changed something
      end
      self.aggregates = self.aggregates + 1
    end
  end
  self.counts[aggregate] = before + more
  self.total = self.total + more
  if self.total >= self.count_limit then reached(self, "count") end
  return true
end

function AggregateCounter:process(p, i)
  local counted = update(self, p, self.frozen or i == 2)
  if counted or self.noutputs == 1 then return p, 1 end
  return p, 2
end

function AggregateCounter:pull(o)
  local i = self.ninputs == 1 and 1 or o
  local p = self.pull_from[i]()
  if p then update(self, p, self.frozen or i == 2) end
  return p
end

return {AggregateCounter}
