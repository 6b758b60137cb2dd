-- SPDX-License-Identifier: Apache-2.0
-- Which driver apps on one card (apps.intel_mp.sharing) belong to which of its pools,
-- by their arguments. Pure.

local failure = require("core.failure")

local pools = {}

local MOST_POOL, MOST_QUEUE = 63, 127 -- of an 82599

local function is_whole(value, most)
  return type(value) == "number" and value % 1 == 0 and value >= 0 and value <= most
end

local function is_queue(value) return value == false or is_whole(value, MOST_QUEUE) end
local function is_pool(value) return is_whole(value, MOST_POOL) end

local function are_pools(list)
  if type(list) ~= "table" then return list == nil or list == true end
  for _, number in ipairs(list) do
    if not is_pool(number) then return false end
  end
  return true
end

local PORTS = {["in"] = true, out = true, inout = true, [true] = true, [false] = true}

local function is_mirror(value)
  return type(value) == "table" and are_pools(value.pool)
    and PORTS[value.port or false] == true
end

local function is_rate(value)
  return type(value) == "number" and value >= 0 and value < math.huge
end

-- What an argument may be.
local ARGUMENTS = {
  {"rxq", is_queue, ("false, or a number from 0 to %d"):format(MOST_QUEUE)},
  {"txq", is_queue, ("false, or a number from 0 to %d"):format(MOST_QUEUE)},
  {"poolnum", is_pool, ("a number from 0 to %d"):format(MOST_POOL)},
  {"rate_limit", is_rate, "a number of Mbit/s"},
  {"mirror", is_mirror, 'a table with pool, a list of numbers or true, or port, "in", '
    .. '"out" or "inout"'},
}

local function check_arguments(app)
  for _, argument in ipairs(ARGUMENTS) do
    local name, is_good, what = unpack(argument)
    local value = app.arg[name]
    if value ~= nil and not is_good(value) then
      failure.usage("app '%s' on %s: its %s is %s, not '%s'", app.name,
        app.arg.pciaddr, name, what, tostring(value))
    end
  end
end

--- Raise a failure if the apps, a list of {name =, arg =}, can't have a card together.
function pools.check(apps)
  for _, app in ipairs(apps) do check_arguments(app) end
  local vmdq = apps[1].arg.vmdq and true or false
  for _, app in ipairs(apps) do
    local conf = app.arg
    if (conf.vmdq and true or false) ~= vmdq then
      failure.usage("apps '%s' and '%s' share the card %s: vmdq is set for both, or "
        .. "for none", apps[1].name, app.name, conf.pciaddr)
    elseif conf.vmdq and not conf.macaddr then
      failure.usage("app '%s' on %s: vmdq needs a macaddr, the address by which its "
        .. "packets are distinguished from those of other apps", app.name, conf.pciaddr)
    elseif conf.mirror and not conf.vmdq then
      failure.usage("app '%s' on %s: mirror needs vmdq and a macaddr", app.name,
        conf.pciaddr)
    end
  end
end

--- The same if those that one pool is for can't be told apart: they receive different
--- packets only if their queues differ.
function pools.check_queues(apps)
  local owner = {}
  for _, app in ipairs(apps) do
    local queue = app.arg.rxq
    if queue == nil then queue = 0 end
    if queue and owner[queue] then
      failure.usage("apps '%s' and '%s' share the card %s, and both receive from queue "
        .. "%s: give each an rxq of its own, or vmdq = true and a macaddr of its own",
        owner[queue], app.name, app.arg.pciaddr, tostring(queue))
    end
    if queue then owner[queue] = app.name end
  end
end

local function text_of(conf)
  return tostring(conf.macaddr):lower() .. " " .. tostring(conf.vlan or 0)
end

--- The apps by pool: a list of {number =, apps =, conf =} of the pools. A pool without
--- a number gets the first that is free. Raises a failure, too.
function pools.of(apps)
  local list, by, numbers = {}, {}, {}
  for _, app in ipairs(apps) do
    local conf = app.arg
    local key = conf.poolnum or text_of(conf)
    local pool = by[key]
    if not pool then
      pool = {number = conf.poolnum, apps = {}, conf = conf}
      by[key], list[#list + 1] = pool, pool
      if conf.poolnum then numbers[conf.poolnum] = true end
    elseif text_of(pool.conf) ~= text_of(conf) then
      failure.usage("apps '%s' and '%s' have pool %s of the card %s, but not the same "
        .. "macaddr and vlan", pool.apps[1].name, app.name, tostring(key), conf.pciaddr)
    end
    table.insert(pool.apps, app)
  end
  for _, pool in ipairs(list) do
    pools.check_queues(pool.apps)
    local number = pool.number or 0
    while not pool.number and numbers[number] do number = number + 1 end
    pool.number, numbers[number] = number, true
  end
  return list
end

return pools
