-- SPDX-License-Identifier: Apache-2.0
std = "luajit"
max_line_length = 88
-- The globals that Snabb's programs expect (set by core.main).
read_globals = {"config", "memory", "link", "packet", "timer", "main", "timeline"}
globals = {"engine"}
self = false
files["**/*_spec.lua"] = {std = "+busted"}

-- Written in Snabb's style: each module's globals are its own.
files["test/snabb"] = {allow_defined = true, unused_args = false, ignore = {"131"}}
files["examples/snabb"] = files["test/snabb"]

-- Scripts of libmoon's: tasks are global functions.
files["examples/moongen"] = {allow_defined_top = true, ignore = {"131"},
  read_globals = {"printf", "class"}}

files["test/moongen"] = {allow_defined = true, ignore = {"111", "112", "113", "131"}}
files["bench/lua/moongen.lua"] = {read_globals = {"parseIPAddress"}}

-- Globals that scripts of libmoon's find.
files["moongen/moongen"] = {read_globals = {"parseMacAddress", "parseIPAddress", "green"}}

-- It catches busted's os.exit.
files["src/program/test"] = {ignore = {"122"}}

-- What tests and tools make.
exclude_files = {"build"}
