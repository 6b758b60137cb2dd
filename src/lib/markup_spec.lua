-- SPDX-License-Identifier: Apache-2.0
local markup = require("lib.markup")

describe("Text in XML and HTML", function ()
  it("has entities in the place of what ends texts and attributes", function ()
    assert.equal("a&lt;b&gt; &amp;amp; &quot;c&quot; &#39;d&#39;\n",
      markup.escape([[a<b> &amp; "c" 'd']] .. "\n"))
  end)
end)
