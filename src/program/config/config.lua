-- SPDX-License-Identifier: Apache-2.0
-- `perigee config COMMAND`: ask and change what a running network function is
-- configured to do, over its socket: Perigee's lwAFTR, and what upstream's `snabb
-- config` can reach.

local cli = require("lib.cli")
local client = require("lib.leader.client")
local failure = require("core.failure")
local listen = require("program.config.listen")
local near = require("lib.stack.nearest")
local stat = require("posix.sys.stat")
local stdlib = require("posix.stdlib")

local M = {summary = "ask and change the configuration of a running lwAFTR"}

local function schema_option(p)
  p:option("-s --schema", "whose names to use; without, the native one")
  p:option("-r --revision", "ignored: there is one revision of each")
end

local function format_options(p)
  schema_option(p)
  p:option("-f --format", "yang, xpath or influxdb", "yang")
    :convert{yang = "yang", xpath = "xpath", influxdb = "influxdb"}
  p:flag("--print-default", "also what has its default value")
end

local function instance_argument(p)
  p:argument("instance", "its name or process id; `perigee ps` lists those there are")
end

local function file_text(path)
  local file, problem = io.open(path, "r")
  local text
  if file then
    text, problem = file:read("*a")
    file:close()
  end
  if not text then failure.raise("the configuration can't be read: %s", problem) end
  return text
end

-- The fields that all calls about a path have.
local function about(connection, options)
  local schema = options.schema
    or connection:call("describe", {}).fields["native-schema"]
  return {schema = schema, path = options.path, format = options.format,
    ["print-default"] = options.print_default and true or nil}
end

-- Print what is asked for, and end its last line.
local function asking(name, field)
  return function (connection, options)
    local text = connection:call(name, about(connection, options)).fields[field] or ""
    io.write(text, text:match("\n$") and "" or "\n")
  end
end

local function changing(name)
  return function (connection, options)
    local fields = about(connection, options)
    if options.takes_value then fields.config = options.value or io.read("*a") end
    connection:call(name, fields)
  end
end

local function is_regular(path)
  local found = path and stat.stat(path)
  return found and stat.S_ISREG(found.st_mode) ~= 0
end

-- Perigee's lwAFTR reads the file itself: large ones needn't be sent.
local function load_file(connection, options)
  local path = stdlib.realpath(options.file)
  local own = stat.stat(connection.instance.directory .. "/lwaftr.state")
  if own and is_regular(path) then
    return connection:call("load-file", {file = path})
  end
  local fields = about(connection, options)
  fields.path, fields.config = "/", file_text(options.file)
  connection:call("set-config", fields)
end

local PATH = "where, such as '/softwire-config/internal-interface/mtu'"

local function path_argument(p) p:argument("path", PATH) end

local function value_argument(p)
  p:argument("value", "what; without, it is read from standard input"):args("?")
end

-- Each {what it does, parts of its command line, what runs}.
local COMMANDS = {
  ["get"] = {"print a part of the configuration", {format_options, instance_argument,
    path_argument}, asking("get-config", "config")},
  ["get-state"] = {"print counters", {format_options, instance_argument, path_argument},
    asking("get-state", "state")},
  ["set"] = {"put a value in the place of what is there", {schema_option,
    instance_argument, path_argument, value_argument}, changing("set-config"), true},
  ["add"] = {"add entries to a list", {schema_option, instance_argument, path_argument,
    value_argument}, changing("add-config"), true},
  ["remove"] = {"remove an entry from a list", {schema_option, instance_argument,
    path_argument}, changing("remove-config")},
  ["load"] = {"put the configuration in a file in the place of the whole one",
    {schema_option, instance_argument, function (p) p:argument("file", "the file") end},
    load_file},
  ["listen"] = {"read requests in JSON, one after the other, and print answers",
    {schema_option, instance_argument, function (p)
      p:option("-c --socket", "serve one client at this Unix socket, not standard "
        .. "input and output")
    end}, listen.run},
  ["shutdown"] = {"end it", {instance_argument}, function (connection)
    connection:call("shutdown", {})
  end},
}
local ORDER = {"get", "get-state", "set", "add", "remove", "load", "listen", "shutdown"}

local function usage()
  local lines = {"Usage: perigee config COMMAND [OPTIONS] INSTANCE ...", "",
    "Ask and change what a running network function is configured to do. `perigee "
      .. "config", "COMMAND --help` explains each command.", ""}
  for _, name in ipairs(ORDER) do
    lines[#lines + 1] = ("  %-10s %s"):format(name, COMMANDS[name][1])
  end
  return table.concat(lines, "\n") .. "\n"
end

local function sentence(text) return text:sub(1, 1):upper() .. text:sub(2) .. "." end

--- Run the command `args[1]` with the arguments behind it.
function M.run(args)
  local name = args[1]
  if name == "-h" or name == "--help" then
    io.write(usage())
    return
  end
  local command = name and COMMANDS[name]
  if not command then
    failure.usage("config %s; see `perigee config --help`", name
      and ("has no command '%s'%s"):format(name, near.hint(name, ORDER))
      or "needs a command")
  end
  local p = cli.parser("config " .. name, sentence(command[1]))
  for _, part in ipairs(command[2]) do part(p) end
  local options = cli.parse(p, {unpack(args, 2)})
  options.takes_value = command[4]
  local connection = client.connect(options.instance)
  command[3](connection, options)
  connection:close()
end

return M
