-- SPDX-License-Identifier: Apache-2.0
-- Apps that send packets which they keep (send_shared) next to ports that take such:
-- those whose drivers only read what they send, and free it by reference count.

local config = require("core.config")
local device = require("core.fuse.device")
local mode = require("core.check.mode")

local shared_ports = {}

--- Call app:send_shared(ports) of each of the running apps that has it: `ports` has, by
--- link, the struct port at the other end where the app may send its packets past the
--- link. There is none unless that is `wanted`, nor with --check, which follows each.
function shared_ports.tell(apps, links, wanted)
  local ports = {}
  for name, app in pairs(apps) do
    if app.send_shared then ports[name] = {} end
  end
  if not next(ports) then return end
  for spec, l in pairs(wanted and not mode.on and links or {}) do
    local from, _, to = config.parse_link(spec)
    local app = apps[to]
    if ports[from] and app and app.takes_shared then
      ports[from][l] = device.of(app, "push")
    end
  end
  for name, of in pairs(ports) do apps[name]:send_shared(of) end
end

return shared_ports
