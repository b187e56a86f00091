"""Which faults there are: from a piece of syntax to the edits that plant one.

Every edit keeps the lines of the file as they are: copies of code go onto one line. `@ON@` in an
edit becomes the switch of the mutant, a call that is true while it is active.
"""
import re

from clang.cindex import CursorKind as K

from mutation import arid, syntax
from mutation import text as texts
from mutation.mutant import Edit

# What is planted, as --list and the report name it.
OPERATORS = {
    'boundary': 'a comparison that takes, or does not take, the boundary: < and <=, > and >=',
    'comparison': 'a comparison that says the opposite: == and !=, < and >=',
    'constant': 'a whole number one up or down',
    'arithmetic': '+ and -, ++ and --, += and -= exchanged',
    'drop-call': 'a call whose value is not used is left out',
    'drop-assignment': 'an assignment, ++ or += is left out',
    'drop-reset': 'x.reset() or x.clear() is left out',
    'condition-true': 'a condition that always holds',
    'condition-false': 'a condition that never holds',
    'condition-not': 'a condition that says the opposite',
    'drop-operand': 'one side of && or || is left out',
    'swap-arguments': 'two neighbouring arguments of one type are exchanged',
    'return-not': 'a function returns the opposite bool',
}

_BOUNDARY = {'<': '<=', '<=': '<', '>': '>=', '>=': '>'}
_OPPOSITE = {'<': '>=', '<=': '>', '>': '<=', '>=': '<', '==': '!=', '!=': '=='}
_SWAPPED_SIGN = {'+': '-', '-': '+', '+=': '-=', '-=': '+='}
_LOOPS = (K.WHILE_STMT, K.FOR_STMT, K.DO_STMT)
LARGE = 1000


class Fault:
    """One way to break one node; `why_not`: the reason why it is left out."""

    def __init__(self, operator, node, mutated, edits, why_not=None):
        self.operator = operator
        self.start, self.end = node.start, node.end
        self.original = node.text
        self.mutated = mutated
        self.edits = edits
        self.why_not = why_not


def _flat(node):
    return texts.one_line(node.text)


def _either(operator, node, mutated, why_not=None, is_statement=False):
    """`node`, or while the mutant is active `mutated`."""
    # The value of a statement goes: another mutant of the place may have none.
    cast = '(void)' if is_statement else ''
    edit = Edit(node.start, node.end, f'(@ON@ ? {cast}({mutated}) : {cast}(', '))')
    return Fault(operator, node, mutated, (edit,), why_not)


def _surround(operator, node, mutated, before, after, shown=None, why_not=None):
    edit = Edit(node.start, node.end, before, after)
    return Fault(operator, shown or node, mutated, (edit,), why_not)


def _in_its_expression(operator, node, mutated, edit, why_not):
    """Shown with the expression around it: a lone number would say little."""
    around = node.parent
    while around is not None and around.kind in syntax.WRAPPERS:
        around = around.parent
    if around is None or not _shows(around, node):
        around = node
    before = node.source.text[around.start:node.start]
    after = node.source.text[node.end:around.end]
    return Fault(operator, around, texts.one_line(before + mutated + after), (edit,), why_not)


def _shows(around, node):
    kind = around.kind
    return (kind.is_expression() or kind in (K.VAR_DECL, K.RETURN_STMT)) and \
        around.start <= node.start and node.end <= around.end and len(around.text) <= 100


def comparisons(node, context):
    parts = syntax.operands(node)
    if parts is None or parts[1] not in _OPPOSITE:
        return
    left, operator, right = parts
    if operator in _BOUNDARY:
        clock = (left.is_time() or right.is_time()) and context.reads_clock
        yield _either('boundary', _Whole(left, right),
                      f'{_flat(left)} {_BOUNDARY[operator]} {_flat(right)}',
                      arid.CLOCK if clock else None)
    whole = _Whole(left, right)
    yield _surround('comparison', whole, f'{_flat(left)} {_OPPOSITE[operator]} {_flat(right)}',
                    '(@ON@ != (', '))')


class _Whole:
    """From the left operand to the right one. (Clang's own range of a comparison that C++20
    rewrites is shorter.)"""

    def __init__(self, left, right):
        self.start, self.end = left.start, right.end
        self.text = left.source.text[self.start:self.end]


def constants(node, context):
    if node.kind != K.INTEGER_LITERAL or not _is_value(node):
        return
    match = re.fullmatch(r"(0[xX][\da-fA-F']+|0[bB][01']+|[\d']+)([uUlLzZ]*)", node.text)
    if match is None:
        return
    digits, suffix = match.group(1).replace("'", ''), match.group(2)
    octal = re.fullmatch(r'0[0-7]+', digits)
    value = int(digits, 8) if octal else int(digits, 0)
    why_not = arid.DURATION if arid.is_duration(node) else arid.LARGE if value >= LARGE else None
    for changed in (value + 1, value - 1):
        if changed >= 0:
            edit = Edit(node.start, node.end, f'(@ON@ ? {changed}{suffix} : ', ')')
            yield _in_its_expression('constant', node, f'{changed}{suffix}', edit, why_not)


def _is_value(literal):
    """Not an argument of a template, the bound of an array or a bit field's width."""
    before = literal.source.code[:literal.start].rstrip()[-1:]
    parent = literal.parent
    while parent is not None and parent.kind == K.UNEXPOSED_EXPR:
        parent = parent.parent
    if parent is None or parent.kind in (K.DECL_REF_EXPR, K.MEMBER_REF_EXPR, K.TYPE_REF,
                                         K.TEMPLATE_REF):
        return False
    declared = parent.kind in (K.VAR_DECL, K.FIELD_DECL, K.CXX_NEW_EXPR)
    return not (declared and (before == '[' or literal.start < parent.cursor.location.offset))


def arithmetic(node, context):
    if node.kind == K.UNARY_OPERATOR and syntax.is_statement(node):
        yield from _steps(node)
        return
    parts = syntax.operands(node)
    if parts is None or parts[1] not in _SWAPPED_SIGN:
        return
    left, operator, right = parts
    if not _keeps_type(node, left, right):
        return
    mutated = f'{_flat(left)} {_SWAPPED_SIGN[operator]} {_flat(right)}'
    yield _either('arithmetic', _Whole(left, right), mutated,
                  is_statement=syntax.is_statement(node))


def _keeps_type(node, left, right):
    """Both a + b and a - b exist: numbers, or a time and a duration."""
    if syntax.bare(left).is_number() and syntax.bare(right).is_number():
        return True
    return left.is_time() and right.is_time() and \
        right.type_name().startswith('std::chrono::duration<')


def _steps(node):
    code = node.text
    for this, other in (('++', '--'), ('--', '++')):
        if code.startswith(this):
            yield _either('arithmetic', node, other + texts.one_line(code[2:]), is_statement=True)
        elif code.endswith(this):
            yield _either('arithmetic', node, texts.one_line(code[:-2]) + other, is_statement=True)


def dropped_statements(node, context):
    if not syntax.is_statement(node):
        return
    inner = syntax.bare(node)
    operator = _dropped(inner)
    if operator is None:
        return
    why_not = arid.NO_RETURN if arid.ends_process(inner) else arid.only_sets_text(inner)
    yield _surround(operator, node, '(nothing)', '(@ON@ ? (void)0 : (void)(', '))', why_not=why_not)


def _dropped(node):
    parts = syntax.operands(node)
    if parts is not None:
        return 'drop-assignment' if re.fullmatch(r'[-+*/%&|^]?=|<<=|>>=', parts[1]) else None
    if node.kind == K.UNARY_OPERATOR:
        return 'drop-assignment' if '++' in node.text or '--' in node.text else None
    if node.kind != K.CALL_EXPR or node.text.endswith('}'):
        return None
    if re.search(r'(\.|->)\s*(reset|clear)\(\s*\)$', node.text):
        return 'drop-reset'
    return 'drop-call'


def conditions(node, context):
    if node.kind not in (K.IF_STMT, K.CONDITIONAL_OPERATOR, *_LOOPS):
        return
    if re.match(r'if\s+constexpr\b', node.text):
        return
    cond = syntax.condition(node)
    if cond is None or _flat(cond) in ('true', 'false'):
        return
    hook = arid.HOOK if arid.constant_value(cond) is not None else None
    why_not = hook or (arid.ONLY_LOGS if arid.only_logs(node) else None)
    loop = node.kind in _LOOPS
    yield _surround('condition-true', cond, 'true', '(@ON@ || (', '))',
                    why_not=arid.ENDLESS if loop else why_not)
    yield _surround('condition-false', cond, 'false', '(!@ON@ && (', '))', why_not=why_not)
    if not loop and not _is_comparison(cond):
        yield _surround('condition-not', cond, _negated(cond),
                        '(@ON@ != static_cast<bool>(', '))', why_not=why_not)


def _is_comparison(node):
    parts = syntax.operands(_operator_call(node))
    return parts is not None and parts[1] in _OPPOSITE


def _operator_call(node):
    """Looks through what C++20 makes of a != b: !(a == b)."""
    node = syntax.bare(node)
    inner = node
    while inner.children and inner.kind in (K.UNARY_OPERATOR, K.UNEXPOSED_EXPR) and \
            not node.text.startswith('!'):
        inner = inner.children[0]
    return inner if inner.kind in (K.CALL_EXPR, K.BINARY_OPERATOR) else node


def _negated(node):
    code = _flat(node)
    if re.fullmatch(r'![\w.:>()\[\]-]+', code):
        return code[1:]
    return f'!{code}' if re.fullmatch(r'[\w.:>()\[\]-]+', code) else f'!({code})'


def operands_of_logic(node, context):
    if node.kind != K.BINARY_OPERATOR:
        return
    parts = syntax.operands(node)
    if parts is None or parts[1] not in ('&&', '||', 'and', 'or'):
        return
    left, operator, right = parts
    # Without an operand of &&: as if that were true; of ||: false.
    before = '(@ON@ || (' if operator in ('&&', 'and') else '(!@ON@ && ('
    for gone, left_over in ((left, right), (right, left)):
        hook = arid.HOOK if arid.constant_value(gone) is not None else None
        yield _surround('drop-operand', gone, _flat(left_over), before, '))', shown=node,
                        why_not=hook)


def swapped_arguments(node, context):
    arguments = _arguments(node)
    for first, second in zip(arguments, arguments[1:]):
        if first.end >= second.start or first.text == second.text:
            continue
        if first.type_name() != second.type_name() or first.type_name() in ('', '<dependent type>'):
            continue
        if first.text.startswith('{') or second.text.startswith('{'):
            continue  # a list without a type cannot stand in ?:
        edits = (Edit(first.start, first.end, f'(@ON@ ? ({_flat(second)}) : (', '))'),
                 Edit(second.start, second.end, f'(@ON@ ? ({_flat(first)}) : (', '))'))
        why_not = arid.SYMMETRIC if node.kind == K.CALL_EXPR and arid.is_symmetric(node) else None
        yield Fault('swap-arguments', _Whole(first, second), f'{_flat(second)}, {_flat(first)}',
                    edits, why_not)


def _arguments(node):
    if node.kind == K.CALL_EXPR:
        if node.name.startswith('operator') and node.name != 'operator()':
            return []
        return [syntax.Node(a, node.source, node) for a in node.cursor.get_arguments()
                if a is not None and a.extent.end.offset > a.extent.start.offset]
    if node.kind == K.INIT_LIST_EXPR and node.cursor.type.get_canonical().kind.name == 'RECORD':
        return [] if re.search(r'[{,]\s*\.\w', node.text) else node.children
    return []


def returned_bools(node, context):
    if node.kind != K.RETURN_STMT or not node.children:
        return
    value = node.children[0]
    if not value.is_bool() or _is_comparison(value) or value.text.startswith('{'):
        return
    code = _flat(value)
    opposite = {'true': 'false', 'false': 'true'}.get(code) or _negated(value)
    yield _surround('return-not', value, opposite, '(@ON@ != static_cast<bool>(', '))')


FINDERS = (comparisons, constants, arithmetic, dropped_statements, conditions, operands_of_logic,
           swapped_arguments, returned_bools)
