-- SPDX-License-Identifier: Apache-2.0
-- Man pages (man(7)).

local main = require("core.main")
local tables = require("tables")

local man = {}

-- Text that roff is to print as it is.
local function plain(text)
  return (text:gsub("\\", "\\e"):gsub("%-", "\\-")
    :gsub("\n([.'])", "\n\\&%1")
    :gsub("^([.'])", "\\&%1"))
end

local function head(title, name, summary)
  return {
    (".TH %s 1 \"\" \"perigee %s\" \"User commands\""):format(title, main.release),
    ".SH NAME", ("%s \\- %s"):format(plain(name), plain(summary)),
  }
end

local function add(list, ...)
  for _, line in ipairs{...} do list[#list + 1] = line end
end

local function item(list, left, text)
  add(list, ".TP", left, plain(text == "" and "\\&" or text))
end

local function option_head(names, value)
  local words = {}
  for i, name in ipairs(names) do words[i] = "\\fB" .. plain(name) .. "\\fR" end
  return table.concat(words, ", ")
    .. (value and " \\fI" .. plain(value) .. "\\fR" or "")
end

local function add_options(list, e)
  for _, argument in ipairs(tables.arguments(e)) do
    item(list, "\\fI" .. plain(argument.name) .. "\\fR", argument.text)
  end
  for _, option in ipairs(tables.options(e)) do
    item(list, option_head(option.names, option.value), option.text)
  end
end

local function add_entry(list, e)
  local usage = e.help:match("^%s*(Usage:.-)\n\n") or e.help
  add(list, ".SH SYNOPSIS", ".nf", plain((usage:gsub("^Usage: ", ""))), ".fi")
  if e.parser then
    add(list, ".SH DESCRIPTION", plain(e.parser._description or ""), ".SH OPTIONS")
    add_options(list, e)
  else
    add(list, ".SH DESCRIPTION", ".nf", plain(e.help), ".fi")
  end
end

--- The page of a program: text.
function man.program(e)
  local name = "perigee-" .. e.name
  local list = head(name:upper(), name, e.summary or "")
  add_entry(list, e)
  for _, command in ipairs(e.commands) do
    add(list, ".SH \"COMMAND " .. command.name:match("%S+$"):upper() .. "\"",
      plain(command.summary or ""))
    add_options(list, command)
  end
  add(list, ".SH SEE ALSO", "\\fBperigee\\fR(1)")
  return table.concat(list, "\n") .. "\n"
end

--- The page of all of it.
function man.general(all)
  local list = head("PERIGEE", "perigee", "a scriptable software dataplane on DPDK")
  add(list, ".SH SYNOPSIS", "\\fBperigee\\fR [\\fIOPTIONS\\fR] \\fIPROGRAM\\fR "
    .. "[\\fIARGUMENTS\\fR]", ".br",
    "\\fBperigee\\fR \\fIPROGRAM\\fR \\fB\\-\\-help\\fR", ".SH OPTIONS")
  for _, option in ipairs(all.general) do
    item(list, option_head({option[1], option[2]}, option.value),
      table.concat(option.help, " "))
  end
  add(list, ".SH PROGRAMS")
  for _, e in ipairs(all.programs) do
    item(list, ("\\fBperigee\\-%s\\fR(1)"):format(plain(e.name)), e.summary or "")
  end
  add(list, ".SH FILES")
  item(list, "/etc/perigee/NAME.conf",
    "OPTIONS and PROGRAM of the service perigee@NAME.")
  add(list, ".SH EXIT STATUS",
    "0 if all went well, 2 if what was asked for is wrong, 1 after other errors, and "
    .. "128 and the number of the signal that ended a program before it was done.")
  return table.concat(list, "\n") .. "\n"
end

return man
