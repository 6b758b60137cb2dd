-- SPDX-License-Identifier: Apache-2.0
-- An app that prints each call of the engine.

module(..., package.seeall)

Diary = { config = { text = { required = true }, quiet = { default = false } } }

function Diary:new (conf)
   print("new " .. conf.text)
   return setmetatable({ text = conf.text, ticks = 0, pushed = 0 },
                       { __index = Diary })
end

function Diary:link (direction, name)
   print(("link %s %s %s"):format(self.text, direction, name))
end

function Diary:unlink (direction, name)
   print(("unlink %s %s %s"):format(self.text, direction, name))
end

function Diary:reconfig (conf)
   print(("reconfig %s to %s"):format(self.text, conf.text))
   self.text = conf.text
end

function Diary:tick ()
   self.ticks = self.ticks + 1
end

function Diary:push ()
   for _, input in ipairs(self.input) do
      while not link.empty(input) do
         packet.free(link.receive(input))
         self.pushed = self.pushed + 1
      end
   end
end

function Diary:stop ()
   print("stop " .. self.text)
end

-- The same app without reconfig(): another argument makes it start anew.

Stubborn = setmetatable({ reconfig = false }, { __index = Diary })

function Stubborn:new (conf)
   print("new " .. conf.text)
   return setmetatable({ text = conf.text, ticks = 0, pushed = 0 },
                       { __index = Stubborn })
end
