-- SPDX-License-Identifier: Apache-2.0
-- The commands of `perigee alarms`, by their names: each with a `summary`, `arguments`
-- that it adds to a parser, and run(connection, options), with a lib.leader.client.

local cli = require("lib.cli")
local failure = require("core.failure")
local sockets = require("lib.sockets")
local unistd = require("posix.unistd")

local commands = {}

local NOTIFICATIONS = "notifications" -- a socket, as lib.leader.calls's
local AT_ONCE = 65536 -- bytes

-- TYPE or TYPE/QUALIFIER.
local function split(text)
  local id, qualifier = text:match("^([^/]*)/(.*)$")
  return id or text, qualifier
end

-- Call `name` by the native names, as Snabb's functions want it.
local function call(connection, name, fields)
  fields.schema = connection:call("describe", {}).fields["native-schema"]
  return connection:call(name, fields).fields
end

commands["get-state"] = {
  summary = "print which alarms there may be, and have been",
  arguments = function (p)
    p:argument("path", "where, such as /alarms/alarm-list"):args("?"):default("/")
    p:option("-f --format", "yang, xpath or influxdb", "yang")
      :convert(cli.one_of("yang", "xpath", "influxdb"))
  end,
  run = function (connection, options)
    local answer = connection:call("get-alarms-state",
      {schema = "ietf-alarms", path = options.path, format = options.format})
    local text = answer.fields.state or ""
    io.write(text, text:match("\n$") and "" or "\n")
  end,
}

commands["set-operator-state"] = {
  summary = "say what is done about an alarm",
  arguments = function (p)
    p:argument("resource", "the alarm's resource, such as DEVICE/QUEUE")
    p:argument("type", "its alarm-type-id, with /QUALIFIER if it has one")
    p:argument("state", "none, ack, closed, shelved (it is put aside) or un-shelved")
      :convert(cli.one_of("none", "ack", "closed", "shelved", "un-shelved"))
    p:argument("text", "a text to be kept with it"):args("?")
  end,
  run = function (connection, options)
    local id, qualifier = split(options.type)
    call(connection, "set-alarm-operator-state", {resource = options.resource,
      ["alarm-type-id"] = id, ["alarm-type-qualifier"] = qualifier or "",
      state = options.state, text = options.text or ""})
  end,
}

commands["purge"] = {
  summary = "remove alarms from the list, and print how many",
  arguments = function (p)
    p:argument("status", "any, cleared or not-cleared")
      :convert(cli.one_of("any", "cleared", "not-cleared"))
    p:option("--by-severity", "is, below or above, and a severity, such as above:minor")
    p:option("--by-older-than", "of those not changed for so long, such as minutes:5")
    p:option("--by-operator-state", "of those with this last operator's state: "
      .. "STATE[:USER]")
  end,
  run = function (connection, options)
    local fields = call(connection, "purge-alarms", {["alarm-status"] = options.status,
      severity = options.by_severity, ["older-than"] = options.by_older_than,
      ["operator-state-filter"] = options.by_operator_state})
    print(fields["purged-alarms"])
  end,
}

commands["compress"] = {
  summary = "forget all but the last change of alarms, and print of how many",
  arguments = function (p)
    p:argument("resource", "only of this resource"):args("?")
    p:argument("type", "only of this alarm-type-id[/QUALIFIER]"):args("?")
  end,
  run = function (connection, options)
    local id, qualifier
    if options.type then id, qualifier = split(options.type) end
    local fields = call(connection, "compress-alarms", {resource = options.resource,
      ["alarm-type-id"] = id, ["alarm-type-qualifier"] = qualifier})
    print(fields["compressed-alarms"])
  end,
}

commands["listen"] = {
  summary = "print alarms as they are raised and cleared, a line of JSON each",
  arguments = function () end,
  run = function (connection)
    local instance = connection.instance
    local fd, problem = sockets.connect_unix(instance.directory .. "/" .. NOTIFICATIONS)
    if not fd then
      failure.raise("process %d has no alarms to listen to: %s", instance.pid, problem)
    end
    local rest = ""
    repeat
      local data = unistd.read(fd, AT_ONCE) or ""
      rest = (rest .. data):gsub("([^\n]*)\n", function (line)
        print(line)
        return ""
      end)
      io.stdout:flush()
    until data == ""
    failure.raise("process %d has ended", instance.pid)
  end,
}

return commands
