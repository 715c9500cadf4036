"""What a model is shown of a run: bounded, sourced, and separate from authority."""

from approvals.context.assemble import Assembled, assemble
from approvals.context.build import Built, Wanted

__all__ = ["Assembled", "Built", "Wanted", "assemble"]
