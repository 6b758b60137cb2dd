#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds words that tell a network engineer nothing, where users and newcomers read: pages,
messages and help texts (strings of several words), and the comment at a file's head.

    tools/plain_words.py [--all-comments] [FILE...]

plain_words.txt lists the words and what to write instead. Exits with 1 if it found some.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "snabb", "click", "moongen", "doc", "examples", "experiments",
           "packaging", "contrib")
TESTS = re.compile(r"(_spec\.lua|/test/.*|CHANGELOG\.md)$")
LUA = re.compile(r"""(?P<long>--\[(?P<a>=*)\[.*?\](?P=a)\]) | (?P<comment>--[^\n]*)
    | \[(?P<b>=*)\[(?P<raw>.*?)\](?P=b)\]
    | "(?P<double>(?:\\.|[^"\\\n])*)" | '(?P<single>(?:\\.|[^'\\\n])*)'""",
                 re.DOTALL | re.VERBOSE)
C = re.compile(r"""(?P<long>/\*.*?\*/) | (?P<comment>//[^\n]*)
    | "(?P<double>(?:\\.|[^"\\\n])*)" | '(?:\\.|[^'\\\n])*'""", re.DOTALL | re.VERBOSE)
CODE = re.compile(r"^```.*?^```|^(?:    |\t)[^\n]*|`[^`]*`|\]\([^)]*\)|<!--.*?-->",
                  re.DOTALL | re.MULTILINE)


def blank(text):
    """Spaces in its place, so that lines keep their numbers."""
    return re.sub(r"[^\n]", " ", text)


def prose(page):
    """A page of Markdown without its code and the targets of its links."""
    return CODE.sub(lambda m: blank(m.group()), page)


def kept(match, at_head, all_comments):
    comment = match.groupdict().get("long") or match.groupdict().get("comment")
    if comment:
        return re.sub(r"[-/*]", " ", comment) if at_head or all_comments else None
    for kind in ("raw", "double", "single"):
        string = match.groupdict().get(kind)
        if string and len(string.split()) > 2:
            begin = match.start(kind) - match.start()
            end = match.end() - match.end(kind)
            return " " * begin + string.replace("\\n", "  ") + " " * end
    return None


def spoken(text, syntax, all_comments=False):
    """What a program's text says: strings of several words, and comments: those before
    its first line of code, or all."""
    out, at, at_head = [], 0, True
    for match in syntax.finditer(text):
        between = text[at:match.start()]
        at_head = at_head and not between.strip()
        is_comment = match.group().startswith(("--", "/*", "//"))
        at_head = at_head and is_comment
        text_of = kept(match, at_head, all_comments)
        # Two comments, or two parts of a message, are one text.
        out += [blank(between), text_of or re.sub(r"[^\n]", " ", match.group())]
        at = match.end()
    return "".join(out) + blank(text[at:])


class Words:
    """plain_words.txt: words, what to write instead, and what is let through."""

    def __init__(self, text):
        self.words, self.phrases, self.files = [], [], []
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            kind, _, rest = line.partition(" ")
            parts = [part.strip() for part in rest.split(" -> ")]
            if kind not in ("word", "phrase", "file") or len(parts) != 2:
                raise ValueError(f"plain_words.txt:{number}: not 'word|phrase|file X -> Y': "
                                 f"{line}")
            if kind == "word":
                self.words.append((self.pattern(parts[0]), parts[1]))
            elif kind == "phrase":
                self.phrases.append(self.pattern(parts[0]))
            else:
                self.files.append(parts[0])

    @staticmethod
    def pattern(words):
        return re.compile(r"(?<![\w_-])" + r"\s+".join(words.split()) + r"(?![\w_-])",
                          re.IGNORECASE)

    def excused(self, path):
        return any(path == f or f.endswith("/") and path.startswith(f) for f in self.files)

    def found(self, text):
        """(line, word, what to write instead) of each."""
        for phrase in self.phrases:
            text = phrase.sub(lambda m: blank(m.group()), text)
        for pattern, instead in self.words:
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                yield line, " ".join(match.group().split()), instead


def read(path, all_comments=False):
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        return prose(text)
    return spoken(text, LUA if path.suffix == ".lua" else C, all_comments)


def files():
    here = [p for p in ROOT.iterdir() if p.suffix == ".md"]
    for folder in FOLDERS:
        here += [p for p in (ROOT / folder).rglob("*")
                 if p.suffix in (".md", ".lua", ".c", ".h") and p.is_file()]
    return sorted(p for p in here if not TESTS.search(str(p.relative_to(ROOT))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all-comments", action="store_true",
                        help="read every comment, not only files' heads")
    parser.add_argument("file", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    words = Words((ROOT / "tools/plain_words.txt").read_text())
    count = 0
    for path in [f.resolve() for f in args.file] or files():
        name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
        if not args.file and words.excused(name):
            continue
        for line, word, instead in sorted(words.found(read(path, args.all_comments))):
            print(f"{name}:{line}: '{word}': write {instead}")
            count += 1
    if count:
        print(f"{count} words that say little; tools/plain_words.txt lists what to write "
              "instead, and phrases in which they are right", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
