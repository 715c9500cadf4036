"""YAML that says what JSON could: for files which people write and review."""

import re
from typing import Any, Final

import yaml

from kernel.problems import Problem, declare
from kernel.strict_json import Json, canonical_value

YAML_INVALID: Final = declare(
    "yaml_invalid", status=422, title="This is not a file that can be read"
)
MOST_CHARACTERS: Final = 1024 * 1024
PLAIN: Final = re.compile(r"[\n\x20-\x7e\xa1-\u167f\u3001-\ud7ff]*")
SCALARS: Final = (
    ("bool", r"true|false", "tf"),
    ("int", r"-?(?:0|[1-9]\d*)", "-0123456789"),
    ("float", r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?", "-0123456789"),
    ("null", r"null|~|", ["n", "~", ""]),
)


class _Loader(yaml.SafeLoader):
    """No aliases, no repeated keys, no dates, and 'no' is a word."""

    yaml_implicit_resolvers: Any = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise _flaw(mark, "Aliases are not taken")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if not isinstance(name, str):
                raise _flaw(key.start_mark, "A key is a text")
            if name in seen:
                raise _flaw(key.start_mark, f"`{name}` stands here twice")
            seen.add(name)
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """Texts of several lines stand as such."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


for _tag, _pattern, _first in SCALARS:
    for _either in (_Loader, _Dumper):  # what either would take for more than a text
        _either.add_implicit_resolver(
            f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), list(_first)
        )


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    if not PLAIN.fullmatch(text):  # YAML has more breaks than one, and folds them
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def read_yaml(text: str) -> Json:
    """The value that the text says. Raises `yaml_invalid` (422) with line and column."""
    if len(text) > MOST_CHARACTERS:
        raise YAML_INVALID(f"At most {MOST_CHARACTERS} characters.")
    try:
        value = yaml.load(text, _Loader)  # noqa: S506  # a subclass of SafeLoader
    except yaml.MarkedYAMLError as error:
        raise YAML_INVALID(_told(error)) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise YAML_INVALID(str(error).splitlines()[0]) from None
    try:
        return canonical_value(value)
    except Problem as problem:
        raise YAML_INVALID(problem.detail, problem.pointer) from None


def write_yaml(value: Json) -> str:
    """A text that `read_yaml` reads back as the same value."""
    return yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=88
    )


def _flaw(mark: Any, sentence: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=sentence, problem_mark=mark)


def _told(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    words = str(error.problem or error.context or "It cannot be read")
    at = f" Line {mark.line + 1}, column {mark.column + 1}." if mark else ""
    return f"{words[:1].upper()}{words[1:]}.{at}"
