"""What looking back leaves behind: verifications, and what was counted of past days."""

from oversight.models.tally import Tally
from oversight.models.verification import Verification

__all__ = ["Tally", "Verification"]
