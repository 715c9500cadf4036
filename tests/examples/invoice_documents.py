"""The example's documents in a folder of the test's own, and ways to damage them."""

import shutil
from pathlib import Path

from examples.invoice.documents import DocumentFolder
from examples.invoice.large_documents import write_large_documents

COMMITTED = Path(__file__).parents[2] / "examples/invoice/documents"


def copy_documents(folder: Path) -> DocumentFolder:
    shutil.copytree(COMMITTED, folder)
    write_large_documents(folder)
    return DocumentFolder(folder)


def source(document_id: str) -> bytes:
    return (COMMITTED / f"{document_id}.xml").read_bytes()


def altered(document_id: str, old: str, new: str) -> bytes:
    """The document with the first `old` replaced; an absent one is a broken test."""
    text = source(document_id).decode()
    assert old in text
    return text.replace(old, new, 1).encode()
