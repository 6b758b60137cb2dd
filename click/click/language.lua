-- SPDX-License-Identifier: Apache-2.0
-- Click's language: from the text of a configuration to the flat one that a
-- router is built of.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local archive = require("click.language.archive")
local expansion = require("click.language.expansion")
local parser = require("click.language.parser")

local language = {}

-- The configuration in `text`, and the members of the archive if it is one.
local function unpack_archive(text, file, errors)
  if not archive.is(text) then return text, {} end
  local members, problem = archive.parse(text)
  local config = members and archive.find(members, "config")
  if config then return config.data, members end
  errors:error("%s: %s", file, problem or "archive has no 'config' section")
end

--- Read a configuration. `options`:
---   text, file      the text, and the name of where it is from, for messages
---   errors          a collector of click.errors; it is told all that is wrong
---   variables       {NAME = value}, which count more than those of `define`
---   class_of        function(name), true for names of element classes
---   class_names     function(), a list of their names, to suggest one
---   any_class       true: any name may be a class (click-flatten), if class_of is nil
---                   this is so as well
---   packages        a set of names that require() may name; nil: it may name any
---   keep_variables, in_place   see click.language.expansion
--- Returns the flat configuration, or nil if there were errors:
---   elements        a list of {name=, class= (a name), config=, landmark=}
---   connections     a list of {from=, output=, to=, input=, landmark=}: indices of
---                   elements, from 1; ports, from 0
---   requirements    a list of {kind, value}, such as {"package", "x"}
---   defines         a list of {name=, value=}: the file's variables
---   archive         the members of the archive it was in (empty if it wasn't)
---   source          the text; nil if the file says require(compact_config)
function language.read(options)
  local errors, file = options.errors, options.file or "config"
  local before = errors.count
  local text, members = unpack_archive(options.text, file, errors)
  if not text then return nil end
  local tree = parser.read{text = text, file = file, errors = errors,
    class_of = options.class_of, class_names = options.class_names,
    any_class = options.any_class or not options.class_of,
    packages = options.packages}
  local flat = expansion.flatten(tree, options)
  if errors.count > before then return nil end
  flat.requirements, flat.archive = tree.requirements, members
  flat.source = not tree.compact and text or nil
  return flat
end

return language
