-- SPDX-License-Identifier: Apache-2.0
-- What this process may do, from the effective set in /proc/self/status.

local bit = require("bit")
local sysfs = require("lib.hardware.sysfs")

local M = {}

local BITS = {  -- linux/capability.h
  CAP_NET_ADMIN = 12,
  CAP_NET_RAW = 13,
  CAP_SYS_ADMIN = 21,
  CAP_BPF = 39,
}

-- The set is printed as hexadecimal digits; a 64-bit number would lose bits.
local function has_bit(digits, number)
  local from_right = math.floor(number / 4)
  local digit = digits:sub(-1 - from_right, -1 - from_right)
  local value = tonumber(digit, 16) or 0
  return bit.band(value, bit.lshift(1, number % 4)) ~= 0
end

--- Has this process the capability `name` (such as "CAP_NET_RAW")? CAP_SYS_ADMIN
--- includes CAP_BPF. If procfs can't tell: yes.
function M.has(name, roots)
  roots = roots or sysfs.roots
  local number = assert(BITS[name], name)
  for _, line in ipairs(sysfs.lines(roots.proc .. "/self/status")) do
    local digits = line:match("^CapEff:%s*(%x+)")
    if digits then
      return has_bit(digits, number)
        or (name == "CAP_BPF" and has_bit(digits, BITS.CAP_SYS_ADMIN))
    end
  end
  return true
end

--- Those of `names` that this process has not.
function M.missing(names, roots)
  local list = {}
  for _, name in ipairs(names) do
    if not M.has(name, roots) then list[#list + 1] = name end
  end
  return list
end

return M
