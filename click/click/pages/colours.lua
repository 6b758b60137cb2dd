-- SPDX-License-Identifier: Apache-2.0
-- A configuration's text as HTML, with colours: comments, keywords, configuration
-- strings, classes and elements, which link to what is known of them.

local markup = require("lib.markup")
local scanner = require("click.language.scanner")

local colours = {}

local escape = markup.escape

local function span(class, text)
  return ('<span class="%s">%s</span>'):format(class, escape(text))
end

-- What stands between tokens: spaces, comments and # lines.
local function between(text)
  local before, comment, after = text:match("^(%s*)(.-)(%s*)$")
  return before .. (comment ~= "" and span("c-cmt", comment) or "") .. after
end

-- A class of elements: linked to its documentation, if `class_url` says where that is.
local function class_link(name, o)
  local url = o.class_url and o.class_url(name)
  if not url then return span("c-cd", name) end
  return ('<a class="c-cd" href="%s">%s</a>'):format(escape(url), escape(name))
end

local KEYWORDS = {elementclass = true, require = true, provide = true, define = true}

-- Behind these a parenthesis begins a configuration string, else a group.
local CONFIGURED = {name = true, ["}"] = true, define = true, require = true,
  provide = true}

-- Is the name, between the tokens of kinds `before` and `after`, a class?
local function is_class(state, name, before, after)
  if before == "::" or before == "elementclass" then state.classes[name] = true end
  return state.classes[name] or after ~= "::" and state.o.is_class(name)
end

-- A class, an element of the file (where it is declared, it is an anchor), or something
-- else: within braces names are others' names.
local function name_text(state, name, before, after)
  local o = state.o
  if is_class(state, name, before, after) then return class_link(name, o) end
  local e = state.depth == 0 and before ~= "[" and o.elements[name]
  if not e then return escape(name) end
  if after ~= "::" and after ~= "," or o.anchors[name] then
    return ('<a href="#et-%s" title="%s :: %s">%s</a>'):format(escape(name),
      escape(name), escape(e.class), escape(name))
  end
  o.anchors[name] = true
  return ('<a class="c-ed" id="e-%s" href="#et-%s" title="%s :: %s">%s</a>'):format(
    escape(name), escape(name), escape(name), escape(e.class), escape(name))
end

local function token_text(token)
  return KEYWORDS[token.kind] and span("c-kw", token.text) or escape(token.text)
end

local DEEPER = {["{"] = 1, ["}"] = -1}

--- The configuration's text in spans and links of Click's classes (c-cmt, c-kw, c-cfg,
--- c-cd, c-ed). `o` as in html.page, with elements (by name); in `o.anchors` are the
--- names of elements that are declared in it, and have an anchor, e-NAME.
function colours.text(o)
  local text, parts, at = o.text, {}, 1
  local scan = scanner.new(text, o.file, o.errors)
  local state = {o = o, depth = 0, classes = {}}
  local before, name -- a name waits until the next token is known
  local function out(piece) parts[#parts + 1] = piece end
  while true do
    local token = scan:next()
    local gap = between(text:sub(at, token.start - 1))
    if name then
      out(name_text(state, name, before, token.kind))
      before, name = "name", nil
    end
    out(gap)
    if token.kind == "end" then break end
    at = token.start + #token.text
    if token.kind == "name" then
      name = token.text
    else
      out(token_text(token))
      if token.kind == "(" and CONFIGURED[before] then
        scan:config()
        out(span("c-cfg", text:sub(at, scan.at - 1)))
        at = scan.at
      end
      state.depth = state.depth + (DEEPER[token.kind] or 0)
      before = token.kind
    end
  end
  return table.concat(parts)
end

return colours
