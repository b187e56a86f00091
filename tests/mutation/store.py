"""What is kept between runs, in build/mutate: results, and what the build folder holds."""
import dataclasses
import hashlib
import json

from mutation import hunt, mutant


class Results:
    """One line of JSON for each stage of a mutant; the last one counts."""

    def __init__(self, path):
        self._path = path
        self._rows = {}
        if path.exists():
            for line in path.read_text().splitlines():
                self._read(line)

    def _read(self, line):
        try:
            row = json.loads(line)
            self._rows[row['id']] = row
        except (ValueError, KeyError):
            pass  # the last line of a run that was interrupted

    def of(self, m, digest, limits, survivors_only=False):
        """What is known about the mutant; of another state of the tree, nothing is. `limits`: how
        much was tried; one that has survived is tried again under others. With `survivors_only` a kill
        stays a kill, and the rest is tried again."""
        row = self._rows.get(m.id)
        if row is None or not self._counts(row, digest, limits, survivors_only):
            return hunt.Result(m.id)
        return hunt.Result(**{k: v for k, v in row.items() if k not in ('digest', 'limits')})

    def _counts(self, row, digest, limits, survivors_only):
        killed = row['outcome'] == 'killed'
        if survivors_only:
            return killed
        return row['digest'] == digest and (killed or row.get('limits') == list(limits))

    def keep(self, result, digest, limits):
        row = dataclasses.asdict(result)
        row.pop('output')
        row.update(digest=digest, limits=list(limits))
        self._rows[result.id] = row
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, 'a') as file:
            file.write(json.dumps(row) + '\n')


def save_planting(path, root, digest, planting, unfit):
    """`unfit`: ids that are known not to compile from earlier samples of this state of the tree."""
    path.write_text(json.dumps({
        'digest': digest, 'mutants': [mutant.to_json(m) for m in planting.mutants],
        'texts': {m.path: _digest_of(root / m.path) for m in planting.mutants},
        'unfit': sorted(unfit | {m.id for m in planting.dropped})}))


def load_planting(path, root, digest):
    """(mutants in the build folder whose files are as they were, ids that do not compile)."""
    if not path.exists():
        return [], set()
    kept = json.loads(path.read_text())
    same = {p for p, text in kept['texts'].items()
            if (root / p).exists() and _digest_of(root / p) == text}
    mutants = [mutant.from_json(row) for row in kept['mutants'] if row['path'] in same]
    return mutants, set(kept['unfit']) if kept['digest'] == digest else set()


def _digest_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
