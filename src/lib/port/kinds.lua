-- SPDX-License-Identifier: Apache-2.0
-- The kinds of port: an entry each, in src/port/KIND/kind.lua. They are read when this
-- module is loaded. What an entry holds: README.md.

local dirent = require("posix.dirent")

local kinds = {}

--- All entries, in the order in which help shows them.
kinds.list = {}

local by_name = {}

local function add(kind)
  by_name[kind.name] = kind
  kinds.list[#kinds.list + 1] = kind
end

local here = debug.getinfo(1, "S").source:match("^@(.*)kinds%.lua$")
for folder in dirent.files(here .. "../../port") do
  if folder:match("^[%w_]+$") then add(require(("port.%s.kind"):format(folder))) end
end
table.sort(kinds.list, function (a, b) return a.order < b.order end)

--- The entry of a parsed port.
function kinds.of(port) return by_name[port.kind] end

--- The kind whose port strings begin with this word; nil if there is none.
function kinds.named(word)
  local kind = by_name[word]
  return kind and not kind.device and kind or nil
end

--- The kernel interface that carries the parsed `port`, or nil.
function kinds.interface(port)
  local of = by_name[port.kind].interface
  return of and of(port) or nil
end

--- Does the parsed `port` spread flows over several queues?
function kinds.has_queues(port)
  local has = by_name[port.kind].has_queues or false
  return type(has) == "function" and has(port) or has == true
end

--- Can each of several copies open the parsed port for itself, and receive what has to
--- come to it alone (core.cpus.dividable)?
function kinds.divides(port, meets)
  local divides = by_name[port.kind].divides
  return divides ~= nil and divides(port, meets)
end

--- The port strings for a kernel interface `name` (`details`: lib.hardware.interfaces),
--- an array: the kind that suits it best comes first.
function kinds.on_interface(name, details)
  local ranks, suiting, ports = {}, {}, {}
  for _, kind in ipairs(kinds.list) do
    ranks[kind] = kind.suits and kind.suits(details) or nil
    if ranks[kind] then suiting[#suiting + 1] = kind end
  end
  table.sort(suiting, function (a, b) return ranks[a] < ranks[b] end)
  for i, kind in ipairs(suiting) do ports[i] = kind.name .. ":" .. name end
  return ports
end

return kinds
