-- SPDX-License-Identifier: Apache-2.0
-- For specs of driver apps: puts capture files in the place of a PCI address, and runs
-- a network in which the app's output goes into its input.

local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local spec = require("lib.port.spec")

local M = {}

--- The address that `run` replaces.
M.ADDRESS = "0000:fe:1f.7"

local function word(n, bytes)
  local text = {}
  for i = 1, bytes do
    text[i] = string.char(n % 256)
    n = math.floor(n / 256)
  end
  return table.concat(text)
end

-- A little-endian pcap file of microseconds, Ethernet (draft-ietf-opsawg-pcap).
local function write_capture(path, frames)
  local file = assert(io.open(path, "wb"))
  file:write("\212\195\178\161", word(2, 2), word(4, 2), word(0, 8), word(65535, 4),
    word(1, 4))
  for i, frame in ipairs(frames) do
    file:write(word(i, 4), word(0, 4), word(#frame, 4), word(#frame, 4), frame)
  end
  file:close()
end

local function number(text, at)
  local a, b, c, d = text:byte(at, at + 3)
  return a + b * 256 + c * 65536 + d * 16777216
end

local function read_capture(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  local frames, at = {}, 25
  while at < #text do
    local length = number(text, at + 8)
    frames[#frames + 1] = text:sub(at + 16, at + 15 + length)
    at = at + 16 + length
  end
  return frames
end

local function settled(name)
  if not engine.app_table[name]:ended() then return false end
  for _, l in pairs(engine.link_table) do
    if not link.empty(l) then return false end
  end
  return true
end

--- Run `class` with `arg` (in which the port is `ADDRESS`) and a link from its output
--- `from` to its input `to`, until the `frames` (an array of strings) are through.
--- `inspect(app)` is called before it stops. Returns the frames it sent.
function M.run(class, arg, from, to, frames, inspect)
  local base = os.tmpname()
  local rx, tx = base .. ".rx", base .. ".tx"
  write_capture(rx, frames)
  spec.replace(M.ADDRESS, ("pcap:rx=%s,tx=%s"):format(rx, tx))
  local ok, err = pcall(function()
    local c = config.new()
    config.app(c, "nic", class, arg)
    config.link(c, ("nic.%s -> nic.%s"):format(from, to))
    engine.configure(c)
    engine.main {done = function() return settled("nic") end, no_report = true}
    if inspect then inspect(engine.app_table.nic) end
  end)
  engine.configure(config.new())
  spec.replace(M.ADDRESS, nil)
  local sent = ok and read_capture(tx)
  for _, path in ipairs {base, rx, tx} do os.remove(path) end
  if not ok then error(err, 0) end
  return sent
end

return M
