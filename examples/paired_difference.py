"""Two models on the same prompts: why pairing pays.

    python examples/paired_difference.py

A simulated team labels two models' outputs for the same 400 prompts with the same eight labelers, whom it knows from an
earlier round. Some prompts are hard for both models. The difference is estimated paired, and once more with the second
model's items renamed, so that nothing says which prompts belong together.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hero_eval as hero

Flags = NDArray[np.bool_]


def main() -> None:
    rng = np.random.default_rng(4)
    sensitivity, specificity = rng.uniform(0.6, 0.95, (2, 8))
    hardness = rng.normal(0.0, 2.0, 400)
    model_a, model_b = (rng.random(400) < 1 / (1 + np.exp(-(shift + hardness))) for shift in (-1.0, -0.3))
    past = rng.random(800) < 0.35

    def make_round(name: str, truth: Flags, prefix: str = "p", gold_share: float = 0.0) -> hero.Round:
        ids = np.array([f"{prefix}{number:04d}" for number in range(len(truth))])
        said = rng.random((len(truth), 8)) < np.where(truth[:, None], sensitivity, 1 - specificity)
        item, labeler = np.nonzero(rng.random(said.shape) < 0.5)
        checked = (rng.random(len(truth)) < gold_share) & np.isin(np.arange(len(truth)), item)
        table = {"item": ids[item], "labeler": labeler.astype(str), "label": said[item, labeler].astype(int)}
        gold = {"item": ids[checked], "gold": truth[checked].astype(int)}
        return hero.Round(pa.table(table), pa.table(gold) if gold_share else None, name=name)

    history = make_round("past", past, gold_share=0.2)
    a, b = make_round("model A", model_a), make_round("model B", model_b)
    paired = hero.estimate_difference(a, b, history)
    renamed = hero.Round(_renamed(b), name="model B")
    unpaired = hero.estimate_difference(a, renamed, history)
    print(f"defects of A minus defects of B, known here: {model_a.mean() - model_b.mean():+.3f}")
    for name, found in (("paired", paired), ("unpaired", unpaired)):
        low, high = found.interval()
        print(f"{name:9} {found.value:+.3f}  95% interval {low:+.3f} to {high:+.3f}  width {high - low:.3f}")


def _renamed(one: hero.Round) -> pa.Table:
    """The labels of a round with other item ids."""
    return pa.table(
        {
            "item": [f"other {one.item_ids[item]}" for item in one.label_item],
            "labeler": [one.labelers[labeler] for labeler in one.label_labeler],
            "label": [one.values[answer] for answer in one.label_answer],
        }
    )


if __name__ == "__main__":
    main()
