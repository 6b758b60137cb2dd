-- SPDX-License-Identifier: Apache-2.0
-- Push elements with one input that choose an output for each packet.

local chance = require("click.chance")
local element = require("click.element")
local note = require("click.note")
local strides = require("click.scheduling.strides")

-- One that is set ----------------------------------------------------------

-- The output (from 0; -1: none) that `n` stands for.
local function output_of(self, n)
  return n >= 0 and n < self.noutputs and n or -1
end

local Switch = element.define{
  name = "Switch", summary = "sends packets to an output that can be changed",
  division = "any", live = true,
  ports = "1/-", processing = "h/h", drops = {"switched off"},
  arguments = {{"OUTPUT", "int", default = 0}},
}

function Switch:configure(a)
  if a.OUTPUT >= self.noutputs then
    return self:error("output must be < %d", self.noutputs)
  end
  self.output_number = output_of(self, a.OUTPUT)
end

function Switch:process(p)
  local n = self.output_number
  if n < 0 then return nil, 1 end
  return p, n + 1
end

local function read_switch(self) return self.output_number end

local function write_switch(self, text)
  local n = tonumber(text)
  if not n or n % 1 ~= 0 then return "Switch output must be integer" end
  self.output_number = output_of(self, n)
end

Switch.handlers.switch = {read = read_switch, write = write_switch}
Switch.handlers.config = {read = read_switch}

local StaticSwitch = element.define{
  name = "StaticSwitch", extends = Switch, live = false,
  summary = "sends packets to one output",
  arguments = {{"OUTPUT", "int", required = true}},
  handlers = {switch = {hidden = true}, config = {read = function (self)
    return self.config
  end}},
}

function StaticSwitch:configure(a) self.output_number = output_of(self, a.OUTPUT) end

local InputSwitch = element.define{
  name = "InputSwitch", summary = "passes packets of the input that is set",
  live = true,
  ports = "-/1", processing = "h/h", drops = {"other input"},
  arguments = {{"INPUT", "int", default = 0}},
}

function InputSwitch:configure(a)
  if a.INPUT >= self.ninputs then
    return self:error("input must be < %d", self.ninputs)
  end
  self.input_number = a.INPUT
end

InputSwitch.handlers.switch = {
  read = function (self) return self.input_number end,
  write = function (self, text)
    local n = tonumber(text)
    if not n or n % 1 ~= 0 then return "InputSwitch input must be integer" end
    self.input_number = n < self.ninputs and n or -1
  end,
}

function InputSwitch:process(p, i)
  if i == self.input_number + 1 then return p end
  return nil, 1
end

-- In turns, by chance, by a hash -------------------------------------------

local RoundRobinSwitch = element.define{
  name = "RoundRobinSwitch", summary = "sends packets to its outputs in turns",
  division = "any",
  ports = "1/1-", processing = "h/h",
  arguments = {
    {"MAX", "int", default = -1},
    {"SPLITBATCH", "bool", default = true, keyword = true},
  },
  handlers = {max = element.data("max", "unsigned")},
}

function RoundRobinSwitch:configure(a)
  self.max, self.next_output = a.MAX < 0 and self.noutputs or a.MAX, 0
end

function RoundRobinSwitch:process(p)
  local n = self.next_output
  self.next_output = n + 1 < self.max and n + 1 or 0
  return p, n + 1
end

local RandomSwitch = element.define{
  name = "RandomSwitch", summary = "sends packets to an output by chance",
  division = "any",
  ports = "1/1-", processing = "h/h",
}

function RandomSwitch:process(p) return p, 1 + chance.among(self.noutputs) end

local HashSwitch = element.define{
  name = "HashSwitch", summary = "chooses an output by some of a packet's bytes",
  division = "any",
  ports = "1/1-", processing = "h/h", drops = {"beyond MAX"},
  arguments = {
    {"OFFSET", "unsigned", required = true, max = 10240},
    {"LENGTH", "unsigned", required = true, max = 10240},
    {"MAX", "unsigned", keyword = true},
  },
}

function HashSwitch:configure(a)
  if a.LENGTH == 0 then return self:error("length must be > 0") end
  self.offset, self.length, self.max = a.OFFSET, a.LENGTH, a.MAX or self.noutputs
  if self.max == 0 then self:error("MAX: must be > 0") end
end

local band, bxor, rshift = bit.band, bit.bxor, bit.rshift

local function sum_of(data, first, n)
  local sum = 0
  for k = first, first + n - 1 do sum = sum + data[k] end
  return sum
end

function HashSwitch:process(p)
  if p.length < self.offset + self.length then return p, 1 end
  local sum, n = sum_of(p.data, self.offset, self.length), self.max
  if n == 2 or n == 4 or n == 8 then
    return p, 1 + band(bxor(sum, rshift(sum, 4)), n - 1)
  end
  return p, 1 + sum % n
end

-- By tickets ---------------------------------------------------------------

local StrideSwitch = element.define{
  name = "StrideSwitch", summary = "sends packets to its outputs by tickets",
  ports = "1/1-", processing = "h/h", handlers = strides.handlers,
}

function StrideSwitch:configure_raw(list)
  strides.configure(self, list, self.noutputs, "output")
end

function StrideSwitch:process(p)
  local client = self.clients.first
  if not client then return nil end
  strides.step(self.clients)
  return p, client.port
end

-- By a byte that is noted --------------------------------------------------

local FIRST = note.FIRST
local PAINT = note.PAINT - FIRST

local function define_by_paint(class)
  class.ports, class.processing = class.ports or "1/-", "h/h"
  class.arguments = class.arguments or {{"ANNO", "anno", size = 1, default = PAINT}}
  return element.define(class)
end

local PaintSwitch = define_by_paint{
  name = "PaintSwitch", summary = "sends packets to the output that their paint names",
  division = "any",
  emits = true, drops = {"no such output"},
}

function PaintSwitch:configure(a) self.at = FIRST + a.ANNO end

local EVERYWHERE = 255 -- the paint of packets that go to all outputs

local function send_everywhere(self, p)
  local n = self.noutputs
  for o = 1, n - 1 do self.emit(o, note.clone(p)) end
  return p, n
end

function PaintSwitch:process(p)
  local color = p.note8[self.at]
  if color < self.noutputs then return p, color + 1 end
  if color ~= EVERYWHERE or self.noutputs == 0 then return nil, 1 end
  local q, o = send_everywhere(self, p)
  return q, o
end

local PaintRR = define_by_paint{
  name = "PaintRR", summary = "sends packets to the output of their paint, in a circle",
}

function PaintRR:configure(a) self.at = FIRST + a.ANNO end

function PaintRR:process(p)
  return p, 1 + p.note8[self.at] % self.noutputs
end

local ExactPaintSwitch = define_by_paint{
  name = "ExactPaintSwitch", drops = {"no output for it"},
  division = "any",
  summary = "sends packets to the output of a list of paints",
  arguments = {
    {"ANNO", "anno", size = 1, default = PAINT},
    {"DEFAULT", "int", default = -1, keyword = true},
    {"MAP", "int", list = true, each = true, default = {}, keyword = true},
  },
}

function ExactPaintSwitch:configure(a)
  if a.DEFAULT >= self.noutputs then
    return self:error("Default port cannot be higher than the number of ports!")
  end
  self.at, self.map = FIRST + a.ANNO, {}
  for color = 0, 255 do self.map[color] = a.DEFAULT end
  for i, color in ipairs(a.MAP) do
    if color < 0 or color > 255 then
      return self:error("Invalid Paint offset %d", color)
    end
    self.map[color] = i - 1
  end
end

function ExactPaintSwitch:process(p)
  local n = self.map[p.note8[self.at]]
  if n < 0 then return nil, 1 end
  return p, n + 1
end

return {Switch, StaticSwitch, InputSwitch, RoundRobinSwitch, RandomSwitch, HashSwitch,
        StrideSwitch, PaintSwitch, PaintRR, ExactPaintSwitch}
