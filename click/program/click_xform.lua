-- SPDX-License-Identifier: Apache-2.0
-- `perigee click-xform`: a configuration with other elements in the place of patterns.

local filter = require("program.click.filter")
local patterns = require("click.transform.patterns")
local rewrite = require("click.transform.rewrite")
local source = require("program.click.source")

local M = {summary = "replace patterns of elements in a Click configuration"}

local MOST = 100000 -- replacements: patterns may make what they are found in

local option = filter.part

local SPECS = {
  option("file", "f", "FILE", "Read the configuration from FILE."),
  option("expression", "e", "EXPR", "The configuration is EXPR."),
  option("patterns", "p", "FILE", "Read patterns from FILE, too."),
  {names = {"reverse"}, letter = "r", field = "reverse",
    help = "Put patterns in the place of replacements."},
  filter.OPTIONS[3], filter.CONFIG, filter.OPTIONS[4], filter.OPTIONS[5],
  filter.OPTIONS[6],
}

-- The options of the configuration, and the list of pattern files: the first word is
-- the configuration, unless an option says it; those behind are patterns.
local function read_parts(o, reporter)
  local config, files = {variables = {}, clickpath = o.clickpath}, {}
  local function set(file, is_expression)
    if config.file then
      return reporter:error("router configuration specified twice")
    end
    config.file, config.expression = file, is_expression
  end
  for _, part in ipairs(o.parts or {}) do
    local name, value = part.value:match("^([%w_]+)=(.*)$")
    if part.kind == "patterns" then
      files[#files + 1] = part.value
    elseif part.kind ~= "word" then
      set(part.value, part.kind == "expression")
    elseif name then
      config.variables[name] = value
    elseif config.file then
      files[#files + 1] = part.value
    else
      set(part.value)
    end
  end
  return config, files
end

local function reversed(rules)
  local list = {}
  for i = #rules, 1, -1 do
    list[#list + 1] = {name = rules[i].name, pattern = rules[i].replacement,
      replacement = rules[i].pattern}
  end
  return list
end

local function read_rules(files, reporter)
  local rules = {}
  for _, file in ipairs(files) do
    local text, name = source.read({file = file}, reporter)
    local list = text and patterns.read{text = text, file = name, errors = reporter}
    for _, rule in ipairs(list or {}) do rules[#rules + 1] = rule end
  end
  return rules
end

--- Run with the command line's arguments (a list of strings).
M.run = filter.program("click-xform", "Write a configuration in which patterns of "
  .. "elements are replaced. A pattern is a compound class NAME of a pattern file, "
  .. "what replaces it is NAME_Replacement.", SPECS,
  "[VAR=VALUE]... [FILE] [PATTERN-FILE]...", function (o, reporter)
    local config, files = read_parts(o, reporter)
    if reporter.count > 0 then return nil end
    local rules = read_rules(files, reporter)
    local flat = filter.read(config, reporter)
    if not flat or reporter.count > 0 then return nil end
    if #files == 0 then reporter:warning("no patterns read") end
    local changed, problem = rewrite.apply(flat, o.reverse and reversed(rules) or rules,
      MOST)
    if not changed then return reporter:error("%s", problem) end
    return filter.text(changed, o.config, true)
  end)

return M
