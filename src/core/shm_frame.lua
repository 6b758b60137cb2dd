-- SPDX-License-Identifier: Apache-2.0
-- Frames: a directory of shared objects as one table, and the registry of the types
-- they can have. A file's extension is the type of the object in it.

local failure = require("core.failure")

-- A constructor, because core.shm has these functions and they need core.shm.
return function(shm)
  local frame = {}

  --- Type name -> the module that implements it.
  frame.types = {}
  local registered_from = {} -- type name -> source file that registered it

  local provided = {} -- type name -> name of the module that registers it

  --- Let `module` (with functions create(name, ...), open(name, readonly) and perhaps
  --- delete(name)) implement the type called `name`. Returns `name`. A name can be
  --- taken once; the same file may take it again, when it is loaded again. For those
  --- who look at other processes it may have `view`: {bytes = the least that an object
  --- has, read(BYTES) = the value, of a string of at least so many, text(VALUE) = that
  --- for people, unless it is text}.
  function frame.register(name, module)
    assert(module, "shm.register: a type needs its module")
    local source = debug.getinfo(2, "S").source
    if frame.types[name] and registered_from[name] ~= source then
      error(("the shared memory type '%s' is registered already, by %s")
        :format(name, registered_from[name]), 2)
    end
    frame.types[name], registered_from[name] = module, source
    return name
  end

  --- The module called `module` registers the type `name` when it is loaded, which
  --- frame.view does. For types that this process may never use itself.
  function frame.provide(name, module)
    provided[name] = module
  end

  --- The `view` of the type `name`; nil if it isn't known, or has none.
  function frame.view(name)
    if not frame.types[name] and provided[name] then require(provided[name]) end
    local module = frame.types[name]
    return module and rawget(module, "view")
  end

  local reserved = {specs = true, path = true, readonly = true}

  --- Create the objects of `specs`, {name = {module, create's other arguments...}},
  --- under the name `path`. Returns a table with them under their names, and `specs`
  --- and `path` for delete_frame.
  function frame.create_frame(path, specs)
    for name in pairs(specs) do
      if reserved[name] then
        error(("a frame's object can't be called '%s'"):format(name), 2)
      end
    end
    local result = {specs = specs, path = path .. "/"}
    for name, spec in pairs(specs) do
      local module = spec[1]
      local object_name = result.path .. name .. "." .. module.type
      result[name] = module.create(object_name, unpack(spec, 2, table.maxn(spec)))
    end
    return result
  end

  --- Open, to read, every object of a registered type under `path`, as a table like
  --- that of create_frame. Objects that vanish meanwhile are left out.
  function frame.open_frame(path)
    local result = {specs = {}, path = path .. "/", readonly = true}
    for _, file in ipairs(shm.children(path)) do
      local name, extension = file:match("^(.*)%.(.*)$")
      local module = frame.types[extension]
      if module and not reserved[name] then
        local ok, object = pcall(module.open, result.path .. file, "readonly")
        if ok then
          result[name], result.specs[name] = object, {module}
        elseif not failure.is(object) or shm.exists(result.path .. file) then
          error(object, 0)
        end
      end
    end
    return result
  end

  --- Unmap the frame's objects, and remove its directory if create_frame made it.
  function frame.delete_frame(opened)
    for name, spec in pairs(opened.specs) do
      local module = spec[1]
      local delete = rawget(module, "delete")
      if delete then
        delete(opened.path .. name .. "." .. module.type)
      else
        shm.unmap(opened[name])
      end
    end
    if not opened.readonly then shm.unlink(opened.path) end
  end

  return frame
end
