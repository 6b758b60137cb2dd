-- SPDX-License-Identifier: Apache-2.0
-- For specs of what becomes of apps that raise errors (core.on_error): a graph with an
-- app "bad" in its middle, and what is told of it.

local config = require("core.config")
local engine = require("core.app")
local link = require("core.link")
local packet = require("core.packet")
local regions = require("testing.regions")
local texts = require("testing.texts")

local failing = {}

--- The links of the graph, in the order of the packets' way.
failing.LINKS = {"in.x -> a.i", "a.output -> bad.i", "bad.output -> b.i",
                 "b.output -> out.i"}

local function look(p)
  if p.length > 0 and p.data[0] == 33 then error("it began with !") end
  return p
end

local function noting(log, fields)
  function fields:new()
    table.insert(log, "new")
    return setmetatable({}, {__index = self})
  end
  function fields.link() table.insert(log, "link") end
  function fields.stop() table.insert(log, "stop") end
  return fields
end

--- Three forms of one class, by name: it raises an error for packets that begin with
--- "!" (the push form before it takes them). And the list of what the engine calls of
--- them: "new", "link", "stop".
function failing.forms()
  local log = {}
  return {
    process = noting(log, {process = function (_, p) return look(p) end}),
    process_burst = noting(log, {process_burst = function (_, packets, n)
      for i = 0, n - 1 do look(packets[i]) end
    end}),
    push = noting(log, {push = function (self)
      local input, output = self.input.i, self.output.output
      for _ = 1, link.nreadable(input) do
        look(link.front(input))
        link.transmit(output, link.receive(input))
      end
    end}),
  }, log
end

--- Run the graph with a "bad" of that class and policy, if one is given.
function failing.run(bad, policy, options)
  local c = regions.configuration({a = {regions.Pass}, bad = {bad}, b = {regions.Pass}},
    failing.LINKS)
  if policy then config.on_error(c, "bad", policy, options) end
  engine.configure(c)
end

--- Take so many breaths (1).
function failing.breathe(n)
  for _ = 1, n or 1 do engine.breathe() end
end

local stderr = io.stderr

--- From now on what is written to io.stderr is kept; the function that is returned
--- returns all of it.
function failing.listen()
  local said = ""
  local listener = {write = function (_, ...) said = said .. table.concat{...} end}
  rawset(io, "stderr", listener)
  return function () return said end
end

--- No more.
function failing.stop_listening() rawset(io, "stderr", stderr) end

--- Before each test: how many packets are held, and what listen() returns.
function failing.set_up()
  packet.free(packet.allocate())
  return texts.held(), failing.listen()
end

--- After each test.
function failing.tear_down()
  failing.stop_listening()
  engine.fuse, engine.on_error = true, "stop"
  engine.configure(config.new())
end

return failing
