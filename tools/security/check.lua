-- SPDX-License-Identifier: Apache-2.0
-- perigee run tools/security/check.lua TRACKER.json SBOM.json RELEASE: which faults
-- that Debian's security tracker knows (its file
-- https://security-tracker.debian.org/tracker/data/json) the packages of an SBOM
-- (sbom.lua) have in that release, such as bookworm. It needs no network. It fails if
-- there are any, but for those that Debian calls unimportant.

local cjson = require("cjson")
local failure = require("core.failure")
local files = require("core.lib.files")
local main = require("core.main")
local process = require("core.lib.process")

local function read(path)
  local text = files.readfile(path, "*a")
  local ok, value = pcall(cjson.decode, text)
  if not ok or type(value) ~= "table" then
    failure.usage("%s is no JSON object: %s", path, ok and "a " .. type(value) or value)
  end
  return value
end

local function is_older(version, than)
  return process.succeeds(("dpkg --compare-versions '%s' lt '%s'"):format(
    version:gsub("'", ""), (than:gsub("'", ""))))
end

-- The versions of Debian's source packages in the bill.
local function sources_of(bill, path)
  local sources, order = {}, {}
  if type(bill.components) ~= "table" then
    failure.usage("%s has no components", path)
  end
  for _, c in ipairs(bill.components) do
    local p = {}
    for _, property in ipairs(c.properties or {}) do
      p[property.name] = property.value
    end
    local name = p["debian:source"]
    if name and not sources[name] then
      order[#order + 1], sources[name] = name, p["debian:source-version"]
    end
  end
  table.sort(order)
  return sources, order
end

-- What that release says of a fault in this version: nil if it doesn't have it.
local function state_of(release, version)
  if release.status == "open" then return "not mended yet" end
  if release.status ~= "resolved" or release.fixed_version == "0" then return nil end
  return is_older(version, release.fixed_version)
    and "mended in " .. release.fixed_version or nil
end

local tracker_path, bill_path, release_name = ...
if not release_name then
  failure.usage("give Debian's tracker file, an SBOM, and a release such as bookworm")
end
local tracker = read(tracker_path)
local sources, order = sources_of(read(bill_path), bill_path)
local found, unimportant, is_known = 0, 0, false
for _, name in ipairs(order) do
  local faults = {}
  for id, fault in pairs(tracker[name] or {}) do
    local release = fault.releases and fault.releases[release_name]
    is_known = is_known or release ~= nil
    local state = release and state_of(release, sources[name])
    if state and release.urgency == "unimportant" then
      unimportant = unimportant + 1
    elseif state then
      faults[#faults + 1] = ("%s %s: %s: %s"):format(name, sources[name], id, state)
    end
  end
  table.sort(faults)
  for _, line in ipairs(faults) do print(line) end
  found = found + #faults
end
if not is_known then
  failure.usage("%s knows none of these packages in '%s'; give a release such as "
    .. "bookworm", tracker_path, release_name)
end
print(("%d packages, %d faults, %d unimportant ones"):format(#order, found,
  unimportant))
if found > 0 then main.exit(1) end
