"""Writes fastchat_pair.jsonl and fastchat_single.jsonl with FastChat's own code and a judge that answers by rule.

pip install fschat==0.2.36 openai anthropic && python make_fastchat.py

mt_bench_human.jsonl has no writer of its own: its rows are laid out as the published human judgments are.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

# The judgment code asks the model code for two lists and a template; the real one would bring torch.
stub = types.ModuleType("fastchat.model.model_adapter")
stub.ANTHROPIC_MODEL_LIST, stub.OPENAI_MODEL_LIST = [], ["gpt-4"]
stub.get_conversation_template = lambda _model: _Conversation()
sys.modules["fastchat.model"] = types.ModuleType("fastchat.model")
sys.modules["fastchat.model.model_adapter"] = stub

from fastchat.llm_judge import common  # noqa: E402


class _Conversation:
    roles = ("user", "assistant")

    def __init__(self) -> None:
        self.messages = []

    def set_system_message(self, text: str) -> None:
        pass

    def append_message(self, role: str, text: str) -> None:
        self.messages.append((role, text))


HERE = Path(__file__).parent


def main() -> None:
    common.chat_completion_openai = _judge
    pair = {
        "name": "pair-v2",
        "type": "pairwise",
        "system_prompt": "",
        "output_format": "[[A]]",
        "prompt_template": "{question} {answer_a} {answer_b}",
    }
    single = {
        "name": "single-v1",
        "type": "single",
        "system_prompt": "",
        "output_format": "[[rating]]",
        "prompt_template": "{question} {answer}",
    }
    for name in ("fastchat_pair.jsonl", "fastchat_single.jsonl"):
        (HERE / name).unlink(missing_ok=True)
    for number in range(1, 9):
        question = {"question_id": 80 + number, "turns": [f"question {number}"], "category": "writing"}
        one, two = (_answer(number, model) for model in ("alpha", "beta"))
        judge = common.Judge("gpt-4", pair, ref_based=False, multi_turn=False)
        match = common.MatchPair(question, "alpha", "beta", one, two, judge)
        common.play_a_match_pair(match, str(HERE / "fastchat_pair.jsonl"))
        judge = common.Judge("gpt-4", single, ref_based=False, multi_turn=False)
        for model, answer in (("alpha", one), ("beta", two)):
            common.play_a_match_single(
                common.MatchSingle(question, model, answer, judge), str(HERE / "fastchat_single.jsonl")
            )


def _answer(number: int, model: str) -> dict:
    text = f"answer of {model} to {number}" + ("!" if (number + len(model)) % 3 else "")
    return {"model_id": model, "choices": [{"turns": [text]}]}


def _judge(model: str, conv: object, temperature: float, max_tokens: int, api_dict: object = None) -> str:
    del model, temperature, max_tokens, api_dict
    prompt = conv.messages[0][1]
    number = int(prompt.split()[1])
    if "answer of alpha" in prompt and "answer of beta" in prompt:
        if number == 3:
            return "no verdict"
        if number == 4:
            return "My verdict: [[A]]"
        first = prompt.index("alpha") < prompt.index("beta")
        if number % 2:
            return "[[A]]" if first else "[[B]]"
        return "[[C]]" if number == 6 else ("[[B]]" if first else "[[A]]")
    return f"Rating: [[{number % 5 + 1}]]"


def human() -> None:
    rows = []
    for number in range(1, 7):
        for judge, winner in (
            ("author_1", "model_a" if number % 2 else "model_b"),
            ("expert_17", "tie"),
            ("expert_3", "model_a"),
        ):
            swap = judge == "expert_3"
            rows.append(
                {
                    "question_id": 80 + number,
                    "model_a": "beta" if swap else "alpha",
                    "model_b": "alpha" if swap else "beta",
                    "winner": winner,
                    "judge": judge,
                    "conversation_a": [],
                    "conversation_b": [],
                    "turn": 1,
                }
            )
    (HERE / "mt_bench_human.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
    human()
