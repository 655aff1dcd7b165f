"""Runs the example notebook and keeps what it shows.

    python docs/run_notebooks.py          keeps it in the notebook
    python docs/run_notebooks.py FOLDER   writes the notebook with it to another folder

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


def main(folders: list[str]) -> None:
    for path in NOTEBOOKS:
        place = Path(folders[0]) / path.name if folders else path
        nbformat.write(run(path), place)
        print(place)


if __name__ == "__main__":
    main(sys.argv[1:])
