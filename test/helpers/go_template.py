# SPDX-License-Identifier: Apache-2.0
"""As much of Go's text/template, and of Helm's functions, as our chart uses: what it doesn't
know is an error. Where helm is installed test_helm.py compares the two."""

import hashlib
import json
import re

TAG = re.compile(r"\{\{(-?)\s*(.*?)\s*(-?)\}\}", re.S)
WORD = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')


def to_json(value):
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return re.sub("[<>&]", lambda m: f"\\u{ord(m[0]):04x}", text)


FUNCTIONS = {
    "add": lambda a, b: a + b,
    "default": lambda other, x: x or other,
    "int": int,
    "join": lambda between, words: between.join(words),
    "list": lambda *words: list(words),
    "quote": lambda x: to_json(str(x)).replace("\\u003c", "<").replace(
        "\\u003e", ">").replace("\\u0026", "&"),
    "replace": lambda old, new, text: text.replace(old, new),
    "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "toJson": to_json,
    "until": lambda n: list(range(n)),
    "upper": lambda text: text.upper(),
}


class Template:
    """One that is rendered once."""

    def __init__(self, text, root):
        self.root, self.variables = root, {}
        self.items = []  # texts and (statement,)
        at, trim = 0, False
        for tag in TAG.finditer(text):
            before = text[at:tag.start()]
            before = before.lstrip() if trim else before
            self.items += [before.rstrip() if tag[1] else before, (tag[2],)]
            at, trim = tag.end(), bool(tag[3])
        self.items.append(text[at:].lstrip() if trim else text[at:])

    def value(self, word, dot):
        if word.startswith('"'):
            return json.loads(word)
        if word.isdecimal():
            return int(word)
        if word == ".":
            return dot
        head, *names = word.split(".")
        if head and head not in self.variables:
            raise ValueError(f"'{word}' isn't known")
        found = self.variables[head] if head else self.root
        for name in names:
            found = found[name]
        return found

    def evaluate(self, text, dot):
        result = []
        for stage in re.split(r'\s*\|\s*(?=(?:[^"]*"[^"]*")*[^"]*$)', text):
            words = WORD.findall(stage)
            if words[0] in FUNCTIONS:
                given = [self.value(word, dot) for word in words[1:]]
                result = [FUNCTIONS[words[0]](*given, *result)]
            elif len(words) == 1 and not result:
                result = [self.value(words[0], dot)]
            else:
                raise ValueError(f"'{stage}' isn't known")
        return result[0]

    def end_of(self, at):
        """Where the block that begins at `at` has its else, if it has one, and its end."""
        depth, middle = 0, None
        for i in range(at + 1, len(self.items)):
            word = self.items[i][0].split()[0] if isinstance(self.items[i], tuple) else ""
            if word in ("if", "range"):
                depth += 1
            elif word == "else" and depth == 0:
                middle = i
            elif word == "end":
                if depth == 0:
                    return middle, i
                depth -= 1
        raise ValueError(f"'{self.items[at][0]}' has no end")

    def loop(self, what, dot, first, last):
        match = re.fullmatch(r"(?:(\$\w+)(?:, (\$\w+))? := )?(.*)", what)
        value = self.evaluate(match[3], dot)
        pairs = sorted(value.items()) if isinstance(value, dict) else list(enumerate(value))
        out = []
        for key, item in pairs:
            if match[2]:
                self.variables[match[1]], self.variables[match[2]] = key, item
            elif match[1]:
                self.variables[match[1]] = item
            out.append(self.render(item, first, last))
        return "".join(out)

    def render(self, dot, at=0, last=None):
        out, last = [], len(self.items) if last is None else last
        while at < last:
            item = self.items[at]
            if isinstance(item, str):
                out.append(item)
            elif item[0].startswith("if "):
                middle, end = self.end_of(at)
                if self.evaluate(item[0][3:], dot):
                    out.append(self.render(dot, at + 1, middle or end))
                elif middle:
                    out.append(self.render(dot, middle + 1, end))
                at = end
            elif item[0].startswith("range "):
                _, end = self.end_of(at)
                out.append(self.loop(item[0][6:], dot, at + 1, end))
                at = end
            elif assigned := re.fullmatch(r"(\$\w+) := (.*)", item[0], re.S):
                self.variables[assigned[1]] = self.evaluate(assigned[2], dot)
            else:
                out.append(str(self.evaluate(item[0], dot)))
            at += 1
        return "".join(out)


def render(text, root):
    """`root` is what a dot is outside of range: {"Values": ..., "Release": ...}."""
    return Template(text, root).render(root)
