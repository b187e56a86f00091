"""A thin tree over libclang's cursors: what the rules for faults ask of a piece of code."""
from clang.cindex import CursorKind as K, TypeKind as T

WRAPPERS = (K.UNEXPOSED_EXPR, K.PAREN_EXPR)
FUNCTIONS = {K.FUNCTION_DECL, K.CXX_METHOD, K.CONSTRUCTOR, K.DESTRUCTOR, K.CONVERSION_FUNCTION,
             K.FUNCTION_TEMPLATE}
_NUMBERS = {T.CHAR_U, T.UCHAR, T.USHORT, T.UINT, T.ULONG, T.ULONGLONG, T.UINT128, T.CHAR_S,
            T.SCHAR, T.SHORT, T.INT, T.LONG, T.LONGLONG, T.INT128, T.FLOAT, T.DOUBLE}


class Node:
    """A cursor with its place in the file's text. Children that come from elsewhere (implicit
    code, macros) may have places that make no sense: users look at the text before they trust."""

    def __init__(self, cursor, source, parent=None):
        self.cursor = cursor
        self.source = source
        self.parent = parent
        self.kind = cursor.kind
        extent = cursor.extent
        self.start = extent.start.offset
        self.end = extent.end.offset
        self._children = None

    @property
    def children(self):
        if self._children is None:
            self._children = [Node(c, self.source, self) for c in self.cursor.get_children()]
        return self._children

    @property
    def name(self):
        return self.cursor.spelling

    @property
    def text(self):
        return self.source.text[self.start:self.end]

    def type_name(self):
        """The canonical type, without const and references."""
        name = self.cursor.type.get_canonical().spelling.replace('const ', '')
        return name.rstrip('& ').strip()

    def is_bool(self):
        return self.type_name() == 'bool'

    def is_number(self):
        return self.cursor.type.get_canonical().kind in _NUMBERS

    def is_time(self):
        return self.type_name().startswith(('std::chrono::duration<', 'std::chrono::time_point<'))

    def callee(self):
        """`std::min`, `shardmanager::Partition::Look`; '' where a template hides it."""
        declaration = self.cursor.referenced
        names = []
        while declaration is not None and declaration.kind != K.TRANSLATION_UNIT:
            if declaration.spelling:
                names.append(declaration.spelling)
            declaration = declaration.semantic_parent
        return '::'.join(reversed(names)) or self.name

    def walk(self):
        yield self
        for child in self.children:
            yield from child.walk()


def bare(node):
    """The node without parentheses and implicit conversions around it."""
    while node.kind in WRAPPERS:
        inner = [c for c in node.children if c.kind.is_expression()]
        if len(inner) != 1:
            return node
        node = inner[0]
    return node


def operands(node):
    """(left, operator, right) of a binary operator, the language's or an overloaded one."""
    if node.kind not in (K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR, K.CALL_EXPR):
        return None
    if node.kind == K.CALL_EXPR and not node.name.startswith('operator'):
        return None
    children = sorted(node.children, key=lambda c: c.start)
    if len(children) not in (2, 3):
        return None
    left, right = children[0], children[-1]
    between = node.source.code[left.end:right.start].strip()
    if node.start > left.start or node.end < right.end:
        return None
    return left, between, right


def condition(node):
    """The condition of an if, a loop or ?:. None where it declares a variable."""
    children = [c for c in node.children if c.kind != K.NULL_STMT]
    if node.kind == K.CONDITIONAL_OPERATOR:
        return children[0] if len(children) == 3 else None
    if node.kind == K.FOR_STMT:
        return _for_condition(node)
    if node.kind == K.DO_STMT:
        return children[-1] if children else None
    opening = node.source.code.find('(', node.start)
    closing = node.source.closing(opening)
    inside = [c for c in children if opening < c.start < closing]
    if not inside or any(c.kind == K.VAR_DECL for c in inside):
        return None
    return inside[-1] if inside[-1].kind.is_expression() else None


def _for_condition(node):
    opening = node.source.code.find('(', node.start)
    first = node.source.separator(opening)
    second = node.source.separator(first)
    inside = [c for c in node.children if first < c.start < second]
    return inside[0] if len(inside) == 1 and inside[0].kind.is_expression() else None


def is_statement(node):
    """The node stands where a statement does: its value is not used."""
    while node.parent is not None and node.parent.kind in WRAPPERS:
        node = node.parent
    parent = node.parent
    if parent is None or not node.kind.is_expression():
        return False
    if parent.kind == K.COMPOUND_STMT:
        return True
    if parent.kind in (K.CASE_STMT, K.DEFAULT_STMT, K.LABEL_STMT, K.FOR_STMT, K.WHILE_STMT,
                       K.CXX_FOR_RANGE_STMT):
        return node.start == parent.children[-1].start and is_after_head(parent, node)
    if parent.kind == K.IF_STMT:
        return is_after_head(parent, node)
    return parent.kind == K.DO_STMT and node.start == parent.children[0].start


def is_after_head(parent, node):
    if parent.kind in (K.CASE_STMT, K.DEFAULT_STMT, K.LABEL_STMT):
        return len(parent.children) > 1 or parent.kind != K.CASE_STMT
    opening = parent.source.code.find('(', parent.start)
    return node.start > parent.source.closing(opening)
