-- SPDX-License-Identifier: Apache-2.0
-- Joins configurations of several routers to one of all, where a link takes the place
-- of two devices; and takes one router out of that again. As in Click, a link is an
-- element RouterLink, whose configuration says what it stands for: "ROUTER ELEMENT
-- CLASS, CONFIGURATION" for each of its inputs and outputs.

local edit = require("click.language.edit")
local text_of = require("click.language.text")

local combine = {}

local LINK = "RouterLink"
local MAP = "componentmap" -- the member of the archive that lists the routers

-- Joining --------------------------------------------------------------------------

local SENDERS = {ToDevice = true, ToDPDKDevice = true}
local RECEIVERS = {FromDevice = true, PollDevice = true, FromDPDKDevice = true}

-- The element of the router that the name means: its name, or its device's. Nil and
-- what is wrong.
local function find(router, name, classes)
  local found
  for i, e in ipairs(router.flat.elements) do
    if e.name == name then return i end
    local device = text_of.arguments(e.config)[1]
    if classes[e.class] and device and text_of.unquote(device) == name then
      if found then
        return nil, ("router '%s' has more than one element of device '%s'")
          :format(router.name, name)
      end
      found = i
    end
  end
  if found then return found end
  return nil, ("router '%s' has no element or device '%s'"):format(router.name, name)
end

-- The ends of "A.eth1=B.eth0": {router, element} each; or nil and what is wrong.
local function ends_of(link, by_name)
  local a, from, b, to =
    link:match("^%s*([^.=%s]+)%.([^=%s]+)%s*=%s*([^.=%s]+)%.(%S+)%s*$")
  if not a then return nil, ("bad link definition '%s'"):format(link) end
  for _, name in ipairs{a, b} do
    if not by_name[name] then return nil, ("no router named '%s'"):format(name) end
  end
  local first, problem = find(by_name[a], from, SENDERS)
  if not first then return nil, problem end
  local second
  second, problem = find(by_name[b], to, RECEIVERS)
  if not second then return nil, problem end
  return {by_name[a], first}, {by_name[b], second}
end

-- One configuration of all routers, and where the elements of each are in it.
local function join(routers)
  local flat = {elements = {}, connections = {}, requirements = {}, archive = {}}
  for _, router in ipairs(routers) do
    router.offset = #flat.elements
    for _, e in ipairs(router.flat.elements) do
      table.insert(flat.elements, {name = router.name .. "/" .. e.name, class = e.class,
        config = e.config, landmark = e.landmark})
    end
    for _, c in ipairs(router.flat.connections) do
      table.insert(flat.connections, {from = router.offset + c.from, output = c.output,
        to = router.offset + c.to, input = c.input, landmark = c.landmark})
    end
    for _, r in ipairs(router.flat.requirements or {}) do
      table.insert(flat.requirements, r)
    end
  end
  return flat
end

local function described(router, i)
  local e = router.flat.elements[i]
  return ("%s %s %s, %s"):format(router.name, e.name, e.class, text_of.quote(e.config))
end

local function add_link(graph, number, from, to)
  local link = graph:add(LINK, described(from[1], from[2]) .. ", "
    .. described(to[1], to[2]), ("link%d"):format(number))
  local first, second = from[1].offset + from[2], to[1].offset + to[2]
  for _, c in ipairs(graph:to(first)) do graph:connect(c.from, c.output, link, 0) end
  for _, c in ipairs(graph:from(second)) do graph:connect(link, 0, c.to, c.input) end
  graph:remove(first)
  graph:remove(second)
end

--- The configuration of the routers, a list of {name =, flat =}, with these links
--- ("A.eth1=B.eth0"); or nil and what is wrong.
function combine.join(routers, links)
  local by_name, pairs_of = {}, {}
  for _, router in ipairs(routers) do
    if by_name[router.name] then
      return nil, ("two routers named '%s'"):format(router.name)
    end
    by_name[router.name] = router
  end
  local used = {}
  for i, link in ipairs(links) do
    local from, to = ends_of(link, by_name)
    if not from then return nil, to end
    for _, e in ipairs{from, to} do
      local key = e[1].name .. "." .. e[2]
      if used[key] then
        return nil, ("'%s': a link has its device already"):format(link)
      end
      used[key] = true
    end
    pairs_of[i] = {from, to}
  end
  local graph = edit.new(join(routers))
  for i, pair in ipairs(pairs_of) do add_link(graph, i, pair[1], pair[2]) end
  local flat, names = graph:result(), {}
  for i, router in ipairs(routers) do names[i] = router.name .. "\n" end
  flat.archive = {{name = MAP, data = table.concat(names)}}
  return flat
end

-- Taking apart ---------------------------------------------------------------------

-- What a link stands for: a list of {router, element, class, configuration}, two of
-- them; nil if its configuration isn't of that kind.
local function ends_of_link(e)
  local list, ends = text_of.arguments(e.config), {}
  for i = 1, #list, 2 do
    local words = text_of.words(list[i])
    if #words ~= 3 or not list[i + 1] then return nil end
    ends[#ends + 1] = {words[1], words[2], words[3], text_of.unquote(list[i + 1])}
  end
  return #ends == 2 and ends or nil
end

-- Put the device back that the link took the place of, if it is the router's.
local function restore(graph, link, ends, name, live)
  for k, part in ipairs(ends) do
    if part[1] == name then
      local device = graph:add(part[3], part[4], name .. "/" .. part[2])
      live[device] = true
      for _, c in ipairs(k == 1 and graph:to(link) or {}) do
        graph:connect(c.from, c.output, device, 0)
      end
      for _, c in ipairs(k == 2 and graph:from(link) or {}) do
        graph:connect(device, 0, c.to, c.input)
      end
    end
  end
end

-- Is that router in the archive's list? Without a list: any whose elements there are.
local function is_part(flat, name)
  for _, member in ipairs(flat.archive or {}) do
    if member.name == MAP then
      return ("\n" .. member.data):find("\n" .. name .. "\n", 1, true) ~= nil
    end
  end
  for _, e in ipairs(flat.elements) do
    if e.name:sub(1, #name + 1) == name .. "/" then return true end
  end
  return false
end

--- The configuration of the router of that name out of one that was joined; or nil and
--- what is wrong.
function combine.part(flat, name)
  if not is_part(flat, name) then return nil, ("no '%s' component"):format(name) end
  local graph, live = edit.new(flat), {}
  for i, e in graph:each() do
    local ends = e.class == LINK and ends_of_link(e)
    if e.class == LINK and not ends then
      return nil, ("RouterLink '%s' has strange configuration"):format(e.name)
    elseif ends then
      restore(graph, i, ends, name, live)
    end
  end
  for i, e in graph:each() do
    if not live[i] and (e.class == LINK or e.name:sub(1, #name + 1) ~= name .. "/") then
      graph:remove(i)
    end
  end
  local part = graph:result()
  for i, e in ipairs(part.elements) do
    part.elements[i] = {name = e.name:sub(#name + 2), class = e.class,
      config = e.config, landmark = e.landmark}
  end
  part.archive = {}
  return part
end

return combine
