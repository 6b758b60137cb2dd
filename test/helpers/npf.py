# SPDX-License-Identifier: Apache-2.0
"""What tests need of NPF's experiment files (https://npf.readthedocs.io): the files in them,
as they are with some tags and variables. One value of each variable, no results."""

import ast
import itertools
import operator
import re

TAGS = r"(?:([-\w,|]+):)?"
SECTION = re.compile(r"%[a-z-]")
NAME = r"\$(?:\{(\w+)\}|(\w+))"

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
             ast.Div: operator.truediv, ast.Mod: operator.mod, ast.USub: operator.neg,
             ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
             ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}


def _value(node):
    """Of an expression of Python's: numbers, texts, comparisons, a if b else c, int()."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](_value(node.operand))
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return OPERATORS[type(node.ops[0])](_value(node.left), _value(node.comparators[0]))
    if isinstance(node, ast.IfExp):
        return _value(node.body if _value(node.test) else node.orelse)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "int":
        return int(_value(node.args[0]))
    raise ValueError(f"an expression of NPF's that isn't known here: {ast.dump(node)}")


def applies(condition, tags):
    """Does "a,-b|c" hold: a, and not b or else c?"""
    def holds(word):
        return word[1:] not in tags if word.startswith("-") else word in tags
    return any(all(map(holds, part.split(","))) for part in (condition or "").split("|")
               if part) or not condition


def _sections(text):
    """(head, body) of each."""
    sections = [["", ""]]
    for line in text.splitlines(keepends=True):
        if SECTION.match(line):
            sections.append([line.strip(), ""])
        else:
            sections[-1][1] += line
    return sections


def included(path, root):
    """The text of the file, with those it includes, by their path below `root`."""
    text = (root / path).read_text()
    return re.sub(r"^%include (\S+)$", lambda m: included(m[1], (root / path).parent)
                  if ((root / path).parent / m[1]).exists() else included(m[1], root), text,
                  flags=re.MULTILINE)


class Experiment:
    """An experiment file's text as it is with the tags; `given` are variables' values."""

    def __init__(self, text, tags, given):
        self.tags, self.values, self.given = tags, {}, given
        sections = _sections(text)
        for kind in "variables", "late_variables":
            for head, body in sections:
                match = re.fullmatch(f"%{TAGS}{kind}", head)
                if match and applies(match[1], tags):
                    self._read(body)
        self.files = {match[2]: body for head, body in sections
                      if (match := re.fullmatch(f"%{TAGS}file@\\w+ (\\S+)", head))
                      and applies(match[1], tags)}

    def _read(self, body):
        for line in body.splitlines():
            match = re.fullmatch(TAGS + r"(\w+)(\?|\+)?=(.*)", re.sub(r"\s*//.*", "", line))
            if not match or not applies(match[1], self.tags):
                continue
            _, name, how, value = match.groups()
            if name in self.given or how == "?" and name in self.values:
                continue
            before = self.values.get(name, "") if how == "+" else ""
            self.values[name] = before + self._expanded(value)

    def _expanded(self, value):
        """A value, of {A,B} the first; of [A-B], EXPAND() and HEAD() a list of them, a
        line each."""
        if match := re.fullmatch(r"\{([^,]*),.*\}", value):
            return match[1]
        if match := re.fullmatch(r"\[(\d+)-(\d+)\]", value):
            return "\n".join(map(str, range(int(match[1]), int(match[2]) + 1)))
        if match := re.fullmatch(r"HEAD\((.*?), *(.*)\)", value):
            return "\n".join(self.fill(match[2]).split("\n")[:int(self.fill(match[1]))])
        if match := re.fullmatch(r"EXPAND\((.*)\)", value):
            return self._all(match[1])
        return value

    def _all(self, text):
        """The text for each combination of values of those variables that have several."""
        names = sorted({a or b for a, b in re.findall(NAME, text)
                        if "\n" in self.values.get(a or b, "")
                        and re.fullmatch(r"[\d\n]+", self.values[a or b])})
        lists = [self.values[name].split("\n") for name in names]
        return "\n".join(self.fill(text, dict(zip(names, one)))
                         for one in itertools.product(*lists))

    def fill(self, text, more=None):
        """The text with its variables' values and expressions' results; what isn't known
        is left to Click."""
        values = {**self.values, **self.given, **(more or {})}
        text = re.sub(r"\$\{(\w+:\d*:?\w+)\}", lambda m: values.get(m[1], m[0]), text)
        before = None
        while text != before:
            before = text
            text = re.sub(NAME, lambda m: values.get(m[1] or m[2], m[0]), text)
        return re.sub(r"\$\(\(((?:[^()]|\([^()]*\))*)\)\)", lambda m: str(
            _value(ast.parse(m[1].strip(), mode="eval").body)), text)

    def configuration(self, *names):
        """These files, one behind the other."""
        return self.fill("".join(self.files[name] for name in names))
