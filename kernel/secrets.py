"""Credentials in a value that is about to be stored, shown and signed.

Arguments are never rewritten: a secret in them is refused, with the place where it
is, and `secret://name` is the way to use one. Only shapes that are credentials beyond
reasonable doubt are looked for; a miss is possible, a false alarm should be rare.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kernel.problems import SECRET_IN_ARGUMENTS
from kernel.strict_json import Json, pointer_to

type Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret is (RFC 6901) and of what kind. `text`, itself, is never shown."""

    pointer: str
    kind: str
    text: str = field(default="", repr=False, compare=False)


class Shape(NamedTuple):
    """A kind of credential, text that any of them contains, and its exact form."""

    kind: str
    hint: str
    pattern: re.Pattern[str]


type MoreShapes = Callable[[], Sequence[Shape]]
"""What else counts as a credential here and now."""

_more: list[MoreShapes] = []


def register_shapes(more: MoreShapes) -> None:
    """Let a room above, which keeps shapes of a tenant's own, add them to all searches."""
    _more[:] = [more]


def find_secret(value: Json) -> Secret | None:
    """The first secret in document order, in keys as well as in values; or None."""
    for path, key, text in _texts(value, ()):
        if text and (found := _in_text(text) or _by_key(key, text)):
            return Secret(pointer_to(path), *found)
    return None


def refuse_secret(value: Json, pointer: str) -> None:
    """Raises `secret_in_arguments` (422) with the place below `pointer`."""
    found = find_secret(value)
    if found is not None:
        raise SECRET_IN_ARGUMENTS(
            f"This looks like a credential ({found.kind}). Its place is not in here;"
            " a tool that Keyturn calls can be given `secret://name` instead.",
            pointer + found.pointer,
        )


def kind_of_secret(text: str) -> str | None:
    """The kind of the first credential that the text contains, or None."""
    found = _in_text(text)
    return found[0] if found else None


def _in_text(text: str) -> tuple[str, str] | None:
    """The kind and the credential that a text contains."""
    for shape in (*SHAPES, *(shape for more in _more for shape in more())):
        if shape.hint in text and (match := shape.pattern.search(text)):
            return shape.kind, match[0]
    return _assigned_secret(text)


def shape_of(kind: str, prefix: str, characters: str, least: int, most: int) -> Shape:
    """A fixed beginning, then so many of a set of characters: `characters` is what
    stands in a pattern's brackets. Its cost is bounded by the text times `most`."""
    pattern = f"{re.escape(prefix)}[{characters}]{{{least},{most}}}"
    return _shape(kind, prefix, pattern)


def _shape(kind: str, hint: str, pattern: str) -> Shape:
    # A credential stands alone: it is no part of a longer run of the same characters.
    return Shape(
        kind, hint, re.compile(rf"(?<![A-Za-z0-9_-]){pattern}(?![A-Za-z0-9_-])")
    )


PRIVATE_KEY: Final = "private key"
"""Only its first line is looked for; what follows is the secret."""

SHAPES: Final = (
    _shape("AWS access key", "AKIA", r"AKIA[A-Z2-7]{16}"),
    _shape("AWS access key", "ASIA", r"ASIA[A-Z2-7]{16}"),
    _shape("GitHub token", "gh", r"gh[pousr]_[A-Za-z0-9]{36,251}"),
    _shape("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _shape("GitLab token", "glpat-", r"glpat-[A-Za-z0-9_-]{20,64}"),
    _shape("Slack token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{20,250}"),
    _shape("Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/services/T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{20,30}"),
    _shape("Stripe key", "k_live_", r"[sr]k_live_[A-Za-z0-9]{20,250}"),
    _shape("Google API key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    _shape("Google OAuth secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    _shape("Anthropic key", "sk-ant-", r"sk-ant-[a-z0-9]{2,10}-[A-Za-z0-9_-]{80,120}"),
    _shape("OpenAI key", "T3BlbkFJ", r"sk-[A-Za-z0-9_-]{10,200}T3BlbkFJ[A-Za-z0-9_-]{10,200}"),
    _shape("OpenAI key", "sk-proj-", r"sk-proj-[A-Za-z0-9_-]{40,250}"),
    _shape("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _shape("PyPI token", "pypi-", r"pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,250}"),
    _shape("SendGrid key", "SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _shape("Hugging Face token", "hf_", r"hf_[A-Za-z]{34}"),
    _shape("AWS access key", "ABIA", r"ABIA[A-Z2-7]{16}"),
    _shape("GitLab token", "gl", r"gl(?:dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-[A-Za-z0-9_.-]{20,1024}"),
    _shape("Azure storage key", "AccountKey=", r"AccountKey=[A-Za-z0-9+/]{86}=="),
    _shape("Databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _shape("Discord bot token", ".", r"[MNO][A-Za-z\d_-]{23,27}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,38}"),
    _shape("Grafana token", "glsa_", r"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}"),
    _shape("HashiCorp Vault token", "hvs.", r"hvs\.[A-Za-z0-9_-]{24,200}"),
    _shape("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _shape("Mailchimp key", "-us", r"[0-9a-f]{32}-us[0-9]{1,2}"),
    _shape("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _shape("Square secret", "sq0", r"sq0(?:csp|atp)-[0-9A-Za-z_-]{22,43}"),
    _shape("Telegram bot token", ":AA", r"\d{8,10}:AA[0-9A-Za-z_-]{33}"),
    _shape("DigitalOcean token", "dop_v1_", r"dop_v1_[a-f0-9]{64}"),
    _shape("Keyturn API key", "kt_", r"kt_[a-z0-9][a-z0-9-]{0,31}_[0-9A-Za-z]{7}_[0-9A-Za-z]{36}"),
    _shape("JSON Web Token", "eyJ", r"eyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{20,1000}"),
    Shape(PRIVATE_KEY, "PRIVATE KEY", re.compile(r"-----BEGIN (?:[A-Z]{2,9} ){0,2}PRIVATE KEY(?: BLOCK)?-----")),
    Shape("password in a URL", "://", re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@?#]{0,100}:[^\s/:@?#]{3,200}@[\w\[]")),
)  # fmt: skip

KINDS: Final = frozenset({"password or token", *(shape.kind for shape in SHAPES)})
"""Every kind that is looked for everywhere."""

_NAMES: Final = (
    r"(?i:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key"
    r"|secret[_-]?key|private[_-]?key|authorization)"
)
_ASSIGNED: Final = re.compile(
    rf"{_NAMES}[\"']?\s{{0,3}}[=:]\s{{0,3}}[\"']?(?i:(?:bearer|basic)\s{{1,3}})?"
    r"(?P<value>[^\s\"'&,;<>{}$()]{12,200})"
)
_KEY: Final = re.compile(rf"(?:^|[_-]|(?<=[a-z])(?=[A-Z])){_NAMES}$")
_PLACE_IN_A_LIST: Final = re.compile(r"(?i)(?:page|next|sync|continuation|cancel)")
_VALUE: Final = re.compile(r"(?i:(?:bearer|basic)\s{1,3})?(?P<value>\S{8,200})")
_REFERENCE: Final = "secret://"
MOST_CANDIDATES: Final = 1_000
"""Different values after `password=` and the like that one text may hold: with more of
them it is not looked through, and counts as a secret whole."""
TOO_MANY: Final = "too many possible credentials"
_LEAST_BITS: Final = 3.0
"""Of entropy per character: below lie words, dates, masks and placeholders."""


def _assigned_secret(text: str) -> tuple[str, str] | None:
    """`password=…` and the like inside a text, if what follows looks random."""
    seen: set[str] = set()
    for match in _ASSIGNED.finditer(text):
        value = match["value"]
        if value in seen:
            continue
        if _looks_random(value):
            return "password or token", value
        seen.add(value)
        if len(seen) >= MOST_CANDIDATES:
            return TOO_MANY, text
    return None


def _by_key(key: str | None, text: str) -> tuple[str, str] | None:
    """A random-looking value under a key such as `api_key`."""
    if key is None or not _KEY.search(key) or _PLACE_IN_A_LIST.match(key):
        return None
    match = _VALUE.fullmatch(text)
    random = match is not None and _looks_random(match["value"])
    return ("password or token", text) if random else None


def _looks_random(text: str) -> bool:
    if text.startswith(_REFERENCE):
        return False
    if not any(map(str.isdigit, text)):
        return False
    lettered = any(map(str.islower, text)) or any(map(str.isupper, text))
    return lettered and _entropy(text) >= _LEAST_BITS


def _entropy(text: str) -> float:
    """Shannon's, in bits per character."""
    shares = [count / len(text) for count in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)


def _texts(value: Json, path: Path) -> Iterator[tuple[Path, str | None, str]]:
    """Every text of a value with its path and, where it has one, its key."""
    if isinstance(value, str):
        key = path[-1] if path and isinstance(path[-1], str) else None
        yield path, key, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield path, None, name
            yield from _texts(item, (*path, name))
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from _texts(item, (*path, position))
