"""The parser: the text of an expression becomes a tree.

Upstream: github.com/google/cel-go/parser (gen/CEL.g4, unescape.go).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

import msgspec

from kwhatif.cel.tree import (
    DEEPEST,
    Call,
    Ident,
    ListOf,
    Literal,
    MapOf,
    Node,
    Select,
    StructOf,
    depth_of,
    qualified_name_of,
)
from kwhatif.cel.values import CompileError

_EXPRESSION = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
"""What an expression can begin with, as cel-go names it."""

MOST_NESTED = 250
"""Expressions nested deeper are refused (upstream: maxRecursionDepth)."""

_DIGITS_AT_MOST = 99
"""The most digits of a number of 64 bits, leading zeros aside."""


_TOKEN = re.compile(
    r"""
      (?P<space> [\t\x20\r\n\x0c]+ | //[^\n]* )
    | (?P<string> [bB]?[rR]?(?: \"\"\" (?:[^\\]|\\.)*? \"\"\" | ''' (?:[^\\]|\\.)*? '''
                 | "(?:[^\\"\n\r]|\\.)*" | '(?:[^\\'\n\r]|\\.)*' ) )
    | (?P<float> [0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)? | [0-9]+[eE][+-]?[0-9]+ | \.[0-9]+(?:[eE][+-]?[0-9]+)? )
    | (?P<int> (?: 0x[0-9a-fA-F]+ | [0-9]+ ) [uU]? )
    | (?P<ident> [A-Za-z_][A-Za-z0-9_]* )
    | (?P<escaped> `[A-Za-z0-9_.\-/\x20]+` )
    | (?P<op> == | != | <= | >= | && | \|\| | [-+*/%!<>?:.,()\[\]{}] )
    """,
    re.VERBOSE | re.DOTALL,
)
# A raw string knows no escapes, so a backslash before its end does not keep it open.
_RAW = re.compile(r"[bB]?[rR](?:\"\"\".*?\"\"\"|'''.*?'''|\"[^\"\n\r]*\"|'[^'\n\r]*')", re.DOTALL)
# fmt: off
_RESERVED = frozenset([
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
])
# fmt: on
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\"'\\?`])|([0-3][0-7][0-7])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))",
    re.DOTALL,
)
_NAMED = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_RELATIONS = ("<", "<=", ">=", ">", "==", "!=", "in")


class _Token(msgspec.Struct, frozen=True):
    kind: str
    text: str
    at: int


def parse(text: str) -> Node:
    """The tree of an expression. Raises CompileError."""
    try:
        tree = _Parser(text).whole()
    except RecursionError:
        tree = None
    if tree is None or depth_of(tree) > DEEPEST:
        raise CompileError(text, 0, "expression recursion limit exceeded")
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._scan()
        self._next = 0
        self._depth = 0

    def _fail(self, at: int, problem: str) -> NoReturn:
        raise CompileError(self._text, at, problem)

    def _scan(self) -> list[_Token]:
        tokens, at = [], 0
        while at < len(self._text):
            match = _RAW.match(self._text, at)
            kind = "string"
            if match is None:
                match = _TOKEN.match(self._text, at)
                kind = match.lastgroup or "" if match else ""
            if match is None:
                self._fail(at, f"Syntax error: token recognition error at: '{self._text[at]}'")
            if kind != "space":
                tokens.append(_Token(kind, match[0], at))
            at = match.end()
        tokens.append(_Token("end", "<EOF>", len(self._text)))
        return tokens

    # --- tokens

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _is(self, *texts: str) -> bool:
        token = self._token
        return token.text in texts and (token.kind == "op" or (token.kind == "ident" and token.text == "in"))

    def _take(self) -> _Token:
        token = self._token
        self._next += 1
        return token

    def _try(self, text: str) -> _Token | None:
        return self._take() if self._is(text) else None

    def _expect(self, text: str) -> _Token:
        if not self._is(text):
            self._fail_unexpected(f"'{text}'")
        return self._take()

    def _fail_unexpected(self, expected: str) -> NoReturn:
        token = self._token
        self._fail(token.at, f"Syntax error: mismatched input '{token.text}' expecting {expected}")

    # --- grammar, loosest binding first

    def whole(self) -> Node:
        tree = self._expression()
        if self._token.kind != "end":
            self._fail_unexpected("<EOF>")
        return tree

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > MOST_NESTED:
            self._fail(self._token.at, f"expression recursion limit exceeded: {MOST_NESTED}")
        condition = self._either()
        if mark := self._try("?"):
            yes = self._either()
            self._expect(":")
            condition = Call(mark.at, "_?_:_", (condition, yes, self._expression()))
        self._depth -= 1
        return condition

    def _chain(self, operand: Callable[[], Node], *operators: str) -> Node:
        left = operand()
        while self._is(*operators):
            sign = self._take()
            name = "@in" if sign.text == "in" else f"_{sign.text}_"
            left = Call(sign.at, name, (left, operand()))
        return left

    def _parse_balanced(self, operand: Callable[[], Node], operator: str) -> Node:
        """A chain as a tree that is no deeper than it has to be (cel-go's balancer)."""
        terms, signs = [operand()], []
        while self._is(operator):
            signs.append(self._take())
            terms.append(operand())

        def tree(first: int, last: int) -> Node:
            if first == last:
                return terms[first]
            middle = (first + last + 1) // 2
            left, right = tree(first, middle - 1), tree(middle, last)
            return Call(signs[middle - 1].at, f"_{operator}_", (left, right))

        return tree(0, len(signs))

    def _either(self) -> Node:
        return self._parse_balanced(self._both, "||")

    def _both(self) -> Node:
        return self._parse_balanced(self._relation, "&&")

    def _relation(self) -> Node:
        return self._chain(self._sum, *_RELATIONS)

    def _sum(self) -> Node:
        return self._chain(self._product, "+", "-")

    def _product(self) -> Node:
        return self._chain(self._unary, "*", "/", "%")

    def _unary(self) -> Node:
        signs = []
        first = self._token.text if self._is("!", "-") else ""
        while first and self._is(first):
            signs.append(self._take())
        if first == "-" and self._token.kind in ("int", "float"):
            # The sign belongs to the number, so that the smallest int can be written.
            tree = self._members(self._number(signs.pop()))
        else:
            tree = self._members(self._primary())
        if len(signs) % 2:
            tree = Call(signs[0].at, "!_" if first == "!" else "-_", (tree,))
        return tree

    def _members(self, tree: Node) -> Node:
        while True:
            if dot := self._try("."):
                optional = self._try("?") is not None
                name = self._member(optional)
                if not optional and self._is("("):
                    opening = self._take()
                    tree = Call(opening.at, name, self._arguments(")"), tree)
                else:
                    tree = Select(dot.at, tree, name, optional)
            elif bracket := self._try("["):
                function = "_[?_]" if self._try("?") else "_[_]"
                index = self._expression()
                self._expect("]")
                tree = Call(bracket.at, function, (tree, index))
            elif self._is("{") and (name := qualified_name_of(tree)):
                tree = self._struct(self._take().at, name)
            else:
                return tree

    def _struct(self, at: int, name: str) -> Node:
        entries: list[tuple[str, Node]] = []
        optional = set()
        while not self._is("}"):
            if self._try("?"):
                optional.add(len(entries))
            field = self._field()
            self._expect(":")
            entries.append((field, self._expression()))
            if not self._try(","):
                break
        self._expect("}")
        return StructOf(at, name, tuple(entries), frozenset(optional))

    def _member(self, optional: bool) -> str:
        token = self._token
        if not optional and token.kind not in ("ident", "escaped"):
            # The parser looks at the dot together with what comes after it.
            after = "" if token.kind == "end" else token.text
            self._fail(token.at, f"Syntax error: no viable alternative at input '.{after}'")
        return self._field()

    def _field(self) -> str:
        token = self._token
        if token.kind == "escaped":
            return self._take().text[1:-1]
        if token.kind != "ident" or token.text in ("in", "true", "false", "null"):
            self._fail_unexpected("IDENTIFIER")
        return self._take().text

    def _arguments(self, closing: str) -> tuple[Node, ...]:
        arguments: list[Node] = []
        while not self._is(closing):
            arguments.append(self._expression())
            if not self._try(","):
                break
        self._expect(closing)
        return tuple(arguments)

    def _primary(self) -> Node:
        token = self._token
        if token.kind in ("int", "float"):
            return self._number(None)
        if token.kind == "string":
            return self._string()
        if (token.kind == "ident" and token.text != "in") or self._try("."):
            return self._name()
        if self._try("["):
            return self._list(token.at)
        if self._try("{"):
            return self._map(token.at)
        if not self._try("("):
            self._fail(token.at, f"Syntax error: mismatched input '{token.text}' expecting {_EXPRESSION}")
        tree = self._expression()
        self._expect(")")
        return tree

    def _name(self) -> Node:
        token = self._take()
        if token.text in ("true", "false"):
            return Literal(token.at, "bool", token.text == "true")
        if token.text == "null":
            return Literal(token.at, "null_type", None)
        if token.text in _RESERVED:
            self._fail(token.at, f"reserved identifier: {token.text}")
        if self._is("("):
            opening = self._take()
            return Call(opening.at, token.text, self._arguments(")"))
        return Ident(token.at, token.text)

    def _list(self, at: int) -> Node:
        elements: list[Node] = []
        optional = set()
        while not self._is("]"):
            if self._try("?"):
                optional.add(len(elements))
            elements.append(self._expression())
            if not self._try(","):
                break
        self._expect("]")
        return ListOf(at, tuple(elements), frozenset(optional))

    def _map(self, at: int) -> Node:
        entries: list[tuple[Node, Node]] = []
        optional = set()
        while not self._is("}"):
            if self._try("?"):
                optional.add(len(entries))
            key = self._expression()
            self._expect(":")
            entries.append((key, self._expression()))
            if not self._try(","):
                break
        self._expect("}")
        return MapOf(at, tuple(entries), frozenset(optional))

    # --- literals

    def _number(self, sign: _Token | None) -> Node:
        token = self._take()
        at, minus = (sign.at, -1) if sign else (token.at, 1)
        if token.kind == "float":
            return Literal(at, "double", minus * float(token.text))
        unsigned = token.text[-1] in "uU"
        digits = token.text.rstrip("uU")
        if len(digits) > _DIGITS_AT_MOST:
            self._fail(at, f"invalid {'uint' if unsigned else 'int'} literal")
        value = minus * int(digits, 16 if digits.startswith("0x") else 10)
        if unsigned and not sign and value < 2**64:
            return Literal(at, "uint", value)
        if unsigned or not -(2**63) <= value < 2**63:
            self._fail(at, f"invalid {'uint' if unsigned else 'int'} literal")
        return Literal(at, "int", value)

    def _string(self) -> Node:
        token = self._take()
        text = token.text
        prefix = text[: len(text) - len(text.lstrip("bBrR"))].lower()
        body = text[len(prefix) :]
        quotes = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
        body = body[quotes:-quotes].replace("\r\n", "\n")
        if "b" in prefix:
            return Literal(token.at, "bytes", body.encode() if "r" in prefix else self._bytes(body, token.at))
        return Literal(token.at, "string", body if "r" in prefix else self._unescape(body, token.at))

    def _unescape(self, body: str, at: int) -> str:
        def one(escape: re.Match[str]) -> str:
            named, octal, *coded, unknown = escape.groups()
            if unknown is not None:
                self._fail(at, f"Syntax error: token recognition error at: '\\{unknown}'")
            if named:
                return _NAMED.get(named, named)
            point = int(octal, 8) if octal else int(next(filter(None, coded)), 16)
            if point > 0x10FFFF or 0xD800 <= point < 0xE000:
                self._fail(at, "invalid unicode code point")
            return chr(point)

        return _ESCAPE.sub(one, body)

    def _bytes(self, body: str, at: int) -> bytes:
        content, end = b"", 0
        for escape in _ESCAPE.finditer(body):
            _, octal, byte, *_ = escape.groups()
            content += body[end : escape.start()].encode()
            if octal or byte:
                content += bytes([int(octal, 8) if octal else int(byte, 16)])
            else:
                content += self._unescape(escape[0], at).encode()
            end = escape.end()
        return content + body[end:].encode()
