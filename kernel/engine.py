"""CEL's engine, without the command line that its package loads along with it.

That would bring a prompt and its colours into each process: 150 modules, a tenth of a
second and 10 MB.
"""

import sys
from types import ModuleType

sys.modules.setdefault("cel.cli", ModuleType("cel.cli"))

import cel  # noqa: E402

__all__ = ["cel"]
