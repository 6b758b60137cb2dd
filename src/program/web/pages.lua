-- SPDX-License-Identifier: Apache-2.0
-- What the server of `perigee web` answers: the page's files by GET, and by POST what
-- the page asks for, in JSON both ways (README.md lists it). A request names what it
-- wants of a fixed set; no path of a file comes from outside.

local access = require("program.web.access")
local ask = require("program.web.ask")
local changes = require("lib.observe.changes")
local cjson = require("cjson")
local drawing = require("program.web.drawing")
local expected = require("program.web.expected")
local failure = require("core.failure")
local fold = require("lib.picture.fold")
local instances = require("lib.observe.instances")
local live = require("program.web.live")
local log = require("core.lib.log")
local main = require("core.main")
local trace = require("program.trace.trace")
local watch = require("program.web.watch")

local pages = {}

local FILES = {
  ["/"] = {"page.html", "text/html; charset=utf-8"},
  ["/page.css"] = {"page.css", "text/css; charset=utf-8"},
}
for _, name in ipairs{"page", "state", "server", "elements", "picture", "details",
    "view", "charts", "instances", "overview", "packets"} do
  FILES[("/%s.js"):format(name)] = {name .. ".js", "text/javascript; charset=utf-8"}
end
local JSON, PCAPNG = "application/json", "application/x-pcapng"
local LAST_PACKETS, LAST_SECONDS, LAST_RATE = 10, 1.5, 1000
local DROPS = 500 -- among which those of one app are looked for
local MOST_SECONDS = 30
local MOST_TRACES, MOST_CAPTURED = 100, 100000
local MOST_NAMES = 1000

-- Arguments ------------------------------------------------------------------------

local function text(request, key)
  local value = request[key]
  if value == nil or value == cjson.null or value == "" then return nil end
  if type(value) ~= "string" then failure.usage("%s is a string", key) end
  return value
end

local function number(request, key, default, most)
  local value = request[key]
  if value == nil or value == cjson.null then return default end
  if type(value) ~= "number" or not (value > 0 and value <= most) then
    failure.usage("%s is a number up to %d", key, most)
  end
  return value
end

local function whole(request, key, default, most)
  return math.ceil(number(request, key, default, most))
end

-- The set of names in a list of up to MOST_NAMES.
local function names(request, key)
  local value, set = request[key], {}
  if value == nil or value == cjson.null then return set end
  if type(value) ~= "table" or #value > MOST_NAMES then
    failure.usage("%s is a list of up to %d names", key, MOST_NAMES)
  end
  for _, name in ipairs(value) do
    if type(name) ~= "string" then failure.usage("%s is a list of names", key) end
    set[name] = true
  end
  return set
end

-- The instance that is meant: the one that the server is for, or one by name.
local function instance_of(self, request)
  local name = self.only or text(request, "instance")
  if not name then failure.usage("say which instance") end
  return instances.find(instances.list(), name)
end

-- Answers --------------------------------------------------------------------------

local answers = {}

function answers.instances(self)
  local list = watch.list()
  return {instances = #list > 0 and list or nil, only = self.only}
end

local function graph_of(instance)
  local graph = ask.once(instance, {["do"] = "graph"})
  for _, key in ipairs{"apps", "links", "regions"} do graph[key] = graph[key] or {} end
  return graph
end

function answers.graph(self, request)
  local instance = instance_of(self, request)
  local graph = graph_of(instance)
  self.graphs[instance.pid] = graph
  local compounds = fold.compounds(graph)
  local shown = fold.of(graph, names(request, "folded"))
  return {pid = instance.pid, name = instance.name, program = instance.program,
    svg = drawing.svg(shown, request.down == true), apps = graph.apps,
    links = graph.links, regions = graph.regions,
    compounds = #compounds > 0 and compounds or nil}
end

-- Points newer than number `since` (of the answer before); and all of the series that
-- are called as in `series`, such as "link:in.output -> out.input".
function answers.history(self, request)
  local instance = instance_of(self, request)
  local since, series = request.since, {}
  if type(since) ~= "number" or since ~= since or since < 0 then since = 0 end
  for name in pairs(names(request, "series")) do series[#series + 1] = name end
  return watch.history(self.watch, instance):since(math.floor(since), series)
    or {last = since}
end

function answers.live(self, request)
  local instance = instance_of(self, request)
  local now = {pid = instance.pid}
  for key, value in pairs(live.of(instance)) do now[key] = value end
  local graph = self.graphs[instance.pid]
  now.expected = graph and expected.of(now, graph, self.model) or nil
  return now
end

-- A packet for the page: a line, and its headers with their fields.
local function decoded(packet)
  local read = changes.read(packet.data, packet.length)
  return {text = read.text, headers = read.headers, length = packet.length,
    comment = packet.comment, payload = #read.payload}
end

-- What to capture: of a link or an app, or what is dropped.
local function wanted(request, limit, rate)
  local dropped = request.dropped == true or nil
  return {["do"] = "capture", link = text(request, "link"), dropped = dropped,
    app = not dropped and text(request, "app") or nil,
    filter = text(request, "filter"), limit = limit, rate = rate}
end

function answers.packets(self, request)
  local instance, list = instance_of(self, request), {}
  local by = request.dropped == true and text(request, "app")
  local found = ask.packets(instance, wanted(request, by and DROPS or LAST_PACKETS,
    LAST_RATE), LAST_SECONDS)
  by = by and ("dropped by %s: "):format(by)
  for _, packet in ipairs(found) do
    local is_wanted = not by or (packet.comment or ""):sub(1, #by) == by
    if is_wanted and #list < LAST_PACKETS then list[#list + 1] = decoded(packet) end
  end
  return {packets = #list > 0 and list or nil}
end

function answers.trace(self, request)
  local instance = instance_of(self, request)
  local list = ask.trace(instance, {["do"] = "trace", app = text(request, "app"),
    filter = text(request, "filter"), count = whole(request, "count", 5, MOST_TRACES)},
    number(request, "seconds", 3, MOST_SECONDS))
  for i, record in ipairs(list) do
    local links = {}
    for k, hop in ipairs(record.hops) do links[k] = hop.link end
    list[i] = {text = trace.text(record), links = links}
  end
  return {traces = #list > 0 and list or nil}
end

function answers.capture(self, request)
  local instance = instance_of(self, request)
  return ask.capture(instance, wanted(request,
    whole(request, "limit", 1000, MOST_CAPTURED)),
    number(request, "seconds", 3, MOST_SECONDS)), PCAPNG
end

-- Requests that change nothing, use no file and tell no key. All others are for who has
-- the token, not for all users of the machine (--no-token).
local LOOKS = {info = true, graph = true, counters = true, statistics = true,
  streams = true, handlers = true}

-- A request of the control socket (doc/control.md) that has one answer.
function answers.control(self, request)
  local wanted_of_it = request.request
  if type(wanted_of_it) ~= "table" then
    failure.usage("request is an object, such as {\"do\": \"statistics\"}")
  elseif wanted_of_it["do"] == "trace" or wanted_of_it["do"] == "capture" then
    failure.usage("%s has a path of its own: /api/%s", wanted_of_it["do"],
      wanted_of_it["do"])
  elseif not LOOKS[wanted_of_it["do"]] and not self.token then
    failure.usage("%s needs the token: start `perigee web` without --no-token",
      tostring(wanted_of_it["do"]))
  end
  return {answer = ask.once(instance_of(self, request), wanted_of_it)}
end

-- Requests -------------------------------------------------------------------------

local function file(path)
  local name, kind = unpack(FILES[path])
  local path_of_it = ("%s/src/program/web/page/%s"):format(main.root, name)
  local handle = assert(io.open(path_of_it, "rb"))
  local content = handle:read("*a")
  handle:close()
  return 200, content, kind
end

local function say(status, sentence)
  return status, cjson.encode{error = sentence} .. "\n", JSON
end

local function answer(self, name, body)
  local parsed, request = pcall(cjson.decode, body == "" and "{}" or body)
  if not parsed or type(request) ~= "table" then
    return say(400, "the body is no object in JSON")
  end
  local ok, result, kind = pcall(answers[name], self, request)
  if ok and kind then return 200, result, kind end
  if ok then return 200, cjson.encode(result) .. "\n", JSON end
  if failure.is(result) then
    return say(result.status == 2 and 400 or 503, tostring(result))
  end
  log.error("web: %s", tostring(result))
  return say(500, "internal error; see the error output of `perigee web`")
end

--- The function that gives the pages for net.http.messages: `options` has hosts and
--- token (program.web.access), only = the name of the one instance to show (or nil),
--- model = the path of the model's table. And a function to be called often, which
--- keeps the history.
function pages.serve(options)
  local self = {only = options.only, token = options.token, model = options.model,
    graphs = {}, watch = watch.new(options.only)}
  local function serve(request)
    local refusal = access.refusal(request, options)
    if refusal then return say(403, refusal) end
    if request.method == "GET" or request.method == "HEAD" then
      if FILES[request.path] then return file(request.path) end
      return say(404, "there is no such page")
    end
    local name = request.path:match("^/api/(%a+)$")
    if request.method ~= "POST" or not answers[name or ""] then
      return say(404, "there is nothing of that name to ask for")
    end
    return answer(self, name, request.body)
  end
  return serve, function () watch.step(self.watch) end
end

return pages
