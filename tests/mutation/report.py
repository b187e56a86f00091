"""What a run says: a line for each mutant, and at the end the survivors and the figures."""
import collections
import difflib

from mutation import text as texts

_HOW = {'tests': 'by tests', 'simulation': 'by the simulation',
        'processes': 'by tests with real processes'}


def progress(number, count, m, result):
    if result.outcome == 'killed':
        how = 'time-out of' if result.timed_out else 'by'
        end = f'{how} {result.test}'
    else:
        end = reach(result)
    return f'[{number:3}/{count}] {result.outcome:8} {m.id} {m.place()} {m.operator}: {end}'


def reach(result):
    if result.reached_by == 0:
        return 'no test comes here'
    run = result.reached_by - result.not_run
    said = f'test cases that come here, none of which fails: {run}'
    if result.not_run:
        said += f' ({result.not_run} more were not run: --process-seconds)'
    return said


def description(m):
    return (f'{m.id}  {m.place()}  {m.function}  {m.operator}\n'
            f'      {m.original}\n   -> {m.mutated}')


class Report:
    """Of one sample. `results` by id; `equivalent` are pairs of a mutant and its entry."""

    def __init__(self, mutants, results, equivalent, stale, dropped):
        self._mutants = mutants
        self._results = results
        self._equivalent = equivalent
        self._stale = stale
        self._dropped = dropped

    def text(self):
        parts = [self._survivors(), self._equivalents(), self._warnings(), self._counts(),
                 self._figures()]
        return '\n'.join(part for part in parts if part)

    def survivors(self):
        return [m for m in self._mutants if self._results[m.id].outcome == 'survived']

    def score(self):
        """Percent of the mutants that are not equivalent; 100 if there are none."""
        killed = len(self._mutants) - len(self.survivors())
        return 100.0 * killed / len(self._mutants) if self._mutants else 100.0

    def _survivors(self):
        found = self.survivors()
        lines = [f'Survivors: {len(found)}']
        for m in found:
            lines.append(f'  {description(m)}\n      {reach(self._results[m.id])}')
        return '\n'.join(lines) + '\n'

    def _equivalents(self):
        if not self._equivalent:
            return ''
        lines = [f'Equivalent (tests/mutation/equivalents.txt): {len(self._equivalent)}']
        for m, entry in self._equivalent:
            lines.append(f'  {description(m)}\n      because {entry.reason}')
        return '\n'.join(lines) + '\n'

    def _warnings(self):
        lines = [f'Stale: equivalents.txt:{e.line} names no mutant any more: {e.path} {e.function} '
                 f'{e.operator}: {e.original} -> {e.mutated}' for e in self._stale]
        lines += [f'Did not compile, and was replaced: {m.place()} {m.operator}: '
                  f'{m.original} -> {m.mutated}' for m in self._dropped]
        return '\n'.join(lines) + '\n' if lines else ''

    def _counts(self):
        results = [self._results[m.id] for m in self._mutants]
        killed = [r for r in results if r.outcome == 'killed']
        ways = collections.Counter('by time-out' if r.timed_out else _HOW[r.how] for r in killed)
        how = ', '.join(f'{count} {way}' for way, count in sorted(ways.items()))
        unreached = sum(r.outcome == 'survived' and r.reached_by == 0 for r in results)
        return (f'sampled {len(results) + len(self._equivalent)}, '
                f'equivalent {len(self._equivalent)}, '
                f'killed {len(killed)} ({how or "none"}), '
                f'survived {len(results) - len(killed)} ({unreached} of them where no test comes)')

    def _figures(self):
        values = {'mutants_sampled': len(self._mutants) + len(self._equivalent),
                  'mutants_equivalent': len(self._equivalent),
                  'mutants_survived': len(self.survivors())}
        lines = [f'FIGURE {name} {value} mutants' for name, value in values.items()]
        return '\n'.join([*lines, f'FIGURE mutation_score_pct {self.score():.1f} %'])


def left_out(counter):
    lines = ['left out, and why:']
    lines += [f'{count:6}  {reason}' for reason, count in counter.most_common()]
    return '\n'.join(lines)


def diff(m, root):
    """What the mutant does to its file, as diff shows it."""
    text = texts.read(root / m.path)
    mutated = '' if m.mutated == '(nothing)' else texts.from_people(m.mutated)
    lines = [texts.for_people(text).splitlines(),
             texts.for_people(text[:m.start] + mutated + text[m.end:]).splitlines()]
    named = m.path, f'{m.path} (mutant {m.id})'
    return '\n'.join(difflib.unified_diff(*lines, *named, n=2, lineterm=''))
