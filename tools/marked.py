# SPDX-License-Identifier: Apache-2.0
"""Parts of a page that a tool writes, each between two comments of its name."""
import re


def replace(text, name, part):
    """The page's text with `part` between the comments of `name`."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    if begin not in text or end not in text:
        raise ValueError(f"the page has no part '{name}': it begins with "
                         f"{begin.strip()} and ends with {end}")
    pattern = re.escape(begin) + ".*?" + re.escape(end)
    return re.sub(pattern, lambda _: begin + part.rstrip("\n") + "\n" + end, text,
                  count=1, flags=re.DOTALL)


def refresh(page, name, part):
    """Write `part` into the page, a pathlib.Path."""
    page.write_text(replace(page.read_text(), name, part))
