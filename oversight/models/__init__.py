"""What looking back leaves behind: when a chain was verified, and what was found."""

from oversight.models.verification import Verification

__all__ = ["Verification"]
