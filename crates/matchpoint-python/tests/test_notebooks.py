import pathlib

import nbclient
import nbformat
import pytest

from conftest import ROOT

NOTEBOOKS = ROOT / "examples" / "notebooks"

#: A text in the outputs of each notebook.
EXPECTED = {
    "compare_engines": "8390656",  # entries that a list compares: 4096 × 4097 ÷ 2
    "is_matching_my_problem": "of the run time at rank",
    "predict_multigrid": "spgemm",
}


def outputs(notebook):
    """Yields the texts of all outputs."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            yield output.get("text", "")
            yield str(output.get("data", {}))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_notebook_runs(name):
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are stored without outputs"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": NOTEBOOKS}}).execute()
    assert EXPECTED[name] in "".join(outputs(notebook)).replace(",", "")


def test_every_notebook_is_run():
    assert sorted(path.stem for path in pathlib.Path(NOTEBOOKS).glob("*.ipynb")) == sorted(EXPECTED)


def test_notebook_shows_progress():
    # Short calls show no bar.
    cells = [
        "import matchpoint_mpi as mp; mp._progress._DELAY_S = 0",
        "mp.bench('list', ['last', 'masks'], budget=0.1)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(notebook, timeout=60)
    shown = []
    handle = client.process_message

    def process(message, cell, cell_index):
        shown.append(str(message.get("content", {}).get("data", "")))
        return handle(message, cell, cell_index)

    client.process_message = process
    client.execute()
    bars = [text for text in shown if "<progress" in text]
    assert bars and "<label>bench" in bars[0]
    # The bar is removed at the end, and the table remains.
    assert "<progress" not in "".join(outputs(notebook))
    assert "<th>ns_median</th>" in "".join(outputs(notebook))
