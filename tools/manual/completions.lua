-- SPDX-License-Identifier: Apache-2.0
-- Completions for bash (its completion of words) and zsh (compdef): programs, their
-- commands and options, and files elsewhere.

local tables = require("tables")

local completions = {}

local function names_of(options)
  local list = {}
  for _, option in ipairs(options) do
    for _, name in ipairs(option.names) do list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

-- The general options as those of entries.
local function general(all, anywhere)
  local list = {}
  for _, option in ipairs(all.general) do
    if option.anywhere or not anywhere then
      list[#list + 1] = {names = {option[1], option[2]}, value = option.value,
        text = table.concat(option.help, " ")}
    end
  end
  return list
end

local function program_names(all)
  return require("core.lib.tables").field(all.programs, "name")
end

-- All entries, commands too, with the words that are completed behind each.
local function entries(all)
  local list = {}
  for _, e in ipairs(all.programs) do
    list[#list + 1] = e
    for _, command in ipairs(e.commands) do list[#list + 1] = command end
  end
  return list
end

local function commands_of(e)
  local list = {}
  for i, command in ipairs(e.commands or {}) do
    list[i] = command.name:match("%S+$")
  end
  return list
end

local BASH = [=[
# bash completion for perigee
_perigee() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local program= command= i words
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      %s) [[ $program ]] || ((i++)) ;;
      -*) ;;
      *) if [[ -z $program ]]; then program=${COMP_WORDS[i]}
         elif [[ -z $command ]]; then command=${COMP_WORDS[i]}; fi ;;
    esac
  done
  if [[ -z $program ]]; then
    words="%s"
  else
    case "$program $command" in
%s
    esac
    [[ $word == -* ]] && words+=" %s"
    case $program in
%s
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  if [[ $program && $word != -* && $before != --stack ]]; then
    COMPREPLY+=($(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _perigee perigee
]=]

--- For bash.
function completions.bash(all)
  local valued, cases, commands = {}, {}, {}
  for _, option in ipairs(general(all)) do
    if option.value then valued[#valued + 1] = option.names[1] end
  end
  for _, e in ipairs(entries(all)) do
    local pattern = e.name:find(" ") and ("%q"):format(e.name)
      or ("%q*"):format(e.name .. " ")
    table.insert(cases, e.name:find(" ") and 1 or #cases + 1,
      ('      %s) words="%s" ;;'):format(pattern,
        table.concat(names_of(tables.options(e)), " ")))
    if e.commands and #e.commands > 0 then
      commands[#commands + 1] = ('      %s) [[ $command ]] || words+=" %s" ;;')
        :format(e.name, table.concat(commands_of(e), " "))
    end
  end
  return BASH:format(table.concat(valued, "|"),
    table.concat(names_of(general(all)), " ") .. " "
      .. table.concat(program_names(all), " "),
    table.concat(cases, "\n"), table.concat(names_of(general(all, true)), " "),
    table.concat(commands, "\n"))
end

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- An option as _arguments of zsh has it.
local function specs(option)
  local list = {}
  local text = option.text:gsub("[%[%]:\\]", "\\%0"):gsub("\n.*", "")
  for _, name in ipairs(option.names) do
    local value = ""
    if option.choices then
      value = (":%s:(%s)"):format("value", table.concat(option.choices, " "))
    elseif option.value then
      value = (":%s:_files"):format((option.value:gsub("[:\"]", "")))
    end
    list[#list + 1] = quote(("*%s[%s]%s"):format(name, text, value))
  end
  return list
end

local function all_specs(options)
  local list = {}
  for _, option in ipairs(options) do
    for _, spec in ipairs(specs(option)) do list[#list + 1] = spec end
  end
  return table.concat(list, " \\\n        ")
end

local ZSH = [=[
#compdef perigee
# zsh completion for perigee
_perigee() {
  local line state
  _arguments -C \
        %s \
        '1:program:->program' '*::arguments:->arguments'
  case $state in
    program)
      local -a programs
      programs=(
%s
      )
      _describe program programs ;;
    arguments)
      case $line[1] in
%s
        *) _files ;;
      esac ;;
  esac
}
_perigee "$@"
]=]

--- For zsh.
function completions.zsh(all)
  local programs, cases = {}, {}
  local anywhere = general(all, true)
  for _, e in ipairs(all.programs) do
    programs[#programs + 1] = "        "
      .. quote(e.name:gsub(":", "\\:") .. ":" .. (e.summary or ""))
    local options = tables.options(e)
    for _, command in ipairs(e.commands) do
      for _, option in ipairs(tables.options(command)) do
        options[#options + 1] = option
      end
    end
    for _, option in ipairs(anywhere) do options[#options + 1] = option end
    local first = #e.commands > 0
      and quote(("1:command:(%s)"):format(table.concat(commands_of(e), " ")))
      or quote("*:file:_files")
    cases[#cases + 1] = ("        %s) _arguments \\\n        %s \\\n        %s ;;")
      :format(e.name, all_specs(options), first)
  end
  return ZSH:format(all_specs(general(all)), table.concat(programs, "\n"),
    table.concat(cases, "\n"))
end

return completions
