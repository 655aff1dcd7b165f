"""What HERO-2 has to say of its covariates, whether it saw items or their sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from hero_eval.findings import Finding, name_some
from hero_eval.model.patterns import Floats


@dataclass(frozen=True)
class Dropped:
    """Positions of covariates: those kept, and those dropped for three reasons."""

    kept: tuple[int, ...]
    constant: tuple[int, ...]
    collinear: tuple[int, ...]
    absent: tuple[int, ...]


def dropped_findings(names: Sequence[str], dropped: Dropped) -> list[Finding]:
    found = []
    for why, which in (
        ("the same for every current item", dropped.constant),
        ("a combination of the others", dropped.collinear),
        ("never observed in one of the rounds", dropped.absent),
    ):
        if which:
            left_out = [names[c] for c in which]
            found.append(Finding("F401", f"dropped {name_some(left_out)}: {why}", {"columns": left_out}))
    if not dropped.kept:
        found.append(Finding("F401", "no covariate is left: HERO-2 is HERO-1 here", {"columns": list(names)}))
    return found


def value_findings(
    missing: tuple[float, float], penalty: float, n_effective: float, asked: float | None
) -> list[Finding]:
    """Missing values (their share in current and in history), and a penalty that was chosen."""
    found = []
    if max(missing) > 0:
        message = (
            f"covariate values are missing ({missing[0]:.1%} in current, {missing[1]:.1%} in history); "
            "they count as the historical mean"
        )
        found.append(Finding("F402", message, {"current": missing[0], "history": missing[1]}))
    if asked is None:
        message = f"ridge penalty {penalty:.3g}, worth {n_effective:.1f} covariates"
        found.append(Finding("F405", message, {"penalty": penalty, "n_effective": n_effective}))
    return found


def moved_finding(names: Sequence[str], kept: Sequence[int], z: Floats, level: float = 0.05) -> Finding | None:
    """A mean that moved by more than chance allows (`level` over all covariates) is carried straight into HERO-2."""
    bound = -special.ndtri(level / 2 / max(len(z), 1))
    moved = [names[c] for c, value in zip(kept, z, strict=True) if abs(value) > bound]
    if not moved:
        return None
    largest = float(np.abs(z).max())
    message = (
        f"the mean of {name_some(moved)} differs between history and current (|z| up to {largest:.1f}), which hero2 "
        "takes as chance: trust hero1 more"
    )
    p_value = min(1.0, 2.0 * float(special.ndtr(-largest)) * len(z))
    return Finding("F403", message, {"columns": moved, "largest_z": largest, "p_value": p_value})
