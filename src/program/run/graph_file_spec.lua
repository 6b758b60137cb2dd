-- SPDX-License-Identifier: Apache-2.0

local cjson = require("cjson")
local config = require("core.config")
local graph_file = require("program.run.graph_file")
local lib = require("core.lib")
local links = require("program.run.links")
local main = require("core.main")
local stdlib = require("posix.stdlib")

local function parse(text) return graph_file.parse("g.yaml", text) end

local function refused(text)
  local ok, err = pcall(function () parse(text):check() end)
  assert.is_false(ok, text)
  assert.equal(2, err.status)
  return tostring(err)
end

describe("A link of a graph file", function ()
  local function specs(text)
    local list, found = links.of(text), {}
    for i, link in ipairs(list or {}) do found[i] = link.spec end
    return list and found
  end

  it("is one of the engine's, or a chain", function ()
    assert.same({"a.output -> b.input"}, specs("a -> b"))
    assert.same({"a.x -> b.y"}, specs(" a.x->b.y "))
    assert.same({"a.x -> b.input", "b.output -> c/d@.y"}, specs("a.x -> b -> c/d@.y"))
  end)

  it("of other shapes is refused", function ()
    for _, text in ipairs{"", "a", "a ->", "-> b", "a b -> c", "a. -> b", "a > b"} do
      assert.is_nil(specs(text), text)
    end
    assert.matches("'b.in' is in the midst", select(2, links.of("a -> b.in -> c")))
  end)
end)

describe("A graph file", function ()
  it("says what is kept, who stands by, and where it is sent", function ()
    local ports = "ports: {a: null}\n"
    local graph = parse(ports .. "keep: x\nstandby: true\n"
      .. "replicate_to: '192.0.2.1 --listen 192.0.2.2'")
    assert.same({"x", true, "192.0.2.1 --listen 192.0.2.2"},
      {graph.keep, graph.standby, graph.replicate_to})
    assert.is_nil(parse(ports .. "keep: x\nstandby: false").standby)
    for text, said in pairs{
        ["keep: x\nstandby: 1"] = "g.yaml:3: standby is true or false, not the number",
        ["standby: true"] = "g.yaml:2: `standby` needs a name: add `keep: NAME`",
        ["replicate_to: '192.0.2.1'"] = "g.yaml:2: `replicate_to` needs a name",
        ["keep: x\nreplicate_to: '192.0.2.1:0'"] =
          "g.yaml:3: address: '192.0.2.1:0' is no",
        ["keep: x\nreplicate_to: '192.0.2.1 --role master'"] =
          "g.yaml:3: `replicate_to`: the role can't be given here",
        ["keep: x\nreplicate_to: [a]"] = "g.yaml:3: replicate_to is "} do
      assert.matches(said, refused(ports .. text), 1, true)
    end
  end)

  it("becomes a configuration", function ()
    local graph = parse[[
name: one
cpus: 0
ports: {in: null, out: {port: "null:size=70", burst: 3, cpu: 2, on_error: drop}}
apps:
  cut:
    class: apps.basic.basic_apps.Truncate
    arg: 50
    cpu: 1
    on_error: {policy: restart, times: 2}
  fwd: apps.fwd.fwd
links: [in -> cut -> fwd, fwd.output -> out.input]
]]
    local c = graph.configuration
    assert.equal("one", graph.name)
    assert.equal("0", graph.cpus)
    assert.same({"cut", "fwd", "in", "out"}, config.sorted_keys(c.apps))
    assert.equal("null", c.apps["in"].arg)
    assert.same({port = "null:size=70", burst = 3}, c.apps.out.arg)
    assert.equal(require("apps.fwd.fwd").Fwd, c.apps.fwd.class)
    assert.equal(50, c.apps.cut.arg)
    assert.same({cut = 1, out = 2}, c.cpus)
    assert.same({policy = "restart", times = 2, seconds = 10}, c.apps.cut.on_error)
    assert.equal("drop", c.apps.out.on_error.policy)
    assert.same({"cut.output -> fwd.input", "fwd.output -> out.input",
      "in.output -> cut.input"}, config.sorted_keys(c.links))
    graph:check()
  end)

  it("has copies of apps", function ()
    local c = parse("ports: {p: null}\nreplicate: [{apps: [p], cpus: 0-1}]\n")
      .configuration
    assert.same({p_1 = 0, p_2 = 1}, c.cpus)
  end)

  it("takes strings from elsewhere, and tells them to nobody", function ()
    local path = os.tmpname()
    assert(lib.writefile(path, "s3cret word\n"))
    stdlib.setenv("PERIGEE_SPEC_PORT", "packet:s3cret")
    local text = "apps: {a: {class: apps.fwd.fwd, arg: {x: [{$file: " .. path .. "}]}}}"
    local graph = parse(text)
    assert.same({x = {"s3cret word"}}, graph.configuration.apps.a.arg)
    assert.same({path}, graph.notes.files)
    os.remove(path)
    local said = refused("ports: {p: {$env: PERIGEE_SPEC_PORT}}")
    assert.is_nil(said:find("s3cret", 1, true))
    assert.matches("g.yaml:1: app 'p': port '%(%$env PERIGEE_SPEC_PORT%)': there is no "
      .. "kernel interface '%(%$env PERIGEE_SPEC_PORT%)'", said)
    stdlib.setenv("PERIGEE_SPEC_PORT", "null") -- a word of the sentence, too
    local unknown = refused("ports: {p: nix, q: {$env: PERIGEE_SPEC_PORT}}")
    assert.truthy(unknown:find("'nix' isn't a port; a port is null[:size=60]", 1, true))
    stdlib.setenv("PERIGEE_SPEC_PORT", nil)
    assert.equal("g.yaml:1: $env: there is no variable PERIGEE_SPEC_PORT",
      refused("ports: {p: {$env: PERIGEE_SPEC_PORT}}"))
    assert.equal("g.yaml:1: $file: can't read /dev/zero: it isn't a file",
      refused("ports: {p: {$file: /dev/zero}}"))
  end)

  it("that is wrong gets a sentence with the line, and what is near", function ()
    local sink = "apps:\n  s: {class: apps.basic.basic_apps.Sink"
    for text, sentence in pairs{
      ["\napp: {}"] = "2: a graph has no key 'app'; is 'apps' meant?",
      ["name: x"] = "1: a graph has `apps` or `ports`; this has none",
      ["name: a/b\nports: {p: null}"] = "1: 'a/b' can't name a program",
      ["apps:\n  s: apps.basic.basic_apps.Sinc"] =
        "2: the module apps.basic.basic_apps has no class 'Sinc'; is 'Sink' meant?",
      ["apps:\n  s: apps.basic.basic_aps.Sink"] =
        "2: there is no module of the class 'apps.basic.basic_aps.Sink'; is "
        .. "'apps.basic.basic_apps' meant?",
      ["apps:\n  s: ../x"] = "2: there is no module of the class '../x'",
      ["apps:\n  s: apps.basic.basic_apps"] =
        "2: apps.basic.basic_apps is a module; add the class: apps.basic.basic_apps.J",
      ["apps:\n  s: {clas: x}"] = "2: app 's' has no key 'clas'; is 'class' meant?",
      ["apps:\n  s: {}"] = "2: app 's' has no class",
      [sink .. ", cpu: x}"] = "2: cpu of 's' is a number, not the string 'x'",
      [sink .. ", cpu: 9999}"] = "2: app 's': a CPU is a whole number from 0 to 1023",
      [sink .. ", on_error: no}"] = "2: config.on_error of app 's': 'no' is none of",
      [sink .. ", on_error: {tims: 1}}"] =
        "2: on_error of 's' has no key 'tims'; is 'times' meant?",
      ["apps:\n  r:\n    class: apps.rate_limiter.rate_limiter.RateLimiter\n"
        .. "    arg: {rat: 1}"] =
        "4: the argument of 'r' has no key 'rat'; is 'rate' meant?",
      ["ports:\n  p: {port: null, bust: 1}"] =
        "2: port 'p' has no key 'bust'; is 'burst' meant?",
      ["ports:\n  p: nul"] = "2: app 'p': 'nul' isn't a port; a port is null",
      ["ports:\n  p: null\n  p: null"] =
        "3: the key 'p' is here twice; first in line 2",
      ["ports:\n  p: null\napps:\n  p: apps.fwd.fwd"] =
        "4: 'p' is an app already, in line 2",
      ["ports: {ab: null}\nlinks:\n  - ab -> abc"] =
        "3: link 'ab.output -> abc.input': there is no app 'abc'; is 'ab' meant?",
      ["ports: {a: null, b: null}\nlinks:\n  - a -> b\n  - a.output -> b"] =
        "4: the link 'a.output -> b.input' is here twice; first in line 3",
      ["ports: {a: null, b: null}\nlinks:\n  - a.outptu -> b"] =
        "3: link 'a.outptu -> b.input': app 'a' has no output 'outptu'",
      ["ports: {p: null}\ncpus: 4-1"] = "2: cpus 4-1: 4-1 has no CPU",
      ["ports: {p: null}\nreplicate:\n  - {apps: [p]}"] =
        "3: an entry of replicate has no cpus",
    } do
      local said = refused(text)
      assert.equal("g.yaml:" .. sentence, said:sub(1, #sentence + 7))
    end
  end)

  it("has the keys that its schema tells", function ()
    local file = assert(io.open(main.root .. "/doc/graph.schema.json"))
    local schema = cjson.decode(file:read("*a"))
    file:close()
    local on_error = schema["$defs"].onError.anyOf[2]
    for what, part in pairs{graph = schema, app = schema["$defs"].app,
        port = schema["$defs"].port, on_error = on_error,
        replicate = schema.properties.replicate.items} do
      local known = {unpack(graph_file.KEYS[what])}
      table.sort(known)
      assert.same(known, config.sorted_keys(part.properties), what)
    end
  end)
end)
