"""A run: from the mutants that were chosen to their results."""
import hashlib

from mutation import coverage, equivalents, hunt, plant, report, rewrite, store, suite, tree

_SIMULATE = 'simulate'
SIMULATION_FIRST = 1001  # simulation_test has the seeds 1 to 250
_SIMULATION_CHUNK = 50


class Run:
    def __init__(self, root, folder, options, say):
        self.root = root
        self.folder = folder
        self.options = options
        self.say = say
        self.tree = tree.Tree(root, folder)
        self.digest = self.tree.digest()
        self.results = store.Results(folder / 'results.jsonl')
        self._planting_file = folder / 'planting.json'

    def prepare(self):
        """The copy is up to date, but for mutants; there are flags for clang."""
        kept, _ = store.load_planting(self._planting_file, self.root, self.digest)
        self.tree.write(kept, plant.Planting(kept, []).number_of)
        self.say('preparing the build folder')
        self.tree.configure()

    def hunt(self, chosen, reserve):
        """Returns (mutants that were built, results by id, mutants that do not compile)."""
        chosen, reserve = self._without_known_errors(chosen, reserve)
        done = {m.id: self._known(m) for m in chosen}
        if all(result.outcome for result in done.values()):
            return chosen, done, []
        planting, programs = self._plant(chosen, reserve)
        measured = self._measure(planting, programs, planting.mutants)
        chosen = planting.mutants
        results = {m.id: self._known(m) for m in chosen}
        self._hunt(chosen, planting, measured, results)
        return chosen, results, planting.dropped

    def one(self, m):
        """A single mutant, whatever is known about it: (result, test cases that come to it)."""
        kept, unfit = store.load_planting(self._planting_file, self.root, self.digest)
        others = [o for o in kept if o.id != m.id and o.id not in unfit]
        together = [m] + [o for o in others if not (o.path == m.path and rewrite.overlap(o, m))]
        planting, programs = self._plant(together, [])
        if m not in planting.mutants:
            return None, []
        measured = coverage.load(*self._kept_coverage(planting.mutants, programs), programs)
        if measured is None:
            programs = [p for p in programs if plant.needs(self.tree, p.target(), [m])]
            measured = self._measure(planting, programs, [m])
        results = {m.id: hunt.Result(m.id)}
        self._hunt([m], planting, measured, results)
        return results[m.id], [x for x in measured if planting.number_of(m) in x.reached]

    def _known(self, m):
        if self.options.fresh:
            return hunt.Result(m.id)
        return self.results.of(m, self.digest, self._limits(), self.options.survivors)

    def _limits(self):
        return self.options.process_seconds, self.options.simulation_seeds

    def _without_known_errors(self, chosen, reserve):
        _, unfit = store.load_planting(self._planting_file, self.root, self.digest)
        fit = [m for m in chosen if m.id not in unfit]
        spare = [m for m in reserve if m.id not in unfit]
        missing = min(len(chosen) - len(fit), len(spare))
        return fit + spare[:missing], spare[missing:]

    def _plant(self, chosen, reserve):
        _, unfit = store.load_planting(self._planting_file, self.root, self.digest)
        targets = suite.names(self.tree.build) + [_SIMULATE]
        planting, needed = plant.plant(self.tree, chosen, reserve, targets, self.options.jobs,
                                       self.say)
        store.save_planting(self._planting_file, self.root, self.digest, planting, unfit)
        return planting, self._programs(needed)

    def _programs(self, targets):
        simulations = self._simulations() if _SIMULATE in targets else []
        return suite.programs(self.tree.build, targets) + simulations

    def _simulations(self):
        program = self.tree.build / 'bin' / _SIMULATE
        first, found = SIMULATION_FIRST, []
        while first < SIMULATION_FIRST + self.options.simulation_seeds:
            name = f'{_SIMULATE} {first} to {first + _SIMULATION_CHUNK - 1}'
            command = (str(program), '--from', str(first), '--seeds', str(_SIMULATION_CHUNK))
            found.append(suite.Program(name, command, str(self.tree.build), (), 600.0, alone=False,
                                       cases=False))
            first += _SIMULATION_CHUNK
        return found

    def _measure(self, planting, programs, mutants):
        path, key = self._kept_coverage(mutants, programs)
        measured = coverage.load(path, key, programs)
        if measured is None:
            numbers = {planting.number_of(m) for m in mutants}
            cases = coverage.cases_that_may_reach(programs, numbers, self.options.jobs)
            self.say(f'measuring which of {len(cases)} test cases come to which mutants')
            measured = coverage.measure(cases, self.options.jobs, self.say)
            coverage.save(path, key, measured)
        for x in measured:
            if not x.passed and x.reached:
                self.say(f'  not used: {x.case.key()} fails without a mutant')
        return measured

    def _kept_coverage(self, mutants, programs):
        """(file, key) of what was measured about these."""
        names = [self.digest, *sorted(m.id for m in mutants), *(p.name for p in programs)]
        key = hashlib.sha256(' '.join(names).encode()).hexdigest()[:16]
        return self.folder / 'coverage' / f'{key}.json', key

    def _hunt(self, mutants, planting, measured, results):
        count = len(mutants)
        told = sum(results[m.id].outcome != '' for m in mutants)
        known = f', {told} of them known from before' if told else ''
        self.say(f'running tests: {count} mutants{known}')

        def tell(m, result):
            nonlocal told
            told += 1
            self.say(report.progress(told, count, m, result))

        hunter = hunt.Hunter(measured, planting.number_of, self.options.process_seconds, tell,
                             lambda result: self.results.keep(result, self.digest, self._limits()))
        hunter.run(mutants, results, self.options.jobs)


def split_equivalent(mutants, entries):
    """(mutants to try, pairs of an equivalent mutant and its entry)."""
    pairs = [(m, equivalents.find(entries, m)) for m in mutants]
    return [m for m, e in pairs if e is None], [(m, e) for m, e in pairs if e is not None]
