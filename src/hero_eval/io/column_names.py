"""What columns are most likely for, by their names alone: a judge's answers, an expert's, or facts about items."""

from __future__ import annotations

import re
from collections.abc import Collection

_GOLD_NAMES = (
    "gold",
    "expert",
    "expert_label",
    "expert_answer",
    "gold_label",
    "gold_answer",
    "gold_standard",
    "goldstandard",
    "ground_truth",
    "groundtruth",
    "truth",
    "true_label",
    "y_true",
    "correct_label",
    "target",
    "reference",
)
"""Names by which a wide table's gold is known, the surest first."""
_PEOPLE = re.compile(
    r"(^|[^a-z])(judge|rater|annotator|labeler|labeller|grader|worker|crowd|vendor|reviewer|evaluator|autorater|"
    r"autograder|verifier|reward|gpt|openai|claude|anthropic|haiku|sonnet|opus|gemini|llama|mistral|mixtral|qwen|"
    r"deepseek|gemma|phi|grok|command|prometheus|o[134])([^a-z]|$)"
)
"""Words of which one in its name shows that a column is a labeler's, whatever its scale."""
_EXPERTS = re.compile(
    r"(^|[^a-z])(expert[a-z]{0,3}|esperto|gold|golden|sme|ground_?truth|truth|adjudicat[a-z]*)([^a-z]|$)"
)
"""Words of which one in its name shows that a column may be an expert's."""
_OF_EXPERTS = re.compile(
    r"((human|final|domain|expert[a-z]{0,3}|gold|golden|ground_truth|adjudicated|label|labels|answer|answers|verdict|"
    r"rating|score|judgment|judgement|annotation|decision|standard|sme|our)(_|$))+"
)
"""Names that say nothing else, so that columns are an expert's even if they are full."""
_FACTS = re.compile(
    r"(^|_)(is|has|was|n|num|len|count|flag|flagged|costs?|price|usd|eur|dollars|latency|latencies|tokens?|ms|secs?|"
    r"seconds?|minutes|duration|elapsed|runtime|time|timestamp|date|length|chars|characters|words|bytes|temperature|"
    r"seed|index|idx|threshold|attempts?|retries|majority|consensus|average|avg|mean|median|sum|total|std|variance|"
    r"agreement|disagreement|ensemble|aggregated?)(_|$)"
)
"""Words that show the contrary: facts about items, what a judge's call took, and what was made of other columns."""

_SIDES = re.compile(r"(confidence|certainty|uncertainty|logprobs?|logits?|entropy|prob|probability|margin)")
"""What a judge says besides its answer."""
_ANSWERS = re.compile(
    r"(^|_)(human|manual|review|reviewed|label|rating|score|verdict|preference|preferred|correct|judgment|judgement|"
    r"annotation|approved|decision|answer)(_|$)"
)
"""Words that show that a column holds somebody's answers."""


def plain_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")


def names_a_judge(name: str) -> bool:
    """Whether a word in this name is one for labelers."""
    return bool(_PEOPLE.search(name.lower()))


def is_gold_name(name: str) -> bool:
    """Whether a column of this name would be gold."""
    return plain_name(name) in _GOLD_NAMES


def called_like_an_expert(name: str) -> bool:
    """Whether somebody of this name most likely gives gold; not a judge, whose prompt may be called so."""
    return is_gold_name(name) or (bool(_EXPERTS.search(name.lower())) and not names_a_judge(name))


def says_expert_alone(name: str) -> bool:
    """Whether a name says that answers are an expert's, and nothing else."""
    return called_like_an_expert(name) and bool(_OF_EXPERTS.fullmatch(plain_name(name)))


def names_a_fact(name: str) -> bool:
    """Whether a word in this name shows that the column is about items."""
    return bool(_FACTS.search(plain_name(name)))


def names_an_answer(name: str) -> bool:
    """Whether a word in this name shows that the column is somebody's answers."""
    return bool(_ANSWERS.search(plain_name(name)))


def goes_with(name: str, others: Collection[str]) -> bool:
    """Whether a name is that of another column and a word for what a judge says besides: gpt_confidence beside gpt."""
    plain = plain_name(name)
    base, _, last = plain.rpartition("_")
    return bool(base and _SIDES.fullmatch(last)) and any(plain_name(one) == base for one in others)
