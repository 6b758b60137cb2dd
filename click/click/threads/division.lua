-- SPDX-License-Identifier: Apache-2.0
-- A router over several threads: which elements belong to which, as StaticThreadSched
-- wants it, and a flat configuration cut along that. Packets pass from one thread to
-- another by push connections; whatever pulls is on one thread, up to its queues, and
-- so are all elements of a device.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local cpu_switches = require("click.threads.cpu_switches")
local passing = require("click.threads.passing")
local tables = require("core.lib.tables")

local division = {}

-- They say something about others, and are in all parts; but what the division follows
-- from is in none.
local DIVIDES = "StaticThreadSched"
local EVERYWHERE = {}
for name in ([[AddressInfo AnnotationInfo PortInfo AlignmentInfo DPDKInfo ClickyInfo
  FlowInfo DevirtualizeInfo ScheduleInfo]]):gmatch("%S+") do EVERYWHERE[name] = true end

--- Is an element of that class in all parts?
function division.is_everywhere(class)
  return EVERYWHERE[class] or class == DIVIDES
end

-- Groups of elements that can't be divided ------------------------------------------

local function is_pull(router, c)
  local letters = router.elements[c.from].processing.outputs
  return letters:sub(c.output + 1, c.output + 1) == "l"
end

-- By number of an element, that of the one that stands for its group.
local function groups_of(router)
  local parent, by_device = {}, {}
  local function root(i)
    while parent[i] do i = parent[i] end
    return i
  end
  local function join(i, k)
    i, k = root(i), root(k)
    if i ~= k then parent[math.max(i, k)] = math.min(i, k) end
  end
  for _, c in ipairs(router.connections) do
    if is_pull(router, c) then join(c.from, c.to) end
  end
  for i, e in ipairs(router.elements) do
    local device = rawget(e, "device")
    if device then
      if by_device[device] then join(by_device[device], i) end
      by_device[device] = by_device[device] or i
    end
  end
  return root
end

-- Does the element begin what happens to packets: does it make, receive or pull them?
local function drives(e)
  if e.class.hands_over then return true end
  if e.class.name == "Idle" then return false end
  local has_task = e.class.task ~= nil and e.processing.inputs:find("l") ~= nil
  return has_task or e.ninputs == 0 and e.noutputs > 0
end

-- The thread of each group that has one of its own, and what can't be as it is wanted.
local function own_threads(router, root, notes)
  local own, whose = {}, {}
  for i, e in ipairs(router.elements) do
    if drives(e) then
      local group, thread = root(i), e.home_thread or 0
      if own[group] and own[group] ~= thread then
        notes[#notes + 1] = ("'%s' and '%s' share a queue or a device: both run on "
          .. "thread %d"):format(whose[group].name, e.name,
          math.min(own[group], thread))
      end
      own[group] = math.min(own[group] or thread, thread)
      whose[group] = whose[group] or e
    end
  end
  return own
end

-- The thread of each element that makes or pulls packets.
local function driving(router, root, own)
  local threads = {}
  for i, e in ipairs(router.elements) do
    if drives(e) then threads[i] = own[root(i)] end
  end
  return threads
end

-- The threads whose packets pass each group: a set.
local function reached_from(router, root, lists)
  local reached = {}
  for i in ipairs(router.elements) do
    local set = reached[root(i)] or {}
    reached[root(i)] = set
    for _, thread in ipairs(lists[i]) do set[thread] = true end
  end
  return reached
end

local function least(set)
  local thread, many
  for t in pairs(set or {}) do
    many = thread ~= nil
    thread = math.min(thread or t, t)
  end
  return thread or 0, many
end

-- Is it worth a word that the element runs on one thread? It isn't where packets end
-- and nothing is kept of them, and where each thread's packets go around it.
local function is_worth_a_note(router, i, lists)
  local e = router.elements[i]
  if e.noutputs == 0 and e.class.division == "any" then return false end
  if not cpu_switches.is(e.class.name) then return true end
  for _, c in ipairs(router.connections) do
    if c.to == i and #lists[c.from] > 1 then return true end
  end
  return false
end

--- The threads of the router's elements, {[NAME] = NUMBER}, without those that are on
--- all; the numbers, a sorted list; a list of sentences on what can't be as
--- StaticThreadSched wants it; and the threads whose packets pass each element, {[NAME]
--- = sorted list}. The router has been made, but needn't run.
function division.of(router)
  local notes, threads, present, passing_by = {}, {}, {}, {}
  local root = groups_of(router)
  local own = own_threads(router, root, notes)
  local lists = passing.of(router, driving(router, root, own), function (c)
    return is_pull(router, c)
  end)
  local reached = reached_from(router, root, lists)
  local told = false
  for i, e in ipairs(router.elements) do
    passing_by[e.name] = lists[i]
    if not EVERYWHERE[e.class.name] and e.class.name ~= DIVIDES then
      local group, many = root(i), false
      local thread = own[group]
      if not thread then thread, many = least(reached[group]) end
      if many and not told and is_worth_a_note(router, i, lists) then
        notes[#notes + 1] = ("'%s' gets packets of several threads: it runs on thread "
          .. "%d, with what is behind it"):format(e.name, thread)
        told = true
      end
      threads[e.name], present[thread] = thread, true
    end
  end
  return threads, tables.sorted_keys(present), notes, passing_by
end

-- Cutting ----------------------------------------------------------------------------

--- Call f(from, output, to, input) for each connection between two threads, in an order
--- that all parts agree on: threads, and the numbers of the connection among those that
--- leave the one, and that come to the other (from 0).
function division.crossings(flat, threads, f)
  local leaving, coming = {}, {}
  for _, c in ipairs(flat.connections) do
    local from = threads[flat.elements[c.from].name]
    local to = threads[flat.elements[c.to].name]
    if from ~= to then
      local output, input = leaving[from] or 0, coming[to] or 0
      leaving[from], coming[to] = output + 1, input + 1
      f(from, output, to, input, c)
    end
  end
end

-- What is said of elements of this part.
local function schedule_of(config, here)
  local list = {}
  for text in config:gmatch("[^,]+") do
    if here[text:match("%S+") or ""] then list[#list + 1] = text end
  end
  return table.concat(list, ",")
end

--- The part of the flat configuration that is on `thread`. What crosses passes elements
--- of the classes `input` and `output`, whose ports are numbered as division.crossings
--- does it.
function division.part(flat, threads, thread, input, output)
  local part, index, here = {elements = {}, connections = {}}, {}, {}
  for field, value in pairs(flat) do part[field] = part[field] or value end
  part.source = nil
  local function add(e)
    table.insert(part.elements, e)
    return #part.elements
  end
  for _, e in ipairs(flat.elements) do
    if threads[e.name] == thread then here[e.name] = true end
  end
  for i, e in ipairs(flat.elements) do
    if here[e.name] then
      index[i] = add(e)
    elseif threads[e.name] == nil and e.class ~= DIVIDES then
      local config = e.class == "ScheduleInfo" and schedule_of(e.config, here)
        or e.config
      add{name = e.name, class = e.class, config = config, landmark = e.landmark}
    end
  end
  local coming = add{name = "input", class = input, config = "", landmark = "threads"}
  local leaving = add{name = "output", class = output,
    config = tostring(thread), landmark = "threads"}
  local function connect(from, out, to, into)
    table.insert(part.connections,
      {from = from, output = out, to = to, input = into, landmark = "threads"})
  end
  for _, c in ipairs(flat.connections) do
    local from, to = index[c.from], index[c.to]
    if from and to then connect(from, c.output, to, c.input) end
  end
  division.crossings(flat, threads, function (from, out, to, into, c)
    if from == thread then connect(index[c.from], c.output, leaving, out) end
    if to == thread then connect(coming, into, index[c.to], c.input) end
  end)
  return part
end

return division
