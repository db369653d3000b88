#!/usr/bin/env python3
"""A host is read beneath a root that is passed in, so that a node, /host in a container and a fixture are one code.

A literal host path, or a call that asks the running machine, is allowed where host paths are kept, and in the few places
listed here with the reason.
"""

import re

import tree

# (file, literal or call, why it may stand there)
ALLOWED = [
    (r"agent/(host_root|paths)\.(h|cc)$", r".*", "opens the root itself"),
    (r"agent/probes/[a-z_]+\.(h|cc)$", r"/?(proc|sys|etc|boot)/.*", "paths beneath the root, handed to HostRoot"),
    (r"(agent|aggregator|runtime)/[a-z_]+\.(h|cc)$", r"/proc/self/.*", "this very process, not the host"),
    (r"(agent|aggregator)/(main|config|options|command_line|flags|cli/[a-z_]+)\.(h|cc)$", r"/etc/gpuskew(/.*)?",
     "where our own configuration is by default"),
]
HOST_PATH = re.compile(r"^/(proc|sys|etc|lib/modules|boot)(/|$)")
MACHINE_CALL = re.compile(r"(?<![\w.>])(?:::\s*)?\b(uname|gethostname|sysconf|get_nprocs|getloadavg|sysinfo)\s*\(")


def allowed(path, text):
    return any(re.search("^" + file, path) and re.fullmatch(what, text) for file, what, _ in ALLOWED)


def problems_in(path, text):
    name = path.as_posix()
    for line, literal in tree.string_literals(text):
        if HOST_PATH.match(literal) and not allowed(name, literal):
            yield f'{name}:{line}: "{literal}" is a path of the machine; read it beneath HostRoot'
    code = tree.code_only(text)
    for match in MACHINE_CALL.finditer(code):
        if not allowed(name, match[1]):
            yield f"{name}:{tree.line_of(code, match.start())}: {match[1]}() asks the running machine; read it beneath HostRoot"


def main():
    # core and proto open nothing: a path there is part of a sentence.
    files = tree.sources("runtime", "agent", "aggregator")
    tree.report([problem for path in files for problem in problems_in(path, tree.read(path))])


if __name__ == "__main__":
    main()
