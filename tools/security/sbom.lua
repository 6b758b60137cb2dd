-- SPDX-License-Identifier: Apache-2.0
-- perigee run tools/security/sbom.lua FILE [BINARY]: writes what the perigee BINARY
-- (this one) consists of, as a software bill of materials in CycloneDX 1.5
-- (https://cyclonedx.org). The text depends on these alone: it says a time only where
-- SOURCE_DATE_EPOCH (https://reproducible-builds.org) gives one.

local here = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$")
package.path = here .. "/?.lua;" .. package.path

local components = require("components")
local files = require("core.lib.files")
local failure = require("core.failure")
local main = require("core.main")
local sorted_json = require("sorted_json")
local unistd = require("posix.unistd")

local function id_of_system()
  local text = files.readfile("/etc/os-release", "*a")
  return ("\n" .. text):match('\nID="?([%w.-]+)') or "debian"
end

-- Where packaging/deb builds, packaging/debian is debian.
local function debian_control()
  local path = here .. "/../../debian/control"
  return files.can_read(path) and path or here .. "/../../packaging/debian/control"
end

local function encoded(s)
  return (s:gsub("[^%w.~-]", function (c) return ("%%%02X"):format(c:byte()) end))
end

-- The source's time; nil if nothing says it.
local function source_time()
  local said = os.getenv("SOURCE_DATE_EPOCH")
  if not said then return nil end
  if not said:match("^%d+$") then
    failure.raise("SOURCE_DATE_EPOCH is '%s', not seconds since 1970", said)
  end
  return os.date("!%Y-%m-%dT%H:%M:%SZ", tonumber(said))
end

local file, binary = ...
local own = "pkg:generic/perigee@" .. encoded(main.release)
local system, parts, needs = id_of_system(), {}, {}
for i, c in ipairs(components.list(binary or ("/proc/%d/exe"):format(unistd.getpid()),
  debian_control())) do
  local purl = ("pkg:deb/%s/%s@%s?arch=%s"):format(system, c.name, encoded(c.version),
    c.architecture)
  parts[i] = {type = "library", ["bom-ref"] = purl, purl = purl, name = c.name,
    version = c.version, properties = {
      {name = "debian:source", value = c.source},
      {name = "debian:source-version", value = c.source_version}}}
  needs[i] = purl
end
local itself = {type = "application", ["bom-ref"] = own, purl = own, name = "perigee",
  version = main.release, licenses = {{license = {id = "Apache-2.0"}}}}
files.save(file, sorted_json.encode{
  bomFormat = "CycloneDX", specVersion = "1.5", version = 1,
  metadata = {timestamp = source_time(), component = itself},
  components = parts, dependencies = {{ref = own, dependsOn = needs}}} .. "\n")
