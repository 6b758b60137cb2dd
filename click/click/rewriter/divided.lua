-- SPDX-License-Identifier: Apache-2.0
-- Whether copies of a router on several CPUs can divide a rewriter's flows.

local inputs = require("click.rewriter.inputs")

local LEAST_CHOICES = 32 -- of ports or addresses, for each of several CPUs

--- Why there can't be `n` copies of the router on as many CPUs, or nil: each copy gives
--- new flows ports by which their replies come to it (native/flow_table.c).
return function (self, n)
  for i, spec in ipairs(self.specs) do
    for _, pattern in ipairs(inputs.patterns(spec)) do
      if not pattern:changes_nothing() and pattern:choices() < LEAST_CHOICES * n then
        return ("input %d leaves it %s to choose a port from, and %d CPUs need %d: "
          .. "replies couldn't be led to the CPU of their flow"):format(i - 1,
          pattern:choices() == 1 and "none" or tostring(pattern:choices()), n,
          LEAST_CHOICES * n)
      end
    end
  end
end
