"""What a browser makes of a form: its fields as they would be posted, unedited."""

import re
from html.parser import HTMLParser

BREAKS = re.compile(r"\r\n?|\n")


class Form(HTMLParser):
    """Collects successful controls the way HTML's form submission does."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.fields: dict[str, str] = {}
        self._writing: str | None = None
        self._text = ""
        self._choosing: str | None = None
        self.feed(BREAKS.sub("\n", html))  # the parser's own preprocessing
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("name", "")
        if tag == "input" and name:
            self._input(name, given)
        elif tag == "textarea":
            self._writing, self._text = name, ""
        elif tag == "select":
            self._choosing = name
        elif tag == "option" and self._choosing:
            first = self._choosing not in self.fields
            if first or "selected" in given:
                self.fields[self._choosing] = given.get("value", "")

    def _input(self, name: str, given: dict[str, str]) -> None:
        kind = given.get("type", "text")
        ticked = kind in {"radio", "checkbox"}
        if ticked and "checked" not in given:
            return
        value = given.get("value", "on" if ticked else "")
        one_line = kind in {"text", "date", "email"}
        self.fields[name] = re.sub(r"[\r\n]", "", value) if one_line else value

    def handle_data(self, data: str) -> None:
        if self._writing is not None:
            self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._writing is not None:
            self.fields[self._writing] = self._text.removeprefix("\n")
            self._writing = None
        elif tag == "select":
            self._choosing = None


def posted(html: str) -> dict[str, str]:
    """Name and value of every field, line breaks as CR LF, names likewise."""
    return {
        BREAKS.sub("\r\n", name): BREAKS.sub("\r\n", value)
        for name, value in Form(html).fields.items()
    }
