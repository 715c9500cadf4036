"""Selectors in words. What cannot be said exactly is not said: the code is shown then."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from approvals.policy.patterns import LITERAL

EVERYTHING: Final = "every action"
NAMES: Final = {
    "tool": "the tool",
    "risk": "the risk",
    "environment": "the environment",
    "agent": "the agent",
    "target": "the target",
    "session.subject": "the subject",
}
COMPARED: Final = {
    "==": "is",
    "!=": "is not",
    ">=": "is at least",
    "<=": "is at most",
    ">": "is above",
    "<": "is below",
}
TESTED: Final = {
    "startsWith": "begins with",
    "endsWith": "ends with",
    "contains": "contains",
}
TEXT: Final = r""""(?:[^"\\\n])*"|'(?:[^'\\\n])*'"""
PATH: Final = r"(tool|risk|environment|agent|target|session\.subject|(?:arguments|facts)(?:\.\w+)+)"
VALUE: Final = rf"({TEXT}|-?\d+(?:\.\d+)?|true|false|null)"
READ: Final = rf"(?:double|int|uint|string)\(\s*{PATH}\s*\)|{PATH}"
COMPARISON: Final = re.compile(rf"(?:{READ})\s*(==|!=|>=|<=|>|<)\s*{VALUE}")
# One way only to read a list: what could be cut in many would be tried in all of them.
MEMBERSHIP: Final = re.compile(
    rf"{PATH}\s+in\s+\[(\s*+{VALUE}(?:\s*+,\s*+{VALUE})*+\s*+,?+\s*+)\]"
)
TEST: Final = re.compile(rf"{PATH}\.(startsWith|endsWith|contains)\(\s*({TEXT})\s*\)")
PRESENCE: Final = re.compile(rf"(!?)\s*has\(\s*{PATH}\s*\)")
TRUTH: Final = re.compile(rf"(!?)\s*{PATH}")
SEPARATOR: Final = re.compile(rf"{LITERAL.pattern}|&&|\|\||[()\[\]{{}}?]")


def selector_words(selector: str) -> str:
    """'the tool is send_payment and amount is at least 1,000'; '' if it has no words."""
    text = selector.strip()
    if text == "true":
        return EVERYTHING
    return _words(text) if text.count("(") < 20 else ""


def _words(text: str) -> str:
    for operator, word in (("||", "or"), ("&&", "and")):
        parts = _parts(text, operator)
        if len(parts) > 1:
            said = [_enclosed(part, operator) for part in parts]
            return f" {word} ".join(said) if all(said) else ""
    if _is_enclosed(text):
        return _words(text[1:-1].strip())
    return next(filter(None, (say(text) for say in SAYINGS)), "")


def _enclosed(part: str, operator: str) -> str:
    """Brackets are kept in words where 'and' and 'or' would run together."""
    words = _words(part)
    mixed = len(_parts(part, "&&")) > 1 and operator == "||"
    return f"({words})" if words and (mixed or _is_enclosed(part)) else words


def _parts(text: str, operator: str) -> list[str]:
    """Between the operators that no bracket encloses; [''] where brackets do not fit."""
    depth, start, parts = 0, 0, []
    for token in SEPARATOR.finditer(text):
        if token[0] in "([{":
            depth += 1
        elif token[0] in ")]}":
            depth -= 1
        elif token[0] == "?" and depth == 0:
            return [""]
        elif token[0] == operator and depth == 0:
            parts.append(text[start : token.start()].strip())
            start = token.end()
    return [*parts, text[start:].strip()]


def _is_enclosed(text: str) -> bool:
    """Whether the first bracket is closed by the last character."""
    if not text.startswith("("):
        return False
    depth = 0
    for token in SEPARATOR.finditer(text):
        depth += (token[0] in "([{") - (token[0] in ")]}")
        if depth == 0:
            return token.end() == len(text)
    return False


def _comparison(text: str) -> str:
    found = COMPARISON.fullmatch(text)
    if found is None:
        return ""
    read, bare, operator, value = found.groups()
    return f"{_named(read or bare)} {COMPARED[operator]} {_valued(value)}"


def _membership(text: str) -> str:
    found = MEMBERSHIP.fullmatch(text)
    if found is None:
        return ""
    values = [_valued(one) for one in re.findall(VALUE, found[2])]
    return f"{_named(found[1])} is {_either(values)}"


def _test(text: str) -> str:
    found = TEST.fullmatch(text)
    if found is None:
        return ""
    return f"{_named(found[1])} {TESTED[found[2]]} {_valued(found[3])}"


def _presence(text: str) -> str:
    found = PRESENCE.fullmatch(text)
    if found is None:
        return ""
    return f"{_named(found[2])} is {'not ' if found[1] else ''}given"


def _truth(text: str) -> str:
    found = TRUTH.fullmatch(text)
    if found is None:
        return ""
    return f"{_named(found[2])} is {'false' if found[1] else 'true'}"


SAYINGS: Final[tuple[Callable[[str], str], ...]] = (
    _comparison,
    _membership,
    _test,
    _presence,
    _truth,
)


def _named(path: str) -> str:
    if path in NAMES:
        return NAMES[path]
    of, _, name = path.partition(".")
    return name if of == "arguments" else f"the fact {name}"


def _valued(literal: str) -> str:
    """A text of one plain word stands as it is; any other in quotes."""
    if literal[0] not in "\"'":
        return _number(literal)
    text = literal[1:-1]
    return text if re.fullmatch(r"[a-z_][\w.-]*", text) else f"“{text}”"


def _number(literal: str) -> str:
    if not re.fullmatch(r"-?\d{1,15}(?:\.\d+)?", literal):
        return literal
    whole, _, rest = literal.partition(".")
    grouped = f"{int(whole):,}" if int(whole) else whole
    return f"{grouped}.{rest}" if rest.strip("0") else grouped


def _either(values: list[str]) -> str:
    return " or ".join(_listed(values))


def _listed(values: list[str]) -> Iterator[str]:
    if len(values) > 2:
        yield ", ".join(values[:-1])
        yield values[-1]
    else:
        yield from values
