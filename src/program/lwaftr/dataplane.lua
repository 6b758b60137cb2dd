-- SPDX-License-Identifier: Apache-2.0
-- The lwAFTR of one queue as a part of the graph of `run` or `bench`: apps.lwaftr.graph
-- with a mirror in front of it, where one is wanted.

local config = require("core.config")
local graph = require("apps.lwaftr.graph")
local queues = require("program.lwaftr.queues")
local V4V6 = require("apps.lwaftr.V4V6").V4V6
local vlan = require("apps.vlan.vlan")

local dataplane = {}

-- Take the VLAN tag off what comes from ends[1], and put it on what goes to ends[2].
local function untag(app, c, ends, tag)
  if not tag then return ends end
  local off = app("untagmirror", vlan.Untagger, {tag = tag})
  local on = app("tagmirror", vlan.Tagger, {tag = tag})
  config.link(c, ("%s -> %s.input"):format(ends[1], off))
  config.link(c, ("%s.output -> %s"):format(on, ends[2]))
  return {off .. ".output", on .. ".input"}
end

-- V4V6 divides what comes from `ends` and mirrors some of it: the two sides.
local function mirrored(app, c, ends, mirror)
  local splitter = app("v4v6", V4V6, {mirror = true})
  config.link(c, ("%s -> %s.input"):format(ends[1], splitter))
  config.link(c, ("%s.output -> %s"):format(splitter, ends[2]))
  config.link(c, ("%s.mirror -> %s"):format(splitter, mirror))
  local v4, v6 = splitter .. ".v4", splitter .. ".v6"
  return {v4 = {v4, v4}, v6 = {v6, v6}}
end

--- Add the lwAFTR of `queue` (program.lwaftr.queues) to the configuration `c`.
--- `options`: binding = the binding table; v4 and v6 = {SOURCE, SINK}, each APP.LINK of
--- an app of `c`, or `both` where they are one; untagged = {v4 =, v6 =, both = true}:
--- frames there have no VLAN tags any more; mirror = APP.LINK that gets copies, with
--- `both`; cpu = where the apps run (nil: in the main thread).
function dataplane.add(c, queue, options)
  local names, both, done = {}, options.both, options.untagged
  local function app(name, class, arg)
    name = name .. queue.suffix
    config.app(c, name, class, arg)
    names[#names + 1] = name
    return name
  end
  local ends, stripped = {v4 = both or options.v4, v6 = options.v6}, done
  if done.both then stripped = {v4 = true, v6 = true} end
  if options.mirror then
    local tag = not done.both and queue.settings.external_interface.vlan_tag
    ends = mirrored(app, c, untag(app, c, both, tag), options.mirror)
    both, stripped = nil, {v4 = true, v6 = true}
  end
  local conf = queues.untagged(queue, stripped)
  local added = graph.add(c, conf, {binding = options.binding, device = queue.device,
    queue = queue.id, suffix = queue.suffix, on_a_stick = both ~= nil,
    v4 = ends.v4, v6 = ends.v6})
  for _, list in ipairs(options.cpu and {names, added} or {}) do
    for _, name in ipairs(list) do config.cpu(c, name, options.cpu) end
  end
end

return dataplane
