-- SPDX-License-Identifier: Apache-2.0
-- From a flat configuration to elements that are ready to run, in Click's order: ports
-- are counted, push and pull are settled, connections checked; then all elements are
-- configured, so that the errors of all are seen; then they are initialized.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local configure = require("click.router.configure")
local element = require("click.element")
local hookup = require("click.router.hookup")
local meanwhile = require("core.lib.meanwhile")
local pulls = require("click.router.pulls")
local signals = require("click.router.signals")
local standby = require("core.outside.standby")

local assembly = {}

local function make_elements(self, flat, find_class, errors)
  for i, entry in ipairs(flat.elements) do
    local class = find_class(entry.class)
    if not class then
      errors:at(entry.landmark):error("unknown element class '%s'", entry.class)
      return false
    end
    local e = element.new(class, {
      name = entry.name, config = entry.config or "", landmark = entry.landmark,
      index = i, router = self,
    })
    self.elements[i], self.by_name[e.name] = e, e
  end
  return true
end

-- The elements in the order in which they are configured.
local function in_phases(elements)
  local order = {}
  for i, e in ipairs(elements) do order[i] = e end
  table.sort(order, function (a, b)
    if a.class.phase ~= b.class.phase then return a.class.phase < b.class.phase end
    return a.index < b.index
  end)
  return order
end

-- Call f(e) of each element, with errors about it below a heading, and set e[stage] if
-- none came; true if all is well. After the first error it goes on if `all`.
local function each(self, heading, stage, all, f)
  local fine = true
  for _, e in ipairs(self.order) do
    local before = self.errors.count
    e.errors = self.errors:at(e.landmark):context(heading .. " '%s':",
      hookup.declaration(e))
    f(e)
    meanwhile.pause()
    e[stage] = self.errors.count == before and not self.failed
    fine = fine and e[stage]
    if not (fine or all) then break end
  end
  return fine
end

local function index_connections(self)
  for _, e in ipairs(self.elements) do e.peers = {[false] = {}, [true] = {}} end
  local function add(e, is_output, port, far, far_port)
    local list = e.peers[is_output][port] or {}
    e.peers[is_output][port] = list
    list[#list + 1] = {element = far, port = far_port}
  end
  for _, c in ipairs(self.connections) do
    local from, to = self.elements[c.from], self.elements[c.to]
    add(from, true, c.output + 1, to, c.input + 1)
    add(to, false, c.input + 1, from, c.output + 1)
  end
end

-- A process that stands by (core.outside.standby) is held back before elements that
-- open what only one process can have, or write something, as they are initialized
-- (class.exclusive); else where the graph is to run.

--- Make, check and configure the elements of the router's flat configuration, whose
--- classes find_class(name) finds. False if something is wrong: its errors say what.
function assembly.build(self, find_class)
  local flat, errors = self.flat, self.errors
  if not make_elements(self, flat, find_class, errors) then return false end
  self.connections = hookup.check(self.elements, flat.connections, errors)
  if not self.connections then return false end
  index_connections(self)
  self.order = in_phases(self.elements)
  for _, e in ipairs(self.order) do signals.prepare(e) end
  pulls.connect(self)
  if not each(self, "While configuring", "configured", true, function (e)
    configure.element(e, e.config)
  end) then return false end
  self.handlers_ready = true
  return each(self, "While initializing", "initialized", false, function (e)
    if e.class.exclusive then standby.pass() end
    e:initialize()
  end)
end

return assembly
