-- SPDX-License-Identifier: Apache-2.0
-- `perigee click`: runs a configuration of Click's, with the options of FastClick's
-- `click`. The language makes the flat configuration, click.router the rest.

local errors = require("click.errors")
local flatfile = require("click.language.flatfile")
local handlers = require("program.click.handlers")
local language = require("click.language")
local main = require("core.main")
local options = require("program.click.options")
local requirements = require("click.language.requirements")
local source = require("program.click.source")

local M = {summary = "run a Click configuration", own_cpus = true}

local SPECS = {
  {names = {"file"}, letter = "f", value = "FILE", field = "file",
    once = "router configuration", help = "Read the configuration from FILE."},
  {names = {"expression"}, letter = "e", value = "EXPR", field = "file",
    also = "expression", once = "router configuration",
    help = "The configuration is EXPR."},
  {names = {"threads"}, letter = "j", value = "N", field = "threads", number = true,
    help = "Run on N CPUs (1)."},
  {names = {"affinity", "cpu"}, letter = "a", value = "N", field = "affinity",
    number = true, optional = true, help = "Take the CPUs from N on (0)."},
  {names = {"port"}, letter = "p", value = "PORT", field = "ports", list = true,
    help = "Listen for control connections on a TCP port."},
  {names = {"unix-socket"}, letter = "u", value = "FILE", field = "unix_sockets",
    list = true, help = "Listen for control connections on a Unix socket."},
  {names = {"socket"}, value = "FD", field = "sockets", list = true, number = true,
    help = "A file descriptor that is a control connection."},
  {names = {"allow-reconfigure"}, letter = "R", field = "allow_reconfigure",
    help = "Provide the handler 'hotconfig'."},
  {names = {"handler"}, letter = "h", value = "ELEMENT.H", field = "handlers",
    list = true, help = "Write what this read handler says, at the end."},
  {names = {"exit-handler"}, letter = "x", value = "ELEMENT.H", field = "exit_handler",
    once = "--exit-handler", help = "Its value is the exit status."},
  {names = {"output"}, letter = "o", value = "FILE", field = "output",
    once = "output file", help = "Write the flat configuration to FILE."},
  {names = {"quit"}, letter = "q", field = "quit", help = "Don't run it."},
  {names = {"time"}, letter = "t", field = "time", help = "Say how long it ran."},
  {names = {"no-warnings"}, letter = "w", field = "warnings", off = true,
    help = "Write no warnings."},
  {names = {"warnings"}, field = "warnings", help = "Write warnings."},
  {names = {"simtime", "simulation-time"}, value = "T", field = "simtime",
    number = true, optional = true,
    help = "Let time pass as fast as there is nothing to do."},
  {names = {"clickpath"}, letter = "C", value = "PATH", field = "clickpath",
    help = "Look for libraries in PATH."},
  {names = {"help"}, field = "help", help = "Write this."},
  {names = {"version"}, letter = "v", field = "version", help = "Write the version."},
}

local USAGE = "Usage: click [OPTION]... [VAR=VALUE]... [FILE]\n"

-- The router -----------------------------------------------------------------------

-- The module of that name; nil if there is none.
local function find(name)
  return package.searchpath(name, package.path) and require(name) or nil
end

-- Elements for the control sockets that options ask for.
local function add_control_sockets(flat, o)
  local n = 0
  for _, kind in ipairs{{"ports", "TCP"}, {"unix_sockets", "UNIX"},
    {"sockets", "SOCKET"}} do
    for _, where in ipairs(o[kind[1]] or {}) do
      table.insert(flat.elements, {class = "ControlSocket",
        name = "click_driver@@ControlSocket" .. (n > 0 and "@" .. n or ""),
        config = ("%s, %s"):format(kind[2], where), landmark = "click"})
      n = n + 1
    end
  end
end

local function read_flat(text, file, o, reporter)
  local registry = find("click.router") and find("click.registry")
  local flat = language.read{text = text, file = file, errors = reporter,
    variables = o.variables, class_of = registry and registry.find,
    class_names = registry and registry.names, packages = requirements.PACKAGES}
  if flat then add_control_sockets(flat, o) end
  return flat
end

local function make_router(flat, o, reporter)
  local router = find("click.router")
  if not router then return nil end
  local simtime = o.simtime == true and 1e9 or o.simtime
  return router.new(flat, {errors = reporter, simtime = simtime, threads = o.threads,
    affinity = o.affinity == true and 0 or o.affinity, variables = o.variables,
    allow_reconfigure = o.allow_reconfigure})
end

-- Running --------------------------------------------------------------------------

local function run_router(router, flat, o, file, reporter)
  if o.quit then return end
  if #flat.elements > 0 then
    router:run()
  elseif o.warnings ~= false then
    reporter:warning("%s: configuration has no elements, exiting", file)
  end
end

local function run(o)
  local reporter = errors.to_stderr()
  reporter.quiet = o.warnings == false
  source.use_clickpath(o.clickpath)
  local text, file = source.read(o, reporter)
  local flat = text and read_flat(text, file, o, reporter)
  if not flat then return 1 end
  local router = make_router(flat, o, reporter)
  if not router and (reporter.count > 0 or not o.quit) then return 1 end
  local status = 0
  if o.output and not source.write(o.output, flatfile.text(flat), reporter) then
    status = 1
  end
  if not router then return status end
  local start = handlers.clock()
  run_router(router, flat, o, file, reporter)
  if o.time then print(handlers.elapsed(start)) end
  if not handlers.print_all(router, o.handlers or {}, reporter) then status = 1 end
  if o.exit_handler then status = handlers.status(router, o.exit_handler, reporter) end
  return status
end

--- What `perigee ps` is to call it.
function M.title(args)
  local o = options.parse(SPECS, args)
  return "click " .. (o and (o.expression and "-e" or o.file) or "")
end

--- Run with the command line's arguments (a list of strings).
function M.run(args)
  local o, problem = options.parse(SPECS, args)
  if not o then
    io.stderr:write("click: ", problem, "\n", USAGE,
      "Try 'click --help' for more information.\n")
    return main.exit(1)
  elseif o.help then
    io.write("Run a configuration of Click's.\n\n", USAGE, "\nOptions:\n",
      options.help(SPECS))
  elseif o.version then
    print("click (Perigee) " .. main.version)
  else
    local status = run(o)
    if status ~= 0 then main.exit(status) end
  end
end

return M
