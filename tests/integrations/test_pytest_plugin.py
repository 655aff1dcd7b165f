"""Release gates written as tests: what passes, what fails, and what the failure says."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest

import hero_eval as hero

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

EXAMPLE = Path(hero.__file__).parent / "examples" / "defect"


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A team's folder: rounds beside their tests."""
    rounds = pytester.mkdir("rounds")
    for name, source in (("april", "history"), ("may", "current")):
        (rounds / name).symlink_to(EXAMPLE / source, target_is_directory=True)
    return pytester


def run(project: pytest.Pytester, body: str, *options: str, method: str | None = None) -> pytest.RunResult:
    may = f"may = hero_round('rounds/may', history='rounds/*', method={method!r})"
    project.makepyfile(f"def test_release(hero_round):\n    {may}\n    {body}")
    return project.runpytest("-p", "no:schemathesis", "-p", "no:anyio", "-p", "no:platformdirs", *options)


def test_the_plugin_comes_with_the_package() -> None:
    """Installed, the fixture would have to be imported by hand in every project."""
    assert [one.value for one in entry_points(group="pytest11", name="hero")] == [
        "hero_eval.integrations.pytest_plugin"
    ]


def test_a_release_that_is_surely_good_enough_passes(project: pytest.Pytester) -> None:
    """A round would be in its own history where a wildcard matches it, and every such test would end in E208."""
    run(project, "assert may.rate <= 0.35").assert_outcomes(passed=1)


def test_a_release_that_may_be_too_bad_fails_with_the_whole_answer(project: pytest.Pytester) -> None:
    """The value, .20, is below .25, but its bound is not: a comparison of bare numbers would let it out."""
    result = run(project, "assert may.rate <= 0.25")
    result.assert_outcomes(failed=1)
    rate = hero.estimate_rate(hero.read_round(EXAMPLE / "current"), hero.read_round(EXAMPLE / "history"))
    text = result.stdout.str()
    assert "rate of '1' <= 0.25" in text
    assert "gate closed" in text
    assert rate.summary() in text
    assert all(one.code in text for one in rate.findings)


def test_what_was_found_is_in_the_report_for_machines(project: pytest.Pytester) -> None:
    """A pipeline that keeps JUnit's XML would not know by which number a release was stopped."""
    run(project, "assert 0.1 <= may.rate", "--junitxml=out.xml").assert_outcomes(passed=1)
    found = ElementTree.parse(project.path / "out.xml").find(".//property[@name='hero']")
    assert found is not None
    document = json.loads(str(found.get("value")))
    assert document["gate"]["state"] == "open"
    rate = hero.estimate_rate(hero.read_round(EXAMPLE / "current"), hero.read_round(EXAMPLE / "history"))
    assert document["value"] == rate.value


def test_a_gate_that_is_asked_often_takes_its_looks(project: pytest.Pytester) -> None:
    """The bound of a single look, .2594, would open a gate that is asked ten times; `looks` was no option here."""
    ten = "hero_round('rounds/may', history='rounds/*', looks=10).rate <= 0.27"
    run(project, f"assert may.rate <= 0.27 and not {ten}").assert_outcomes(passed=1)
    result = run(project, f"assert {ten}")
    result.assert_outcomes(failed=1)
    assert "at level 0.995" in result.stdout.str()


def test_a_number_in_doubt_opens_nothing(project: pytest.Pytester) -> None:
    """Without any gold nothing tells how labelers err: the test must fail, and say that the gate is undecided."""
    result = run(project, "assert hero_round('rounds/may').rate <= 0.9")
    result.assert_outcomes(failed=1)
    assert "gate undecided" in result.stdout.str()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("assert may.rate == 0.2", "compare it by >= or <="),
        ("assert may.rate", "neither true nor false"),
        ("assert may.rate >= '0.2'", "compared with a number, not with '0.2'"),
        ("hero_round('rounds/may', history='rounds/x*').rate", "E1"),
        ("hero_round('rounds/june').rate", "E101"),
    ],
)
def test_slips_are_told(project: pytest.Pytester, body: str, says: str) -> None:
    """A test that compares by mistake would pass or fail for no reason."""
    result = run(project, body, method="majority_vote")
    result.assert_outcomes(failed=1)
    assert says in result.stdout.str()


def test_two_models_and_flags(project: pytest.Pytester) -> None:
    """Differences and moderation are gates too; of a model that is compared with itself no gate can say anything."""
    (project.path / "rounds" / "may").unlink()
    may, june = project.mkdir("rounds/may"), project.mkdir("june")
    lines = (EXAMPLE / "current" / "labels.csv").read_text().splitlines(keepends=True)
    items = sorted({line.split(",")[0] for line in lines[1:]})
    (may / "labels.csv").write_text("".join(lines))
    (june / "labels.csv").write_text("".join(line for line in lines if line.split(",")[0] != items[0]))
    (may / "items.csv").write_text("item,flag\n" + "".join(f"{item},{i % 2}\n" for i, item in enumerate(items)))
    body = (
        "june = hero_round('june', history='rounds/april', method='hero1')\n    assert may.minus(june) >= -0.5\n"
        "    assert may.minus('june') >= -0.5\n    assert may.moderation('flag')['recall'] >= 0"
    )
    run(project, body, method="hero1").assert_outcomes(passed=1)
    itself = run(project, "assert may.minus(may) >= -0.5", method="hero1")
    itself.assert_outcomes(failed=1)
    assert "gate undecided" in itself.stdout.str()
