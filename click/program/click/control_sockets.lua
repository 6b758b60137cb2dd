-- SPDX-License-Identifier: Apache-2.0
-- The control sockets that the command line asks for (-p, -u, --socket), as elements of
-- the configuration.

local control_sockets = {}

local KINDS = {{"ports", "TCP"}, {"unix_sockets", "UNIX"}, {"sockets", "SOCKET"}}

--- The elements for the options' sockets, a list for click.language's flat form.
function control_sockets.elements(o)
  local list = {}
  for _, kind in ipairs(KINDS) do
    for _, where in ipairs(o[kind[1]] or {}) do
      local port = tostring(where):match("^0%.0%.0%.0:(%d+%+?)$")
      list[#list + 1] = {class = "ControlSocket", landmark = "click",
        name = "click_driver@@ControlSocket" .. (#list > 0 and "@" .. #list or ""),
        config = port and ("%s, %s, LOCALHOST false"):format(kind[2], port)
          or ("%s, %s"):format(kind[2], where)}
    end
  end
  return list
end

return control_sockets
