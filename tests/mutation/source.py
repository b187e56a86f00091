"""The text of one source file, and its brackets."""
from mutation import text as texts


class Source:
    def __init__(self, path, text, macro_uses=()):
        self.path = path
        self.text = text
        self.code = texts.without_comments_and_literals(text)
        # Where macros are used, as (start, end): what is inside is not changed.
        self.macro_uses = sorted(macro_uses)

    def closing(self, opening):
        """The position of the bracket that closes the one at `opening`."""
        depth = 0
        for at in range(opening, len(self.code)):
            if self.code[at] in '([{':
                depth += 1
            elif self.code[at] in ')]}':
                depth -= 1
                if depth == 0:
                    return at
        return len(self.code)

    def separator(self, after):
        """The next semicolon at the depth of what stands after the position."""
        depth = 0
        for at in range(after + 1, len(self.code)):
            if self.code[at] in '([{':
                depth += 1
            elif self.code[at] in ')]}':
                depth -= 1
            if depth < 0 or (depth == 0 and self.code[at] == ';'):
                return at
        return len(self.code)

    def in_macro_use(self, start, end):
        return any(s <= start and end <= e for s, e in self.macro_uses)

    def line(self, offset):
        return texts.line_of(self.text, offset)

