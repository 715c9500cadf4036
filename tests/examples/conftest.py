from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.invoice.documents import DocumentFolder
from tests.examples.correction_process import CorrectionProcess
from tests.examples.invoice_documents import copy_documents


@pytest.fixture
def folder(tmp_path: Path) -> DocumentFolder:
    return copy_documents(tmp_path / "documents")


@pytest.fixture
def corrections(tmp_path: Path) -> Iterator[CorrectionProcess]:
    with CorrectionProcess(tmp_path / "corrections") as process:
        yield process
