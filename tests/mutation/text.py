"""C++ text without a parser: comments, strings, white space.

Sources are decoded as Latin-1, so that one character is one byte and libclang's offsets are
positions in the text. for_people() turns a piece of it into what an editor shows, from_people()
back.
"""
import re

_COMMENT = r'//[^\n]*|/\*.*?\*/'
_LITERAL = (r'R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"'        # raw strings
            r'|"(?:\\.|[^"\\\n])*"'                      # strings
            r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'")     # characters, but no digit separators
_GAP_OR_LITERAL = re.compile(rf'(?P<gap>(?:\s|{_COMMENT})+)|{_LITERAL}', re.DOTALL)
_COMMENT_OR_LITERAL = re.compile(rf'(?P<comment>{_COMMENT})|{_LITERAL}', re.DOTALL)
_LITERALS = re.compile(_LITERAL, re.DOTALL)


def read(path):
    return path.read_bytes().decode('latin-1')


def write_if_changed(path, text):
    """Leaves the file alone, and its time, if it has this text already. True: it was written."""
    data = text.encode('latin-1')
    if path.exists() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return True


def for_people(text):
    return text.encode('latin-1').decode('utf-8', 'replace')


def from_people(text):
    return text.encode('utf-8').decode('latin-1')


def shorten(code, most=120):
    """For people: long code keeps its beginning and its end."""
    code = for_people(code)
    return code if len(code) <= most else f'{code[:most - 25]} ... {code[-20:]}'


def one_line(code):
    """The same code on one line: comments go, white space outside strings becomes one space."""
    return _GAP_OR_LITERAL.sub(lambda m: ' ' if m['gap'] else m.group(), code).strip()


def fits_one_line(code):
    """False for what must keep its lines: raw strings and preprocessor directives."""
    return 'R"' not in code and '#' not in _LITERALS.sub('', code)


def without_comments_and_literals(code):
    """Of the same length: comments and what is inside quotes become spaces."""
    def blank(match):
        token = match.group()
        keep = 0 if match['comment'] else 1
        inside = re.sub(r'[^\n]', ' ', token[keep:len(token) - keep])
        return token[:keep] + inside + token[len(token) - keep:]
    return _COMMENT_OR_LITERAL.sub(blank, code)


def line_of(text, offset):
    return text.count('\n', 0, offset) + 1
