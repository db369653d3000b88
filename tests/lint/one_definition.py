#!/usr/bin/env python3
"""One name, one thing: two types or two functions of one name and two meanings in different libraries of ours are
undefined behaviour in the first program that links both, and no linker says so."""

import re
from collections import defaultdict

import tree

_OPEN = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{")
# The comment tells a namespace's end from a function's.
_CLOSE = re.compile(r"^\}\s*// namespace\b")
_TYPE = re.compile(r"^(?:struct|class|union|enum(?: class| struct)?)\s+(?:\[\[[\w:, ]+\]\]\s*)?"
                   r"((?:\w+::)*\w+)\b[^;{]*\{")
_FUNCTION = re.compile(r"^(?=\w)(?!using|typedef|return|static|namespace|constexpr|consteval|template)"
                       r"[\w:<>,&* ]*?[\w>&*] (\w+)(\([^;{}]*\)(?: const)?(?: noexcept)?);", re.MULTILINE)
_DEFAULT = re.compile(r" = [^,)]*")
_PARAMETER_NAME = re.compile(r"(?<=[\w>&*]) \w+(?=[,)])")


def definitions(text, header):
    """(kind and full name, line) of each type a file defines, and each function a header declares, for the linker."""
    code = tree.code_only(text)
    scope = []
    for number, (line, commented) in enumerate(zip(code.splitlines(), text.splitlines()), start=1):
        opened = _OPEN.match(line)
        found = _TYPE.match(line)
        if opened:
            scope.append(opened[1] or "<anonymous>")
        elif scope and _CLOSE.match(commented):
            scope.pop()
        elif found and "<anonymous>" not in scope:
            yield f"type {'::'.join(scope + [found[1]])}", number
    if header:
        for found in _FUNCTION.finditer(code):
            parameters = _PARAMETER_NAME.sub("", _DEFAULT.sub("", re.sub(r"\s+", " ", found[2])))
            yield f"function {found[1]}{parameters}", tree.line_of(code, found.start())


def clashes(files):
    """files: {path: text}. The lines to report."""
    places = defaultdict(list)
    for path, text in files.items():
        for name, line in definitions(text, path.suffix == ".h"):
            places[name].append((path, line))
    for name, found in sorted(places.items()):
        if len({path for path, _ in found}) > 1:
            where = ", ".join(f"{path}:{line}" for path, line in found[1:])
            yield f"{found[0][0]}:{found[0][1]}: {name} is also in {where}; one program may link both: rename one"


def main():
    tree.report(list(clashes({path: tree.read(path) for path in tree.sources(*tree.PRODUCT)})))


if __name__ == "__main__":
    main()
