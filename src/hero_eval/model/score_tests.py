"""Tests of what the methods assume, on arrays: do reliabilities carry over, do labelers err apart, who knows nothing.

Score tests: each asks whether the likelihood would rise in a direction that the model leaves out. A direction's total
score is made free of the errors in all fitted parameters (its part along the fitted scores is taken off), and its
variance is the sum of the items' squares, so that scarce gold, weights and a model that is not quite true do not raise
false alarms. The information behind that is the expected one (`row_scores`).
Shapes: P patterns, J labelers, L answers, S states (one for each of K classes), p parameters, m directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from hero_eval.model.answer_order import answer_classes, towards_ends
from hero_eval.model.coordinates import Coordinates
from hero_eval.model.em import takes_kernel
from hero_eval.model.joint import Joint
from hero_eval.model.latent import Latent, answer_log_likelihood, normalize_log_weights, state_barrier
from hero_eval.model.patterns import Bools, Floats, Ints, Patterns, sum_by
from hero_eval.model.row_scores import Scored, draw_rows, score_rows, solve_flat

_TESTS = {"common": 2.0, "rates": 4.0, "skills": 4.0}
"""Of transport, and by how much each one's p-value counts: drift is mostly common to all labelers, so that test has
half of the level, the others a quarter each."""
_NULL = 1e-9
"""Of a variance: rounding alone leaves as much. Doubled, nothing changes (reasoned)."""


@dataclass(frozen=True)
class Tested:
    """A statistic and how often chance alone would reach it; its degrees of freedom, and its mean by chance alone."""

    statistic: float
    p_value: float
    df: float = 1.0
    mean: float = 1.0


# ------------------------------------------------------------------------------------------ labelers who err together


@dataclass(frozen=True)
class Dependence:
    """Whether labelers agree beyond what the class explains: z on gold rows and on all rows, and their joint p-value.

    `correlation` is the mean residual correlation of two labels of one item given its gold; `effective` how many
    labels without it would tell as much as the `labels_per_item` that there are.
    """

    on_gold: Tested
    on_all: Tested
    p_value: float
    correlation: float
    labels_per_item: float
    effective: float


def check_dependence(rows: Scored, drawn: Scored, clusters: Ints | None = None) -> Dependence:
    """Pairs of residuals, answer less its expectation given the class, averaged over the classes that an item may have.

    One-sided: labelers who err together agree too often. The better of two tests counts twice its p-value.
    """
    pairs, spread = _residual_pairs(rows)
    drawn_pairs, _ = _residual_pairs(drawn)
    counts, known = rows.patterns.counts, rows.patterns.gold >= 0
    here = np.column_stack([known * pairs, pairs])
    there = np.column_stack([(drawn.patterns.gold >= 0) * drawn_pairs, drawn_pairs])
    slopes = drawn.scores.T @ (drawn.patterns.counts[:, None] * there)
    own = here - rows.scores @ solve_flat(drawn.information, slopes)
    errors = np.sqrt(np.diag(rows.covariance(own, clusters)))
    z_values = np.where(errors > 0, counts @ own / np.where(errors > 0, errors, 1.0), 0.0)
    tests = [Tested(float(z), float(special.ndtr(-z))) for z in z_values]
    use = known if counts[known] @ spread[known] >= 10.0 else np.ones_like(known)
    total = float(counts[use] @ spread[use])
    correlation = float(np.clip(counts[use] @ pairs[use] / total, 0.0, 1.0)) if total > 0 else 0.0
    labels = float(counts @ np.diff(rows.patterns.cells.indptr)) / rows.patterns.total
    effective = labels / (1.0 + max(labels - 1.0, 0.0) * correlation)
    p_value = min(1.0, 2.0 * min(one.p_value for one in tests))
    return Dependence(tests[0], tests[1], p_value, correlation, labels, effective)


def _residual_pairs(rows: Scored) -> tuple[Floats, Floats]:
    """(P,) sums over pairs of labels of the products of their residuals, and of those residuals' standard deviations.

    A residual is a vector over the answers; with two answers the product is twice the usual one.
    """
    patterns, answers = rows.patterns, rows.latent.answers
    n_answers, n_states = answers.shape[1:]
    pairs, spread = np.zeros(patterns.n_rows), np.zeros(patterns.n_rows)
    for s in range(n_states):
        share = answers[:, :, s]
        residual = (np.eye(n_answers)[None] - share[:, None, :]).reshape(-1, n_answers)
        variance = np.repeat(1.0 - (share**2).sum(axis=1), n_answers)
        columns = np.column_stack([residual, (residual**2).sum(axis=1), np.sqrt(variance), variance])
        sums = patterns.from_cells(columns)
        pairs += rows.post[:, s] * 0.5 * ((sums[:, :n_answers] ** 2).sum(axis=1) - sums[:, n_answers])
        spread += rows.post[:, s] * 0.5 * (sums[:, n_answers + 1] ** 2 - sums[:, n_answers + 2])
    return pairs, spread


# ------------------------------------------------------------------------------------------ transported reliability


@dataclass(frozen=True, eq=False)
class Transport:
    """Whether history's reliabilities hold in the current round, without any current gold.

    `common`: all labelers became better or worse at a class together. `rates`: the rates that labelers alone imply lie
    further apart than chance allows. `skills`: labelers' agreement with the others changed, each on its own.
    z (J,) is each labeler's own shift of its answers; implied (J,) the rate of the last class that it alone
    implies (nan if it tells nothing); agreement: of two labels of one item, seen and expected; sampled: how many rows
    of history and of the current round stand for all in variances, 0 for all.
    """

    common: Tested
    rates: Tested
    skills: Tested
    p_value: float
    z: Floats
    implied: Floats
    agreement: tuple[float, float]
    sampled: tuple[int, int] = (0, 0)


def check_transport(
    history: Patterns,
    current: Patterns,
    fitted: Joint,
    carried: Joint,
    drawn: Scored,
    clip: float,
    clusters: tuple[Ints | None, Ints | None] = (None, None),
) -> Transport:
    """`fitted` is the joint fit of both rounds; `carried` history's reliabilities with the current rates they give.

    `drawn` are items drawn as history's were; `clusters` those of history's items and of the current ones.
    """
    current = replace(current, gold=np.full_like(current.gold, -1))
    n_states = fitted.latent.n_states
    now = replace(fitted.latent, weights=_off_zero(fitted.rates, clip))
    past_rows, rows = score_rows(history, fitted.latent, clip), score_rows(current, now, clip)
    before, here = _places(rows.n_parameters, n_states - 1)  # of both rounds' scores among all parameters
    size = rows.n_parameters + n_states - 1
    info, past_info = np.zeros((size, size)), np.zeros((size, size))
    info[np.ix_(here, here)] = draw_rows(current, now, clip).information
    past_info[np.ix_(before, before)] = drawn.information
    back = solve_flat(past_info + info, info)  # how far the fit follows the current rows
    own, total = np.zeros(size), np.zeros(size)
    own[here] = rows.scores.T @ current.counts
    total[before] = past_rows.scores.T @ history.counts
    beyond = own - back.T @ (own + total)
    squares, past_squares = rows.squares(clusters[1]), past_rows.squares(clusters[0])
    sampled = past_rows.sampled if clusters[0] is None else 0, rows.sampled if clusters[1] is None else 0

    def along(directions: Floats) -> tuple[Floats, Floats]:
        """The score along each direction (m,) and its covariance (m, m)."""
        followed = back @ directions
        of_here, of_before = (directions - followed)[here], followed[before]
        variance = of_here.T @ squares @ of_here + of_before.T @ past_squares @ of_before
        return directions.T @ beyond, variance

    towards, better = _directions(fitted.latent, rows.at, 2 * (n_states - 1))
    common = _chi_square(*along(better.sum(axis=1)))
    shift, shift_variance = along(towards.reshape(len(towards), -1))
    rates = _scatter(shift, shift_variance)
    skills = _scatter(*along(better.sum(axis=2)))
    tests = {"common": common, "rates": rates, "skills": skills}
    p_value = min(1.0, *(share * tests[name].p_value for name, share in _TESTS.items()))
    deviation = np.sqrt(np.maximum(np.diag(shift_variance), 0.0)).reshape(towards.shape[1:])  # 0 but for rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(deviation > _NULL, shift.reshape(deviation.shape) / deviation, 0.0)
    largest = z[np.arange(len(z)), np.abs(z).argmax(axis=1)]
    return Transport(
        common, rates, skills, p_value, largest, implied_rates(current, carried), _agreement(current, carried), sampled
    )


def beyond_past(now: Transport, past: Sequence[Transport]) -> float:
    """How often a round would misfit so much more than past ones misfit each other, had it drifted just as they did.

    Drift that is normal stretches the chi-squares of all rounds alike, so that their ratio has an F distribution. Past
    rounds that fit each other better than chance makes them say no more than those that fit.
    """
    if not past:
        return 0.0
    p_value = 1.0
    for name, share in _TESTS.items():
        mine, theirs = getattr(now, name), [getattr(one, name) for one in past]
        usual = max(float(np.mean([one.statistic / one.mean for one in theirs])), 1.0)
        ratio = mine.statistic / mine.mean / usual
        p_value = min(p_value, share * float(special.fdtrc(mine.df, sum(one.df for one in theirs), ratio)))
    return p_value


def _off_zero(rates: Floats, clip: float) -> Floats:
    held = np.maximum(rates, clip)
    out: Floats = held / held.sum()
    return out


def _places(n_parameters: int, n_weights: int) -> tuple[Ints, Ints]:
    """Where history's and the current parameters are: history's weights come first, then the current ones, then the
    answers that both share."""
    weights, answers = np.arange(n_weights), np.arange(2 * n_weights, n_parameters + n_weights)
    return np.concatenate([weights, answers]), np.concatenate([weights + n_weights, answers])


def _directions(latent: Latent, at: Coordinates, n_before: int) -> tuple[Floats, Floats]:
    """In the coordinates of the answers, `n_before` others ahead: every labeler's logit of an answer up by 1.

    (p, J, L-1) each answer but the first, in all states alike; (p, J, S) the right answer, in one state.
    """
    n_labelers, n_answers, n_states = latent.answers.shape
    slopes = np.moveaxis(at.answer_slopes, 3, 1)  # (J, S, L, L-1)
    wanted = np.eye(n_answers)[None, None] - latent.answers.transpose(0, 2, 1)[:, :, None, :]  # (J, S, L, answer)
    moves = np.linalg.pinv(slopes) @ wanted  # (J, S, L-1, answer)
    size = n_states * n_labelers * (n_answers - 1)
    towards = np.zeros((n_states, n_labelers, n_answers - 1, n_labelers, n_answers - 1))
    better = np.zeros((n_states, n_labelers, n_answers - 1, n_labelers, n_states))
    for j in range(n_labelers):
        towards[:, j, :, j] = moves[j][:, :, 1:]
        for s, right in enumerate(latent.state_class):
            better[s, j, :, j, s] = moves[j, s] @ answer_classes(n_answers, n_states)[:, right]
    before = np.zeros((n_before, n_labelers, 1))
    return (
        np.concatenate([np.repeat(before, n_answers - 1, axis=2), towards.reshape(size, n_labelers, -1)]),
        np.concatenate([np.repeat(before, n_states, axis=2), better.reshape(size, n_labelers, -1)]),
    )


def _chi_square(score: Floats, variance: Floats) -> Tested:
    values, vectors = np.linalg.eigh(variance)
    use = values > 1e-8 * max(float(values.max()), _NULL)
    if not use.any():
        return Tested(0.0, 1.0)
    statistic = float(((vectors.T @ score)[use] ** 2 / values[use]).sum())
    df = float(use.sum())
    return Tested(statistic, float(special.chdtrc(df, statistic)), df, df)


def _scatter(score: Floats, variance: Floats) -> Tested:
    """The sum of squared z-values; they hang together, so its distribution is a stretched chi-square."""
    use = np.diag(variance) > _NULL
    if not use.any():
        return Tested(0.0, 1.0)
    deviation = np.sqrt(np.diag(variance)[use])
    correlation = variance[np.ix_(use, use)] / np.outer(deviation, deviation)
    size, squares = float(use.sum()), float((correlation**2).sum())
    statistic = float(((score[use] / deviation) ** 2).sum())
    df = size**2 / squares
    return Tested(statistic, float(special.chdtrc(df, statistic * size / squares)), df, size)


def implied_rates(current: Patterns, carried: Joint) -> Floats:
    """(J,) the rate of the last class that each labeler's own answers imply, for two classes; else nan."""
    answers = carried.latent.answers
    if answers.shape[1:] != (2, 2):
        return np.full(len(answers), np.nan)
    given = current.to_cells(current.counts[:, None])[:, :, 0]
    skill = answers[:, 1, 1] - answers[:, 1, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        implied = (given[:, 1] / given.sum(axis=1) - answers[:, 1, 0]) / skill
    out: Floats = np.where((np.abs(skill) > 0.1) & (given.sum(axis=1) > 0), implied, np.nan)
    return out


def _agreement(current: Patterns, carried: Joint) -> tuple[float, float]:
    """How often two labels of one item agree: seen, and expected of history's reliabilities at the current rates."""
    n_labelers, n_answers, n_states = carried.latent.answers.shape
    given = current.from_cells(np.tile(np.eye(n_answers), (n_labelers, 1)))
    labels = given.sum(axis=1)
    pairs = float(current.counts @ (labels * (labels - 1)))
    if pairs == 0:
        return float("nan"), float("nan")
    seen = float(current.counts @ (given * (given - 1)).sum(axis=1)) / pairs
    expected = 0.0
    for s in range(n_states):
        share = np.repeat(carried.latent.answers[:, :, s], n_answers, axis=0)
        sums = current.from_cells(np.column_stack([share, (share**2).sum(axis=1)]))
        together = (sums[:, :n_answers] ** 2).sum(axis=1) - sums[:, n_answers]
        expected += float(carried.rates[carried.latent.state_class[s]] * (current.counts @ together))
    return seen, expected / pairs


# ------------------------------------------------------------------------------------------ labelers who know nothing


@dataclass(frozen=True, eq=False)
class Skills:
    """Each labeler's discrimination (J,) by how its answers follow the class that all the others and the gold show.

    1 = always right, 0 = no better than chance, below 0 = inverted; error (J,) is its standard error if the labeler
    knew nothing, infinite where nothing can be said.
    """

    value: Floats
    error: Floats

    def inverted(self) -> Floats:
        """(J,) p-values against "not inverted"."""
        out: Floats = special.ndtr(self.value / self.error)
        return out

    def below(self, bound: float) -> Floats:
        """(J,) p-values against a discrimination of `bound` or more, either way round."""
        out: Floats = special.ndtr((np.abs(self.value) - bound) / self.error)
        return out


def measure_skills(patterns: Patterns, latent: Latent, *, ordered: bool = False) -> Skills:
    """Regress each labeler's answers on the class shares that leave its own answers out.

    Answers of an order, such as bins of scores, by where they stand in it, on where the classes stand. If a labeler
    knows nothing its answers could be dealt out among its items in any order, which gives the error.
    """
    cross, sums, often = _share_sums(patterns, latent)
    n_answers, n_states = sums.shape[1:]
    if not ordered and n_answers == n_states:
        return _skills(cross, sums, often, np.broadcast_to(np.eye(n_states), sums.shape))
    ends = towards_ends(sums.sum(axis=(0, 1)))
    return _skills(ends.T @ cross @ ends, sums @ ends, often, towards_ends(often))


def _skills(cross: Floats, sums: Floats, often: Floats, speaks: Floats) -> Skills:
    """From sums over labels of shares s s' (J, S, S), of s by answer (J, L, S), of labels by answer (J, L), and from
    what each answer counts as (J, L, S)."""
    n_labelers, _, n_states = sums.shape
    total = often.sum(axis=1)
    value, error = np.zeros(n_labelers), np.full(n_labelers, np.inf)
    able = np.flatnonzero(total >= 3)
    able = able[np.linalg.eigvalsh(cross[able])[:, 0] >= 1e-6 * total[able]]
    cross, sums, weigh, total = cross[able], sums[able], often[able] / total[able, None], total[able]
    pull = speaks[able] @ np.linalg.inv(cross)  # (J, L, S): what each answer would add, by the shares of an item
    trace = np.einsum("jls,jls->j", pull, sums)
    mean = sums.sum(axis=1) / total[:, None]
    spread = cross - total[:, None, None] * mean[:, :, None] * mean[:, None, :]
    pull = pull - np.einsum("jl,jls->js", weigh, pull)[:, None, :]
    variance = total / (total - 1.0) * np.einsum("jl,jls,jst,jlt->j", weigh, pull, spread, pull)
    tells = variance > _NULL**2
    value[able[tells]] = (trace[tells] - 1.0) / (n_states - 1)
    error[able[tells]] = np.sqrt(variance[tells]) / (n_states - 1)
    return Skills(value, error)


def _share_sums(patterns: Patterns, latent: Latent) -> tuple[Floats, Floats, Floats]:
    """Sums over each labeler's labels, of the shares s of the states that the others and the gold show: of s s'
    (J, S, S), of s by answer (J, L, S), and of the labels by answer (J, L)."""
    n_labelers, n_answers, n_states = latent.answers.shape
    if n_states == 2 and takes_kernel(patterns):
        from hero_eval.model.kernel import Kernel, is_binary  # compiled code, which small data need not load

        if is_binary(latent):
            return _of_two_states(Kernel(patterns).others_show(latent))
    n_cells = n_labelers * n_answers
    cross, sums = np.zeros((n_labelers, n_states, n_states)), np.zeros((n_cells, n_states))
    often, logs = np.zeros(n_cells), np.log(latent.answers).reshape(n_cells, n_states)
    whole = answer_log_likelihood(patterns, latent.answers)
    for rows in patterns.row_blocks():
        row, labeler, answer = patterns.entries_of(rows)
        cell, weight = labeler * n_answers + answer, patterns.counts[row]
        of_row = whole[rows] + np.log(latent.weights) + state_barrier(patterns.gold[rows], latent.state_class)
        shares, _ = normalize_log_weights(of_row[row - rows.start] - logs[cell])
        often += sum_by(cell, weight, n_cells)
        for s in range(n_states):
            mine = shares[:, s] * weight
            sums[:, s] += sum_by(cell, mine, n_cells)
            for t in range(s + 1):
                cross[:, s, t] += sum_by(labeler, mine * shares[:, t], n_labelers)
    for s in range(n_states):
        cross[:, :s, s] = cross[:, s, :s]
    return cross, sums.reshape(n_labelers, n_answers, n_states), often.reshape(n_labelers, n_answers)


def _of_two_states(by_cell: Floats) -> tuple[Floats, Floats, Floats]:
    """`_share_sums` from sums (J, L, 3) of labels, of the share of state 1, and of its square."""
    often, ones = by_cell[:, :, 0], by_cell[:, :, 1]
    whole, one, square = by_cell.sum(axis=1).T
    cross = np.stack([whole - 2 * one + square, one - square, one - square, square], axis=1).reshape(-1, 2, 2)
    return cross, np.stack([often - ones, ones], axis=2), often


@dataclass(frozen=True)
class Knowledge:
    """The mean discrimination of all labels on gold items, and its error if they knew nothing.

    `p_value`: how often chance would make labels go with the gold as much as they do.
    """

    discrimination: float
    error: float
    statistic: float
    p_value: float

    def below(self, bound: float) -> float:
        """The p-value against a discrimination of `bound` or more."""
        return float(special.ndtr((self.discrimination - bound) / self.error))


def _speaks(patterns: Patterns, rows: Bools, *, ordered: bool) -> Floats:
    """(J L, E): what an answer of each labeler counts as, by what the labeler answered in these rows."""
    if not ordered:
        return np.tile(np.eye(patterns.n_answers), (patterns.n_labelers, 1))
    often = patterns.to_cells(np.where(rows, patterns.counts, 0.0)[:, None])[:, :, 0]
    return towards_ends(often).reshape(-1, 2)


def check_knowledge(patterns: Patterns, n_classes: int, *, ordered: bool = False) -> Knowledge | None:
    """Do labels go with the gold at all? With gold dealt out among its items at random they would not.

    Labels of one item stay together, so labelers who only agree among themselves do not pass for knowing. Answers of an
    order, such as bins of scores, go with the gold as far as both stand near the same end. None where gold is of one
    class, or all labels are the same.
    """
    known = patterns.gold >= 0
    ordered = ordered or patterns.n_answers != n_classes
    given = patterns.from_cells(_speaks(patterns, known, ordered=ordered))[known]
    gold, weight = patterns.gold[known], patterns.counts[known]
    total = float(weight.sum())
    if total < 2:
        return None
    often = sum_by(gold, weight, n_classes) / total
    ends = towards_ends(often, ordered=ordered)
    centered = (given - weight @ given / total) @ ends.T
    seen = float(weight @ centered[np.arange(len(gold)), gold])
    centered = centered - (centered @ often)[:, None]
    variance = total / (total - 1.0) * float(weight @ (centered**2 @ often))
    spread = float(often @ (ends**2).sum(axis=1) - ((often @ ends) ** 2).sum())
    most = float(weight @ given.sum(axis=1)) * spread  # what labels that are always right would show
    if variance <= _NULL or most <= _NULL:
        return None
    z = seen / float(np.sqrt(variance))
    return Knowledge(seen / most, float(np.sqrt(variance)) / most, z, float(special.ndtr(-z)))
