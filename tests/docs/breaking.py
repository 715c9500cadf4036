"""What of an API's description would break a client that was written for an older one.

    python -m tests.docs.breaking [BASE]

compares `docs/openapi.yaml` with that of `BASE` (the last tag; before there is one, the
commit before). A break that is meant is a line of `docs/openapi-breaks.txt`.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DESCRIPTION = "docs/openapi.yaml"
ALLOWED = ROOT / "docs" / "openapi-breaks.txt"
METHODS = ("get", "post", "put", "patch", "delete")
Json = dict[str, Any]


def breaks(old: Json, new: Json) -> list[str]:
    """Each break in a line, sorted; the same break is said alike in every run."""
    return sorted(set(_Comparison(old, new).all()))


class _Comparison:
    def __init__(self, old: Json, new: Json) -> None:
        self.old, self.new = old, new
        self._seen: set[tuple[str, str, bool]] = set()

    def all(self) -> Iterator[str]:
        for path, methods in self.old["paths"].items():
            for method in METHODS:
                if method in methods:
                    now = self.new["paths"].get(path, {}).get(method)
                    yield from self._operation(
                        f"{method.upper()} {path}", methods[method], now
                    )

    def _operation(self, where: str, old: Json, new: Json | None) -> Iterator[str]:
        if new is None:
            yield f"{where}: removed"
            return
        if old.get("operationId") != new.get("operationId"):
            yield f"{where}: is called {new.get('operationId')}"
        yield from self._parameters(where, old, new)
        yield from self._bodies(
            f"{where} body", old.get("requestBody"), new.get("requestBody")
        )
        for status, answer in old.get("responses", {}).items():
            now = new.get("responses", {}).get(status)
            if now is None and status.startswith("2"):
                yield f"{where} {status}: removed"
            elif now is not None:
                yield from self._contents(f"{where} {status}", answer, now, False)

    def _parameters(self, where: str, old: Json, new: Json) -> Iterator[str]:
        before, now = (
            {(one["in"], one["name"]): one for one in some.get("parameters", ())}
            for some in (old, new)
        )
        for place, one in before.items():
            name = f"{where} {place[0]} {place[1]}"
            if place not in now:
                yield f"{name}: removed"
            else:
                yield from self._schemas(
                    name, one["schema"], now[place]["schema"], True
                )
        for place, one in now.items():
            was = before.get(place, {}).get("required", False)
            if one.get("required") and not was:
                yield f"{where} {place[0]} {place[1]}: required"

    def _bodies(self, where: str, old: Json | None, new: Json | None) -> Iterator[str]:
        if new is None:
            if old is not None:
                yield f"{where}: removed"
            return
        if new.get("required") and not (old or {}).get("required"):
            yield f"{where}: required"
        if old is not None:
            yield from self._contents(where, old, new, True)

    def _contents(
        self, where: str, old: Json, new: Json, is_sent: bool
    ) -> Iterator[str]:
        now = new.get("content", {})
        for kind, content in old.get("content", {}).items():
            if kind not in now:
                yield f"{where} {kind}: removed"
            elif "schema" in content and "schema" in now[kind]:
                yield from self._schemas(
                    where, content["schema"], now[kind]["schema"], is_sent
                )

    def _schemas(
        self, where: str, old: Json, new: Json, is_sent: bool
    ) -> Iterator[str]:
        """`is_sent` by clients: what they must send more breaks them."""
        if "$ref" in old:
            where = old["$ref"].rpartition("/")[2]
            pair = (old["$ref"], new.get("$ref", repr(new)), is_sent)
            if pair in self._seen:
                return
            self._seen.add(pair)
        old, new = _resolved(self.old, old), _resolved(self.new, new)
        yield from _of_values(where, old, new)
        yield from self._members(where, old, new, is_sent)
        for name in ("items", "additionalProperties"):
            if isinstance(old.get(name), dict) and isinstance(new.get(name), dict):
                yield from self._schemas(f"{where}[]", old[name], new[name], is_sent)
        yield from self._alternatives(where, old, new, is_sent)

    def _members(
        self, where: str, old: Json, new: Json, is_sent: bool
    ) -> Iterator[str]:
        now = new.get("properties", {})
        for name, one in old.get("properties", {}).items():
            if name not in now:
                yield f"{where}.{name}: removed"
            else:
                yield from self._schemas(f"{where}.{name}", one, now[name], is_sent)
        before, after = set(old.get("required", ())), set(new.get("required", ()))
        for name in after - before if is_sent else ():
            yield f"{where}.{name}: required"
        for name in () if is_sent else (before - after) & now.keys():
            yield f"{where}.{name}: not always there"

    def _alternatives(
        self, where: str, old: Json, new: Json, is_sent: bool
    ) -> Iterator[str]:
        for word in ("oneOf", "anyOf", "allOf"):
            now = {_name_of(one): one for one in new.get(word, ())}
            for one in old.get(word, ()):
                name = _name_of(one)
                if name in now:
                    yield from self._schemas(where, one, now[name], is_sent)
                elif word != "allOf":
                    yield f"{where}: no {name} any more"


def _resolved(document: Json, schema: Json) -> Json:
    while "$ref" in schema:
        kind, name = schema["$ref"].split("/")[-2:]
        schema = document["components"][kind][name]
    return schema


def _of_values(where: str, old: Json, new: Json) -> Iterator[str]:
    before, now = old.get("type"), new.get("type")
    if before is not None and now is not None and before != now:
        yield f"{where}: was {before}, is {now}"
    if "enum" in old and "enum" in new:
        for value in old["enum"]:
            if value not in new["enum"]:
                yield f"{where}: no {value!r} any more"
    if "enum" in new and "enum" not in old and "const" not in old:
        yield f"{where}: only some values any more"


def _name_of(schema: Json) -> str:
    reference = schema.get("$ref", "").rpartition("/")[2]
    return str(reference or schema.get("type") or schema.get("const") or schema)


# -- The command ------------------------------------------------------------------------


def _git(*words: str) -> str | None:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def last_tag() -> str | None:
    return (_git("describe", "--tags", "--abbrev=0") or "").strip() or None


def allowed() -> set[str]:
    lines = ALLOWED.read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def main(*bases: str) -> int:
    base = bases[0] if bases else last_tag() or "HEAD^"
    older = _git("show", f"{base}:{DESCRIPTION}")
    if older is None:
        print(f"{base} has no {DESCRIPTION}: there is nothing to compare with.")
        return 1 if bases else 0
    newer = (ROOT / DESCRIPTION).read_text()
    found = breaks(yaml.safe_load(older), yaml.safe_load(newer))
    wrong = [one for one in found if one not in allowed()]
    for one in wrong:
        print(one)
    if wrong:
        print(f"This breaks clients of {base}; what is meant goes into {ALLOWED.name}.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
