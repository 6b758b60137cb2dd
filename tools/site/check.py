# SPDX-License-Identifier: Apache-2.0
"""Follows the links of a static site within itself: each leads to a file that is there,
and to a part of it that has this name."""

import html.parser
import os.path
import pathlib
import urllib.parse


def normal(path):
    """The path without its "..", as links are followed."""
    return os.path.normpath(path)


def relative(path, folder):
    """The path as a link from a page in the folder."""
    return os.path.relpath(path, folder)


class Page(html.parser.HTMLParser):
    """A page's links, and the names that can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.names = [], set()
        self.feed(path.read_text(encoding="utf-8", errors="replace"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.names.update(value for name in ("id", "name") if (value := attrs.get(name)))
        for name in "href", "src":
            if attrs.get(name) and tag not in ("base",):
                self.links.append(attrs[name])


def problems(root):
    """A sentence for each link that leads nowhere."""
    root = pathlib.Path(root).resolve()
    pages = {path: Page(path) for path in root.rglob("*.html")}
    found = []
    for path, page in sorted(pages.items()):
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc or path.name == "404.html":
                continue
            to = path if not url.path else \
                pathlib.Path(normal(path.parent / urllib.parse.unquote(url.path)))
            if to.is_dir():
                to /= "index.html"
            part = urllib.parse.unquote(url.fragment)
            if not to.is_file():
                found.append(f"{path.relative_to(root)} links to {link}: there is no such page")
            elif part and to in pages and part not in pages[to].names:
                found.append(f"{path.relative_to(root)} links to {link}: that page has no "
                             f"'#{part}'")
    return found
