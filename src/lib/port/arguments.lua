-- SPDX-License-Identifier: Apache-2.0
-- The types that arguments of port strings have. Each type is
-- {read = function(text) -> value or nil, wanted = "what is allowed"}; texts end up
-- in DPDK's devargs, which cannot quote ',' or '='.

local M = {}

--- A whole number in decimal digits, from `min` to `max`.
function M.integer(min, max)
  return {
    wanted = ("a whole number from %d to %d"):format(min, max),
    read = function(text)
      local value = text:match("^%d+$") and tonumber(text)
      if value and value >= min and value <= max then return value end
    end,
  }
end

--- 0 or 1.
M.flag = M.integer(0, 1)

--- One of the words in `words` (an array).
function M.choice(words)
  return {
    wanted = table.concat(words, " or "),
    read = function(text)
      for _, word in ipairs(words) do
        if text == word then return word end
      end
    end,
  }
end

--- A name of up to `max` letters, digits, dots, dashes and underscores.
function M.name(max)
  return {
    wanted = ("a name of 1 to %d letters, digits, '_', '-' or '.'"):format(max),
    read = function(text)
      if text:match("^[%w_%-.]+$") and #text <= max then return text end
    end,
  }
end

--- A kernel interface's name. The kernel forbids '/', ':' and space, makes a number of
--- "%d", and IFNAMSIZ leaves 15 bytes; to DPDK (rte_kvargs) a '[' begins a list.
M.interface = {
  wanted = "an interface's name of 1 to 15 bytes, without '/', ':', '=', '%', '[' or "
    .. "space",
  read = function(text)
    local dots = text == "." or text == ".."
    local bare = text:match("^[^/:=,%%%[%s%c]+$") and not dots
    return bare and #text <= 15 and text or nil
  end,
}

-- A path of up to `max` bytes that match the pattern; `without` says which can't be.
local function path(max, pattern, without)
  return {
    wanted = ("a path of 1 to %d bytes, without %s"):format(max, without),
    read = function(text)
      if text:match(pattern) and #text <= max then return text end
    end,
  }
end

--- A file's path; Linux allows 4,095 bytes.
M.file = path(4095, "^[^,=%c]+$", "',' or '='")

--- A Unix socket's path; sockaddr_un allows 107 bytes. To DPDK a '[' begins a list.
M.socket = path(107, "^[^,=%[%c]+$", "',', '=' or '['")

--- The argument that comes first: what the port is at. `wanted`, a type from here.
function M.at(name, wanted, show, help)
  return {name = name, type = wanted, show = show, help = help}
end

-- Packets' checksums and VLAN tags are the device's to make, where an app asks for it
-- (lib.stack.offload). Off, the port does it.
--- The argument of devices that can.
M.offload = {name = "offload", type = M.flag, default = 0, show = "1",
  help = "1: leave checksums and VLAN tags to the device"}

-- On, a device puts what it has sent back into the pool without a look at each packet
-- (DPDK's MBUF_FAST_FREE), where it can and Perigee knows that it may.
M.fast_free = {name = "fast_free", type = M.flag, default = 1, show = "0",
  help = "0: let the device look at each packet that it frees"}

--- The argument of ports whose other end may not be there yet.
M.wait = {name = "wait", type = M.flag, default = 0, show = "1",
  help = "1: wait for it if it isn't there yet"}


return M
