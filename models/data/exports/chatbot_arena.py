"""Votes of Chatbot Arena, LMArena and MT-bench: which of two models answered better."""

from .answers import Answers, Tool
from .records import Document, Node

ONE_OF = {"winner_model_a": "left", "winner_model_b": "right", "winner_tie": "tie"}
PROMPTS = ("question_id", "conversation_id", "evaluation_session_id")
SIGNS = {*PROMPTS, "judge", "conversation_a", "response_a", "anony", "tstamp", "winner_tie"}


def recognises(document: Document) -> bool:
    """Whether a file is votes, with another column of theirs than models and winner."""
    first = document.first
    if not isinstance(first, dict) or not {"model_a", "model_b"} <= first.keys():
        return False
    return bool({"winner", "verdict", *ONE_OF} & first.keys() and SIGNS & first.keys())


def read(document: Document, answers: Answers) -> None:
    """Read votes of the published files: Arena 33k, 55k, 100k and 140k, MT-bench human judgments.

    The models are the items, model_a on the left; the winner is model_a, model_b, or a tie, also "tie (bothbad)",
    or marked in winner_model_a, winner_model_b and winner_tie. The judge is the rater, the question or conversation the
    prompt.
    """
    for vote in document.records(what="vote"):
        judge = vote.get("judge")
        if judge is not None and isinstance(judge.value, list):  # model and prompt of a judge in FastChat
            judge = next(judge.members("judge"), None)
        prompt, turn = vote.get(*PROMPTS), vote.get("turn")
        answers.vote(
            vote,
            vote.need("model_a").text(),
            vote.need("model_b").text(),
            _winner(vote),
            None if judge is None else judge.text(),
            prompt=None
            if prompt is None
            else prompt.text()
            if turn is None
            else f"{prompt.text()} ({turn.text()})",
        )


def _winner(vote: Node) -> str:
    """Winner of a vote, as a word for an outcome."""
    if (winner := vote.get("winner", "verdict")) is not None:
        return winner.text()
    marks = {own: vote.get(name) for name, own in ONE_OF.items()}
    if all(mark is None for mark in marks.values()):
        vote.need("winner", *ONE_OF)
    won = [own for own, mark in marks.items() if mark is not None and mark.value in ("1", 1.0, True)]
    if len(won) != 1:
        raise vote.refused(
            f"{len(won)} of {', '.join(ONE_OF)} are 1",
            "correct the vote, or leave it out",
            allowed="one of them",
        )
    return won[0]


TOOL = Tool("arena", "Chatbot Arena", ("model_a",), recognises, read, "comparisons")
