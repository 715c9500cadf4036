"""The case: one request, read once, and told in the order in which it should be read."""

from approvals.pages.case.page import case_view
from approvals.pages.case.record import CaseRecord, read_case

__all__ = ["CaseRecord", "case_view", "read_case"]
