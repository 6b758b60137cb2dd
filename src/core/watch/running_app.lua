-- SPDX-License-Identifier: Apache-2.0
-- Which app runs here? Found by walking the stack, so that the packet path needn't
-- note it: after an error, and for the JIT's watchers. Too slow for more. Modules
-- that call apps in loops, or generate code that does, say so when they are loaded.

local running_app = {}

-- Not to be compiled: the JIT's watchers would be called as the stack of an error is
-- looked at, and look at it themselves, where less of it is sound than they need. After
-- recursion without end there is no room for that, either (core.watch.deep_stack).
jit.off(true, true)

-- The stack ----------------------------------------------------------------------

-- {func, source, currentline} of the function at `level`, as the caller counts, or of
-- `thread`; nil above the outermost.
local function frame_at(level, thread)
  if thread then return debug.getinfo(thread, level, "fSl") end
  local frame = debug.getinfo(level + 1, "fSl") -- no tail call: levels count
  return frame
end

-- Name and value of its local variable number `n`.
local function variable(level, n, thread)
  local name, value
  if thread then
    name, value = debug.getlocal(thread, level, n)
  else
    name, value = debug.getlocal(level + 1, n)
  end
  return name, value
end

-- All of them by name.
local function variables(level, thread)
  local values = {}
  if not thread then level = level + 1 end
  for n = 1, 250 do
    local name, value = variable(level, n, thread)
    if not name then return values end
    values[name] = value
  end
  return values
end

-- What calls apps ------------------------------------------------------------------

-- By function.
local loops = {}                                     -- {list =, index =, method =}
local callers = setmetatable({}, {__mode = "k"})     -- {app =, method =}
local generated = setmetatable({}, {__mode = "kv"})  -- a region's `code`
local rows = setmetatable({}, {__mode = "k"})        -- calls by line
local methods = setmetatable({}, {__mode = "k"})     -- an app's name, or false

--- The function `f` loops over a list of apps, which is its local variable number
--- `list`; number `index` is the loop's hidden index. It calls their `method` (a name).
function running_app.loop(f, list, index, method)
  loops[f] = {list = list, index = index, method = method}
end

--- The function `f` calls the method (a name) of `app` (any table with its appname), or
--- of the app that is its local variable of that number. at_hand(variables), if given,
--- returns a list of the packets it gives to it, of the function's local variables by
--- name.
function running_app.caller(f, method, app, at_hand)
  callers[f] = {app = app, method = method, at_hand = at_hand}
end

--- The function `f` is a method of the app `name`. (Compiled code that is left on the
--- way keeps no variable that isn't needed further on, so the app may not be on the
--- stack.) That of several apps tells nothing.
function running_app.method(f, name)
  if methods[f] == nil then methods[f] = name end
  if methods[f] ~= name then methods[f] = false end
end

--- The functions of a fused region: `code` is {region =, name = "region of a", apps =
--- their names, app_at = {[LINE] = number of the app that the line of the source deals
--- with}, segments = a list of the functions that call process(), which have the
--- packet's length as `before`, loops = those that call them, one for each entry, run =
--- those that call the loops, emits = what apps call to emit packets}. The caller keeps
--- `code` as long as they may run.
function running_app.region(code)
  code.segment, code.entry = {}, {}
  for _, f in pairs(code.segments) do generated[f], code.segment[f] = code, true end
  for i, f in ipairs(code.loops) do generated[f], code.entry[f] = code, i end
  for _, f in pairs(code.emits) do generated[f] = code end
  for _, f in ipairs(code.run) do generated[f] = code end
end

--- The function `f` makes the calls of a breath: by line, `at` has that which the line
--- is of, {appname =, method =} and, if an entry of a region is written there, `code`
--- and `entry`, its number.
function running_app.row(f, at) rows[f] = at end

-- After an error -------------------------------------------------------------------
-- When compiled code has raised an error, only what is needed further on is sound in
-- the stack. Of a loop over apps that is the list and the hidden index, no more.

-- What the line of a row in `frame` is of.
local function call_at(frame)
  local row = rows[frame.func]
  return row and row[frame.currentline]
end

-- What called an app at `level`: {app = its name, method =}, or nil.
local function called_by(frame, level, thread)
  local f = frame.func
  local loop, caller, call = loops[f], callers[f], call_at(frame)
  if not thread then level = level + 1 end
  if call then return {app = call.appname, method = call.method} end
  if loop then
    local _, list = variable(level, loop.list, thread)
    local _, index = variable(level, loop.index, thread)
    return list[index] and {app = list[index].appname, method = loop.method}
  elseif caller then
    local app = caller.app
    if type(app) == "number" then app = select(2, variable(level, app, thread)) end
    return {app = app.appname, method = app.lifted_from and "push" or caller.method,
      packets = caller.at_hand and caller.at_hand(variables(level, thread))}
  end
end

-- The packet that app number `k` of a region was given, as a list; nil if it may be
-- another's by now: it may have emitted it.
local function given(code, k, values)
  return not code.region.app[k].emits and {values.p} or nil
end

--- For the handler of xpcall: the app at work, {app = its name, method = the name of
--- that which the engine has called, packets = a list of those it was given, if that is
--- known}. In a region also {region =, in_region = a list of the apps at work there,
--- that one first and then those that have emitted what it works on, {number =, packet
--- =, before = its length as it came to the app, if that was noted}; and, if they were
--- called by a loop, entry = its number, variables = its, by name}. Nil if it isn't
--- known. Looks at the stack from the level `first` on, of `thread`
--- (core.watch.deep_stack).
function running_app.at_error(first, thread)
  local found, inner
  for level = first or 2, math.huge do
    local frame = frame_at(level, thread)
    if not frame then return found end
    local f, code, call = frame.func, generated[frame.func], call_at(frame)
    if not found then
      local known = called_by(frame, level, thread)
      if known then return known end
    end
    if code and code.segment[f] and (code == inner or not found) then
      local k, values = code.app_at[frame.currentline], variables(level, thread)
      local method = code.region.app[k].lifted_from and "push" or "process"
      found = found or {app = code.apps[k], method = method, region = code.region,
                        in_region = {}, packets = given(code, k, values)}
      inner = code
      table.insert(found.in_region,
        {number = k, before = values.before, packet = values.p})
    elseif found and code and code == inner and code.entry[f] then
      found.entry, found.variables = code.entry[f], variables(level, thread)
      return found
    elseif found and call and call.code == inner then
      found.entry, found.variables = call.entry, variables(level, thread)
      return found
    end
  end
end

-- For the JIT's watchers -----------------------------------------------------------

local packet_path, off_path = false, {}
local libraries = {} -- folders whose files aren't the user's

--- The packet path is what the function `on` calls, but for the functions in the set
--- `off`.
function running_app.packet_path(on, off)
  packet_path, off_path = on, off
end

--- What is below these folders, a list, isn't the user's: from now on, `caller` says
--- which of the user's lines has called it.
function running_app.libraries(folders) libraries = folders end

-- The innermost line of the user's.
local function note_caller(found, frame)
  local file = frame.source:match("^@(.*)$")
  if #libraries == 0 or found.caller or not file then return end
  for i = 1, #libraries do -- scripts' ipairs is another, which may be compiled
    local folder = libraries[i]
    if file:sub(1, #folder + 1) == folder .. "/" then return end
  end
  found.caller = ("%s:%d"):format(file, frame.currentline)
end

local function note(found, frame, first)
  if not found.app and type(first) == "table" then
    found.app = rawget(first, "appname")
  end
  found.app = found.app or methods[frame.func] or nil
  if not found.file and frame.currentline > 0 then
    found.file, found.line = frame.source:gsub("^[@=]", ""), frame.currentline
  end
  note_caller(found, frame)
  local call = call_at(frame)
  local code = generated[frame.func] or call and call.code
  found.region = found.region or code and code.name
end

local function walk(callee, thread)
  local found, is_off = {packet_path = false}, false
  local inside = callee == nil
  for level = 0, math.huge do
    local frame = frame_at(level, thread)
    if not frame then return found end
    if inside then
      local _, first = variable(level, 1, thread)
      note(found, frame, first)
      is_off = is_off or off_path[frame.func] == true
      if frame.func == packet_path then
        found.packet_path = not is_off
        return found
      end
    end
    inside = inside or frame.func == callee
  end
end

--- What the present thread is in, outside of the function `callee` that asks: {app,
--- region, file, line, caller = "FILE:LINE" (running_app.libraries), packet_path =
--- boolean}; what there isn't is nil.
function running_app.here(callee) return walk(callee) end

--- The same of another thread.
function running_app.of(thread) return walk(nil, thread) end

return running_app
