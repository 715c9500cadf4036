"""What a chat is told, in the form of Slack's incoming webhooks."""

from approvals.chat.answers import chat_code, chat_words
from approvals.chat.events import CHAT_TYPES, USUAL, wants
from approvals.chat.message import chat_body

__all__ = [
    "CHAT_TYPES",
    "USUAL",
    "chat_body",
    "chat_code",
    "chat_words",
    "wants",
]
