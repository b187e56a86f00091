"""Tests of the parts of scripts/mutate that need no parser."""
import collections
import pathlib
import tempfile
import time
import unittest

from mutation import equivalents, hunt, mutant, process, report, rewrite, sample, store, suite
from mutation import text as texts


def some_mutant(name='x', path='src/a/b.cc', line=1, edits=()):
    m = mutant.Mutant(path=path, line=line, function='F', operator='boundary',
                      original=f'{name} < 1', mutated=f'{name} <= 1', start=0, end=1,
                      last_line=line, edits=tuple(edits))
    mutant.number([m])
    return m


def is_running(pid):
    """A process that has ended, but that nobody has waited for yet, has no command line."""
    path = pathlib.Path('/proc', pid, 'cmdline')
    return path.exists() and path.read_bytes() != b''


class TextTest(unittest.TestCase):
    def test_one_line_drops_comments_and_keeps_strings(self):
        code = 'f(a,  // why\n  "b  // c",\n /* d */ e)'
        self.assertEqual(texts.one_line(code), 'f(a, "b  // c", e)')

    def test_blanked_text_has_the_same_places(self):
        code = 'x("a;b") /* ; */ + \';\' // ;\n + 1\'000;'
        blanked = texts.without_comments_and_literals(code)
        self.assertEqual(len(blanked), len(code))
        self.assertEqual(blanked.count(';'), 1)
        self.assertIn("1'000", blanked)


class RewriteTest(unittest.TestCase):
    def rewritten(self, code, *mutants):
        text = rewrite.with_switches(code, mutants, lambda m: int(m.original[0]))
        return text.split('#line 1\n')[1].replace('::sm_mutate::', '')

    def test_nests_places_and_keeps_lines(self):
        code = 'a &&\n  b'
        whole = some_mutant('1', edits=[mutant.Edit(0, 8, f'({mutant.ON} != (', '))')])
        left = some_mutant('2', edits=[mutant.Edit(0, 1, f'({mutant.ON} || (', '))')])
        right = some_mutant('3', edits=[mutant.Edit(7, 8, f'(!{mutant.ON} && (', '))')])
        expected = '(On(1) != ((On(2) || (a)) &&\n  (!On(3) && (b))))'
        self.assertEqual(self.rewritten(code, whole, left, right), expected)
        self.assertEqual(self.rewritten(code, right, left, whole), expected)

    def test_two_mutants_of_one_place(self):
        code = 'a'
        one = some_mutant('1', edits=[mutant.Edit(0, 1, f'({mutant.ON} || (', '))')])
        two = some_mutant('2', edits=[mutant.Edit(0, 1, f'(!{mutant.ON} && (', '))')])
        self.assertEqual(self.rewritten(code, one, two), '(On(1) || ((!On(2) && (a))))')

    def test_sees_places_that_cross(self):
        one = some_mutant('1', edits=[mutant.Edit(0, 5, '', '')])
        inside = some_mutant('2', edits=[mutant.Edit(2, 5, '', '')])
        crossing = some_mutant('3', edits=[mutant.Edit(3, 7, '', '')])
        self.assertFalse(rewrite.overlap(one, inside))
        self.assertTrue(rewrite.overlap(one, crossing))


class SampleTest(unittest.TestCase):
    def mutants(self, files=10, each=30):
        return [some_mutant(f'{f}_{n}', f'src/d{f % 3}/f{f}.cc', n) for f in range(files)
                for n in range(each)]

    def ids(self, *arguments):
        return [m.id for m in sample.draw(*arguments)[0]]

    def test_a_seed_gives_the_same_sample_whatever_the_order(self):
        mutants = self.mutants()
        self.assertEqual(self.ids(mutants, 20, 1), self.ids(mutants[::-1], 20, 1))
        self.assertNotEqual(self.ids(mutants, 20, 1), self.ids(mutants, 20, 2))

    def test_folders_get_their_share(self):
        folders = collections.Counter(m.path[:6] for m in sample.draw(self.mutants(), 100, 1)[0])
        self.assertEqual(folders, {'src/d0': 40, 'src/d1': 30, 'src/d2': 30})

    def test_a_change_of_the_code_replaces_few(self):
        before = set(self.ids(self.mutants(), 50, 1))
        after = set(self.ids([*self.mutants(), some_mutant('new', 'src/d0/f0.cc', 99)], 50, 1))
        self.assertGreaterEqual(len(before & after), 47)

    def test_the_reserve_has_the_rest(self):
        chosen, reserve = sample.draw(self.mutants(2, 5), 4, 1)
        self.assertEqual(len({m.id for m in chosen + reserve}), 10)
        self.assertEqual(len(sample.draw(self.mutants(2, 5), 99, 1)[0]), 10)


    def test_draws_that_are_tried_together_are_told_apart(self):
        one, both, two, broken, spare = (some_mutant(i) for i in ('1', '2', '3', '4', '5'))
        draws = {1: [one, both, broken], 2: [both, two]}
        shared = sample.share([one, both, two, spare], draws)
        self.assertEqual({n: [m.id for m in mine] for n, mine in shared.items()},
                         {1: [one.id, both.id, spare.id], 2: [both.id, two.id]})


class EquivalentsTest(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'list.txt'
            path.write_text(text)
            return equivalents.read(path)

    def test_an_entry_names_its_mutant_and_the_reason(self):
        m = some_mutant()
        entry = equivalents.as_entry(m).replace('...', 'it is\n  so.')
        entries = self.read('# A comment.\n' + entry)
        self.assertEqual(equivalents.find(entries, m).reason, 'it is so.')
        self.assertIsNone(equivalents.find(entries, some_mutant('y')))
        self.assertEqual(equivalents.stale(entries, [some_mutant('y')]), entries)

    def test_refuses_an_entry_without_a_reason(self):
        with self.assertRaisesRegex(equivalents.ListError, 'list.txt:1: an entry is three lines'):
            self.read('src/a.cc F boundary\n  a < b -> a <= b\n')


class SuiteTest(unittest.TestCase):
    def test_finds_the_test_that_failed_or_was_running(self):
        failed = '[ RUN      ] A.One\nx\n[  FAILED  ] A.One (3 ms)\n'
        running = '[ RUN      ] A.One\n[       OK ] A.One (0 ms)\n[ RUN      ] A/B.Two/3\nboom\n'
        self.assertEqual(suite.failed_case(failed), 'A.One')
        self.assertEqual(suite.failed_case(running), 'A/B.Two/3')
        self.assertIsNone(suite.failed_case('Segmentation fault'))


class ProcessTest(unittest.TestCase):
    def test_ends_what_hangs_and_what_it_has_started(self):
        begun = time.monotonic()
        outcome = process.run(['sh', '-c', 'setsid sleep 1000 & echo $!; sleep 1000'], timeout=0.3)
        self.assertTrue(outcome.timed_out)
        self.assertFalse(outcome.passed)
        self.assertLess(time.monotonic() - begun, 20)
        self.assertFalse(is_running(outcome.output.strip()))

    def test_gives_a_folder_that_goes(self):
        outcome = process.run(['sh', '-c', 'touch $TMPDIR/x && echo $TMPDIR'], timeout=10)
        self.assertTrue(outcome.passed)
        self.assertFalse(pathlib.Path(outcome.output.strip()).exists())


class StoreTest(unittest.TestCase):
    def test_keeps_results_of_the_same_tree_and_kills_for_later(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'results.jsonl'
            killed, survived = some_mutant('a'), some_mutant('b')
            results = store.Results(path)
            results.keep(hunt.Result(killed.id, 'killed', 'tests'), 'tree 1', (60, 200))
            results.keep(hunt.Result(survived.id, 'survived'), 'tree 1', (60, 200))
            path.write_text(path.read_text() + '{"id": "cut of')
            results = store.Results(path)

            def outcome(m, *arguments):
                return results.of(m, *arguments).outcome

            self.assertEqual(outcome(killed, 'tree 1', (60, 200)), 'killed')
            self.assertEqual(outcome(survived, 'tree 1', (60, 200)), 'survived')
            self.assertEqual(outcome(survived, 'tree 1', (600, 200)), '')
            self.assertEqual(outcome(killed, 'tree 2', (60, 200)), '')
            self.assertEqual(outcome(killed, 'tree 2', (60, 200), True), 'killed')
            self.assertEqual(outcome(survived, 'tree 1', (60, 200), True), '')


class ReportTest(unittest.TestCase):
    def test_counts_what_can_be_told_apart(self):
        mutants = [some_mutant(name) for name in 'abcd']
        results = {m.id: hunt.Result(m.id, 'killed', 'tests', reached_by=2) for m in mutants}
        results[mutants[0].id] = hunt.Result(mutants[0].id, 'survived')
        results[mutants[1].id].timed_out = True
        entry = equivalents.Entry('src/a/b.cc', 'F', 'boundary', 0, 'e < 1', 'e <= 1', 'of this.',
                                  1)
        text = report.Report(mutants, results, [(some_mutant('e'), entry)], [], []).text()
        self.assertIn('FIGURE mutation_score_pct 75.0 %', text)
        self.assertIn('a < 1\n   -> a <= 1\n      no test comes here', text)
        self.assertIn('because of this.', text)
        self.assertIn('sampled 5, equivalent 1, killed 3 (2 by tests, 1 by time-out), survived 1 '
                      '(1 of them where no test comes)', text)


if __name__ == '__main__':
    unittest.main()
