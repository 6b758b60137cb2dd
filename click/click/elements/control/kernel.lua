-- SPDX-License-Identifier: Apache-2.0
-- What reaches into the kernel from a router next to it: handlers of Click's kernel
-- module (KernelHandlerProxy), and rules that keep packets from the kernel's own
-- handling (KernelFilter).

local element = require("click.element")
local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local interfaces = require("lib.hardware.interfaces")
local process = require("core.lib.process")
local sockets = require("lib.sockets")
local stat = require("posix.sys.stat")
local text_of = require("click.language.text")
local unistd = require("posix.unistd")

-- KernelHandlerProxy ---------------------------------------------------------------

local KernelHandlerProxy = element.define{
  name = "KernelHandlerProxy", summary = "passes handlers of Click's kernel module on",
  ports = "0/0", arguments = {{"VERBOSE", "bool", default = false, keyword = true}},
  folder = "/click", -- where the kernel module's file system is mounted
}

function KernelHandlerProxy:configure(a) self.verbose = a.VERBOSE end

-- The element's name and the handler's that the name has; nil if it has none.
local function split(name)
  local owner, handler = name:match("^([%w_/@]*)%.([^/%c]+)$")
  if not owner then owner, handler = "", name:match("^([^/%c.]+)$") end
  if handler and handler ~= "." and handler ~= ".." then return owner, handler end
end

local function path_of(self, owner, handler)
  local folder = self.folder .. (owner == "" and "" or "/" .. owner)
  return stat.stat(self.folder .. "/.h") and folder .. "/.h/" .. handler
    or folder .. "/" .. handler
end

-- What is wrong, if the handler's file can't be opened for this reason.
local function problem_of(self, owner, name, number)
  if number == errno.EACCES then return ("Permission denied for '%s'"):format(name) end
  if number ~= errno.ENOENT then
    return ("Handler '%s' error: %s"):format(name, (errno.errno(number)))
  elseif not stat.stat(self.folder) then
    return "No router installed"
  elseif owner ~= "" and not stat.stat(self.folder .. "/" .. owner) then
    return ("No element named '%s'"):format(owner)
  end
  return ("No handler named '%s'"):format(name)
end

local function read_all(fd)
  local parts = {}
  repeat
    local part = unistd.read(fd, 65536)
    parts[#parts + 1] = part
  until not part or part == ""
  unistd.close(fd)
  return table.concat(parts)
end

--- The handler of an element in the kernel: whether it is there shows when it is
--- called.
function KernelHandlerProxy:find_handler(name)
  local owner, handler = split(name)
  if not owner then return nil end
  local function open(flags)
    local fd, _, number = fcntl.open(path_of(self, owner, handler),
      flags + fcntl.O_CLOEXEC)
    if fd then return fd end
    return nil, problem_of(self, owner, name, number)
  end
  local function read()
    local fd, problem = open(fcntl.O_RDONLY)
    if fd then return read_all(fd) end
    if self.verbose then self:say("%s", problem) end
    return nil, problem
  end
  local function write(_, text)
    local fd, problem = open(fcntl.O_WRONLY + fcntl.O_TRUNC)
    if not fd then return problem end
    local written = sockets.write_all(fd, text)
    unistd.close(fd)
    if not written then return ("Handler '%s' error: it takes no more"):format(name) end
  end
  return {read = read, write = write, raw = true}
end

-- KernelFilter ---------------------------------------------------------------------

local KernelFilter = element.define{
  name = "KernelFilter", summary = "keeps the kernel from handling a device's packets",
  ports = "0/0", usage = "drop dev DEVNAME, ... [, keywords]", phase = 120,
  exclusive = true,
  arguments = {{"IPTABLES_COMMAND", "string", keyword = true}},
  differs = "It refuses the interface that the machine's default route goes over.",
}

local PLACES = {"/sbin/iptables", "/usr/sbin/iptables"}
local LONGEST_NAME = 15

local function device_of(self, text)
  local words = text_of.words(text)
  local name = words[3] and text_of.unquote(words[3])
  if #words ~= 3 or words[1] ~= "drop" or words[2] ~= "dev" then
    return self:error("arguments must follow 'drop dev DEVNAME'")
  elseif not name:match("^[%w_.%-@]+$") or #name > LONGEST_NAME then
    return self:error("'%s' is no name of a device", name)
  end
  local over = interfaces.default_route_over(name)
  if over then
    return self:error("the default route goes over '%s': the filter would cut this "
      .. "machine off", over)
  end
  return name
end

function KernelFilter:configure_raw(list)
  self.devices, self.filtered = {}, {}
  for _, text in ipairs(list) do
    local command = text:match("^IPTABLES_COMMAND%s+(.*)$")
    if command then
      self.command = text_of.unquote(command)
    else
      self.devices[#self.devices + 1] = device_of(self, text)
    end
  end
end

-- Add or remove ("-A", "-D") the rule for the device; did it work?
local function change(self, action, name)
  return process.succeeds(("%s %s INPUT -i %s -j DROP >&2"):format(self.command, action,
    name))
end

function KernelFilter:initialize()
  for _, path in ipairs(PLACES) do
    if not self.command and unistd.access(path, "x") == 0 then self.command = path end
  end
  if not self.command and #self.devices > 0 then
    return self:error("no 'iptables' executable found")
  end
  for _, name in ipairs(self.devices) do
    if not change(self, "-A", name) then
      return self:error("%s: the rule for %s isn't taken", self.command, name)
    end
    table.insert(self.filtered, name)
  end
end

function KernelFilter:cleanup()
  for i = #self.filtered, 1, -1 do change(self, "-D", self.filtered[i]) end
  self.filtered = {}
end

return {KernelHandlerProxy, KernelFilter}
