-- SPDX-License-Identifier: Apache-2.0
-- Errors meant for the person at the terminal. They are in core.lib, which raises them,
-- too; this is their name for everything else.

return require("core.lib.failure")
