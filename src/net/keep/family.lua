-- SPDX-License-Identifier: Apache-2.0
-- What has copies on several CPUs: each has a file, which is called after the `family`,
-- the copy's CPU, and how many there are. When another number of copies starts, each
-- looks into what all of the former ones had. Their files go once none needs them any
-- more; of a process that was killed before that, there are both.
--
-- Where records move from copy to copy while packets pass (`moves`), a file doesn't say
-- which copy needs its records next time: it isn't called after how many copies there
-- are, and those that start look into what all had, however many. Nothing moves until
-- all copies have what is theirs (going_on.is_at_work()): what has moved on could still
-- be in a file.

local fcntl = require("posix.fcntl")
local stat = require("posix.sys.stat")
local stdio = require("posix.stdio")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local family = {}

local TAKEN, OWN, OWN_FILE = "/.taken", 448, 384 -- rwx------, rw-------
local NEW = fcntl.O_WRONLY + fcntl.O_CREAT + fcntl.O_CLOEXEC
local HINTS = "/.hints/"

--- The name of a copy's records: number `i` of `n`; of one: the family's name.
function family.member(of, i, n, moves)
  if not n or n == 1 then return of end
  return ("%s on CPU %d"):format(of, i) .. (moves and "" or (" of %d"):format(n))
end

local function member(item, i)
  return family.member(item.family, i, item.copies, item.moves)
end

--- Let nobody take files of moving records in the folder for his own: another process
--- begins now. Called before any copy begins.
function family.hand_over(folder)
  tree.remove(folder .. TAKEN)
  for _, file in ipairs(tree.names(folder)) do
    if file:find("%%20on%%20CPU%%20%d+$") then
      local former = file .. "%20of%200" -- more zeros: one that was killed left one
      while tree.exists(folder .. "/" .. former) do former = former .. "0" end
      stdio.rename(folder .. "/" .. file, folder .. "/" .. former)
      stdio.rename(folder .. HINTS .. file, folder .. HINTS .. former)
    end
  end
end

-- The files of the family in the folder, but those of the copies that there are now.
-- `file_of` makes the name of a file of that of its records.
local function others(folder, item, file_of)
  local list, one = {}, file_of(item.family)
  local stem = file_of(item.family .. " on CPU ")
  local own = {}
  for i = 1, item.copies do
    own[file_of(member(item, i))] = true
  end
  for _, file in ipairs(tree.names(folder)) do
    local of = file:gsub("%%20former%%20%d+$", "") -- that was put aside (going_on.lua)
    local rest = of:sub(1, #stem) == stem and of:sub(#stem + 1)
    local is_copy = rest and (rest:find("^%d+%%20of%%20%d+$") or rest:find("^%d+$"))
    if (of == one or is_copy) and not own[of] then
      list[#list + 1] = folder .. "/" .. file
    end
  end
  return list
end

--- The files of former copies, paths.
family.others = others

--- The copy needs no file of former copies any more. They are removed if that is so of
--- all copies that there are now.
function family.finish(folder, item, file_of)
  if item.copies == 1 and item.of ~= member(item, 1) then
    return -- it doesn't know how many there are
  end
  stat.mkdir(folder .. TAKEN, OWN)
  local mark = fcntl.open(("%s%s/%s"):format(folder, TAKEN, file_of(item.of)), NEW,
    OWN_FILE)
  if not mark then return end -- they stay
  unistd.close(mark)
  for i = 1, item.copies do
    local own = file_of(member(item, i))
    if not tree.exists(("%s%s/%s"):format(folder, TAKEN, own)) then return end
  end
  for _, path in ipairs(others(folder, item, file_of)) do
    unistd.unlink(path)
    unistd.unlink(folder .. HINTS .. path:match("[^/]*$"))
  end
end

return family
