"""Just enough of C++ to find functions in this project's own, clang-formatted sources."""

import bisect
import dataclasses
import re


def blank(text: str, keep_strings: bool = False) -> str:
    """The text with comments, and the contents of string and character literals, replaced by
    spaces; offsets and line breaks stay."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<tag>\w*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.S)

    def spaces(match: re.Match) -> str:
        found = match.group()
        if not found.startswith("/"):
            if keep_strings:
                return found
            return found[0] + re.sub(r"[^\n]", " ", found[1:-1]) + found[-1]
        return re.sub(r"[^\n]", " ", found)

    return token.sub(spaces, text)


PAIRS = {"(": ")", "[": "]", "{": "}"}


def matching(code: str, start: int) -> int:
    """Offset of the bracket that closes the one at `start`. `code` is blanked."""
    opening, closing = code[start], PAIRS[code[start]]
    depth = 0
    for i in range(start, len(code)):
        if code[i] == opening:
            depth += 1
        elif code[i] == closing:
            depth -= 1
            if depth == 0:
                return i
    raise ValueError(f"no partner for {opening!r} at offset {start}")


def _without_nested(text: str) -> str:
    """The text without what stands in round and angle brackets."""
    while (shorter := re.sub(r"\([^()]*\)|<[^<>]*>", "", text.replace("->", ""))) != text:
        text = shorter
    return text


@dataclasses.dataclass
class Function:
    name: str
    head: str  # from the return type to the body
    body: str  # blanked, with its braces
    line: int  # of the head's first token
    lines: int  # from there to the closing brace
    anonymous: bool  # inside an unnamed namespace
    comment: str  # the // block directly above, without the slashes, lines joined by \n

    @property
    def is_coroutine(self) -> bool:
        return re.search(r"\bco_(await|return|yield)\b", self.body) is not None

    @property
    def returns_co(self) -> bool:
        return re.match(r"(static |inline )*(sim::)?Co<", self.head) is not None


class Source:
    def __init__(self, path: str, text: str):
        self.path = path
        self.text = text
        self.code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
                           lambda m: re.sub(r"[^\n]", " ", m.group()), blank(text), flags=re.M)
        self._line_starts = [0] + [m.end() for m in re.finditer("\n", text)]
        self.functions: list[Function] = []
        self._scan(0, len(self.code), False)

    def line_at(self, offset: int) -> int:
        return bisect.bisect_right(self._line_starts, offset)

    def _scan(self, start: int, end: int, anonymous: bool) -> None:
        """Finds the functions between two offsets, at namespace or class level."""
        code = self.code
        head = i = start
        while i < end:
            c = code[i]
            if c == "(":
                i = matching(code, i)
            elif c == ";":
                head = i + 1
            elif c == "}":
                head = i + 1
            elif c == ":" and re.search(r"\b(public|private|protected)\s*$", code[head:i]):
                head = i + 1
            elif c == "{":
                close = matching(code, i)
                text = code[head:i].strip()
                if re.match(r"(inline )?namespace\b|extern\s*\"\s*\"$", text):
                    self._scan(i + 1, close, anonymous or text == "namespace")
                    head = close + 1
                elif self._is_scope(text):
                    self._scan(i + 1, close, anonymous)
                    # What follows up to ';' names variables of the type.
                elif self._is_function(text, code[close + 1:close + 2]):
                    self._add(head, i, close, anonymous)
                    head = close + 1
                # else: braces of an initializer
                i = close
            i += 1

    @staticmethod
    def _is_scope(text: str) -> bool:
        return re.search(r"\b(class|struct|union)\b", text) is not None and "(" not in re.sub(
            r"\balignas\s*\([^)]*\)|<[^<>]*>", "", text)

    @staticmethod
    def _is_function(text: str, after: str) -> bool:
        if "(" not in text or re.search(r"\benum\b", text):
            return False
        outer = _without_nested(text)
        if re.search(r"\)\s*((const|noexcept|override|final|mutable)\b\s*|->\s*[\w:<>*& ]+)*$", text):
            return "=" not in re.sub(r"operator\s*[^\s(]+", "", outer)
        # A constructor's initializers: the body's brace follows ')' or '}', and nothing goes on.
        return re.search(r"\)\s*(noexcept\s*)?:[^:]", text) is not None and (
            text.endswith(("}", ")")) and after != ",")

    def _add(self, head: int, brace: int, close: int, anonymous: bool) -> None:
        text = self.code[head:brace]
        head += len(text) - len(text.lstrip())
        head_text = re.sub(r"\s+", " ", self.code[head:brace]).strip()
        name = re.search(r"(operator\s*[^\s(]+|~?[\w:]+)\s*\(", re.sub(r"^template <.*?> ", "",
                                                                      head_text))
        first = self.line_at(head)
        last = self.line_at(close)
        self.functions.append(
            Function(name.group(1) if name else head_text, head_text, self.code[brace:close + 1],
                     first, last - first + 1, anonymous, self._comment_above(first)))

    def _comment_above(self, line: int) -> str:
        lines = self.text.split("\n")
        above = []
        i = line - 2
        while i >= 0 and (match := re.match(r"\s*// ?(.*)", lines[i])):
            above.append(match.group(1))
            i -= 1
        return "\n".join(reversed(above))


def lambdas(code: str):
    """(body, offset) of every lambda."""
    for match in re.finditer(r"(?<![\w)\]\[])\s*\[(?!\[)", code):
        start = match.end() - 1
        at = matching(code, start) + 1
        rest = re.match(r"\s*", code[at:]).end() + at
        if code[rest:rest + 1] == "(":
            rest = matching(code, rest) + 1
        head = re.match(r"\s*(mutable|noexcept|constexpr|\s)*(->[^{;]*)?\{", code[rest:])
        if head:
            brace = rest + head.end() - 1
            yield code[brace:matching(code, brace) + 1], start


def awaits_in_condition(body: str) -> bool:
    for match in re.finditer(r"\b(?:if|while|for|switch)\b(?: constexpr)?\s*\(", body):
        start = match.end() - 1
        if "co_await" in body[start:matching(body, start)]:
            return True
    return False


def declares_local(body: str) -> bool:
    """True if a statement, or the head of a loop or an if, declares a variable of the frame."""
    not_a_type = r"(?!(?:return|co_return|co_await|co_yield|else|do|throw|delete|new|goto|case|using|" \
                 r"typedef|static|constexpr|struct|class|enum|break|continue)\b)"
    declaration = (r"(?:const\s+)?" + not_a_type +
                   r"[A-Za-z_][\w:]*(?:<[^;{}()]*>)?(?:\s+const)?(?:\s*[&*]+\s*|\s+)[a-z_]\w*\s*"
                   r"(?:[=;{:(\[]|$)")
    head = r"(?:^|[;{}]|\b(?:if|while|for|switch)\s*\()\s*"
    return re.search(head + declaration, body, re.M) is not None
