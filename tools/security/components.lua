-- SPDX-License-Identifier: Apache-2.0
-- What a perigee consists of as well as itself: Debian's packages of the libraries that
-- the binary is linked to, DPDK's drivers, which it loads, and those that the package
-- depends on and that are installed.

local components = {}

local function output(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("*a")
  pipe:close()
  return text
end

local function quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

-- Where /lib is a link to /usr/lib, dpkg and ldd may say either.
local function usual(path) return (path:gsub("^/usr/", "/")) end

-- Add the packages that have the very files that ldd names: others, such as cross
-- compilers, have files of the same name.
local function add_linked(names, binary)
  local wanted, paths = {}, {}
  for path in output("ldd " .. quoted(binary)):gmatch("(/%S+)") do
    path = usual(path)
    wanted[path] = true
    paths[#paths + 1] = quoted(path) .. " " .. quoted("/usr" .. path)
  end
  local owners = output(("dpkg-query -S %s 2>/dev/null"):format(
    table.concat(paths, " ")))
  for name, of in owners:gmatch("([%w.+-]+)[^\n]-: ([^\n]+)") do
    if wanted[usual(of)] and name ~= "diversion" then names[name] = true end
  end
end

local function add_depends(names, control)
  local file = assert(io.open(control))
  local text = file:read("*a"):gsub("\n ", " ")
  file:close()
  for _, field in ipairs{"Depends", "Recommends", "Suggests"} do
    local list = text:match("\n" .. field .. ": ([^\n]*)") or ""
    for name in list:gsub("%$%b{}", ""):gsub("%b()", ""):gmatch("[%w.+-]+") do
      names[name] = true
    end
  end
end

local FORMAT = "${db:Status-Status}\\t${Package}\\t${Version}\\t${Architecture}\\t"
  .. "${source:Package}\\t${source:Version}\\n"

--- A list, sorted, of {name =, version =, architecture =, source =, source_version =}:
--- what is installed of the packages behind the file `binary`, and of those that
--- `control`, Debian's, names.
function components.list(binary, control)
  local names, words = {["librte-*"] = true}, {}
  add_linked(names, binary)
  add_depends(names, control)
  for name in pairs(names) do words[#words + 1] = quoted(name) end
  local list, seen = {}, {}
  local said = output(("dpkg-query -W -f '%s' %s 2>/dev/null"):format(FORMAT,
    table.concat(words, " ")))
  for status, name, version, architecture, source, source_version in said:gmatch(
    "(%S+)\t(%S+)\t(%S+)\t(%S+)\t(%S+)\t(%S+)\n") do
    if status == "installed" and not seen[name] then
      seen[name] = true
      list[#list + 1] = {name = name, version = version, architecture = architecture,
        source = source, source_version = source_version}
    end
  end
  table.sort(list, function (a, b) return a.name < b.name end)
  return list
end

return components
