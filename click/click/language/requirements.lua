-- SPDX-License-Identifier: Apache-2.0
-- require(...): packages, which are known by name; libraries, files which are read
-- where they are required, once; and compact_config. `p` is the parser.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local scanner = require("click.language.scanner")
local stat = require("posix.sys.stat")
local text_of = require("click.language.text")

local requirements = {}

--- The packages of FastClick's that are here: a set of names.
requirements.PACKAGES = {}
for name in ([[aqm analysis app batch dpdk ethernet etherswitch icmp int64 ip ip6 ipsec
    local standard tcpudp threads umultithread userlevel]]):gmatch("%S+") do
  requirements.PACKAGES[name] = true
end

-- Finding files --------------------------------------------------------------------

local function is_file(path)
  local found = stat.stat(path)
  return found and stat.S_ISREG(found.st_mode) ~= 0
end

local function find_below(dir, name)
  for _, place in ipairs{"conf/click/", "conf/", ""} do
    local path = ("%s/%s%s"):format(dir:gsub("/$", ""), place, name)
    if is_file(path) then return path end
  end
end

--- The file that `name` is for a configuration in the folder `own` ("conf/"): there, or
--- in the folders of `path` (CLICKPATH: at colons, an empty part being `own`).
function requirements.find(name, own, path)
  if name:sub(1, 1) == "/" then return is_file(name) and name or nil end
  for dir in ((path or "") .. ":"):gmatch("([^:]*):") do
    local found = dir ~= "" and find_below(dir, name)
      or dir == "" and is_file(own .. name) and own .. name
    if found then return found end
  end
end

-- Reading --------------------------------------------------------------------------

local function read_library(p, name, reporter, read_statements)
  if p.compound.depth > 0 then
    return reporter:error("'require library' must be used at file scope")
  end
  local own = p.scanner.own_file:match("^.*/") or ""
  local path = requirements.find(name, own, os.getenv("CLICKPATH"))
  local file = path and io.open(path)
  if not file then
    return reporter:error("library '%s' not found in CLICKPATH/conf", name)
  end
  local text = file:read("*a")
  file:close()
  if p.libraries[path] then return end
  p.libraries[path] = true
  local outer, group = p.scanner, p.group
  p.scanner, p.group = scanner.new(text, path, p.errors), nil
  read_statements(p, {})
  p.scanner, p.group = outer, group
end

--- Read what stands behind the word `require`.
function requirements.read(p, expect, read_statements)
  if not expect(p, "(") then return end
  local reporter = p.errors:at(scanner.landmark(p.scanner))
  local config = p:read_config()
  p.scanner:accept(";")
  for _, argument in ipairs(text_of.arguments(config)) do
    local words = text_of.words(argument)
    local kind, value = words[1] and text_of.unquote(words[1]), nil
    if #words == 2 then value = text_of.unquote(words[2]) end
    if kind == "compact_config" and #words == 1 then
      p.compact = true
      table.insert(p.requirements, {kind, ""})
    elseif kind == "library" and value then
      read_library(p, value, reporter, read_statements)
    elseif #words == 1 or kind == "package" and value then
      value = value or kind
      if p.packages and not p.packages[value] then
        reporter:error("requirement '%s' not available", value)
      end
      table.insert(p.requirements, {"package", value})
    elseif kind then
      reporter:error("syntax error at requirement")
    end
  end
end

return requirements
