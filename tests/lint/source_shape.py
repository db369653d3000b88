#!/usr/bin/env python3
"""Size, leftovers and build membership of every source file, and leftovers in scripts and documents."""

import os.path
import re

import tree

MAX_LINES = 400
LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK|WIP)\b")
DETACHED = re.compile(r"\bdetached\b")
USING_NAMESPACE = re.compile(r"^[ \t]*using\s+namespace\s+(?!.*_literals\b)(?!.*\bliterals\b)", re.MULTILINE)


def shape_problems(path, text):
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield f"{path}:{MAX_LINES}: {lines} lines; split it, {MAX_LINES} is the limit"
    if path.suffix == ".h" and "#pragma once" not in text:
        yield f"{path}:1: a header begins with #pragma once"
    if text and not text.endswith("\n"):
        yield f"{path}:{lines + 1}: the last line has no end"
    code = tree.code_only(text)
    for pattern, what in ((DETACHED, "a coroutine needs an owner that sees its end; pass a named completion handler"),
                          (USING_NAMESPACE, "no using namespace")):
        for match in pattern.finditer(code):
            line = tree.line_of(code, match.start())
            # A test may take its own vocabulary in, and says so to clang-tidy, too.
            if path.parts[0] != "tests" or "NOLINT" not in text.splitlines()[line - 1]:
                yield f"{path}:{line}: {what}"


def leftover_problems(path, text):
    for number, line in enumerate(text.splitlines(), start=1):
        match = LEFTOVER.search(line)
        if match:
            yield f"{path}:{number}: {match[1]}: do it now or write an issue"


def build_problems(files, cmake_texts):
    """Every .cc is named by a CMakeLists.txt, by its path from there."""
    built = {os.path.normpath(folder / name) for folder, text in cmake_texts.items()
             for name in re.findall(r"[\w./-]+\.cc\b", text)}
    for path in files:
        if path.suffix == ".cc" and str(path) not in built:
            yield f"{path}:1: no CMakeLists.txt names it, so it is never built"


def main():
    files = tree.sources(*tree.PRODUCT, "tests")
    lists = tree.sources(*tree.PRODUCT, "tests", suffixes=(".txt",))
    cmake_texts = {path.parent: tree.read(path) for path in lists if path.name == "CMakeLists.txt"}
    problems = list(build_problems(files, cmake_texts))
    for path in files:
        problems += shape_problems(path, tree.read(path))
    texts = files + lists + tree.sources("docs", "deploy", "packaging", suffixes=(".md", ".yaml", ".in", ".service"))
    for path in texts:
        if path.parts[:2] != ("tests", "lint"):
            problems += leftover_problems(path, tree.read(path))
    tree.report(problems)


if __name__ == "__main__":
    main()
