-- SPDX-License-Identifier: Apache-2.0
-- Breaths in a row as one function: what the calls of a breath do, one after the other,
-- in a loop. The loops of regions are in it: of several functions LuaJIT builds the
-- frames before each burst, and takes them down after it; and a list of calls costs a
-- look at which is next. The calls are constants of the function, so other calls get
-- another one.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local ffi = require("ffi")
local C = require("core.native")
local health = require("core.watch.health")
local repush = require("core.repush")
local running_app = require("core.watch.running_app")
local source = require("core.fuse.source")

local row = {}

-- A Lua function has at most 60 upvalues and 200 locals; more calls aren't written so.
local MOST_CALLS, MOST_UPVALUES = 16, 55
local port_p = ffi.typeof("struct port *")
local work = C.pg_at_work()

-- The calls ----------------------------------------------------------------------

-- Each with the app whose call it is: {region =, entry =} or {push =, app =, link =} or
-- {pull = the app}.
local function list_calls(pulls, pushes, entry_of)
  local list = {}
  for i = 1, pulls.n do list[i] = {pull = pulls[i], app = pulls[i]} end
  for i = 1, pushes.n do
    local push, app = pushes.push[i], pushes.app[i]
    local entry = entry_of[push]
    local fits = entry and not source.is_wide(entry.region.description, entry.number)
    list[#list + 1] = {push = push, app = app, link = pushes.link[i],
      region = fits and entry.region, entry = fits and entry.number}
  end
  return list
end

local function same(a, b)
  return a and b and a.push == b.push and a.pull == b.pull and a.app == b.app
    and a.link == b.link
end

local function same_ports(a, b)
  for i = 1, math.max(#a, #b) do
    if a[i] ~= b[i] then return false end
  end
  return true
end

local function same_calls(a, b)
  for i = 1, math.max(#a, #b) do
    if not same(a[i], b[i]) then return false end
  end
  return true
end

-- The source ---------------------------------------------------------------------

-- emit(format, ...) adds a line; emit.let(name, value) gives the function an upvalue,
-- and emit.near(name, value) a local variable: a loop has no upvalues of its own (see
-- core.fuse.source), but those that LuaJIT takes for constants.
local function writer()
  local emit = {lines = {}, at = {}, names = {}, values = {}, near_names = {},
    near_values = {}, known = {}}
  setmetatable(emit, {__call = function (self, fmt, ...)
    local n = #self.lines + 1
    self.lines[n] = select("#", ...) > 0 and fmt:format(...) or fmt
    self.at[n] = self.call
  end})
  function emit.let(name, value)
    if emit.known[name] then return end
    emit.known[name] = true
    table.insert(emit.names, name)
    emit.values[#emit.names] = value
  end
  function emit.near(name, of)
    if emit.known[name] then return end
    emit.known[name] = true
    table.insert(emit.near_names, name)
    table.insert(emit.near_values, of)
  end
  return emit
end

-- What an entry of a region does. The names of what all its entries use end in the
-- region's number `r`.
local function emit_entry(emit, call, k, r)
  local region, number = call.region, call.entry
  local names = {step = "step" .. k, next = "next" .. r, out = "out" .. r .. "_%d",
    to = "to" .. r .. "_%d", flush = "flush" .. r .. "_%d", all = "flush_all" .. r}
  emit.let("fetch" .. k, region.fetch[number])
  emit.let("packets" .. r, region.packets_p)
  emit.let("at" .. names.step, region.step[number])
  emit.near(names.step, "at" .. names.step)
  if region.description.spread then emit.let(names.next, region.next_p) end
  if region.flush_all then emit.let(names.all, region.flush_all) end
  for _, x in ipairs(source.exits(region.description, number)) do
    emit.let(names.out:format(x), region.out_p[x])
    emit.let(names.flush:format(x), region.flush[x])
    emit.near(names.to:format(x), names.out:format(x))
  end
  emit("  do")
  emit("  local n = fetch%d(packets%d)", k, r)
  source.burst(emit, region.description, number, names)
  if region.full_burst[number] then
    emit.let("more" .. k, region.more[number])
    emit("  if n == %d then more%d() end", region.full_burst[number], k)
  end
  emit("  end")
end

local function emit_call(emit, call, k, numbers)
  emit.call = k
  emit("  work.call = %d", k)
  if call.region then
    numbers[call.region] = numbers[call.region] or k
    emit_entry(emit, call, k, numbers[call.region])
  elseif call.pull then
    emit.let("app" .. k, call.app)
    emit("  app%d:pull()", k)
  else
    emit.let("app" .. k, call.app)
    emit.let("push" .. k, call.push)
    emit.let("link" .. k, call.link)
    emit("  push%d(app%d, link%d)", k, k, k)
  end
  emit.call = nil
end

-- Ports that give a full burst have more: the push calls once more (core.repush).
local function emit_again(emit, ports)
  local full = {}
  for i, port in ipairs(ports) do
    emit.let("port" .. i, ffi.cast(port_p, port))
    full[i] = ("port%d.full ~= 0"):format(i)
  end
  if #full > 0 then
    emit("  if %s then again(push, pushes) end", table.concat(full, " or "))
  end
end

-- The function, and by line the number of the call that it is of; nil if there is too
-- much for one.
local function generate(list, ports)
  local body, numbers = writer(), {}
  body.let("work", work)
  body.let("moved_few", repush.moved_few)
  body.let("again", repush.again)
  body.let("tobit_of", bit.tobit)
  body.near("tobit", "tobit_of") -- it keeps counts int
  for k, call in ipairs(list) do emit_call(body, call, k, numbers) end
  emit_again(body, ports)
  if #body.names > MOST_UPVALUES then return nil end
  local head = {"local " .. table.concat(body.names, ", ") .. " = ...",
    "return function (most, push, pushes)",
    "  local " .. table.concat(body.near_names, ", ") .. " = "
      .. table.concat(body.near_values, ", "),
    "  for k = 1, most do"}
  local tail = {"  if not moved_few() then return k end", "  end", "  return most",
    "end"}
  local text = table.concat({table.concat(head, "\n"), table.concat(body.lines, "\n"),
    table.concat(tail, "\n")}, "\n")
  local at = {}
  for line, k in pairs(body.at) do at[#head + line] = list[k] end
  local chunk = assert(loadstring(text, "=a row of breaths"))
  return chunk(unpack(body.values, 1, #body.names)), at
end

-- What LuaJIT compiles ------------------------------------------------------------

-- Tells those who follow the regions' loops (core.fuse.packet_paths) of those that
-- are here. A trace that begins at the outermost loop is of all of them.
local Follower = {}
Follower.__index = Follower

local function tell(self, method, argument)
  local list = self.list
  for i = 1, #list do
    local call = list[i]
    local shapes = call.region and call.region.shapes
    local shape = shapes and shapes[call.entry]
    if shape and (not self.call or self.call == call) then
      shape[method](shape, argument)
    end
  end
end

function Follower:started(line)
  self.call = self.at[line]
  tell(self, "started")
end

function Follower:stopped(linktype) tell(self, "stopped", linktype) end

-- Say where the loops of the regions' entries are now.
local function note_loops(f, at)
  for line, call in pairs(at) do
    if call.region then
      local loop = call.region.in_row[call.entry]
      if not loop or loop.f ~= f then loop = {f = f, first = line, last = line} end
      loop.first, loop.last = math.min(loop.first, line), math.max(loop.last, line)
      call.region.in_row[call.entry] = loop
    end
  end
end

-- The last one --------------------------------------------------------------------

local last = {list = {}, ports = {}}

local function forget()
  for _, call in ipairs(last.list) do
    if call.region then call.region.in_row = {} end
  end
  last = {list = {}, ports = {}}
end

local function make(list, ports)
  local f, at = generate(list, ports)
  last = {list = list, ports = ports, f = f}
  if not f then return nil end
  for _, call in ipairs(list) do
    call.appname, call.method = call.app.appname, call.pull and "pull" or "push"
    call.code = call.region and call.region.code
  end
  running_app.row(f, at)
  note_loops(f, at)
  last.follower = setmetatable({list = list, at = at}, Follower)
  health.follow(f, last.follower)
  return f
end

--- The function row(most, push, pushes) that makes the calls `pulls` and `pushes` of a
--- breath (core.engine.order) in up to so many breaths, as long as they may follow each
--- other (core.repush), and returns in how many; push(pushes) makes the push calls.
--- `entry_of` says which entry of a region a push is, {region =, number =}. Nil if
--- there are none, or too many of them. The same function as last time for the same
--- calls: LuaJIT has compiled it.
function row.of(pulls, pushes, entry_of)
  local few = pushes.n > 0 and pulls.n + pushes.n <= MOST_CALLS
  local list, ports = {}, few and pushes.ports or {}
  if few then list = list_calls(pulls, pushes, entry_of) end
  if same_calls(list, last.list) and same_ports(ports, last.ports) then
    return last.f
  end
  forget()
  return few and make(list, ports) or nil
end

return row
