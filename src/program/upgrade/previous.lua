-- SPDX-License-Identifier: Apache-2.0
-- What ran under a name before its last upgrade (program.upgrade.other's commands): a
-- file next to what is kept, in a folder that is closed to other users.

local atomic_file = require("core.lib.atomic_file")
local failure = require("core.failure")
local keep = require("net.keep.keep")

local previous = {}

local function path_of(name) return ("%s/.%s.before"):format(keep.folder(), name) end

--- What is noted, as put() takes it: a text, or nil.
function previous.text(name)
  local file = io.open(path_of(name), "rb")
  local text = file and file:read("*a")
  if file then file:close() end
  return text
end

--- Note what text() has returned.
function previous.put(name, text)
  if not text then return os.remove(path_of(name)) end
  local file = atomic_file.open(path_of(name), true)
  file:put(text)
  file:finish()
end

--- Note the command.
function previous.write(name, command)
  local words = {command.exe, command.cwd, unpack(command.words)}
  previous.put(name, table.concat(words, "\0") .. "\0")
end

--- The command, or nil.
function previous.read(name)
  local list = {}
  for word in (previous.text(name) or ""):gmatch("([^%z]*)%z") do
    list[#list + 1] = word
  end
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
