"""What HERO-2 has to say of its covariates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from hero_eval.findings import Finding, name_some
from hero_eval.model.regression import Covariates, KeptColumns, Ridge, SummedCovariates


def dropped_findings(names: Sequence[str], columns: KeptColumns) -> list[Finding]:
    found = []
    for why, which in (
        ("the same for every current item", columns.constant),
        ("a combination of the others", columns.collinear),
        ("never observed in one of the rounds", columns.absent),
    ):
        if len(which):
            left_out = [names[c] for c in which]
            found.append(Finding("F401", f"dropped {name_some(left_out)}: {why}", {"columns": left_out}))
    if not len(columns.kept):
        found.append(Finding("F401", "no covariate is left: HERO-2 is HERO-1 here", {"columns": list(names)}))
    return found


def value_findings(missing: tuple[float, float], ridge: Ridge, asked: float | None) -> list[Finding]:
    """Missing values (their share in current and in history), and a penalty that was chosen."""
    found = []
    if max(missing) > 0:
        message = (
            f"covariate values are missing ({missing[0]:.1%} in current, {missing[1]:.1%} in history); "
            "they count as the historical mean"
        )
        found.append(Finding("F402", message, {"current": missing[0], "history": missing[1]}))
    if asked is None:
        message = f"ridge penalty {ridge.penalty:.3g}, worth {ridge.n_effective:.1f} covariates"
        found.append(Finding("F405", message, {"penalty": ridge.penalty, "n_effective": ridge.n_effective}))
    return found


@dataclass(frozen=True)
class Shift:
    """Covariates whose means moved between history and current by more than chance allows."""

    columns: tuple[str, ...]
    largest_z: float
    p_value: float

    def finding(self, so: str, action: str = "", doubts: bool = False, **more: object) -> Finding:
        """What was done about it (`so`), and whether the interval lacks it."""
        moved = f"the mean of {name_some(list(self.columns))} differs between history and current"
        data = {"columns": list(self.columns), "largest_z": self.largest_z, "p_value": self.p_value, **more}
        return Finding("F403", f"{moved} (|z| up to {self.largest_z:.1f}); {so}", data, action, doubts)

    def carried(self) -> Finding:
        """HERO-2 carries the shift straight into the rate."""
        return self.finding("hero2 takes that as chance", doubts=True)


def moved_covariates(
    names: Sequence[str], covariates: Covariates | SummedCovariates, level: float = 0.05
) -> Shift | None:
    """Means that moved by more than chance allows (`level` over all covariates)."""
    z = covariates.shift()
    bound = -special.ndtri(level / 2 / max(len(z), 1))
    moved = [names[c] for c, value in zip(covariates.columns.kept, z, strict=True) if abs(value) > bound]
    if not moved:
        return None
    largest = float(np.abs(z).max())
    return Shift(tuple(moved), largest, min(1.0, 2.0 * float(special.ndtr(-largest)) * len(z)))
