"""All mutants of the tree: parses what has changed, and keeps the rest from run to run."""
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import pathlib
import tempfile

from mutation import mutant, parse


@dataclasses.dataclass
class Catalog:
    mutants: list
    left_out: collections.Counter  # by reason


def of_tree(root, cache, flags, jobs, say, only=None):
    """`only`: files to look at; None: all of src/."""
    headers = sorted(str(p.relative_to(root)) for p in root.glob('src/**/*.h'))
    sources = sorted(str(p.relative_to(root)) for p in root.glob('src/**/*.cc'))
    wanted = [p for p in headers + sources if only is None or p in only]
    common = _digest([*flags, *((root / h).read_bytes() for h in headers),
                      *(p.read_bytes() for p in parse.RULES)])
    kept = {path: _kept_file(cache, root, path, common) for path in wanted}
    missing = [path for path in wanted if not kept[path].exists()]
    if missing:
        say(f'parsing {len(missing)} of {len(wanted)} files')
        _parse(root, flags, headers, missing, kept, jobs)
    if only is None:
        _forget_all_but(cache, set(kept.values()))
    mutants, left_out = [], collections.Counter()
    for path in wanted:
        rows = json.loads(kept[path].read_text())
        mutants += [mutant.from_json(row) for row in rows['mutants']]
        left_out.update(rows['left_out'])
    return Catalog(mutants, left_out)


def _forget_all_but(cache, wanted):
    for path in cache.iterdir():
        if path not in wanted:
            path.unlink()


def _kept_file(cache, root, path, common):
    key = _digest([path, (root / path).read_bytes(), common])
    return cache / f'{key}.json'


def _digest(parts):
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part if isinstance(part, bytes) else part.encode()).digest())
    return total.hexdigest()[:24]


def _parse(root, flags, headers, paths, kept, jobs):
    with tempfile.TemporaryDirectory(prefix='sm-mutate-') as folder:
        parser = parse.Parser(root, flags, headers)
        found = parser.precompile(pathlib.Path(folder))
        for path in paths:
            if path in found:
                _keep(kept[path], found[path])
        sources = [p for p in paths if p not in found]
        with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
            running = [pool.submit(_parse_one, root, flags, path, pathlib.Path(folder), kept[path])
                       for path in sources]
            for future in running:
                future.result()


def _parse_one(root, flags, path, folder, kept):
    _keep(kept, parse.Parser(root, flags, []).parse(path, folder))


def _keep(path, finder):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({'mutants': [mutant.to_json(m) for m in finder.mutants],
                                'left_out': finder.left_out}))
