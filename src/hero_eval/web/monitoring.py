"""What machines watch: whether the server is up, and the store's recorded numbers as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from hero_eval.web.security import HEALTH
from hero_eval.web.snapshot import Snapshot

router = APIRouter(include_in_schema=False)

TEXT = "text/plain; version=0.0.4; charset=utf-8"
HELP = {
    "hero_store_version": "Version of the store.",
    "hero_round_items": "Items of a round.",
    "hero_round_labels": "Labels of a round.",
    "hero_round_gold": "Golds of a round.",
    "hero_estimate_value": "The latest recorded estimate of a round that still holds.",
    "hero_estimate_low": "The lower end of its interval.",
    "hero_estimate_high": "The upper end of its interval.",
    "hero_estimate_in_doubt": "1 where a finding puts the interval in doubt, else 0.",
}


@router.get(HEALTH)
def health() -> PlainTextResponse:
    """Up."""
    return PlainTextResponse("ok\n")


@router.get("/metrics")
def metrics(request: Request) -> PlainTextResponse:
    """The numbers that pages show without working anything out."""
    return PlainTextResponse(exposition(request.app.state.service.latest.now()), media_type=TEXT)


def exposition(snapshot: Snapshot) -> str:
    """The snapshot in Prometheus' text format."""
    samples: dict[str, list[str]] = {name: [] for name in HELP}
    samples["hero_store_version"].append(_sample("hero_store_version", {}, snapshot.version))
    for entry in snapshot.rounds():
        about = {"round": entry.round, "question": entry.question, "model": entry.model or ""}
        for name, count in (("items", entry.items), ("labels", entry.labels), ("gold", entry.gold)):
            samples[f"hero_round_{name}"].append(_sample(f"hero_round_{name}", about, count))
        headline = snapshot.headlines.get(entry.round)
        if headline is None or not headline.is_known:
            continue
        about |= {"what": headline.what, "method": headline.method, "level": f"{headline.level:g}"}
        numbers = {"value": headline.value, "low": headline.low, "high": headline.high}
        for name, number in {**numbers, "in_doubt": int(bool(headline.doubts))}.items():
            samples[f"hero_estimate_{name}"].append(_sample(f"hero_estimate_{name}", about, number or 0))
    return "".join(_family(name, lines) for name, lines in samples.items() if lines)


def _family(name: str, lines: Iterable[str]) -> str:
    return "".join([f"# HELP {name} {HELP[name]}\n# TYPE {name} gauge\n", *lines])


def _sample(name: str, about: Mapping[str, str], value: float) -> str:
    labels = ",".join(f'{key}="{_escaped(of)}"' for key, of in about.items())
    return f"{name}{{{labels}}} {value!r}\n" if labels else f"{name} {value!r}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
