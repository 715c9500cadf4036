"""How older checkpoints of the invoice agent are read by the one of today."""

from typing import Any, Final

from checkpoints.upgrades import json_step, registry

KIND: Final = "invoice"


def name_documents(payload: dict[str, Any]) -> dict[str, Any]:
    """A document is what there is to know of it, not its digest alone."""
    digests = payload.pop("digests")
    documents = {name: {"sha256": digest} for name, digest in digests.items()}
    return {**payload, "documents": documents}


registry.register(KIND, json_step(1, 2, name_documents))
