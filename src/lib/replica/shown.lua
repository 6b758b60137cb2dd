-- SPDX-License-Identifier: Apache-2.0
-- How far replication is of what a process keeps, for `perigee ps`, `top`, metrics and
-- the report. The process says its name of --keep in its directory in shared memory;
-- the rest is read by who asks, and costs its packets nothing.

local C = require("core.native")
local folder = require("lib.replica.folder")
local outside = require("core.outside.visitors")
local shm = require("core.shm")
local tree = require("core.shm.tree")

local shown = {}

local FILE = "keep" -- in a process's directory

-- What another process wrote, as a text for a terminal.
local function plain(text, instead)
  return type(text) == "string" and (text:gsub("%c", "?")) or instead
end

-- Of the folder of a replicated name.
local function status_of(path)
  local role = folder.line(path, "role")
  if not folder.ROLES[role or ""] then return nil end -- or it can't be read
  local status = folder.status_in(path)
  if not status then return {role = role, state = "no replicator runs", records = 0} end
  local last = tonumber(status.last)
  return {role = plain(status.role, role), state = plain(status.state, "it begins"),
    connected = status.connected == true,
    records = tonumber(status.records) or 0, behind = tonumber(status.behind),
    changes = tonumber(status.changes),
    since = last and math.max(0, C.pg_monotonic() - last)}
end

--- Replication of the name on this host: {role, state (a text), connected = does the
--- other host send or take?, records = those that the backup holds; of a master that is
--- connected behind (seconds) and changes = those sent that the backup hasn't said it
--- has; since = seconds since all of a sweep was there, nil: never}; nil if the name
--- isn't replicated.
function shown.of_name(name)
  return status_of(folder.of(name))
end

--- The name under which the process with that directory keeps or replicates, and as
--- of_name(); nil if there is none.
function shown.of(directory)
  local name = folder.line(directory, FILE)
  local root = directory:match("^(.*)/[^/]+/*$")
  if not (name and root and name:match("^%w[%w_.-]*$")) then return nil end
  return name, status_of(("%s/replicate/%s"):format(root, name))
end

--- As two texts: who the hosts are, and figures.
function shown.texts(r)
  local parts = {("%.0f records"):format(r.records)}
  if r.behind then parts[#parts + 1] = ("%.0f ms behind"):format(r.behind * 1000) end
  if r.changes then parts[#parts + 1] = ("%.0f changes behind"):format(r.changes) end
  if r.since then parts[#parts + 1] = ("the last %.1f s ago"):format(r.since) end
  return ("%s; %s"):format(r.role, r.state), table.concat(parts, ", ")
end

--- As one text.
function shown.text(r) return ("%s; %s"):format(shown.texts(r)) end

--- Say that this process keeps, or replicates, the name.
function shown.tell(name)
  shm.mkdir((shm.resolve(""):gsub("/$", "")))
  tree.tell(shm.path(FILE), name)
end

--- The same, and the report has a line of how far replication is.
function shown.begin(name)
  shown.tell(name)
  outside.let_in{lines = function ()
    local r = shown.of_name(name)
    return r and {("replication of %s: %s"):format(name, shown.text(r))} or {}
  end}
end

return shown
