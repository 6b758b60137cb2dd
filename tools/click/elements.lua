-- SPDX-License-Identifier: Apache-2.0
-- Prints doc/click-elements.md.

io.write(require("click.pages.families").markdown())
