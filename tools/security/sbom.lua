-- SPDX-License-Identifier: Apache-2.0
-- perigee run tools/security/sbom.lua FILE [BINARY]: writes what the perigee BINARY
-- (this one) consists of, as a software bill of materials in CycloneDX 1.5
-- (https://cyclonedx.org).

local here = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$")
package.path = here .. "/?.lua;" .. package.path

local cjson = require("cjson")
local components = require("components")
local files = require("core.lib.files")
local main = require("core.main")
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
files.save(file, cjson.encode{bomFormat = "CycloneDX", specVersion = "1.5", version = 1,
  metadata = {component = {type = "application", ["bom-ref"] = own, purl = own,
    name = "perigee", version = main.release,
    licenses = {{license = {id = "Apache-2.0"}}}}},
  components = parts, dependencies = {{ref = own, dependsOn = needs}}} .. "\n")
