"""extract.py ROOT TEMPLATE OUT PAGE...: writes TEMPLATE to OUT, with the C++ examples of the pages in it.

In the template, a line `//! docs/page.md 3` stands for the third ```cpp block of that page. What follows a
`;` there replaces a line of the block that says nothing but `...`. Each block of each page has to be used
exactly once, so that a new example is compiled, too."""

import pathlib
import re
import sys

_MARK = re.compile(r'^//! (\S+) (\d+)(?:; (.*))?$')


def blocks_of(root, page):
    """By number, counted from 1: the line where it begins, and its lines."""
    blocks, lines = {}, None
    for number, line in enumerate((root / page).read_text().splitlines(), 1):
        if lines is None and line == '```cpp':
            lines = []
            blocks[len(blocks) + 1] = (number + 1, lines)
        elif lines is not None and line == '```':
            lines = None
        elif lines is not None:
            lines.append(line)
    return blocks


def fill(template, blocks):
    """The text of the template with each block in its place."""
    left = {(page, number) for page, of_page in blocks.items() for number in of_page}
    out = []
    for number, line in enumerate(template.read_text().splitlines(), 1):
        mark = _MARK.match(line)
        if not mark:
            out.append(line)
            continue
        key = (mark[1], int(mark[2]))
        if key not in left:
            sys.exit(f'{template}:{number}: {mark[1]} has no example {mark[2]}, or it is used twice')
        left.remove(key)
        first, lines = blocks[key[0]][key[1]]
        out.append(f'#line {first} "{mark[1]}"')
        out += [(mark[3] or '') if each.strip() == '...' else each for each in lines]
        out.append(f'#line {number + 1} "{template.name}"')
    for page, number in sorted(left):
        sys.exit(f'{page}:{blocks[page][number][0]}: this example is nowhere in {template}: '
                 'add it, so that it is compiled')
    return '\n'.join(out) + '\n'


def main():
    root, template, out = (pathlib.Path(argument) for argument in sys.argv[1:4])
    blocks = {page: blocks_of(root, page) for page in sys.argv[4:]}
    out.write_text(fill(template, blocks))


if __name__ == '__main__':
    main()
