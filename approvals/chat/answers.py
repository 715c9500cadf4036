"""What a chat answers when it takes no message: a word that it sends, and ours for it.

Only words that are known here are kept: a receiver writes nothing else into the log.
"""

from collections.abc import Mapping
from typing import Final

ANSWERS: Final[Mapping[str, str]] = {
    "invalid_payload": "it did not understand the message",
    "invalid_blocks": "it did not understand the message",
    "invalid_blocks_format": "it did not understand the message",
    "no_text": "it did not understand the message",
    "msg_too_long": "the message is too long for it",
    "too_many_attachments": "it did not understand the message",
    "user_not_found": "the person it is addressed to is not there",
    "channel_not_found": "the channel is not there",
    "channel_is_archived": "the channel is archived",
    "action_prohibited": "an administrator there does not allow it",
    "invalid_token": "the address is no longer valid",
    "no_service": "the address was removed or switched off there",
    "no_service_id": "the address is not whole",
    "no_team": "the workspace is not there",
    "team_disabled": "the workspace is closed",
    "rollup_error": "something went wrong there",
}


def chat_code(body: bytes) -> str:
    """The word in an answer's body; empty if it is none of `ANSWERS`."""
    word = body[:64].strip().decode("ascii", "replace")
    return word if word in ANSWERS else ""


def chat_words(code: str) -> str:
    """A code of `ANSWERS` in words of ours; empty for any other."""
    return ANSWERS.get(code, "")
