"""The door of Inspect: an evaluation whose graders err, its metrics beside the known truth, and graders who copy."""

import gc
import math
import random

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
OUTPUTS, RIGHT = 150, 0.85


@pytest.fixture(autouse=True)
def inspected():
    """Skip without Inspect, which collecting tests need not import; collect what it leaves open, not in a test that follows."""
    pytest.importorskip("inspect_ai")
    yield
    gc.collect()


def value(grader, item):
    """Value that a grader gives an output, right in 85 % of them; two in three outputs are correct."""
    return "C" if (item % 3 > 0) == (random.Random(f"{grader} {item}").random() < RIGHT) else "I"


def scores_of(graders):
    """Scores of a panel: each grader has the values of the grader whose name is given."""
    from inspect_ai.scorer import SampleScore, Score

    return [
        SampleScore(
            score=Score(value={name: value(own, item) for name, own in graders.items()}), sample_id=item
        )
        for item in range(OUTPUTS)
    ]


def test_an_evaluation_has_the_metrics(tmp_path):
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, accuracy, scorer
    from raterzoo.reports.inspect_metrics import panel

    def grader(name):
        @scorer(metrics=[accuracy()], name=name)
        def make():
            async def score(state, target):
                return Score(value=value(name, int(state.sample_id)))

            return score

        return make()

    output = ModelOutput.from_content("model", "answer")
    output.usage = ModelUsage(
        input_tokens=1, output_tokens=1, total_tokens=2
    )  # else a tokenizer is downloaded
    task = Task(
        dataset=[Sample(input="question", target="answer", id=item) for item in range(OUTPUTS)],
        scorer=panel({name: grader(name) for name in "abc"}),
    )
    model = get_model("mockllm/model", custom_outputs=[output] * OUTPUTS)
    (log,) = eval(task, model=model, display="none", log_dir=str(tmp_path))
    assert log.status == "success", log.error
    found = {name: own.value for name, own in log.results.scores[0].metrics.items()}
    assert set(found) == {"correct", "correct_low", "correct_high", "effective_raters"}
    assert found["correct_low"] < 2 / 3 < found["correct_high"] and 1 < found["effective_raters"] <= 3


def test_the_truth_is_nearer_than_the_mean_of_the_graders():
    from raterzoo.reports.inspect_metrics import posterior_truth

    scores = scores_of({name: name for name in "abcde"})
    found = posterior_truth()(scores)
    mean = sum(own == "C" for score in scores for own in score.score.value.values()) / (5 * OUTPUTS)
    assert abs(found["correct"] - 2 / 3) < abs(mean - 2 / 3) and found["correct_low"] < found["correct"]


def test_copies_count_less():
    from raterzoo.reports.inspect_metrics import effective_raters

    independent = effective_raters()(scores_of({name: name for name in "abcdef"}))
    copied = effective_raters()(scores_of(dict(zip("abcdef", "abcddd", strict=True))))
    assert copied < independent - 0.5 and independent > 4


@pytest.mark.parametrize("graders", [{}, {"a": "a"}])
def test_too_little_is_nan(graders):
    from raterzoo.reports.inspect_metrics import effective_raters, posterior_truth

    scores = scores_of(graders) if graders else []
    assert math.isnan(effective_raters()(scores)) and math.isnan(posterior_truth()(scores)["correct"])
