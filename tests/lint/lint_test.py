#!/usr/bin/env python3
"""Each lint finds what it is for, and lets pass what is right."""

import unittest
from pathlib import Path

import coroutine_hazards
import host_paths
import layers
import one_definition
import source_shape


def body(statement):
    return "asio::awaitable<void> run(Stream& stream) {\n  " + statement + "\n}\n"


class CoroutineHazards(unittest.TestCase):
    def found(self, statement):
        return [what for _, what in coroutine_hazards.hazards(body(statement))]

    def test_takes_the_three_good_shapes(self):
        for statement in (
            "co_await send(stream, message);",
            "auto reply = co_await receive(stream);",
            "const Result<Frame> reply = co_await receive(stream);",
            "auto [error, size] = co_await socket.async_read_some(asio::buffer(bytes), kAsTuple);",
            "reply_ = co_await receive(stream);",
            "items[i] = co_await receive(stream);",
            "co_return co_await receive(stream);",
            "auto first = co_await (outcome_of(a()) || outcome_of(b()));",
            "for (;;) {\n co_await tick();\n }",
            "if (ready) {\n co_await tick();\n } else {\n co_await wait();\n }",
            "switch (kind) {\n case Kind::A:\n co_await a();\n break;\n default:\n co_await b();\n }",
            'co_await say("what? { [");  // is { this ? fine',
            "auto task = [](Stream s) -> asio::awaitable<void> {\n co_await tick(std::move(s));\n };",
            "co_spawn(io, [this]() -> asio::awaitable<void> { co_await serve(); }, on_end);",
            "timer.expires_after(a ? b : c);\n co_await timer.async_wait(kAsTuple);",
            "const auto request = Request{1, 2};\n co_await send(request);",
        ):
            self.assertEqual(self.found(statement), [], statement)

    def test_finds_what_gcc_12_breaks(self):
        for statement, expected in (
            ("co_await call(Request{1, 2});", "braced list beside co_await"),
            ("co_await call({1, 2});", "braced list beside co_await"),
            ("auto reply = Reply{co_await f()};", "braced list beside co_await"),
            ("std::vector<int> all = {co_await f()};", "braced list beside co_await"),
            ("co_await call([x] { return x; });", "lambda beside co_await"),
            ("co_await [](int x) -> asio::awaitable<void> { co_return; }(1);", "lambda beside co_await"),
            ("auto r = c ? co_await a() : co_await b();", "two co_await in one expression"),
            ("co_await call(c ? a : b);", "conditional operator beside co_await"),
            ("if (co_await ready(stream)) {\n return;\n }", "co_await in the condition of if"),
            ("if (auto r = co_await read(stream); !r) {\n return;\n }", "co_await in the condition of if"),
            ("while (co_await ready(stream)) {\n }", "co_await in the condition of while"),
            ("use(co_await f());", "co_await inside a larger expression"),
            ("auto r = 1 + co_await f();", "co_await inside a larger expression"),
            ("co_return Reply(co_await f());", "co_await inside a larger expression"),
        ):
            self.assertIn(expected, self.found(statement), statement)

    def test_names_the_line(self):
        self.assertEqual([line for line, _ in coroutine_hazards.hazards(body("co_await call({1});"))], [2])


class Layers(unittest.TestCase):
    def found(self, path, text):
        return list(layers.include_problems(Path(path), text))

    def test_takes_what_points_down(self):
        self.assertEqual(self.found("agent/main.cc", '#include "core/tag.h"\n#include "proto/json.h"\n#include <fmt/core.h>\n'), [])
        self.assertEqual(self.found("core/tag.cc", '#include "core/tag.h"\n#include <tl/expected.hpp>\n#include <vector>\n'), [])

    def test_finds_what_points_up_or_sideways(self):
        for path, include in (
            ("core/tag.cc", '"runtime/log.h"'),
            ("runtime/log.cc", '"proto/json.h"'),
            ("proto/json.cc", '"runtime/log.h"'),
            ("agent/main.cc", '"aggregator/config.h"'),
            ("aggregator/main.cc", '"agent/config.h"'),
            ("agent/main.cc", '"tests/support/process.h"'),
            ("core/tag.cc", "<fmt/core.h>"),
            ("core/tag.cc", "<filesystem>"),
            ("core/tag.cc", "<unistd.h>"),
            ("aggregator/api.cc", '"gpuskew/v1/agent.pb.h"'),
            ("agent/main.cc", '"config.h"'),
        ):
            self.assertEqual(len(self.found(path, f"#include {include}\n")), 1, (path, include))

    def test_finds_a_clock_in_core_but_not_in_its_comments(self):
        path = Path("core/judge.cc")
        self.assertEqual(len(list(layers.core_code_problems(path, "auto t = std::chrono::system_clock::now();\n"))), 1)
        self.assertEqual(list(layers.core_code_problems(path, "// never system_clock::now()\n")), [])

    def test_finds_links_that_point_up(self):
        graph = ["core gpuskew_core gpuskew_options;tl::expected", "runtime gpuskew_runtime gpuskew_core;asio_impl",
                 "agent gpuskew_agent_lib gpuskew_runtime", "aggregator gpuskew_aggregator_lib gpuskew_runtime"]
        self.assertEqual(list(layers.link_problems(graph)), [])
        self.assertEqual(len(list(layers.link_problems(graph + ["agent gpuskew-agent gpuskew_aggregator_lib"]))), 1)
        self.assertEqual(len(list(layers.link_problems(["core gpuskew_core fmt::fmt"]))), 1)


class HostPaths(unittest.TestCase):
    def found(self, path, text):
        return list(host_paths.problems_in(Path(path), text))

    def test_finds_paths_and_calls_of_the_machine(self):
        self.assertEqual(len(self.found("agent/report.cc", 'open("/proc/stat");')), 1)
        self.assertEqual(len(self.found("runtime/log.cc", "uname(&name);")), 1)
        self.assertEqual(len(self.found("runtime/log.cc", "::gethostname(b, n);")), 1)

    def test_takes_what_is_allowed_and_what_only_looks_alike(self):
        self.assertEqual(self.found("agent/probes/kernel.cc", 'root.read("/proc/stat");'), [])
        self.assertEqual(self.found("agent/main.cc", 'config = "/etc/gpuskew/agent.yaml";'), [])
        self.assertEqual(self.found("agent/report.cc", '// "/proc/stat"\nitem.uname(); say("/procedure");'), [])
        self.assertEqual(len(self.found("agent/main.cc", 'open("/etc/hostname");')), 1)


class SourceShape(unittest.TestCase):
    def test_finds_long_files_and_leftovers(self):
        path = Path("core/tag.h")
        self.assertEqual(len(list(source_shape.shape_problems(path, "#pragma once\n" + "\n" * 400))), 1)
        self.assertEqual(len(list(source_shape.shape_problems(path, "int x;\n"))), 1)
        self.assertEqual(len(list(source_shape.shape_problems(Path("a/b.cc"), "co_spawn(io, f(), asio::detached);\n"))), 1)
        self.assertEqual(len(list(source_shape.leftover_problems(path, "// TODO: later\n"))), 1)

    def test_finds_files_no_build_names(self):
        lists = {Path("core"): "add_library(core STATIC tag.cc)", Path("agent"): "add_library(agent probes/kernel.cc)"}
        files = [Path("core/tag.cc"), Path("agent/probes/kernel.cc")]
        self.assertEqual(list(source_shape.build_problems(files, lists)), [])
        self.assertEqual(len(list(source_shape.build_problems([Path("core/tags.cc")], lists))), 1)


class OneDefinition(unittest.TestCase):
    def clashes(self, first, second):
        wrap = "namespace gpuskew {{\n{}\n}}  // namespace gpuskew\n".format
        return list(one_definition.clashes({Path("agent/a.h"): wrap(first), Path("runtime/b.h"): wrap(second)}))

    def test_finds_two_types_of_one_name(self):
        self.assertEqual(len(self.clashes("struct Url {\n};", "class Url {\n};")), 1)
        self.assertEqual(len(self.clashes("enum class Mode : int { A };", "enum class Mode : int { B };")), 1)

    def test_finds_two_functions_of_one_name_and_parameters(self):
        self.assertEqual(len(self.clashes("std::string shown(std::string_view text);",
                                          "std::string shown(std::string_view other);")), 1)

    def test_takes_overloads_declarations_and_what_a_file_keeps_to_itself(self):
        self.assertEqual(self.clashes("struct Url {\n};", "struct Url;"), [])
        self.assertEqual(self.clashes("struct Url {\n};", "namespace {\nstruct Url {\n};\n}  // namespace"), [])
        self.assertEqual(self.clashes("int shown(int value);", "int shown(long value);"), [])


if __name__ == "__main__":
    unittest.main()
