-- SPDX-License-Identifier: Apache-2.0
local webserver = require("moongen.tasks.webserver")
_G.class = _G.class or require("moongen.tasks.turbo").class
__LM_WEBSERVER_TASK = webserver.task -- luacheck: ignore 111
return webserver
