-- SPDX-License-Identifier: Apache-2.0
-- IPRateMonitor measures the rates to and from addresses. It begins with the first byte
-- of addresses; where a rate is high, it looks at the next byte, too, as long as it is.
--
-- A rate is a moving average of what comes in each of 125 epochs a second, of which a
-- new one counts for a 32nd.

local ffi = require("ffi")
local element = require("click.element")
local note = require("click.note")
local text_of = require("click.language.text")
local time = require("click.rewriter.time")
local types = require("click.arguments").types
local wire = require("click.net.wire")
local tables = require("core.lib.tables")

local NETWORK, FORWARD_RATE, REVERSE_RATE =
  note.NETWORK_HEADER, note.FWD_RATE, note.REV_RATE
local MINIMAL, LENGTH, SOURCE, DESTINATION = 20, 2, 12, 16 -- bytes, offsets
local EPOCHS = 125 -- a second
local WEIGHT = 1 / 32
local BYTES = 4 -- of an address
local COUNTER_BYTES, LEVEL_BYTES = 400, 300 -- of memory, about
local LEAST_MEMORY, KILOBYTE = 100, 1024
local FOLD_STEP = 1.2

-- Counters -------------------------------------------------------------------------

local function new_counter(epoch, like)
  return {
    epoch = epoch, forward = 0, reverse = 0, allowed_from = 0,
    forward_rate = like and like.forward_rate or 0,
    reverse_rate = like and like.reverse_rate or 0,
  }
end

-- Let the counter's rates be those of the epoch.
local function catch_up(counter, epoch)
  local passed = epoch - counter.epoch
  if passed <= 0 then return end
  local rest = (1 - WEIGHT) ^ (passed - 1)
  local function next_rate(rate, count)
    return (rate + (count * EPOCHS - rate) * WEIGHT) * rest
  end
  counter.forward_rate = next_rate(counter.forward_rate, counter.forward)
  counter.reverse_rate = next_rate(counter.reverse_rate, counter.reverse)
  counter.forward, counter.reverse, counter.epoch = 0, 0, epoch
end

local function new_level(self)
  self.memory = self.memory + LEVEL_BYTES
  return {}
end

local function has_room(self, bytes)
  return self.most_memory == 0 or self.memory + bytes <= self.most_memory
end

local function add_counter(self, level, byte, epoch, like)
  if not has_room(self, COUNTER_BYTES) then return nil end
  self.memory = self.memory + COUNTER_BYTES
  level[byte] = new_counter(epoch, like)
  return level[byte]
end

-- Forget what is counted below the counter.
local function fold_counter(self, counter)
  for _, below in pairs(counter.level or {}) do
    fold_counter(self, below)
    self.memory = self.memory - COUNTER_BYTES
  end
  if counter.level then self.memory = self.memory - LEVEL_BYTES end
  counter.level = nil
end

-- Do so wherever both rates are below a threshold.
local function fold(self, level, threshold, epoch)
  for _, counter in pairs(level) do
    if counter.level then
      catch_up(counter, epoch)
      if counter.forward_rate < threshold and counter.reverse_rate < threshold then
        fold_counter(self, counter)
      else
        fold(self, counter.level, threshold, epoch)
      end
    end
  end
end

-- The element ----------------------------------------------------------------------

local function epoch_of(self) return math.floor(time.now(self.router) * EPOCHS) end

local function reset(self)
  self.memory = 0
  self.top = new_level(self)
  self.began = epoch_of(self)
  self.folded = self.began
end

local function rate_text(rate)
  return (("%.3f"):format(rate):gsub("%.?0+$", ""))
end

local function look(self, level, prefix, lines, epoch)
  local bytes = tables.sorted_keys(level)
  for _, byte in ipairs(bytes) do
    local counter = level[byte]
    catch_up(counter, epoch)
    if counter.forward_rate > 0 or counter.reverse_rate > 0 then
      local name = prefix .. byte
      lines[#lines + 1] = ("%s\t%s\t%s\n"):format(name, rate_text(counter.forward_rate),
        rate_text(counter.reverse_rate))
      if counter.level then
        look(self, counter.level, "\t" .. name .. ".", lines, epoch)
      end
    end
  end
end

local function look_text(self)
  local epoch = epoch_of(self)
  local lines = {("%d\n"):format(epoch - self.began)}
  look(self, self.top, "", lines, epoch)
  return table.concat(lines)
end

local function set_memory(self, kilobytes)
  self.most_memory = kilobytes == 0 and 0
    or math.max(kilobytes, LEAST_MEMORY) * KILOBYTE
end

local function write_memory(self, text)
  local kilobytes = types.unsigned(text, {})
  if not kilobytes then return "not an integer" end
  set_memory(self, kilobytes)
  local threshold, epoch = math.max(self.threshold, 1), epoch_of(self)
  while not has_room(self, 0) and threshold < math.huge do
    fold(self, self.top, threshold, epoch)
    threshold = threshold * FOLD_STEP
  end
end

-- Don't look below this level of the address for so many seconds.
local function write_level(self, text)
  local list = text_of.arguments(text)
  if #list == 1 then list = text_of.words(text) end
  if #list ~= 3 then return "expecting 3 arguments" end
  local address = types.ip(list[1], {}, self)
  local level, seconds = types.int(list[2], {}), types.int(list[3], {})
  if not address then return "not an IP address" end
  if not level or level < 0 or level > 3 then
    return "2nd argument specifies a level, between 0 and 3, to annotate"
  elseif not seconds or seconds < 1 then
    return "3rd argument specifies when this rule expires, must be > 0"
  end
  local at = self.top
  for k = 1, BYTES do
    local counter = at and at[math.floor(address / 256 ^ (BYTES - k)) % 256]
    if not counter then return end
    if k == level + 1 then
      counter.allowed_from = epoch_of(self) + seconds * EPOCHS
      return fold_counter(self, counter)
    end
    at = counter.level
  end
end

local IPRateMonitor = element.define{
  name = "IPRateMonitor", summary = "measures rates to and from IP addresses",
  ports = "1-2/1-2", flow = "#/#", reads = {"NETWORK_HEADER"}, fills_cache = true,
  arguments = {
    {"TYPE", "word", required = true},
    {"RATIO", "real", required = true, min = 0},
    {"THRESH", "unsigned", required = true},
    {"MEMORY", "unsigned", default = 0},
    {"ANNO", "bool", default = true},
  },
  handlers = {
    thresh = element.data("threshold"), look = {read = look_text},
    mem = element.data("memory"),
    memmax = {read = function (self) return self.most_memory end, write = write_memory},
    anno_level = {write = write_level}, reset = element.command(reset),
  },
  differs = "Memory is Lua's, so it counts for less addresses. There are no LLRPCs.",
}

function IPRateMonitor:configure(a)
  local kind = a.TYPE:upper()
  if kind ~= "PACKETS" and kind ~= "BYTES" then
    return self:error('monitor type should be "PACKETS" or "BYTES"')
  elseif a.RATIO > 1 then
    return self:error("ratio must be between 0 and 1")
  end
  self.in_packets, self.ratio, self.annotates = kind == "PACKETS", a.RATIO, a.ANNO
  self.threshold = math.floor(a.THRESH * a.RATIO)
  set_memory(self, a.MEMORY)
end

IPRateMonitor.initialize = reset

-- Count at each level that there is; the last counter, and the index of its byte.
local function count(self, ip, at, amount, is_forward, epoch)
  local level, counter = self.top, nil
  for k = 0, BYTES - 1 do
    local byte = ip[at + k]
    counter = level[byte] or add_counter(self, level, byte, epoch)
    if not counter then return nil end
    catch_up(counter, epoch)
    if is_forward then counter.forward = counter.forward + amount
    else counter.reverse = counter.reverse + amount end
    if not counter.level then return counter, k end
    level = counter.level
  end
  return counter, BYTES - 1
end

-- Look at the next byte of addresses below the counter.
local function zoom(self, counter, byte, epoch)
  local room = has_room(self, LEVEL_BYTES + COUNTER_BYTES)
  if counter.allowed_from >= epoch or not room then return end
  counter.level = new_level(self)
  add_counter(self, counter.level, byte, epoch, counter)
end

local function update(self, p, at, is_forward)
  local ip, epoch = p.buf_addr + at, epoch_of(self)
  local offset, amount = is_forward and SOURCE or DESTINATION, 0
  if self.ratio == 1 or math.random() < self.ratio then
    local length = ffi.cast("uint16_t *", ip + LENGTH)[0]
    amount = self.in_packets and 1 or wire.swap16(length)
  end
  local counter, k = count(self, ip, offset, amount, is_forward, epoch)
  if not counter then return end
  local forward, reverse = counter.forward_rate, counter.reverse_rate
  if self.annotates then
    p.note32[FORWARD_RATE] = math.floor(forward)
    p.note32[REVERSE_RATE] = math.floor(reverse)
  end
  if (forward >= self.threshold or reverse >= self.threshold) and k < BYTES - 1 then
    zoom(self, counter, ip[offset + k + 1], epoch)
  end
  if epoch - self.folded >= EPOCHS then
    fold(self, self.top, self.threshold, epoch)
    self.folded = epoch
  end
end

function IPRateMonitor:process(p, i)
  local at = p.note16[NETWORK]
  local is_there = at > 0 and at + MINIMAL <= p.data_off + p.length
  if is_there then update(self, p, at, i ~= 2) end
  return p, math.min(i or 1, self.noutputs)
end

function IPRateMonitor:take_state(old)
  self.top, self.memory, self.began = old.top, old.memory, old.began
end

return {IPRateMonitor}
