-- SPDX-License-Identifier: Apache-2.0
-- For --check: the packets that apps hold, counted one by one, and who got them where.

local packets = require("core.check.packets")
local record = require("core.check.record")

local held = {}

--- How many there are.
function held.count() return #record.held() end

local MOST_PLACES = 5 -- told of an app

-- By owner: the records' last events, {[text] = packets}.
local function by_owner()
  local owners, names = {}, {}
  for _, r in ipairs(record.held()) do
    local name = r.owner and ("app '%s'"):format(r.owner) or r.by
    if not owners[name] then
      owners[name] = {n = 0, events = {}, order = {}}
      names[#names + 1] = name
    end
    local o = owners[name]
    local text = (r.by == name and "" or r.by .. " ") .. r.what .. " at " .. r.at
    if not o.events[text] then table.insert(o.order, text) end
    o.n, o.events[text] = o.n + 1, (o.events[text] or 0) + 1
  end
  table.sort(names)
  return names, owners
end

local function places_of(o)
  table.sort(o.order, function (a, b)
    if o.events[a] ~= o.events[b] then return o.events[a] > o.events[b] end
    return a < b
  end)
  local parts = {}
  for i = 1, math.min(#o.order, MOST_PLACES) do
    local text = o.order[i]
    parts[i] = o.n == o.events[text] and text or ("%d: %s"):format(o.events[text], text)
  end
  if #o.order > MOST_PLACES then parts[#parts + 1] = "and elsewhere" end
  return table.concat(parts, "; ")
end

--- A line for each app that holds packets: "app 'a' holds 2 packets: allocated it at
--- a.lua:12"; `verb` may be another one.
function held.lines(verb)
  local names, owners = by_owner()
  local lines = {}
  for i, name in ipairs(names) do
    local n = owners[name].n
    lines[i] = ("%s %s %d packet%s: %s"):format(name, verb or "holds", n,
      n == 1 and "" or "s", places_of(owners[name]))
  end
  return lines
end

local of_workers = {} -- what was wrong at the end of workers

--- Let `list`, what at_end() gave in a worker's state, be told with the rest.
function held.add(list)
  for _, line in ipairs(list) do of_workers[#of_workers + 1] = line end
end

--- For the end, when all apps have been stopped: what is wrong all the same, a list of
--- sentences. If the program has `failed`, packets may be held for that.
function held.at_end(failed)
  local list = of_workers
  packets.let_all_go()
  local late = packets.take_late()
  while late do
    list[#list + 1] = tostring(late)
    record.settle(late)
    late = packets.take_late()
  end
  local n, first = record.found()
  if failed then return list end
  if n > 0 then
    list[#list + 1] = ("--check found %d error%s that the program has caught; the "
      .. "first: %s"):format(n, n == 1 and "" or "s", first)
  end
  for _, line in ipairs(held.lines("has kept")) do
    list[#list + 1] = "leak: " .. line
  end
  return list
end

return held
