"""Log lines that stay one line, whatever a document or a server put into them."""

import logging


class OneLineFormatter(logging.Formatter):
    """Escapes what is not printable: line breaks, escapes, invisible characters."""

    def format(self, record: logging.LogRecord) -> str:
        return "".join(map(_visible, super().format(record)))


def log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(
        OneLineFormatter("%(asctime)s %(name)s  %(message)s", "%H:%M:%S")
    )
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("httpx").setLevel(logging.WARNING)


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()
