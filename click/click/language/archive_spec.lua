-- SPDX-License-Identifier: Apache-2.0
local archive = require("click.language.archive")
local errors = require("click.errors")
local files = require("core.lib.files")
local language = require("click.language")

local function run(command) return files.readcmd(command, "*a") end

describe("click.language.archive", function ()
  local members = {{name = "config", data = "A :: B;"}, {name = "a", data = ""},
    {name = "a name of more than fourteen letters", data = "xyz"}}

  it("reads what it writes", function ()
    local got = assert(archive.parse(archive.text(members)))
    assert.equal(3, #got)
    for i, member in ipairs(members) do
      assert.equal(member.name, got[i].name)
      assert.equal(member.data, got[i].data)
      assert.equal(tonumber("644", 8), got[i].mode)
    end
    assert.equal(members[2].name, archive.find(members, "a").name)
    assert.is_nil(archive.find(members, "b"))
  end)

  it("reads and writes what ar(1) does", function ()
    if run("command -v ar") == "" then return pending("no ar here") end
    local dir = os.tmpname()
    os.remove(dir)
    run(("mkdir %s && cd %s && printf odd > config && printf even > "
      .. "a_name_of_more_than_14 && ar rc x.a config a_name_of_more_than_14")
      :format(dir, dir))
    local file = assert(io.open(dir .. "/x.a", "rb"))
    local got = assert(archive.parse(file:read("*a")))
    file:close()
    assert.equal("odd", archive.find(got, "config").data)
    assert.equal("even", archive.find(got, "a_name_of_more_than_14").data)
    file = assert(io.open(dir .. "/y.a", "wb"))
    file:write(archive.text(got))
    file:close()
    assert.equal("config\na_name_of_more_than_14\n", run("ar t " .. dir .. "/y.a"))
    assert.equal("odd", run(("ar p %s/y.a config"):format(dir)))
    os.execute("rm -r " .. dir)
  end)

  it("refuses what is no archive, and what is cut off", function ()
    local text = archive.text(members)
    assert.same({nil, "not an archive"}, {archive.parse("!<arc")})
    assert.same({nil, "truncated archive"}, {archive.parse(text:sub(1, -3))})
    assert.same({nil, "truncated archive"}, {archive.parse(text .. "x")})
    assert.same({nil, "bad archive: missing header magic number"},
      {archive.parse(text:gsub("`", "x", 1))})
    for cut = 1, #text - 1 do archive.parse(text:sub(1, cut)) end
  end)

  it("holds configurations", function ()
    local e = errors.new()
    local flat = language.read{text = archive.text(members), errors = e}
    assert.equal("A", flat.elements[1].name)
    assert.equal(3, #flat.archive)
    assert.is_nil(language.read{text = archive.text{members[2]}, errors = e})
    assert.is_nil(language.read{text = "!", file = "x", errors = e})
    assert.equal("config: archive has no 'config' section\nx: not an archive\n",
      e:text())
  end)
end)
