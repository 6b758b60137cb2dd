-- SPDX-License-Identifier: Apache-2.0
-- Faults of DPDK and LuaJIT that concern those who run Perigee, and whether the
-- versions here have them: `perigee --version` names them. doc/advisories.md says
-- more; what is newer than this list, tools/security/check.lua finds.

local mends = require("core.luajit")

local known_faults = {}

-- The first release of each series that has the mend; series behind the last have it.
local DPDK = {
  {"CVE-2024-11614", "21.11.9", "22.11.7", "23.11.3", "24.11.1"},
}

-- core.luajit turns the compiler off where it has these.
local ARM64 = "wrong pairs of stores on arm64 (LuaJIT #1028, #1056): Lua is interpreted"

-- 14 March 2024, as LuaJIT's rolling releases number themselves: seconds since 1970.
local LUAJIT = {
  {"CVE-2024-25176", 1710374400}, {"CVE-2024-25177", 1710374400},
  {"CVE-2024-25178", 1710374400},
}

local function numbers(version)
  local list = {}
  for digits in version:gmatch("%d+") do list[#list + 1] = tonumber(digits) end
  return list[1] or 0, list[2] or 0, list[3] or 0
end

local function is_mended(version, fault)
  local year, month, patch = numbers(version)
  for i = 2, #fault do
    local y, m, p = numbers(fault[i])
    if year == y and month == m then return patch >= p end
  end
  local y, m = numbers(fault[#fault])
  return year > y or year == y and month > m
end

local function listed(names)
  return #names > 0 and table.concat(names, ", ") or "none"
end

--- Lines that tell the faults of DPDK ("DPDK 22.11.11") and LuaJIT ("LuaJIT
--- 2.1.1710398010") of these versions, on that architecture (jit.arch, the default).
function known_faults.lines(dpdk, luajit, arch)
  local of_dpdk, of_luajit = {}, {}
  for _, fault in ipairs(DPDK) do
    if not is_mended(dpdk, fault) then of_dpdk[#of_dpdk + 1] = fault[1] end
  end
  local built = tonumber(luajit:match("2%.1%.(%d+)$"))
  local is_dated = built ~= nil and built > 0 -- "2.1.0-beta3" tells no date
  for _, fault in ipairs(LUAJIT) do
    if not is_dated or built < fault[2] then of_luajit[#of_luajit + 1] = fault[1] end
  end
  local lines = {
    ("known faults of this DPDK: %s"):format(listed(of_dpdk)),
    ("known faults of this LuaJIT: %s%s"):format(listed(of_luajit),
      #of_luajit > 0 and not is_dated
        and " (in those before 14 March 2024; its date is unknown)" or ""),
  }
  if mends.miscompiles_all(luajit, arch or jit.arch) then lines[#lines + 1] = ARM64 end
  return lines
end

return known_faults
