"""The source tree as the lints see it: which files are ours, and what is code in them.

Every lint prints `path:line: what, and what to do instead` lines and exits 1 when it printed any.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("core", "proto", "runtime", "agent", "aggregator")
SOURCE_SUFFIXES = (".h", ".cc")

# Raw strings first: a quote inside one ends nothing.
_TOKEN = re.compile(
    r'(?P<raw>R"(?P<mark>[^(\s"\\]{0,16})\(.*?\)(?P=mark)")'
    r'|(?P<comment>//[^\n]*|/\*.*?\*/)'
    r'|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?P<char>(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+')",
    re.DOTALL,
)


def sources(*folders, root=ROOT, suffixes=SOURCE_SUFFIXES):
    """Every file with one of the suffixes below the folders, sorted, relative to the root."""
    found = []
    for folder in folders:
        found += [path.relative_to(root) for path in (root / folder).rglob("*")
                  if path.suffix in suffixes and "fixtures" not in path.parts]
    return sorted(found)


def read(path, root=ROOT):
    return (root / path).read_text(encoding="utf-8")


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def code_only(text, keep_strings=False):
    """The text with comments (and literals) blanked; line numbers and columns stay."""

    def replace(match):
        if match["comment"] is not None:
            return _blank(match[0])
        if keep_strings or len(match[0]) < 3:
            return match[0]
        return match[0][0] + _blank(match[0][1:-1]) + match[0][-1]

    return _TOKEN.sub(replace, text)


def string_literals(text):
    """(line, contents) of each string literal outside comments."""
    for match in _TOKEN.finditer(text):
        if match["string"] is not None:
            yield line_of(text, match.start()), match["string"][1:-1]
        elif match["raw"] is not None:
            yield line_of(text, match.start()), match["raw"]


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def includes(text):
    """(line, name, is_quoted) of each include."""
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', text, re.MULTILINE):
        yield line_of(text, match.start()), match[2], match[1] == '"'


def report(problems):
    """Ends the program: 0 when there is no problem."""
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
