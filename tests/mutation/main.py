"""The command line of scripts/mutate."""
import argparse
import os
import pathlib
import signal
import sys

from mutation import catalog, equivalents, faults, parse, process, report, run, sample, tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / 'build' / 'mutate'
EQUIVALENTS = ROOT / 'tests' / 'mutation' / 'equivalents.txt'

DESCRIPTION = """\
Mutation testing: plants small faults (mutants) in src/, one at a time, and runs the tests that come
to each. A mutant that no test notices survives: it shows what is not tested.

  scripts/mutate --sample 200 --seed 1         200 mutants of all of src/, drawn by the seed
  scripts/mutate --sample 200 --seed 1 2       two such draws at once: quicker than one by one
  scripts/mutate --files src/router/call.cc    all mutants of a file
  scripts/mutate --mutant 3fa2b1c0             a single one, in detail
  scripts/mutate --list src/router             which mutants there are, and what is left out

A run that was interrupted goes on where it was, if nothing has changed. The first one takes a full
build (build/mutate) before it begins. See "Mutation testing" in CONTRIBUTING.md.
"""


class UsageError(Exception):
    pass


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog='scripts/mutate', description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_argument_group('what to try')
    what.add_argument('--sample', type=_positive, metavar='N', help='N mutants, drawn by the seed')
    what.add_argument('--seed', type=int, nargs='+', default=[1], metavar='N',
                      help='of the draw (1); of several draws, each of N mutants: built and '
                           'measured together, and reported one by one')
    what.add_argument('--files', nargs='+', metavar='PATH',
                      help='only mutants of these files or folders; without --sample: all of them')
    what.add_argument('--mutant', metavar='ID',
                      help='this one: an id, or PATH:LINE, or PATH:LINE:OPERATOR')
    what.add_argument('--list', nargs='*', metavar='PATH',
                      help='only list the mutants of these files or folders (all)')
    how = parser.add_argument_group('how')
    how.add_argument('--jobs', type=_positive, default=os.cpu_count(), metavar='N',
                     help='tests at a time (the number of processors)')
    how.add_argument('--simulation-seeds', type=_positive, default=200, metavar='N',
                     help='for each mutant that survives the tests (200)')
    how.add_argument('--process-seconds', type=_positive, default=60, metavar='N',
                     help='for each mutant, the most for tests that start a cell of processes (60)')
    how.add_argument('--survivors', action='store_true',
                     help='try only what survived last time; what was killed counts as killed, '
                          'though the code may have changed')
    how.add_argument('--fresh', action='store_true', help='forget the results of earlier runs')
    options = parser.parse_args(arguments)
    if not (options.sample or options.files or options.mutant or options.list is not None):
        parser.error('nothing to do: give --sample, --files, --mutant or --list')
    return options


def _positive(text):
    number = int(text)
    if number <= 0:
        raise argparse.ArgumentTypeError(f'found {number}; allowed: 1 and more')
    return number


def say(line):
    print(line, flush=True)


def files_under(paths):
    """Files of src/ that the user names, from the root; None: all."""
    if not paths:
        return None
    found = set()
    for name in paths:
        path = pathlib.Path(name).resolve()
        if not path.exists():
            raise UsageError(f'{name} does not exist')
        if not path.is_relative_to(ROOT / 'src'):
            raise UsageError(f'{name} is not in src/: only that is mutated')
        files = [path] if path.is_file() else path.rglob('*')
        found.update(str(f.relative_to(ROOT)) for f in files if f.suffix in ('.h', '.cc'))
    return found


def load_catalog(runner, only):
    runner.prepare()
    flags = parse.flags_of(ROOT, runner.tree.build / 'compile_commands.json')
    return catalog.of_tree(ROOT, FOLDER / 'parsed', flags, runner.options.jobs, say, only)


def list_mutants(runner):
    found = load_catalog(runner, files_under(runner.options.list))
    for m in found.mutants:
        say(f'{m.id}  {m.place()}  {m.function}  {m.operator}:  {m.original}  ->  {m.mutated}')
    say(f'\n{len(found.mutants)} mutants; kinds:')
    for operator, meaning in faults.OPERATORS.items():
        say(f'{sum(m.operator == operator for m in found.mutants):6}  {operator}: {meaning}')
    say(report.left_out(found.left_out))
    return 0


def try_sample(runner):
    options = runner.options
    found = load_catalog(runner, files_under(options.files))
    entries = equivalents.read(EQUIVALENTS)
    draws, reserve = {'': found.mutants}, []
    if options.sample:
        drawn = {seed: sample.draw(found.mutants, options.sample, seed) for seed in options.seed}
        draws = {seed: chosen for seed, (chosen, _) in drawn.items()}
        reserve, _ = run.split_equivalent(drawn[options.seed[0]][1], entries)
    split = {name: run.split_equivalent(chosen, entries) for name, chosen in draws.items()}
    to_try = list({m.id: m for chosen, _ in split.values() for m in chosen}.values())
    wanted = {m.id for m in to_try}
    spare = [m for m in reserve if m.id not in wanted]
    tried, results, dropped = runner.hunt(to_try, spare)
    looked_at = files_under(options.files)
    stale = equivalents.stale([e for e in entries if looked_at is None or e.path in looked_at],
                              found.mutants)
    texts = []
    for (name, mine) in sample.share(tried, {n: c for n, (c, _) in split.items()}).items():
        title = f'---- seed {name} ----\n' if len(draws) > 1 else ''
        texts.append(title + report.Report(mine, results, split[name][1], stale, dropped).text())
    text = '\n\n'.join(texts)
    (FOLDER / 'report.txt').write_text(text + '\n')
    say('\n' + text)
    return 0


def the_mutant(spec, mutants):
    """The one that the user means."""
    fitting = [m for m in mutants if m.id == spec]
    path, _, rest = spec.partition(':')
    line, _, operator = rest.partition(':')
    if not fitting and line.isdigit():
        fitting = [m for m in mutants if m.path == path and m.line == int(line) and
                   operator in ('', m.operator)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise UsageError(f'there is no mutant {spec}; scripts/mutate --list shows all')
    listed = '\n'.join(f'  {m.id} {m.operator}: {m.original} -> {m.mutated}' for m in fitting)
    raise UsageError(f'{spec} fits {len(fitting)} mutants; name one by its id:\n{listed}')


def try_one(runner):
    found = load_catalog(runner, None)
    m = the_mutant(runner.options.mutant, found.mutants)
    result, reaching = runner.one(m)
    say('\n' + report.description(m) + '\n' + report.diff(m, ROOT))
    if result is None:
        say('It does not compile.')
        return 1
    entry = equivalents.find(equivalents.read(EQUIVALENTS), m)
    if entry:
        say(f'Named as equivalent, because {entry.reason}')
    if result.outcome == 'killed':
        say(result.output)
        say(f'Killed by {result.test}' + (' (time-out)' if result.timed_out else ''))
        return 0
    for x in sorted(reaching, key=lambda x: x.seconds):
        say(f'  {x.seconds:6.2f} s  {x.case.key()}')
    say(f'Survived: {report.reach(result)}. If no test can tell it from the original, add to '
        f'{EQUIVALENTS.relative_to(ROOT)}:\n\n{equivalents.as_entry(m)}')
    return 1


def main(arguments):
    options = parse_arguments(arguments)
    signal.signal(signal.SIGINT, lambda *_: process.stop_all())
    signal.signal(signal.SIGTERM, lambda *_: process.stop_all())
    try:
        runner = run.Run(ROOT, FOLDER, options, say)
        if options.list is not None:
            return list_mutants(runner)
        return try_one(runner) if options.mutant else try_sample(runner)
    except (UsageError, equivalents.ListError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 2
    except (tree.BuildError, parse.ParseError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    except process.Stopped:
        print('interrupted; the same command goes on from here', file=sys.stderr)
        return 130
