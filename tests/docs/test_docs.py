"""The pages tell the truth: examples run and print what is shown, generated parts are fresh, links lead somewhere."""

from __future__ import annotations

import csv
import importlib
import inspect
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from repository import DOCS, EXAMPLES, RESULTS, ROOT, SOURCE, TOOLS, load_script

import hero_eval
from hero_eval import errors, findings
from hero_eval.io.exports.tool_names import TOOLS as EXPORT_TOOLS
from hero_eval.methods.registry import all_methods
from hero_eval.studies.run import STUDIES, run_study

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]
EXAMPLE = Path(hero_eval.__file__).parent / "examples" / "defect"

make_pictures = load_script(TOOLS, "make_pictures")
make_reference = load_script(TOOLS, "make_reference")
make_results = load_script(TOOLS, "make_results")
make_terminal = load_script(TOOLS, "make_terminal")
markers = load_script(TOOLS, "markers")
measure_limits = load_script(TOOLS, "measure_limits")
run_blocks = load_script(TOOLS, "run_blocks")


def named(pages: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("page", pages, ids=lambda page: page.name)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    """A page without its blocks and its generated parts."""
    text = re.sub(r"<!-- begin (.+?) -->.*?<!-- end \1 -->", "", text_of(page), flags=re.DOTALL)
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.numbers
@named(run_blocks.PAGES)
def test_examples_print_what_is_shown(page: Path) -> None:
    text = text_of(page)
    if page.name == "coming-from.md":  # other tools warn of what they do themselves
        warnings.simplefilter("ignore", DeprecationWarning)
    assert run_blocks.refresh(text) == text, f"bring it up to date: python tools/run_blocks.py {page.relative_to(ROOT)}"


@named(run_blocks.PAGES)
def test_shown_commands_fit_80_columns(page: Path) -> None:
    for kind, body in run_blocks.FENCE.findall(text_of(page)):
        if kind == "console":
            assert not [line for line in body.splitlines() if line.startswith("$ ") and len(line) > 80]


class TestRunBlocks:
    """The runner notices what it should."""

    def test_notices_wrong_output(self) -> None:
        page = "```python\nprint(1)\n```\n\n```text\n2\n```\n"
        assert run_blocks.refresh(page) == page.replace("2", "1")

    def test_notices_hidden_output(self) -> None:
        with pytest.raises(run_blocks.BlockError, match="no text block"):
            run_blocks.refresh("```python\nprint(1)\n```\n")

    def test_notices_a_failing_command(self) -> None:
        with pytest.raises(run_blocks.BlockError, match="E101"):
            run_blocks.refresh("```console\n$ hero check nowhere\n```\n")

    def test_shows_the_exit_code(self) -> None:
        page = "```console\n$ hero check nowhere\n$ echo $?\n0\n```\n"
        assert run_blocks.refresh(page) == page.replace("0", "2")

    @pytest.mark.slow
    def test_runs_commands_of_a_shell(self) -> None:
        page = "```console\n$ hero methods --json | head -n 1\n[\n```\n"
        assert run_blocks.refresh(page) == page.replace("\n[\n", "\n{\n")

    def test_leaves_output_alone_that_is_not_shown(self) -> None:
        page = "```console\n$ hero methods\n```\n"
        assert run_blocks.refresh(page) == page


@pytest.mark.numbers
@pytest.mark.parametrize(
    ("page", "sections", "script"),
    [
        (DOCS / "reference.md", make_reference.sections, "make_reference"),
        (DOCS / "results.md", make_results.study_sections, "make_results"),
        (ROOT / "README.md", make_results.readme_sections, "make_results"),
        (DOCS / "limits.md", make_results.limits_sections, "make_results"),
        (DOCS / "large.md", make_results.large_sections, "make_results"),
        (DOCS / "growth.md", make_results.growth_sections, "make_results"),
    ],
    ids=["reference", "results", "readme", "limits", "large", "growth"],
)
def test_generated_parts_are_fresh(page: Path, sections: Callable[[], dict[str, str]], script: str) -> None:
    text = text_of(page)
    assert markers.replaced(text, sections()) == text, f"bring it up to date: python tools/{script}.py"


@pytest.mark.slow
@pytest.mark.numbers
@pytest.mark.parametrize("name", [*make_pictures.PICTURES_BY_NAME, *make_pictures.CHARTS])
def test_pictures_show_the_numbers_of_today(name: str) -> None:
    """A page would show a picture of results that the code no longer gives."""
    assert make_pictures.is_fresh(name), "bring it up to date: python tools/make_pictures.py"


@pytest.mark.slow
@pytest.mark.numbers
def test_the_recorded_terminal_shows_what_the_command_prints() -> None:
    """The first thing that a reader sees would be the answer of another version."""
    assert make_terminal.is_fresh(), "bring it up to date: python tools/make_terminal.py"
    picture = make_terminal.PICTURE.read_text(encoding="utf-8")
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")
    for line in make_terminal.PICTURE.with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        assert len(line) <= 80


@pytest.mark.slow
@pytest.mark.parametrize("name", ["methods.svg", "chart-methods.svg"])
def test_pictures_of_other_numbers_are_noticed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of the pictures would hold whatever they show."""
    kept = text_of(DOCS / "pictures" / name)
    (tmp_path / name).write_text(re.sub(r"\b0\.[0-8](?=\d\d)", "0.9", kept), encoding="utf-8")
    monkeypatch.setattr(make_pictures, "PICTURES", tmp_path)
    assert not make_pictures.is_fresh(name)
    (tmp_path / name).unlink()
    assert not make_pictures.is_fresh(name)


@named(PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if target.startswith("http"):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{target} does not exist"
        if anchor:
            assert anchor in anchors_of(there), f"{target}: {there.name} has no such heading"


def anchors_of(page: Path) -> set[str]:
    """The anchors that a page's headings get."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class TestReference:
    def test_every_public_name_is_there(self) -> None:
        listed = {*make_reference.FUNCTIONS, *make_reference.CLASSES, *make_reference.ERRORS, "__version__"}
        assert listed == set(hero_eval.__all__)

    @pytest.mark.parametrize("owner", make_reference.CLASSES)
    def test_every_member_has_a_line(self, owner: str) -> None:
        without = [name for name, line in make_reference.members(owner) if not line]
        assert not without, "explain them where they are written"

    @pytest.mark.parametrize("name", make_reference.FUNCTIONS)
    def test_every_function_has_a_line(self, name: str) -> None:
        assert make_reference.first_line(getattr(hero_eval, name))

    def test_no_private_name_is_left_over(self) -> None:
        for key in make_reference.PRIVATE:
            owner, _, name = key.partition(".")
            of = getattr(hero_eval, owner)
            known = {*vars(of), *inspect.get_annotations(of)}
            assert name in known, f"tools/make_reference.py keeps {key} back, which is not there"

    @pytest.mark.parametrize("name", ["errors.md", "findings.md"])
    def test_lists_of_codes_are_fresh(self, name: str) -> None:
        """Who looks a code up would not find it, or would be told to do what no longer helps."""
        assert make_reference.catalogues()[name] == text_of(DOCS / name), "run tools/make_reference.py"

    def test_every_code_is_listed(self) -> None:
        """A code on the screen must be found on a page."""
        text = text_of(DOCS / "errors.md") + text_of(DOCS / "findings.md")
        assert not [code for code in {*errors.CATALOGUE, *findings.CATALOGUE} if f"### {code}\n" not in text]

    @pytest.mark.slow
    def test_json_keys_are_those_of_an_estimate(self) -> None:
        current, history = (hero_eval.read_round(EXAMPLE / name) for name in ("current", "history"))
        rate = hero_eval.estimate_rate(current, history, scores={"0": 0, "1": 2}).to_dict()
        assert set(make_reference.ESTIMATE_KEYS) == set(rate)


class TestMethodPage:
    TEXT = text_of(DOCS / "method.md")

    @pytest.mark.parametrize("name", list(all_methods()))
    def test_every_method_is_explained(self, name: str) -> None:
        assert f"- `{name}`" in self.TEXT or f" and `{name}`" in self.TEXT
        assert f"`{name}`" in text_of(DOCS / "reference.md")

    def test_every_function_named_exists(self) -> None:
        rooms = "model|methods|estimation|targets|labelers|studies|counting|io|estimate"
        names = set(re.findall(rf"`((?:{rooms})\.[\w.]+)`", self.TEXT))
        assert len(names) > 30
        assert sorted(name for name in names if not resolves(name)) == []

    @pytest.mark.parametrize("study", [name for name in STUDIES if name != "guards"])  # it counts alarms
    def test_every_study_has_results(self, study: str) -> None:
        methods = {row["method"] for row in make_results.rows_of(study)}
        assert methods >= ({"hero1", "hero2"} if study == "coverage" else set(make_results.METHODS))

    @pytest.mark.slow
    @pytest.mark.numbers
    def test_results_can_be_had_again(self) -> None:
        """One cell run anew: the files in docs/results are what the code gives now."""
        fresh = run_study("exp1-small", gold_rates=(0.10,), processes=1).rows
        kept = {row["method"]: row for row in make_results.rows_of("exp1-small") if row["cell"] == fresh[0]["cell"]}
        assert len(kept) > 1
        measured = {row["method"]: row for row in fresh}
        for method, old in kept.items():  # a method that is new need not be among them
            new = measured[method]
            numbers = [name for name, value in new.items() if isinstance(value, float)]
            assert [new[name] for name in numbers] == pytest.approx([float(old[name]) for name in numbers], abs=1e-6)

    @pytest.mark.slow
    def test_limits_can_be_measured_again(self) -> None:
        """A draw of each kind falls where the files say."""
        for position, situation in enumerate(measure_limits.SITUATIONS):
            kept = {row["method"]: row for row in make_results.rows_of("limits") if row["situation"] == situation.name}
            names = (*measure_limits.METHODS, measure_limits.PLAIN)
            for method, (value, *_rest) in zip(names, measure_limits.replicate((position, 0)), strict=True):
                row = kept[method]
                middle = float(row["truth"]) + float(row["bias"])
                assert abs(value - middle) < 5 * float(row["sd"])


def resolves(name: str) -> bool:
    """Whether a dotted name below hero_eval is there."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module("hero_eval." + ".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            fields = inspect.get_annotations(found) if inspect.isclass(found) else {}
            if not hasattr(found, part) and part not in fields:
                return False
            found = getattr(found, part, None)
        return True
    return False


def test_every_tool_is_in_the_table_of_imports() -> None:
    """A team would not learn that its export can be read, or be promised one that cannot."""
    table = re.search(r"^\| `--from` .*?\n\n", text_of(DOCS / "store.md"), flags=re.MULTILINE | re.DOTALL)
    assert table
    rows = re.findall(r"^\| (`.+?) \|", table[0], flags=re.MULTILINE)[1:]
    assert [name for row in rows for name in re.findall(r"`([\w-]+)`", row)] == list(EXPORT_TOOLS)


class TestContributing:
    TEXT = text_of(ROOT / "CONTRIBUTING.md")

    def test_every_file_named_exists(self) -> None:
        named = set(re.findall(r"`((?:\w+/)*\w+\.(?:py|md))`", self.TEXT))
        assert len(named) > 20
        assert not [name for name in named if not any((place / name).exists() for place in (ROOT, SOURCE))]

    def test_every_target_of_make_exists(self) -> None:
        makefile = text_of(ROOT / "Makefile")
        for target in set(re.findall(r"^make ([\w-]+)", self.TEXT + text_of(ROOT / "README.md"), flags=re.MULTILINE)):
            assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"make {target} does not exist"


@named([page for page in PAGES if page.name != "glossary.md"])  # which says what words others use
def test_pages_use_the_words_of_the_project(page: Path) -> None:
    wrong = re.findall(
        r"\b(?:tasks?|workers?|annotat\w+|raters?|datasets?|ground[- ]truth)\b", prose_of(page), flags=re.I
    )
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("script", ["rate_from_files.py", "paired_difference.py"])
def test_example_scripts_run(script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / script)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) >= 3


@pytest.mark.slow
def test_example_script_refuses_what_is_wrong(tmp_path: Path) -> None:
    place = str(EXAMPLES / "rate_from_files.py")
    done = subprocess.run(
        [sys.executable, place, str(tmp_path / "nowhere"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 2
    assert done.stderr.startswith("E101")


def test_changelog_has_this_version() -> None:
    assert f"## {hero_eval.__version__}" in text_of(ROOT / "CHANGELOG.md")


def test_results_have_monte_carlo_errors() -> None:
    for study in set(STUDIES) - {"guards"}:
        with (RESULTS / f"{study}.csv").open(encoding="utf-8", newline="") as file:
            header = next(csv.reader(file))
        assert {"bias_se", "rmse_se", "coverage_se"} <= set(header)
