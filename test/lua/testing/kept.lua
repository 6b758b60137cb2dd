-- SPDX-License-Identifier: Apache-2.0
-- For specs of what outlives the process: a name in a root of its own, processes that
-- end and begin again, and files of which somebody has changed bytes.

require("core.declare")("net/keep/keep.h")
local ffi = require("ffi")
local files = require("core.lib.files")
local going_on = require("net.keep.going_on")
local keep = require("net.keep.keep")
local random = require("testing.fuzz.random")
local shm_root = require("testing.shm_root")
local stat = require("posix.sys.stat")
local stderr = require("testing.stderr")

local M = {}

local NAME = "spec"
local FRONT = 16384 -- bytes of the header and what notes there are
local RECORDS = 64 -- that are changed, the first of a file

--- Mutants of each kind of record: PERIGEE_LONG=1 has more.
M.MUTANTS = os.getenv("PERIGEE_LONG") and 100000 or 200

local few = going_on.FEW

--- Before each test. `most` records may be taken over at once (going_on.FEW).
function M.set_up(most)
  going_on.FEW = type(most) == "number" and most or few
  shm_root.make()
  stderr.keep()
  keep.use(NAME)
end

--- After each test.
function M.tear_down()
  going_on.FEW = few
  keep.leave()
  stderr.leave()
  shm_root.remove()
end

--- As if the process ended, and another one began.
function M.again()
  keep.leave()
  keep.use(NAME)
end

--- The file of the item `of`.
function M.path(of)
  return ("%s/%s"):format(keep.folder(NAME), (of:gsub("[^%w_-]", function (c)
    return ("%%%02X"):format(c:byte())
  end)))
end

local function read(path) return files.readfile(path, "*a") end

local function header_of(text)
  return ffi.cast("const struct keep_header *", ffi.cast("const char *", text))
end

-- Put another file there, with the text and {at, byte} changed: the one that was there
-- is the memory of a table that a spec may still have.
local function replace(path, text, changes)
  local new = path .. ".new"
  local file = assert(io.open(new, "wb"))
  local bits_at = tonumber(header_of(text).bits_at) -- there is a hole before it
  file:write(text:sub(1, FRONT))
  file:seek("set", bits_at)
  file:write(text:sub(bits_at + 1))
  for _, change in ipairs(changes) do
    file:seek("set", change[1])
    file:write(change[2])
  end
  file:close()
  assert(stat.chmod(new, 384))
  assert(os.rename(new, path))
end

--- Changes the records of the file `of` as somebody might who may write it, `n` times,
--- each time from what it is now. go_on() is to try it, in the next process; what it
--- raises is raised with the seed and the number.
function M.mutate(of, n, go_on)
  local path, seed = M.path(of), os.time()
  local text = read(path)
  local h = header_of(text)
  local at, bits_at = tonumber(h.records_at), tonumber(h.bits_at)
  local last = math.min(#text, at + RECORDS * h.record_size)
  for i = 1, n do
    local chance = random.new(seed, i)
    M.again()
    local changes = {}
    for k = 1, chance:range(1, 16) do
      changes[k] = {chance:range(at, last - 1), string.char(chance:range(0, 255))}
    end
    if chance:range(0, 1) == 1 then -- others are in use
      table.insert(changes, {bits_at + chance:range(0, RECORDS / 8 - 1),
        string.char(chance:range(0, 255))})
    end
    replace(path, text, changes)
    local ok, problem = xpcall(go_on, debug.traceback)
    assert(ok, ("seed %d, mutant %d: %s"):format(seed, i, tostring(problem)))
    assert(not stderr.told():find("isn't kept"), stderr.told())
    stderr.keep()
  end
end

return M
