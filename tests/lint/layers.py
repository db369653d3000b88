#!/usr/bin/env python3
"""Dependencies point one way: core <- runtime, proto <- agent, aggregator <- tests.

Reads the includes, and, when given the file the build wrote, the link graph:
    layers.py [build/<preset>/tests/lint/link_graph.txt]
"""

import re
import sys

import tree

MAY_USE = {
    "core": {"core"},
    "proto": {"core", "proto"},
    "runtime": {"core", "runtime"},
    "agent": {"core", "proto", "runtime", "agent"},
    "aggregator": {"core", "proto", "runtime", "aggregator"},
    "tests": {"core", "proto", "runtime", "agent", "aggregator", "tests"},
}
# proto/gpuskew/v1/*.proto: the generated header's include path.
GENERATED = re.compile(r"^gpuskew/v1/.*\.pb\.h$")
# Generated types stop in proto and in the code that speaks the stream or keeps its bytes.
GENERATED_ALLOWED = re.compile(
    r"^(proto/|tests/|agent/stream_session\.cc$|aggregator/(stream_conversation|history_restore)\.cc$)")
# core: rules only. No clock, no files, no threads.
CORE_BANNED_HEADERS = {
    "filesystem", "fstream", "iostream", "thread", "mutex", "shared_mutex", "condition_variable", "future",
    "atomic", "random", "cstdio", "csignal", "ctime", "stop_token", "semaphore", "latch", "barrier",
}
CORE_BANNED_CODE = re.compile(r"\b(?:system_clock|steady_clock)::now\b|::time\s*\(|\bgetenv\b|\bthread_local\b")
CORE_LINKS = {"gpuskew_options", "tl::expected"}


def include_problems(path, text):
    folder = path.parts[0]
    for line, name, quoted in tree.includes(text):
        where = f"{path}:{line}"
        if GENERATED.match(name):
            if not GENERATED_ALLOWED.match(path.as_posix()):
                yield f"{where}: generated messages stop at the stream code; take core types and proto/convert.h"
            continue
        target = name.split("/")[0]
        if target in MAY_USE and "/" in name:
            if target not in MAY_USE[folder]:
                yield f"{where}: {folder} may not include {target} (\"{name}\")"
            elif not quoted:
                yield f"{where}: our own headers are included with quotes (\"{name}\")"
        elif quoted and not (folder == "tests" and "/" not in name):
            # What tests of one folder share lies beside them.
            yield f"{where}: \"{name}\" is no path from the root of the tree"
        if folder == "core":
            yield from core_include_problems(where, name, quoted)


def core_include_problems(where, name, quoted):
    if quoted or name == "tl/expected.hpp":
        return
    if "." in name or "/" in name:
        yield f"{where}: core includes the standard library and tl/expected.hpp only (<{name}>)"
    elif name in CORE_BANNED_HEADERS:
        yield f"{where}: core has no IO, clock or threads (<{name}>); take a value instead"


def core_code_problems(path, text):
    code = tree.code_only(text)
    for match in CORE_BANNED_CODE.finditer(code):
        yield f"{path}:{tree.line_of(code, match.start())}: core reads no clock and no environment ({match[0]}); take a value instead"


def link_problems(lines):
    """Lines are `folder target library;library;...`."""
    rows = [line.split(" ", 2) for line in lines if line.strip()]
    folder_of = {target: folder for folder, target, _ in rows}
    for folder, target, libraries in rows:
        for library in filter(None, libraries.strip().split(";")):
            other = folder_of.get(library)
            if other is not None and other not in MAY_USE[folder]:
                yield f"{target}: a target of {folder} may not link {library} of {other}"
            if folder == "core" and other != "core" and library not in CORE_LINKS:
                yield f"{target}: core links {', '.join(sorted(CORE_LINKS))} only, not {library}"


def main(arguments):
    problems = []
    for path in tree.sources(*MAY_USE):
        text = tree.read(path)
        problems += include_problems(path, text)
        if path.parts[0] == "core":
            problems += core_code_problems(path, text)
    if arguments:
        with open(arguments[0], encoding="utf-8") as graph:
            lines = graph.read().splitlines()
        if not any(line.startswith("core ") for line in lines):
            problems.append(f"{arguments[0]}: names no target of core; was it written by this build?")
        problems += link_problems(lines)
    tree.report(problems)


if __name__ == "__main__":
    main(sys.argv[1:])
