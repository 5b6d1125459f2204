#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of scripts/mutate itself: the lists, the rewriting, the verdicts, and the exit code. Nothing is built."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import batches  # noqa: E402
import faults as lists  # noqa: E402
import running  # noqa: E402

TEXT = "int f(int a) {\n  if (a < 3) return 1;\n  g(a);\n  return a < 3;\n}\n"


def one(code, **more):
    fault = lists.parse(f"file f.c\nby unit x\n\nid a/b\n{code}\n", "t.faults")[0]
    for key, value in more.items():
        setattr(fault, key, value)
    return fault


def script():
    loader = importlib.machinery.SourceFileLoader("mutate_script", str(HERE.parents[1] / "scripts" / "mutate"))
    spec = importlib.util.spec_from_loader("mutate_script", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


class Lists(unittest.TestCase):
    def error(self, text):
        with self.assertRaises(lists.ListError) as caught:
            lists.parse(text, "t.faults")
        return str(caught.exception)

    def test_defaults_hold_until_others_are_given(self):
        text = "file a.c\nby unit x\n\nid a/one\n- x\n+ y\n\nid a/two\n- z;\nby guest live/a.sh\n\nfile b.c\n\nid a/three\n- x\n+ y\n"
        found = lists.parse(text, "t.faults")
        self.assertEqual([(f.file, f.by) for f in found],
                         [("a.c", "unit x"), ("a.c", "guest live/a.sh"), ("b.c", "unit x")])

    def test_what_is_wrong_has_a_place(self):
        for text, needle in (("id nonsense\n", "t.faults:1"), ("file a\n\nid a/b\nwhat is this\n", "t.faults:4"),
                             ("id a/b\n- x\n+ y\nby unit x\n", "no file"), ("file a\n\nid a/b\n- x\n+ y\n", "no test"),
                             ("file a\nby unit x\n\nid a/b\n- x\n", "needs a line with '+'"),
                             ("file a\nby nobody\n\nid a/b\n- x;\n", "unit PATTERN"), ("by unit x\n\nfile a\n\nid a/b\n", "'-'")):
            self.assertIn(needle, self.error(text))

    def test_real_lists_fit_the_sources(self):
        root = HERE.parents[1]
        by_file = {}
        for fault in lists.read_lists(HERE):
            by_file.setdefault(fault.file, []).append(fault)
        for name, its in by_file.items():
            lists.mutated((root / name).read_text(), name, its)
            for test in {f.by.split()[1] for f in its if f.by.startswith("guest live/")}:
                self.assertTrue(os.access(root / "tests" / test, os.X_OK), test)
        self.assertGreaterEqual(sum(not f.always for its in by_file.values() for f in its), 200)


class Rewriting(unittest.TestCase):
    def test_an_expression_and_a_statement(self):
        fault = one("in return a < 3;\n- a < 3\n+ a <= 3")
        self.assertIn(f"return (SBPF_MUTANT_OF_UNITS({fault.number}u) ? (a <= 3) : (a < 3));", lists.mutated(TEXT, "f.c", [fault]))
        fault = one("- g(a);")
        self.assertIn(f"{{ if (SBPF_MUTANT_OF_UNITS({fault.number}u)) {{  }} else {{ g(a); }} }}", lists.mutated(TEXT, "f.c", [fault]))

    def test_programs_have_the_faults_that_guests_look_for(self):
        fault = one("- g(a);\nby guest live/a.sh")
        self.assertIn(f"SBPF_MUTANT({fault.number}u)", lists.mutated(TEXT, "f.c", [fault]))

    def test_a_pattern_that_is_not_there_is_an_error(self):
        with self.assertRaisesRegex(lists.ListError, "a/b: f.c: not found"):
            lists.mutated(TEXT, "f.c", [one("- a > 3\n+ 0")])

    def test_a_pattern_that_is_there_twice_is_an_error(self):
        with self.assertRaisesRegex(lists.ListError, "a/b: f.c: found 2 times"):
            lists.mutated(TEXT, "f.c", [one("- a < 3\n+ 0")])
        with self.assertRaisesRegex(lists.ListError, "found 2 times"):
            lists.mutated(TEXT, "f.c", [one("in a < 3\n- a\n+ 0")])

    def test_faults_of_one_place_and_within_another(self):
        outer, inner = one("- if (a < 3) return 1;", id="a/e"), one("- return 1;", id="a/f")
        code = lists.mutated(TEXT, "f.c", [inner, outer])
        self.assertLess(code.index(str(outer.number)), code.index(str(inner.number)))
        self.assertEqual(lists.mutated(TEXT, "f.c", [outer, inner]), code)
        twin = one("- return 1;\n+ return 2;", id="a/g")
        self.assertIn("return 2;", lists.mutated(TEXT, "f.c", [inner, twin]))

    def test_faults_that_overlap_are_an_error(self):
        with self.assertRaisesRegex(lists.ListError, "overlaps"):
            lists.mutated(TEXT, "f.c", [one("- (a < 3) return\n+ x"), one("- return 1;", id="a/c")])

    def test_numbers_are_of_the_id_alone(self):
        self.assertEqual(one("- g(a);").number, one("- return 1;").number)
        self.assertNotEqual(one("- g(a);").number, one("- g(a);", id="a/c").number)


def outcome(failed=(), passed=1, complete=True, hung=False):
    return running.Outcome(list(failed), passed, complete, hung)


class Verdicts(unittest.TestCase):
    def killed(self, result, **more):
        return running.verdict_of(one("- g(a);", **more), result)[0]

    def test_a_red_test_kills_and_a_green_one_does_not(self):
        self.assertTrue(self.killed(outcome(["x: y"])))
        self.assertFalse(self.killed(outcome()))

    def test_what_could_not_start_kills_only_where_it_is_listed(self):
        refused = outcome(["x: stderr: isolation could not be verified"])
        self.assertFalse(self.killed(refused))
        self.assertTrue(self.killed(refused, refused=True))
        self.assertFalse(self.killed(outcome(["x: y"], passed=0)))
        self.assertFalse(self.killed(outcome(["start/run: wanted '0', got '125'"])))

    def test_no_result_is_no_kill(self):
        self.assertFalse(self.killed(outcome(complete=False)))
        self.assertTrue(self.killed(outcome(complete=False, hung=True)))
        self.assertFalse(self.killed(outcome(complete=False, hung=True, passed=0)))

    def test_reports_are_read(self):
        guest = running.judge_guest("ok a\nnot ok b: c\nskip d: e\ndone 3\n", 1)
        self.assertEqual((guest.failed, guest.passed, guest.complete), (["b: c"], 1, True))
        self.assertFalse(running.judge_guest("ok a\n", 99).complete)
        self.assertFalse(running.judge_guest("ok a\n", 99).hung)
        self.assertTrue(running.judge_guest("ok a\nvm: error: no result from the guest (6.12) within 642 s\n", 99).hung)
        unit = running.judge_unit(" 1/2 Test #7: unit.A.b ........   Passed    0.01 sec\n"
                                  " 2/2 Test #8: unit.A.c ........***Failed    0.01 sec\n"
                                  " 3/3 Test #9: unit.p/A.d  # GetParam() = 4-byte object <03-9E> ....   Passed    0.02 sec\n", 8)
        self.assertEqual((unit.failed, unit.passed), (["unit.A.c: Failed"], 2))
        unit = running.judge_unit(" 1/2 Test #7: unit.A.b ........***Skipped   0.01 sec\n"
                                  " 2/2 Test #8: unit.A.c ........***Not Run (Disabled)   0.00 sec\n", 8)
        self.assertEqual(unit.failed, [])


class Runs(unittest.TestCase):
    def test_the_first_failure_is_enough(self):
        text = "echo ok a; echo 'not ok b: refused to load'; echo 'not ok c: d'; exec sleep 60"
        said, code = running.run(["sh", "-c", text], 50, running.FirstFailure())
        self.assertEqual((said.splitlines()[-1], code), ("not ok c: d", 0))

    def test_a_failure_before_anything_passed_is_not_enough(self):
        said, code = running.run(["sh", "-c", "echo 'not ok c: d'; echo ok e; exit 1"], 50, running.FirstFailure())
        self.assertEqual((said.splitlines()[-1], code), ("ok e", 1))

    def test_what_takes_too_long_has_no_code(self):
        self.assertEqual(running.run(["sh", "-c", "echo a; exec sleep 60"], 1), ("a\n", None))


class Batches(unittest.TestCase):
    def setUp(self):
        self.faults = [one("- g(a);", id=f"a/{name}", by="guest attack_test --only x") for name in "bcd"]

    def test_attacks_share_a_guest_and_others_do_not(self):
        alone = [one("- g(a);", id="a/l", by="guest live/a.sh"), one("- g(a);", id="a/m", by="guest attack_test --only x", load=True)]
        self.assertEqual([len(group) for group in batches.split(self.faults + alone)], [3, 1, 1])
        self.assertEqual([len(group) for group in batches.split(self.faults * 5)], [12, 3])

    def test_a_test_passes_once_without_a_fault(self):
        self.assertEqual([number != 0 for number, _ in batches.steps_of(self.faults)], [False, True, True, True])

    def verdicts(self, output):
        runner = mock.Mock()
        runner.guest.return_value = (output, 0)
        runner.verdict.return_value = (True, "alone")
        return batches.verdicts(runner, self.faults)

    def test_each_has_its_own_verdict(self):
        said = ("begin 0\nok x\ndone 1\nend 0 0\nbegin 1\nok y\nnot ok x: open\ndone 2\nend 1 1\n"
                "begin 2\nok x\ndone 1\nend 2 0\nunsound\n")
        self.assertEqual(self.verdicts(said), [(True, "killed by x: open"), (False, "survived guest attack_test --only x"),
                                               (True, "alone")])

    def test_what_does_not_pass_without_a_fault_kills_nothing(self):
        said = "begin 0\nnot ok x: y\ndone 1\nend 0 1\n" + "".join(
            f"begin {n}\nok y\nnot ok x: y\ndone 2\nend {n} 1\n" for n in (1, 2, 3))
        self.assertEqual([killed for killed, _ in self.verdicts(said)], [False] * 3)


class Guests(unittest.TestCase):
    PLAN = "# a | b\n6.1 | --state loaded --smp 2 | 9 | /opt/sbpf/tests/live/a.sh\n6.1 | --state booted | 9 | /opt/sbpf/tests/b --only x/\n"

    def test_options_are_the_plans(self):
        self.assertEqual(running.guest_options("live/a.sh", False, self.PLAN), ["--state", "loaded", "--smp", "2"])
        self.assertEqual(running.guest_options("b --only y", False, self.PLAN), ["--state", "booted"])
        self.assertEqual(running.guest_options("other", False, self.PLAN), ["--state", "loaded"])
        self.assertEqual(running.guest_options("live/a.sh", True, self.PLAN), ["--state", "booted", "--smp", "2"])


class ExitCode(unittest.TestCase):
    def run_with(self, verdict):
        module = script()
        runner = mock.Mock()
        runner.verdict.return_value = verdict
        said = io.StringIO()
        with contextlib.redirect_stdout(said), mock.patch.object(sys, "argv", ["mutate", "--all"]), \
                mock.patch.object(lists, "read_lists", return_value=[one("- g(a);"), one("- g(a);", id="a/c", equivalent="so")]), \
                mock.patch.object(running, "copy_sources", return_value="f"), mock.patch.object(running, "build"), \
                mock.patch.object(running, "Runner", return_value=runner):
            code = module.main()
        return code, said.getvalue()

    def test_a_survivor_fails(self):
        code, said = self.run_with((False, "survived unit x"))
        self.assertEqual(code, 1)
        self.assertIn("not ok a/b: survived unit x\n", said)
        self.assertIn("skip a/c: equivalent: so\n", said)
        self.assertTrue(said.endswith("done 2\n"))

    def test_all_killed_is_well(self):
        code, said = self.run_with((True, "killed by x"))
        self.assertEqual(code, 0)
        self.assertIn("ok a/b: killed by x\n", said)

    def test_a_sample_takes_few_of_each_test(self):
        module = script()
        faults = [one("- g(a);", id=f"a/{n}", by=f"guest {n % 10}") for n in range(100)]
        some = module.sample(faults, 20, 1)
        tests = [fault.by for fault in some]
        self.assertEqual(len({fault.id for fault in some}), 20)
        self.assertEqual({tests.count(test) for test in tests}, {module.MOST_OF_ONE_TEST})
        self.assertEqual([f.id for f in some], [f.id for f in module.sample(faults, 20, 1)])
        self.assertNotEqual({f.id for f in some}, {f.id for f in module.sample(faults, 20, 2)})

    def test_a_list_that_does_not_fit_is_an_error(self):
        module = script()
        with contextlib.redirect_stderr(io.StringIO()) as said, mock.patch.object(sys, "argv", ["mutate", "--all"]), \
                mock.patch.object(lists, "read_lists", side_effect=lists.ListError("t.faults:1: a/b: not found")):
            self.assertEqual(module.main(), 2)
        self.assertIn("t.faults:1: a/b: not found", said.getvalue())


if __name__ == "__main__":
    unittest.main()
