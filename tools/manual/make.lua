-- SPDX-License-Identifier: Apache-2.0
-- perigee run tools/manual/make.lua FOLDER: writes man pages (man1/*.1) and completions
-- (bash/perigee, zsh/_perigee) there, from the tables that --help prints.

local here = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$")
package.path = here .. "/?.lua;" .. package.path

local completions = require("completions")
local dir = require("pl.dir")
local files = require("core.lib.files")
local man = require("man")
local tables = require("tables")

local folder = ...
local all = tables.read()
for _, name in ipairs{"man1", "bash", "zsh"} do
  assert(dir.makepath(folder .. "/" .. name))
end
files.save(folder .. "/man1/perigee.1", man.general(all))
for _, e in ipairs(all.programs) do
  files.save(("%s/man1/perigee-%s.1"):format(folder, e.name), man.program(e))
end
files.save(folder .. "/bash/perigee", completions.bash(all))
files.save(folder .. "/zsh/_perigee", completions.zsh(all))
