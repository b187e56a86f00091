"""Runs the tests that come to a mutant, until one of them fails."""
import concurrent.futures
import dataclasses
import threading

from mutation import coverage, suite

# In this order: what is quick and deterministic first, what needs the whole machine last.
STAGES = ('tests', 'simulation', 'processes')
_BATCH_SECONDS = 3.0     # as many quick test cases go into one process
_QUICK = 0.3


@dataclasses.dataclass
class Result:
    id: str
    outcome: str = ''        # killed or survived; '' while stages are left
    how: str = ''            # of a kill: tests, simulation or processes
    timed_out: bool = False
    test: str = ''           # that failed
    reached_by: int = 0      # test cases
    not_run: int = 0         # test cases for which there was no time
    stages: list = dataclasses.field(default_factory=list)  # that it has survived
    seconds: float = 0
    output: str = ''         # of the test that failed; not stored


class Hunter:
    """`number_of` gives the switch of a mutant. `tell(mutant, result)` hears of every result that
    is final, `keep(result)` of every stage that is over."""

    def __init__(self, measured, number_of, process_seconds, tell, keep):
        self._measured = [m for m in measured if m.passed]
        self._number_of = number_of
        self._process_seconds = process_seconds
        self._tell = tell
        self._keep = keep
        self._lock = threading.Lock()

    def run(self, mutants, results, jobs):
        """`results`: by id, those of an earlier run that was interrupted among them."""
        for stage in STAGES:
            left = [m for m in mutants if not results[m.id].outcome]
            with concurrent.futures.ThreadPoolExecutor(1 if stage == 'processes' else jobs) as pool:
                running = [pool.submit(self._stage, stage, m, results[m.id]) for m in left
                           if stage not in results[m.id].stages]
                for future in running:
                    future.result()

    def _stage(self, stage, m, result):
        reaching = [x for x in self._measured if self._number_of(m) in x.reached]
        result.reached_by = len(reaching)
        budget = self._process_seconds if stage == 'processes' else float('inf')
        for batch in _batches([x for x in reaching if stage_of(x.case.program) == stage]):
            if budget <= 0:
                result.not_run += len(batch)
            elif self._is_killed(m, batch, result):
                result.outcome, result.how = 'killed', stage
                break
            budget -= sum(x.seconds for x in batch)
        result.stages.append(stage)
        if stage == STAGES[-1] and not result.outcome:
            result.outcome = 'survived'
        with self._lock:
            self._keep(result)
            if result.outcome:
                self._tell(m, result)

    def _is_killed(self, m, batch, result):
        """A test that fails is repeated without the mutant and with it: it must be its doing."""
        while batch:
            outcome = self._try(batch, self._number_of(m))
            result.seconds += outcome.seconds
            if outcome.passed:
                return False
            name = suite.failed_case(outcome.output)
            guilty = [x for x in batch if x.case.name == name] or batch
            proof = self._proof(m, guilty, outcome)
            if proof is not None:
                first = guilty[0].case
                result.test = first.key() if len(guilty) == 1 else first.program.name
                result.timed_out, result.output = proof.timed_out, proof.output
                return True
            batch = [x for x in batch if x not in guilty]
        return False

    def _proof(self, m, guilty, outcome):
        """A run of the guilty tests that fails because of the mutant; None: it was not its doing."""
        if not self._try(guilty, None).passed:
            return None
        if outcome.timed_out:  # once more would take as long
            return outcome
        again = self._try(guilty, self._number_of(m))
        return None if again.passed else again

    def _try(self, batch, number):
        program = batch[0].case.program
        command = suite.command(program, [x.case.name for x in batch])
        limit = 10 + 4 * sum(x.seconds for x in batch)
        return coverage.run(command, program, limit, number)[0]


def stage_of(program):
    if program.alone:
        return 'processes'
    return 'simulation' if program.name.startswith('simulate ') else 'tests'


def _batches(measured):
    """Groups of test cases of one program each, the quickest first."""
    batches, open_batches = [], {}
    for x in sorted(measured, key=lambda x: (x.seconds, x.case.key())):
        batch = open_batches.get(x.case.program)
        if batch is None or not x.case.program.cases or x.seconds > _QUICK or \
                sum(y.seconds for y in batch) > _BATCH_SECONDS:
            batch = open_batches[x.case.program] = []
            batches.append(batch)
        batch.append(x)
    return sorted(batches, key=lambda batch: sum(x.seconds for x in batch))
