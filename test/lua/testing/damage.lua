-- SPDX-License-Identifier: Apache-2.0
-- For the tests of what reads savefiles: whole ones, and how to damage them.

local testing = require("testing.savefiles")

local M = {}

local INTERESTING = {0, 1, 4, 7, 8, 11, 12, 16, 28, 32, 0x7f, 0x80, 0xff, 0xffff,
                     0x10000, 0x40000, 0x40001, 0x1000000, 0x7fffffff, 0x80000000,
                     0xfffffffc, 0xffffffff}

--- A few savefiles, as strings: both formats and byte orders, with every kind of block.
function M.seeds()
  local files = {}
  for _, order in ipairs{"little", "big"} do
    local b = testing.order(order)
    for _, magic in ipairs{0xa1b2c3d4, 0xa1b23c4d} do
      files[#files + 1] = b:pcap_header{magic = magic} .. b:record("first packet")
        .. b:record("2nd", {original = 60}) .. b:record(("third"):rep(20))
    end
    local options = b:option(2, "eth0") .. b:option(9, "\9") .. b:option(14, b:u64(5))
      .. b:option(0, "")
    files[#files + 1] = b:section{options = b:option(4, "fuzz")} .. b:interface()
      .. b:interface{options = options} .. b:enhanced("first packet")
      .. b:block(5, "statistics") .. b:simple("simple") .. b:obsolete("old one")
      .. b:enhanced(("last"):rep(20), {interface = 1, options = b:option(1, "hi")})
    files[#files + 1] = b:section() .. b:interface() .. b:enhanced("one")
      .. b:section() .. b:interface{options = options} .. b:enhanced("two")
  end
  return files
end

local function splice(bytes, at, removed, inserted)
  return bytes:sub(1, at - 1) .. inserted .. bytes:sub(at + removed)
end

local mutations = {
  function(bytes, at) return splice(bytes, at, 1, string.char(math.random(0, 255))) end,
  function(bytes, at) return splice(bytes, at, math.random(1, 8), "") end,
  function(bytes, at) return splice(bytes, at, 0, bytes:sub(at, at + 12)) end,
  function(bytes, at) return bytes:sub(1, at) end,
  function(bytes, at)
    local order = testing.order(({"little", "big"})[math.random(2)])
    local value = INTERESTING[math.random(#INTERESTING)]
    return splice(bytes, at - (at - 1) % 4, 4, order:u32(value))
  end,
}

--- The same bytes with one to four faults (of math.random).
function M.mutate(bytes)
  for _ = 1, math.random(1, 4) do
    if #bytes > 0 then
      bytes = mutations[math.random(#mutations)](bytes, math.random(#bytes))
    end
  end
  return bytes
end

--- The name of a new file, in memory where that's possible.
function M.temporary_file()
  local path = os.tmpname()
  os.remove(path)
  local in_memory = "/dev/shm/" .. path:match("[^/]+$")
  local file = io.open(in_memory, "wb")
  if not file then return path end
  file:close()
  return in_memory
end

return M
