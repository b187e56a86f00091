"""Tests of scripts/mutate from a source to the verdict, on the sample. They need libclang."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import clang.cindex  # noqa: F401
except ImportError:
    print('skipped: no python3-clang-14 (scripts/install-deps python3-clang-14 libclang1-14)')
    sys.exit(77)

from mutation import coverage, equivalents, hunt, parse, plant, report, rewrite, run, suite
from mutation import text as texts

HERE = pathlib.Path(__file__).parent
SAMPLE = HERE / 'sample'


def find_mutants(folder):
    parser = parse.Parser(SAMPLE, ['-std=c++20', f'-I{SAMPLE}/src'], ['src/gauge.h'])
    header = parser.precompile(folder)['src/gauge.h']
    source = parser.parse('src/gauge.cc', folder)
    return header.mutants + source.mutants, header.left_out + source.left_out


def build(folder, mutants, number_of):
    """The sample with all of the mutants in it; returns the program of its tests."""
    for name in ('gauge.h', 'gauge.cc'):
        chosen = [m for m in mutants if m.path == f'src/{name}']
        text = rewrite.with_switches(texts.read(SAMPLE / 'src' / name), chosen, number_of)
        texts.write_if_changed(folder / name, text)
    texts.write_if_changed(folder / rewrite.HEADER, texts.read(HERE / 'switch.h'))
    program = folder / 'gauge_test'
    subprocess.run(['g++', '-std=c++20', '-w', f'-I{folder}', str(folder / 'gauge.cc'),
                    str(SAMPLE / 'src/gauge_test.cc'), '-o', str(program)], check=True)
    return program


class MutantsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.temporary.name)
        cls.mutants, cls.left_out = find_mutants(folder)
        cls.planting = plant.Planting(cls.mutants, [])
        program = build(folder, cls.mutants, cls.planting.number_of)
        tests = [suite.Program(name, (str(program), name), str(folder), (), 10, False, False)
                 for name in ('fills', 'drains', 'seals')]
        cls.measured = coverage.measure([suite.Case(t, '') for t in tests], 2, lambda line: None)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def mutant(self, operator, original, mutated=None):
        fitting = [m for m in self.mutants if (m.operator, m.original) == (operator, original) and
                   mutated in (None, m.mutated)]
        self.assertEqual(len(fitting), 1, fitting)
        return fitting[0]

    def hunt(self, *mutants):
        results = {m.id: hunt.Result(m.id) for m in mutants}
        hunter = hunt.Hunter(self.measured, self.planting.number_of, 60, lambda m, result: None,
                             lambda result: None)
        hunter.run(mutants, results, jobs=2)
        return [results[m.id] for m in mutants]

    def test_finds_the_mutants_of_the_sample(self):
        """If a rule has changed on purpose: write the new list into sample/mutants.txt."""
        found = [f'{m.place()} {m.operator}: {m.original} -> {m.mutated}' for m in self.mutants]
        self.assertEqual(found, (SAMPLE / 'mutants.txt').read_text().splitlines())

    def test_says_what_it_leaves_out(self):
        self.assertEqual(set(self.left_out.values()), {1})
        self.assertEqual(len(self.left_out), 3)

    def test_shows_what_a_mutant_does(self):
        lines = report.diff(self.mutant('drop-operand', 'sealed() || level_ + amount > most_',
                                        'sealed()'), SAMPLE).splitlines()
        self.assertIn('-  if (sealed() || level_ + amount > most_) return false;', lines)
        self.assertIn('+  if (sealed()) return false;', lines)

    def test_without_a_mutant_the_program_is_as_it_was(self):
        self.assertTrue(all(x.passed for x in self.measured))

    def test_knows_which_tests_come_to_a_mutant(self):
        drained = self.planting.number_of(self.mutant('arithmetic', 'level_ - taken'))
        self.assertEqual([drained in x.reached for x in self.measured], [False, True, False])

    def test_a_fault_is_found_by_its_test(self):
        boundary = self.mutant('boundary', 'level_ + amount > most_')
        reset = self.mutant('drop-reset', 'sealed_by_.reset()')
        swapped = self.mutant('swap-arguments', 'amount, level_')
        results = self.hunt(boundary, reset, swapped)
        self.assertEqual([(r.outcome, r.test) for r in results],
                         [('killed', 'fills'), ('killed', 'seals'), ('survived', '')])

    def test_a_constexpr_function_is_mutated_at_run_time(self):
        (result,) = self.hunt(self.mutant('comparison', 'value > most'))
        self.assertEqual((result.outcome, result.test), ('killed', 'drains'))

    def test_what_no_test_comes_to_survives(self):
        (result,) = self.hunt(self.mutant('condition-true', 'whole == 0'))
        self.assertEqual((result.outcome, result.reached_by), ('survived', 0))

    def test_an_equivalent_mutant_is_listed_with_its_reason(self):
        entries = equivalents.read(SAMPLE / 'equivalents.txt')
        to_try, equivalent = run.split_equivalent(self.mutants[:2], entries)
        self.assertEqual([m.operator for m, _ in equivalent], ['boundary'])
        results = {m.id: hunt.Result(m.id, 'killed', 'tests') for m in to_try}
        stale = equivalents.stale(entries, self.mutants)
        text = report.Report(to_try, results, equivalent, stale, []).text()
        self.assertIn('because at the boundary both values are the same.', text)
        self.assertIn('equivalents.txt:7 names no mutant any more: src/gauge.cc Gauge::Gone', text)
        self.assertIn('FIGURE mutation_score_pct 100.0 %', text)


if __name__ == '__main__':
    unittest.main()
