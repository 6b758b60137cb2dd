-- SPDX-License-Identifier: Apache-2.0
-- Elements that send a packet to several outputs, or some of its inputs nowhere.

local configure = require("click.router.configure")
local element = require("click.element")
local note = require("click.note")
local live_annotations = require("click.router.live_annotations")

-- Tee, PullTee -----------------------------------------------------------

local function check_arms(self, a)
  if a.N and a.N ~= self.noutputs then
    self:error("%d outputs implies %d arms", self.noutputs, self.noutputs)
  end
end

local function copies(self, p, first, last)
  for o = first, last do self.emit(o, note.clone(p)) end
end

local Tee = element.define{
  name = "Tee", aliases = {"Duplicate"},
  division = "any",
  summary = "copies packets to all of its outputs",
  ports = "1/1-", processing = "h/h", emits = true, configure = check_arms,
  arguments = {{"N", "unsigned"}, {"DATA_ONLY", "bool", keyword = true}},
  reads = {}, lengthens = 0,
}

function Tee:process(p)
  local n = self.noutputs
  copies(self, p, 1, n - 1)
  return p, n
end

local MOST_LINES = 16

-- A copy is a line of its own: a loop in process() would cost the region its loop.
function Tee:make_process()
  local n = self.noutputs
  if n > MOST_LINES then return function (_, p) return Tee.process(self, p) end end
  local lines = {"local self, clone, copier = ...", "return function (_, p)"}
  for o = 1, n - 1 do lines[o + 2] = ("self.emit(%d, clone(p, copier))"):format(o) end
  lines[n + 2] = ("return p, %d end"):format(n)
  return loadstring(table.concat(lines, "\n"), "=Tee")(self, note.clone,
    live_annotations.copier(self.router))
end

local PullTee = element.define{
  name = "PullTee", summary = "passes packets, and pushes copies",
  ports = "1/1-", processing = "l/lh", emits = true, configure = check_arms,
  arguments = {{"N", "unsigned"}},
}

function PullTee:process(p)
  copies(self, p, 2, self.noutputs)
  return p
end

-- Suppressor: ports that can be switched off -------------------------------

local Suppressor = element.define{
  name = "Suppressor", summary = "passes packets of those ports that aren't suppressed",
  ports = "-/=", flow = "#/#", drops = {"suppressed"},
}

local function allow_all(self)
  for port = 1, self.ninputs do self.allowed[port] = true end
end

local BOOLEANS = {["true"] = true, ["false"] = false, ["1"] = true, ["0"] = false,
                  yes = true, no = false}

function Suppressor:configure_raw()
  self.allowed = {}
  allow_all(self)
  for port = 1, self.ninputs do
    self:add_handler("active" .. port - 1, {
      read = function () return self.allowed[port] end,
      write = function (_, text)
        if BOOLEANS[text] == nil then return "type mismatch" end
        self.allowed[port] = BOOLEANS[text]
      end,
    })
  end
end

Suppressor.handlers.reset = element.command(allow_all)

function Suppressor:process(p, i)
  if not self.allowed[i] then return nil, 1 end
  return p, i
end

function Suppressor:pull(o)
  return self.allowed[o] and self.pull_from[o]() or nil
end

-- Bypass: by way of another element, or past it ----------------------------

local Bypass = element.define{
  name = "Bypass", summary = "passes packets by way of other elements, or past them",
  ports = "1-2/1-2", flow = "xy/[xy]x", live = true,
  arguments = {
    {"ACTIVE", "bool", default = false}, {"INLINE", "bool", keyword = true},
  },
  handlers = {active = {read = function (self) return self.active end,
                        write = configure.keyword("ACTIVE", 1)}},
}

function Bypass:configure(a) self.active = a.ACTIVE end

function Bypass:process(p, i)
  if i == 1 and self.active and self.noutputs > 1 then return p, 2 end
  return p, 1
end

function Bypass:pull(o)
  local i = o == 1 and self.active and self.ninputs > 1 and 2 or 1
  return self.pull_from[i]()
end

return {Tee, PullTee, Suppressor, Bypass}
