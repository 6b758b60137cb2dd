-- SPDX-License-Identifier: Apache-2.0
-- Elements along pull connections.

local pull_paths = {}

-- `seen`: elements that the search has been at.
local function search(e, is_output, accept, may_pass, seen)
  local letters = is_output and e.processing.outputs or e.processing.inputs
  for port = 1, is_output and e.noutputs or e.ninputs do
    local far_ports = letters:sub(port, port) == "l" and e.peers[is_output][port]
    for _, far in ipairs(far_ports or {}) do
      local other = far.element
      if not seen[other] and (not may_pass or may_pass(far)) then
        seen[other] = true
        if accept(other) or search(other, is_output, accept, may_pass, seen) then
          return true
        end
      end
    end
  end
  return false
end

--- Is there an element for which accept(element) is true, from `e` along pull
--- connections: towards what pulls from it (`is_output` true), or towards what it pulls
--- from? `may_pass(far)`, if given, says whether to go on by a port {element =, port
--- =}.
function pull_paths.reach(e, is_output, accept, may_pass)
  return search(e, is_output, accept, may_pass, {[e] = true})
end

return pull_paths
