-- SPDX-License-Identifier: Apache-2.0
-- `perigee lwaftr monitor`: whose packets a running lwAFTR copies to its --mirror.

local ffi = require("ffi")
local cli = require("lib.cli")
local failure = require("core.failure")
local objects = require("posix.sys.stat")
local running = require("program.lwaftr.running")
local values = require("apps.lwaftr.conf_values")

local M = {}

local WORDS = {none = 0, all = 2^32 - 1}
local MIRROR = "v4v6_mirror" -- apps.lwaftr.V4V6's, in shared memory

local function address(text)
  local number = WORDS[text] or values.ipv4.read(text)
  if number then return number end
  return nil, ("'%s' isn't %s, 'all' or 'none'"):format(text, values.ipv4.what)
end

local function parse(args)
  local p = cli.parser("lwaftr monitor", "Let a running lwAFTR copy the packets from "
    .. "and to an IPv4 address, in a tunnel or not, to its --mirror.")
  p:argument("address", "an IPv4 address, 'all' or 'none'"):convert(address)
  p:argument("instance", "its process id or name (needed if there are several)")
    :args("?")
  p:option("-n --name", "the same")
  return cli.parse(p, args)
end

--- Run the command.
function M.run(args)
  local options = parse(args)
  local instance = running.find(options.name or options.instance)
  local path = instance.directory .. "/" .. MIRROR
  local file = objects.stat(path) and io.open(path, "r+b")
  if not file then
    failure.raise("process %d mirrors nothing: it was started without --mirror",
      instance.pid)
  end
  local word = ffi.new("uint32_t[1]", bit.bswap(bit.tobit(options.address)))
  file:write(ffi.string(word, 4))
  file:close()
  print(("process %d mirrors packets of %s"):format(instance.pid,
    values.ipv4.write(options.address)))
end

return M
