-- SPDX-License-Identifier: Apache-2.0
-- `perigee keep`: what processes keep under names (--keep), whether they run or not.

local cli = require("lib.cli")
local failure = require("core.failure")
local keep = require("net.keep.keep")
local ffi = require("ffi")
local shown = require("lib.replica.shown")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local M = {summary = "list, check and remove what processes keep (--keep)"}

--- Why --sandbox is refused.
M.no_sandbox = "it handles no packets"

-- What a file has, as a table; nil and what is wrong with it.
local function look(path)
  local file, fd = keep.look(path)
  if not file then return nil, fd or "is gone" end
  local h = file.header
  local found, notes = keep.read(file, fd)
  unistd.close(fd)
  if not found then return nil, notes end
  return {of = keep.owner(file, path:match("[^/]*$")), layout = ffi.string(h.layout),
    size = h.record_size, version = h.version, records = found.n}
end

-- f(file's name, what look() says) for each of the name's files.
local function each_file(name, f)
  for _, file in ipairs(tree.names(keep.folder(name))) do
    f(file, look(keep.folder(name) .. "/" .. file))
  end
end

local function known(name)
  local good, problem = keep.check_name(name)
  if not good then failure.usage("'%s' is no name: %s", name, problem) end
  if not tree.exists(keep.folder(name)) then
    local names = tree.names(keep.folder())
    failure.usage("nothing is kept under the name '%s'; there %s", name,
      names[1] and "is " .. table.concat(names, ", ") or "are no names")
  end
end

-- How far replication is, if the name is replicated.
local function show_replication(name)
  local replication = shown.of_name(name)
  if replication then print("  replicated: " .. shown.text(replication)) end
end

local function list()
  for _, name in ipairs(tree.names(keep.folder())) do
    print(name .. (keep.is_used(name) and ": in use" or ""))
    each_file(name, function (file, found, problem)
      if found then
        print(("  %s: %d records"):format(found.of, found.records))
      else
        print(("  %s: it %s"):format(file, problem))
      end
    end)
    show_replication(name)
  end
end

local function check(name)
  known(name)
  local bad = 0
  each_file(name, function (file, found, problem)
    if found then
      print(("%s: %d records of %d bytes (%s), version %d"):format(found.of,
        found.records, found.size, found.layout, found.version))
    else
      bad = bad + 1
      print(("%s: it %s"):format(file, problem))
    end
  end)
  if bad > 0 then
    failure.raise("%d of the files of '%s' can't be used: the next process with this "
      .. "name starts with empty tables there", bad, name)
  end
end

local function remove(name)
  known(name)
  if keep.is_used(name) then
    failure.raise("a process keeps its state under the name '%s': end it first", name)
  end
  local done, reason = tree.remove(keep.folder(name))
  if not done then failure.raise("can't remove %s", reason) end
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local parser = cli.parser("keep", "What processes keep under names (--keep NAME).")
  parser:require_command(true)
  parser:command_target("what")
  parser:command("list", "All names, and what there is of each.")
  parser:command("check", "Read all that is kept under a name."):argument("name",
    "The name.")
  parser:command("remove", "Remove what is kept under a name that no process uses.")
    :argument("name", "The name.")
  local options = cli.parse(parser, args)
  if options.what == "list" then return list() end
  local command = options.what == "check" and check or remove
  command(options.name)
end

return M
