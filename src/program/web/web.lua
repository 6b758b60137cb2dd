-- SPDX-License-Identifier: Apache-2.0
-- `perigee web [INSTANCE]`: the graph of a running process in a browser.

local C = require("core.native")
local access = require("program.web.access")
local ask = require("program.web.ask")
local cli = require("lib.cli")
local failure = require("core.failure")
local session = require("net.http.session")
local instances = require("lib.observe.instances")
local listen = require("lib.control.listen")
local pages = require("program.web.pages")
local sockets = require("lib.sockets")

local M = {summary = "show the graph of a running process in a browser"}

local LOOK_SECONDS = 0.01  -- while a browser is connected
local ALONE_SECONDS = 0.2  -- while none is: until one comes, or to look for signals
local LEAST_TOKEN = 16 -- characters
local LOOPBACK = "^127%."

--- Why --cpus is refused.
M.one_cpu = "it runs no graph"

--- Why --sandbox is refused.
M.no_sandbox = "it handles no packets"

local function parser()
  local p = cli.parser("web", "Serve a page that shows the graph of a running process: "
    .. "rates, drops and cycles on it, packets, traces and captures. Open the address "
    .. "that it prints. Ends with Ctrl-C.")
  p:argument("instance", "Process id, name or program; `perigee ps` lists them. "
    .. "Without it the page lists all."):args("?")
  p:option("--listen", "Where to serve: a TCP port (of 127.0.0.1), ADDRESS:PORT, or "
    .. "unix:PATH (default 8080; 0: any)."):argname("PLACE"):default("8080")
  p:option("--host", "Allow this name in the page's address, besides localhost and "
    .. "numbers."):argname("NAME"):count("*")
  p:flag("--no-token", "Let all users of this machine see it (127.0.0.1 only). Else "
    .. "the address has a token, which PERIGEE_WEB_TOKEN may give.")
  p:option("--model", "What `perigee model` wrote, for predictions.")
    :argname("FILE"):default("perigee-model/model.json")
  return p
end

local function set_of(names)
  local set = {}
  for _, name in ipairs(names) do set[name:lower()] = true end
  return set
end

-- The token, or nil if none is needed.
local function token_of(options, place)
  if place.path then return nil end -- only this user can open it
  if options.no_token then
    if not place.address:match(LOOPBACK) then
      failure.usage("--no-token --listen %s: without a token it listens at 127.0.0.1 "
        .. "only", options.listen)
    end
    return nil
  end
  local given = os.getenv("PERIGEE_WEB_TOKEN")
  if not given or given == "" then return access.new_token() end
  if #given < LEAST_TOKEN or given:find("[^%w_.~-]") then
    failure.usage("PERIGEE_WEB_TOKEN: a token has at least %d letters, digits or any "
      .. "of - _ . ~", LEAST_TOKEN)
  end
  return given
end

-- Nil and the reason, if it can't be told: then nobody could open the page.
local function tell(address)
  local ok, problem = io.stdout:write(address, "\n")
  if ok then ok, problem = io.stdout:flush() end
  return ok, problem
end

local function serve(server, watch)
  C.pg_catch_signals()
  while C.pg_signal() == 0 do
    ask.close_old()
    watch()
    if not server:poll() then
      if server:busy() then C.pg_sleep(LOOK_SECONDS) else server:wait(ALONE_SECONDS) end
    end
    server:work()
  end
  C.pg_release_signals()
  ask.close_all()
  server:close()
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local options = cli.parse(parser(), args)
  if options.instance then instances.find(instances.list(), options.instance) end
  local place = listen.parse("--listen", options.listen)
  local token = token_of(options, place)
  local fd, path = listen.open("--listen", options.listen)
  local page, watch = pages.serve{hosts = set_of(options.host), token = token,
    only = options.instance, model = options.model}
  local server = sockets.server(fd, function ()
    return session.new(page, {any_method = true})
  end)
  local told, problem = tell(path and ("unix:%s"):format(path)
    or ("http://%s:%d/%s"):format(place.address, sockets.port(fd),
      token and "#token=" .. token or ""))
  if told then serve(server, watch) end
  if path then os.remove(path) end
  if not told then failure.raise("its address is unknown: %s", problem) end
end

return M
