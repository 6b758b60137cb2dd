-- SPDX-License-Identifier: Apache-2.0
-- The elements `input` and `output` of a configuration that is an app: packets come
-- from other apps' links by the one, and leave by the other.

local element = require("click.element")
local note = require("click.note")
local packet_thread = require("click.threads.packet_thread")

local ends = {}

local MOST_PORTS = 64

-- The names of links: port 0 is "output", or "output0"; others are "output1" and so on.
local function names_of(word)
  local names = {}
  for i = 1, MOST_PORTS do names[i] = word .. (i - 1) end
  return names
end

local clear, MAC = note.clear, note.MAC_HEADER

local Input = element.define{
  name = "AppInput", summary = "packets that come to the app", ports = "0/-",
  processing = "/h", more_inputs = names_of("input"),
}

function Input:process(p, i) -- luacheck: no self
  clear(p)
  p.note16[MAC] = p.data_off
  return p, i
end

local Output = element.define{
  name = "AppOutput", summary = "packets that leave the app", ports = "-/0",
  processing = "h/", more_outputs = names_of("output"),
}

function Output:process(p, i) return p, i end -- luacheck: no self

-- The same between parts of one router (click.threads.division): what is noted of
-- packets stays.
local PartInput = element.define{
  name = "PartInput", summary = "packets of other threads", ports = "0/-",
  processing = "/h", more_inputs = names_of("input"), reads = {}, lengthens = 0,
}

function PartInput:process(p, i) return p, i end -- luacheck: no self

-- (Elements of the other part may look at whatever is noted.)
local PartOutput = element.define{
  name = "PartOutput", summary = "packets for other threads", extends = Output,
  lengthens = 0, arguments = {{"THREAD", "unsigned", required = true}},
}

function PartOutput:configure(a) self.thread = a.THREAD end

function PartOutput:process(p, i)
  packet_thread.leave(p, self.thread)
  return p, i
end

local CLASSES = {AppInput = Input, AppOutput = Output, PartInput = PartInput,
                 PartOutput = PartOutput}

--- The class of that name, or nil.
function ends.find(name) return CLASSES[name] end

--- What declares the two, in front of a configuration's first line.
ends.declarations = "input :: AppInput; output :: AppOutput; "

--- The place of the link's end `name` ("input", "output1") at the element `e`, input or
--- output: "APP.input0"; nil if it has no such port.
function ends.place(e, app, name)
  local word, number = name:match("^(%a+)(%d*)$")
  number = number == "" and 0 or tonumber(number)
  local is_input = e.class == Input or e.class == PartInput
  local count = is_input and e.noutputs or e.ninputs
  if word ~= (is_input and "input" or "output") or not number or number >= count then
    return nil
  end
  return ("%s.%s%d"):format(app, word, number)
end

return ends
