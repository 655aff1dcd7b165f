"""Runs the example notebook and keeps what it shows.

    python tools/run_notebooks.py          keeps it in the notebook
    python tools/run_notebooks.py FOLDER   writes the notebook with it to another folder

A notebook is run from top to bottom in an empty folder. The one on the store shows dates and is kept without outputs.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from markers import ROOT
from nbclient import NotebookClient
from outputs import alike, shown_by

NOTEBOOKS = [ROOT / "examples" / "notebook.ipynb"]


def run(path: Path) -> Any:
    """The notebook with its outputs, without anything that changes from run to run."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as sockets:
        # files in a folder of our own as sockets: no port is opened
        place = str(Path(sockets) / "kernel.json")
        kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", connection_file=place)
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, km=kernel, timeout=300, record_timing=False, resources=resources).execute()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def keep(path: Path) -> Any:
    """The notebook as it would be kept: outputs that differ in nothing but their last shown digits stay as they are."""
    kept, fresh = nbformat.read(path, as_version=4), run(path)
    for old, new in zip(kept.cells, fresh.cells, strict=True):
        if "outputs" in new and alike(shown_by(old), shown_by(new)):
            new.outputs = old.outputs
    return fresh


def main(folders: list[str]) -> None:
    for path in NOTEBOOKS:
        place = Path(folders[0]) / path.name if folders else path
        nbformat.write(keep(path), place)
        print(place)


if __name__ == "__main__":
    main(sys.argv[1:])
