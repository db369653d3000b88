#!/usr/bin/env python3
"""g++ 12 silently miscompiles temporaries that live across a co_await: double frees and uses after free.

What is known to be good is short, so this asks for exactly that. A statement with co_await is one of

    co_await f(x);
    co_return co_await f(x);
    auto r = co_await f(x);      // or an assignment to something named

and in it there is no braced list, no lambda and no conditional operator; it is not the condition of an if, while, for or
switch. Anything else is named on the line before.
"""

import re
import sys
from pathlib import Path

import tree

TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.']*|->\*?|::|<=>|\|\||&&|<<=|>>=|[-+*/%&|^=!<>]=|\+\+|--|<<|\.\.\.|\S")
OPENING = {"(": ")", "[": "]", "{": "}"}
CONTROL = {"if", "while", "for", "switch"}
# What may stand before the `=` of a declaration or an assignment: names, scopes, members, indexes, template arguments.
TARGET_TOKEN = re.compile(r"[A-Za-z_]\w*|\d\w*|::|[.,&*<>\[\]]|->|>>")


def tokens_of(text):
    """(offset, token) for all code but preprocessor lines; a literal is one token."""
    code = tree.code_only(text)
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: re.sub(r"[^\n]", " ", match[0]), code, flags=re.MULTILINE)
    code = re.sub(r'"[ \n]*"', lambda match: '""' + match[0][2:].replace('"', " "), code)
    return [(match.start(), match[0]) for match in TOKEN.finditer(code.replace('""', "0 "))]


def statement_around(tokens, index):
    """[begin, end) of the statement the token belongs to, and the control word whose condition it is in, or None."""
    begin, depth = index, 0
    while begin > 0:
        token = tokens[begin - 1][1]
        if token in (")", "]"):
            depth += 1
        elif token in ("(", "["):
            if depth == 0 and token == "(" and begin >= 2:
                word = tokens[begin - 2][1]
                if word == "constexpr" and begin >= 3:
                    word = tokens[begin - 3][1]
                if word in CONTROL:
                    return begin, _end(tokens, index), word
            depth = max(0, depth - 1)
        elif depth == 0 and (token in (";", "}") or token == "{" and _opens_block(tokens, begin - 1)):
            break
        elif depth == 0 and token == ":" and _ends_label(tokens, begin - 1):
            break
        begin -= 1
    return begin, _end(tokens, index), None


def _opens_block(tokens, brace):
    """A `{` behind `)`, `;`, `{`, `}`, a label or a word that introduces a block; else it begins a braced list."""
    if brace == 0:
        return True
    before = tokens[brace - 1][1]
    if before in (")", ";", "{", "}", ":", "else", "do", "try", "mutable", "noexcept", "const"):
        return True
    # A trailing return type: `-> asio::awaitable<void> {`.
    if before == ">":
        at, depth = brace - 1, 0
        while at >= 0 and tokens[at][1] not in (";", "{", "}"):
            if tokens[at][1] == "->" and depth == 0:
                return True
            at -= 1
    return False


def _ends_label(tokens, colon):
    at = colon - 1
    while at >= 0 and re.fullmatch(r"\w+|::", tokens[at][1]):
        if tokens[at][1] in ("case", "default"):
            return True
        at -= 1
    return False


def _end(tokens, index):
    depth = 0
    for at in range(index, len(tokens)):
        token = tokens[at][1]
        if token in OPENING:
            depth += 1
        elif token in OPENING.values():
            depth -= 1
            if depth < 0:
                return at
        elif token == ";" and depth == 0:
            return at
    return len(tokens)


def fault_of(tokens, index):
    """Why this co_await is not in a known good shape, or None."""
    begin, end, control = statement_around(tokens, index)
    if control:
        return f"co_await in the condition of {control}"
    before = [token for _, token in tokens[begin:index]]
    after = [token for _, token in tokens[index + 1:end]]
    if "co_await" in after:
        return "two co_await in one expression"
    if "?" in before or "?" in after:
        return "conditional operator beside co_await"
    if "{" in before or "{" in after:
        kind = "lambda" if _has_lambda(after) or _has_lambda(before) else "braced list"
        return f"{kind} beside co_await"
    if before in ([], ["co_return"]):
        return None
    if before[-1] == "=" and all(TARGET_TOKEN.fullmatch(token) for token in before[:-1]):
        return None
    return "co_await inside a larger expression"


def _has_lambda(tokens):
    return any(token == "[" and (at == 0 or tokens[at - 1] in ("(", ",", "=", "return")) for at, token in enumerate(tokens))


def hazards(text):
    """(line, what) of each co_await in a shape that is not known to be good."""
    tokens = tokens_of(text)
    for index, (offset, token) in enumerate(tokens):
        if token == "co_await":
            fault = fault_of(tokens, index)
            if fault:
                yield tree.line_of(text, offset), fault


def main(arguments):
    files = [Path(argument) for argument in arguments] or tree.sources(*tree.PRODUCT, "tests")
    problems = []
    for path in files:
        text = tree.read(path)
        if "co_await" in text:
            problems += [f"{path}:{line}: {what}; name it first" for line, what in hazards(text)]
    tree.report(problems)


if __name__ == "__main__":
    main(sys.argv[1:])
