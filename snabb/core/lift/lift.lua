-- SPDX-License-Identifier: Apache-2.0
-- Snabb's apps as per-packet apps, where their push() is surely no more than that: what
-- the engine fuses instead. An app has one such view, as long as its links have
-- the same names.

local config = require("core.config")
local meanwhile = require("core.lib.meanwhile")
local methods = require("core.lift.methods")
local rewrite = require("core.lift.rewrite")
local shape = require("core.lift.shape")
local aliasing = require("core.lift.aliasing")
local syntax = require("core.lift.syntax")
local legality = require("core.lift.legality")
local tables = require("core.lib.tables")

local lift = {unfit = legality.of}

-- By app. A view has its app, and what uses it keeps it.
local views = setmetatable({}, {__mode = "kv"})
local refused = setmetatable({}, {__mode = "k"}) -- {links = text, why =}

-- By push function, and a text of what else it depends on, what is needed of its shape:
-- many apps may have it.
local shapes = setmetatable({}, {__mode = "k"})

-- For each app the names of its links, {input = list, output = list}, sorted.
local function ends_of(links)
  local ends = {}
  local function add(name, direction, port)
    ends[name] = ends[name] or {input = {}, output = {}}
    table.insert(ends[name][direction], port)
  end
  for _, spec in ipairs(config.sorted_keys(links)) do
    local from, output, to, input = config.parse_link(spec)
    add(from, "output", output)
    add(to, "input", input)
  end
  return ends
end

-- The set of the apps with another beside them that may be in a region, or at its end.
local function company_of(apps, links, joins)
  local company = {}
  for spec in pairs(links) do
    local from, _, to = config.parse_link(spec)
    if apps[from] and joins(apps[from]) then company[to] = true end
    if apps[to] and joins(apps[to]) then company[from] = true end
  end
  return company
end

local function has(list, name)
  for _, known in ipairs(list) do
    if known == name then return true end
  end
  return false
end

-- Changes with the names of its links.
local function signature(ends)
  return table.concat(ends.input, " ") .. " -> " .. table.concat(ends.output, " ")
end

local function shape_of(app, set, assigned, ends)
  local push = app.push
  local text = ("%s; %s"):format(signature(ends), assigned["*"] and "*"
    or table.concat(config.sorted_keys(assigned), " "))
  shapes[push] = shapes[push] or {}
  local known = shapes[push][text]
  if known then return known end
  local s, why, line = shape.of(app, set, assigned,
    {input = tables.set_of(ends.input), output = tables.set_of(ends.output)})
  known = {}
  if s then
    known.make, known.input, known.outputs = rewrite.maker(s), s.input, s.outputs
    known.emits, known.only_sends = s.emits, s.only_sends
    known.uses = aliasing.uses(s.push, s.tree.node, s.self, function (node)
      return shape.is_before(s, node)
    end)
    why = not known.make and "it can't be rewritten"
  end
  if why then
    local at = debug.getinfo(push, "S")
    known.why = ("%s (%s:%d)"):format(why, at.short_src, line or at.linedefined)
  end
  shapes[push][text] = known
  return known
end

-- As link.transmit(output, nil) does, where that was called.
local function nothing()
  error("link.transmit: argument 2 is nil; it takes a packet", 2)
end

local function view_of(app, s, uses, ends)
  local outputs = {unpack(s.outputs)}
  for _, name in ipairs(ends.output) do
    if not has(outputs, name) then outputs[#outputs + 1] = name end
  end
  local view = {
    appname = app.appname, input = app.input, output = app.output, inputs = {s.input},
    outputs = outputs, emits = s.emits or nil, bound = true,
    lengthens = s.only_sends and 0 or nil, lifted_from = app, nothing = nothing,
  }
  view.process, view.before = s.make(app, app.push, view)
  local places
  function view.places()
    places = places or aliasing.places(app, {s.uses, unpack(uses)})
    return places
  end
  return view
end

-- Seen without reading any source, which takes its time.
local NOT_ONE = "it needs exactly one input link"
local RENEWED = "its fields are replaced when it gets another argument (reconfig_keeps)"

-- The view of the app with links of these names; or nil and why there is none.
local function make(app, ends)
  if #ends.input ~= 1 then return nil, NOT_ONE end
  if rawget(app, "reconfig") and app.reconfig_keeps then return nil, RENEWED end
  local set, assigned, uses = methods.of(app)
  if not set then return nil, assigned end
  local s = shape_of(app, set, assigned, ends)
  if s.why then return nil, s.why end
  if ends.input[1] ~= s.input then
    return nil, ("it receives from '%s'"):format(s.input)
  end
  for _, name in ipairs(s.outputs) do
    if not has(ends.output, name) then
      return nil, ("no link leaves its output '%s'"):format(name)
    end
  end
  return view_of(app, s, uses, ends)
end

local function cached(app, ends)
  local links = signature(ends)
  local view, no = views[app], refused[app]
  if view and view.links == links and view.of == app.push then return view end
  if no and no.links == links then return nil, no.why end
  local why
  view, why = make(app, ends)
  if view then
    view.links, view.of = links, app.push
    views[app], refused[app] = view, nil
  else
    views[app], refused[app] = nil, {links = links, why = why}
  end
  return view, why
end

--- The running `apps` by name, with views in the place of those that can be lifted; and
--- a table from others to the reason why they can't. may_be(app): is it of Snabb's form
--- at all? joins(app): may it be in a region, or beside one, whatever its push() is?
--- Others aren't looked at, as that takes time.
function lift.all(apps, links, may_be, joins)
  local all, reasons, ends = {}, {}, ends_of(links)
  local company = company_of(apps, links, joins)
  for name, app in pairs(apps) do
    meanwhile.pause()
    all[name] = app
    if ends[name] and may_be(app) and not company[name] then
      reasons[name] = legality.ALONE
    elseif ends[name] and may_be(app) then
      local view, why = cached(app, ends[name])
      all[name], reasons[name] = view or app, why
    end
  end
  syntax.forget()
  return all, reasons
end

return lift
