"""Where no faults are planted, and why.

A fault in these places would be found by no test that is worth having. Each kind has its reason,
which `scripts/mutate --list` prints with the number of places that were left out for it.
"""
import re

from clang.cindex import CursorKind as K

from mutation import syntax

_STATUS = re.compile(r'^absl::(debian\d+::)?(\w+Error|ErrnoToStatus)$')
_TEXT = re.compile(r'^absl::(debian\d+::)?(StrCat|StrAppend|StrFormat|StrAppendFormat|StrJoin)$')
_LOG = re.compile(r'^(spdlog::|fmt::|shardmanager::Repeater::|(std::)?(fprintf|fputs|printf)$)')
_ENDS = re.compile(r'(^|::)(abort|exit|_exit|_Exit|quick_exit|terminate|Die)$')
_HINT = re.compile(r'(^|::)(reserve|shrink_to_fit|Reserve|prefetch)$')
_DURATION = re.compile(r'(^|::)(Seconds|Milliseconds|Duration|seconds|milliseconds|microseconds|'
                       r'minutes|hours|ChannelArguments::SetInt)$')
_SYMMETRIC = re.compile(r'^std::(min|max|swap|gcd|hypot|exchange|is_same\w*)$')


def _called(node, pattern):
    return node.kind == K.CALL_EXPR and bool(pattern.search(node.callee()))


def _is_log(node):
    return _called(node, _LOG)


def _is_text(node):
    return _called(node, _STATUS) or _called(node, _TEXT)


def _is_defect_hook(node):
    return constant_value(node) is not None


def constant_value(node):
    """What an expression with a hook for a defect is in production: Planted() is false there. None
    for all others."""
    node = syntax.bare(node)
    if node.kind == K.CALL_EXPR and node.name == 'Planted':
        return False
    if node.kind == K.UNARY_OPERATOR and node.text.startswith('!'):
        value = constant_value(node.children[0])
        return None if value is None else not value
    parts = syntax.operands(node)
    if parts is None or parts[1] not in ('&&', '||'):
        return None
    values = constant_value(parts[0]), constant_value(parts[2])
    decides = parts[1] == '||'
    if decides in values:
        return decides
    return None if None in values else not decides


def _is_dead(node):
    """A branch that only runs with a planted defect."""
    while node.parent is not None and node.parent.kind in syntax.WRAPPERS:
        node = node.parent
    condition = node.parent and node.parent.kind == K.IF_STMT and syntax.condition(node.parent)
    value = constant_value(condition) if condition else None
    if value is None:
        return False
    branches = [c for c in node.parent.children if syntax.is_after_head(node.parent, c)]
    return node in branches and branches.index(node) == int(value)


def _is_flag(node):
    return node.kind == K.CALL_EXPR and node.callee().startswith('CLI::')


def _is_compile_time(node):
    if node.kind in (K.STATIC_ASSERT, K.ENUM_CONSTANT_DECL, K.ENUM_DECL, K.TYPE_ALIAS_DECL,
                     K.TYPEDEF_DECL, K.SIZE_OF_PACK_EXPR, K.CXX_UNARY_EXPR,
                     K.TEMPLATE_NON_TYPE_PARAMETER, K.TEMPLATE_TYPE_PARAMETER):
        return True
    if node.kind == K.VAR_DECL:
        head = node.source.code[node.start:node.cursor.location.offset]
        return re.search(r'\b(constexpr|constinit)\b', head) is not None
    parent = node.parent
    return parent is not None and parent.kind == K.CASE_STMT and \
        node.start == parent.children[0].start


def _is_default(node):
    return node.kind in (K.FIELD_DECL, K.PARM_DECL)


TEXT = 'text for people: error messages and what they are put together from'
HOOK = 'hooks for planted defects (src/base/defect.h): nothing of them is in production'
# What is left out with all that is in it: (reason, predicate).
SUBTREES = (
    ('logging: what it says, and when, is for people', _is_log),
    (TEXT, _is_text),
    (HOOK, lambda n: _is_defect_hook(n) or _is_dead(n)),
    ('flags and their help: declarations of the command line', _is_flag),
    ('memory hints: the result is the same without them', lambda n: _called(n, _HINT)),
    ('compile time: a switch at run time cannot reach it', _is_compile_time),
    ('default values of options and parameters: choices, not logic', _is_default),
)

MACRO = 'inside a macro (SM_CHECK: an invariant that no test may break)'
ENDLESS = 'the step of a for loop, or its condition made true: the loop never ends'
NO_RETURN = 'calls that do not return: without them the behaviour is undefined'
DURATION = 'numbers of seconds, milliseconds, ..., options of gRPC: choices; one more is no fault'
LARGE = 'numbers from 1000: sizes and units; one more is another choice, not a fault'
CLOCK = 'the boundary between two readings of the clock: no test can meet the microsecond'
ONLY_LOGS = 'the condition of a statement that only logs'
SYMMETRIC = 'arguments whose order makes no difference (std::max) or only looks alike'


def subtree_reason(node):
    for reason, predicate in SUBTREES:
        if predicate(node):
            return reason
    return None


def only_sets_text(assignment):
    """The reason to leave out x = StrCat(...); None for other assignments."""
    parts = syntax.operands(assignment)
    text = parts is not None and _is_text(syntax.bare(parts[2]))
    return TEXT if text else None


def ends_process(call):
    return _called(call, _ENDS)


def is_symmetric(call):
    return bool(_SYMMETRIC.search(call.callee()))


def is_duration(literal):
    """The number is the only thing that a duration is made of."""
    node = literal.parent
    while node is not None and node.kind in (K.UNEXPOSED_EXPR, K.PAREN_EXPR, K.INIT_LIST_EXPR):
        node = node.parent
    return node is not None and node.kind == K.CALL_EXPR and (
        bool(_DURATION.search(node.callee())) or
        (node.is_time() and not node.name.startswith('operator')))


def reads_clock(function):
    """The function, or one inside it, asks what time it is."""
    return any(n.kind == K.CALL_EXPR and n.name in ('MonotonicNow', 'WallMilliseconds', 'now')
               for n in function.walk())


def only_logs(statement):
    """Each branch of the if does nothing but to write a log."""
    if statement.kind != K.IF_STMT:
        return False
    head = statement.source.closing(statement.source.code.find('(', statement.start))
    branches = [c for c in statement.children if c.start > head]
    return bool(branches) and all(_logs(branch) for branch in branches)


def _logs(statement):
    if statement.kind == K.COMPOUND_STMT:
        return all(_logs(child) for child in statement.children)
    return _is_log(syntax.bare(statement)) or only_logs(statement)
