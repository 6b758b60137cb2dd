-- SPDX-License-Identifier: Apache-2.0
-- `perigee config COMMAND`: ask and change what a running network function is
-- configured to do, over its socket: Perigee's lwAFTR, and what upstream's `snabb
-- config` can reach.

local atomic_file = require("core.lib.atomic_file")
local calls = require("lib.leader.calls")
local cli = require("lib.cli")
local client = require("lib.leader.client")
local control = require("lib.control.client")
local failure = require("core.failure")
local files = require("core.lib.files")
local front = require("lib.leader.front")
local instances = require("lib.observe.instances")
local listen = require("program.config.listen")
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
    :convert(cli.one_of("yang", "xpath", "influxdb"))
  p:flag("--print-default", "also what has its default value")
end

local function read(text, problem)
  if not text then failure.raise("the configuration can't be read: %s", problem) end
  return text
end

local function standard_input() return read(files.rest(io.stdin)) end
local function file_text(path) return read(files.text(path)) end

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

-- A lwAFTR is asked as by `snabb config`, others at their control socket.
local function connect(text)
  local instance = instances.find(instances.list(), text)
  if stat.stat(instance.directory .. "/" .. calls.SOCKET) then
    return client.of(instance)
  end
  return control.connect(instance)
end

local function running(connection)
  if connection.call then
    local schema = connection:call("describe", {}).fields["native-schema"]
    return connection:call("get-config", {schema = schema, path = "/"}).fields.config
      or ""
  end
  local ok, answer = pcall(connection.ask, connection, {["do"] = "configuration"})
  if ok then return answer.text end
  if not tostring(answer):find("isn't known", 1, true) then error(answer, 0) end
  failure.raise("process %d has no configuration that can be saved; an lwAFTR, a "
    .. "graph file, click, vtep and nfv have one", connection.pid)
end

-- Print what runs to a file, in the format that the program itself reads.
local function save(connection, options)
  local text = running(connection)
  text = text .. (text:match("\n$") and "" or "\n")
  if options.file == "-" then return io.write(text) end
  atomic_file.write(options.file, text, true)
end

local function changing(name, takes_value)
  return function (connection, options)
    local fields = about(connection, options)
    if takes_value then fields.config = options.value or standard_input() end
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

-- What adds these arguments to a parser.
local function all(...)
  local parts = {...}
  return function (p)
    for _, part in ipairs(parts) do part(p) end
  end
end

local COMMANDS = {
  ["get"] = {summary = "print a part of the configuration",
    arguments = all(format_options, path_argument),
    run = asking("get-config", "config")},
  ["get-state"] = {summary = "print counters",
    arguments = all(format_options, path_argument), run = asking("get-state", "state")},
  ["set"] = {summary = "put a value in the place of what is there",
    arguments = all(schema_option, path_argument, value_argument),
    run = changing("set-config", true)},
  ["add"] = {summary = "add entries to a list",
    arguments = all(schema_option, path_argument, value_argument),
    run = changing("add-config", true)},
  ["remove"] = {summary = "remove an entry from a list",
    arguments = all(schema_option, path_argument), run = changing("remove-config")},
  ["load"] = {
    summary = "put the configuration in a file in the place of the whole one",
    arguments = all(schema_option, function (p) p:argument("file", "the file") end),
    run = load_file},
  ["save"] = {
    summary = "write what runs now to a file, as the program reads it",
    arguments = all(function (p)
      p:argument("file", "the file, or - for standard output")
    end), connect = connect, run = save},
  ["listen"] = {
    summary = "read requests in JSON, one after the other, and print answers",
    arguments = all(schema_option, function (p)
      p:option("-c --socket", "serve one client at this Unix socket, not standard "
        .. "input and output")
    end), run = listen.run},
  ["shutdown"] = {summary = "end it", arguments = all(), run = function (connection)
    connection:call("shutdown", {})
  end},
}

local PROGRAM = {
  name = "config",
  about = "Ask and change what a running network function is configured to do.",
  order = {"get", "get-state", "set", "add", "remove", "load", "save", "listen",
    "shutdown"},
  commands = COMMANDS,
}

--- Run the command `args[1]` with the arguments behind it.
function M.run(args) front.run(PROGRAM, args) end

return M
