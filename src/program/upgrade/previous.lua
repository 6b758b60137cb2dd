-- SPDX-License-Identifier: Apache-2.0
-- What ran under a name before its last upgrade (program.upgrade.other's commands): a
-- file next to what is kept, in a folder that is closed to other users.

local atomic_file = require("core.lib.atomic_file")
local failure = require("core.failure")
local keep = require("net.keep.keep")

local previous = {}

local function path_of(name) return ("%s/.%s.before"):format(keep.folder(), name) end

--- Note the command.
function previous.write(name, command)
  local file = atomic_file.open(path_of(name), true)
  for _, word in ipairs{command.exe, command.cwd, unpack(command.words)} do
    file:put(word .. "\0")
  end
  file:finish()
end

--- The command, or nil.
function previous.read(name)
  local file = io.open(path_of(name), "rb")
  if not file then return nil end
  local list = {}
  for word in file:read("*a"):gmatch("([^%z]*)%z") do list[#list + 1] = word end
  file:close()
  if #list < 3 then return nil end
  local command = {exe = table.remove(list, 1), cwd = table.remove(list, 1),
    words = list}
  if command.exe:match(" %(deleted%)$") then
    failure.raise("what ran before, %s, isn't there any more: keep the old version's "
      .. "file under another name to go back to it", command.exe)
  end
  return command
end

return previous
