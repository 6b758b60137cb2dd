-- SPDX-License-Identifier: Apache-2.0
-- For specs: small trees that look like /sys, /proc and /dev, in a new directory.

local dir = require("pl.dir")
local dirent = require("posix.dirent")
local path = require("pl.path")
local stat = require("posix.sys.stat")
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")

local M = {}

local function write(file, text)
  dir.makepath(path.dirname(file))
  local handle = assert(io.open(file, "w"))
  handle:write(text)
  handle:close()
end

local function link(target, file)
  dir.makepath(path.dirname(file))
  assert(unistd.link(target, file, true))
end

-- Like rm -r: doesn't follow symbolic links.
local function remove(file)
  local found = stat.lstat(file)
  if found and stat.S_ISDIR(found.st_mode) ~= 0 then
    for _, name in ipairs(dirent.dir(file)) do
      if name ~= "." and name ~= ".." then remove(file .. "/" .. name) end
    end
    assert(unistd.rmdir(file))
  elseif found then
    assert(unistd.unlink(file))
  end
end

--- A tree with no interface and no device: `roots` for the modules under test,
--- `write(file, text)` and `link(target, file)` with paths below its directory,
--- `interface(name, attributes)`, `device(address, attributes)` and `remove()`.
function M.new()
  local base = assert(stdlib.mkdtemp("/tmp/perigee-spec-XXXXXX"))
  local tree = {
    base = base,
    roots = {sys = base .. "/sys", proc = base .. "/proc", dev = base .. "/dev"},
  }
  local names = {}

  function tree.write(file, text) write(base .. "/" .. file, text) end
  function tree.link(target, file) link(target, base .. "/" .. file) end

  local function write_names()
    local lines = {"Inter-|   Receive                         |  Transmit\n",
      " face |bytes    packets errs |bytes    packets errs\n"}
    for name in pairs(names) do
      lines[#lines + 1] = ("%6s: 0 0 0 0 0 0\n"):format(name)
    end
    tree.write("proc/net/dev", table.concat(lines))
  end

  --- An interface that is up; `attributes` are files of its sysfs directory.
  function tree.interface(name, attributes)
    names[name] = true
    write_names()
    local all = {ifindex = "5", flags = "0x1003", mtu = "1500", carrier = "1"}
    for file, text in pairs(attributes or {}) do all[file] = text end
    for file, text in pairs(all) do
      tree.write(("sys/class/net/%s/%s"):format(name, file), text .. "\n")
    end
  end

  --- An interface is gone.
  function tree.remove_interface(name)
    names[name] = nil
    write_names()
    remove(("%s/sys/class/net/%s"):format(base, name))
  end

  --- A PCI network device; `attributes` are files of its directory, but `driver`,
  --- `interface` and `group` make what the kernel makes of them.
  function tree.device(address, attributes)
    local place = "sys/bus/pci/devices/" .. address
    local all = {vendor = "0x8086", device = "0x10fb", class = "0x020000",
      numa_node = "-1"}
    for file, text in pairs(attributes or {}) do all[file] = text end
    local driver, interface, group = all.driver, all.interface, all.group
    all.driver, all.interface, all.group = nil, nil, nil
    for file, text in pairs(all) do tree.write(place .. "/" .. file, text .. "\n") end
    if driver then tree.link("../../drivers/" .. driver, place .. "/driver") end
    if group then tree.link("../../groups/" .. group, place .. "/iommu_group") end
    if interface then tree.write(place .. "/net/" .. interface .. "/mtu", "1500\n") end
  end

  --- The process has these capabilities (a number of hexadecimal digits).
  function tree.capabilities(digits)
    tree.write("proc/self/status", "Name:\tx\nCapEff:\t" .. digits .. "\n")
  end

  function tree.remove() remove(base) end

  write_names()
  dir.makepath(tree.roots.dev)
  return tree
end

return M
