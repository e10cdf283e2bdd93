"""Tables as people have them: names of the trade, delimiters, wide ones, empty cells, headers with mistakes."""

import json

import pytest
from raterzoo.cli.tables import check_header
from raterzoo.models import Comparisons, DataError, Labels, Scores

from tests.support.cli_parts import (
    read_container,
    read_order_scores,
    read_orders,
    read_predictions,
    read_sides,
    table_settings,
)
from tests.support.command_line import run, said, stderr_without_importing, write

LABELS = {"item": list("aabb"), "rater": list("rsrs"), "label": list("xyxx")}
SCORES = {"item": list("aabb"), "rater": list("rsrs"), "score": ["1.5", "2", "3", "4"]}
PROBABILITIES = {"item": ["a", "b"], "category": ["x", "x"], "score": ["0.75", "0.5"]}


@pytest.fixture
def file(tmp_path):
    def written(text, name="t.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


def test_names_of_the_trade_are_said(tmp_path, golden):
    table = dict(zip(("Task ID", "annotator", "verdict"), LABELS.values(), strict=True))
    result = run("check", write(tmp_path / "t.csv", table), "--kind", "labels")
    assert result.exit_code == 0, result.output
    golden.says(result.output, "by category")
    golden.says(result.output, "item, 'annotator'")
    silent = run("check", write(tmp_path / "u.csv", LABELS), "--kind", "labels")
    assert "reading" not in silent.output


def test_votes_of_the_arena(file):
    path = file("model_a,model_b,winner,language\ng,h,model_a,en\nh,k,tie (bothbad),\ng,k,model_b,de\n")
    found = read_container(path, "comparisons", [])
    assert isinstance(found, Comparisons) and found.anonymous and sorted(found.outcome.tolist()) == [0, 1, 2]


def test_words_for_an_outcome_are_said(file, golden):
    votes = run(
        "check", file("left,right,winner\ng,h,a\nh,k,Tie (bothbad)\ng,k,k\n"), "--kind", "comparisons"
    )
    golden.says(votes.output, "column 'winner'")
    plain = run("check", file("left,right,winner\ng,h,left\nh,k,tie\ng,k,k\n"), "--kind", "comparisons")
    assert "reading" not in said(plain)


@pytest.mark.parametrize("command", ["fit", "report", "rank", "equivalence", "check"])
def test_a_wrong_header_is_told_before_anything_slow_is_imported(tmp_path, command):
    path = write(tmp_path / "t.csv", {"task_id": ["a"], "coder": ["r"], "choise": ["x"]})
    arguments = {"fit": ["-o", "p.nc"], "equivalence": [str(path)]}.get(command, [])
    arguments += [] if command in ("rank", "equivalence") else ["--kind", "labels"]
    slow = {"pymc", "pandas", "xarray", "scipy", "matplotlib"}
    errors = stderr_without_importing(slow, [command, path, *arguments], tmp_path)
    wanted = "--column winner=choise" if command == "rank" else "--column label=choise"
    assert wanted in errors and len(errors.strip().splitlines()) == 1


@pytest.mark.parametrize("option", ["--features", "--groups"])
def test_tables_of_too_many_columns_are_refused_before_anything_slow_is_imported(tmp_path, option, golden):
    path, wide = write(tmp_path / "t.csv", LABELS), tmp_path / "wide.csv"
    names = ",".join(f"c{k}" for k in range(100_000))
    wide.write_text(f"item,{names}\na{',1' * 100_000}\n")
    arguments = ["report", path, "--kind", "labels", option, wide]
    errors = stderr_without_importing({"pymc", "pandas", "matplotlib"}, arguments, tmp_path)
    golden.says(errors)


def test_all_missing_columns_are_in_the_words_of_the_command_line(tmp_path, golden):
    path = write(tmp_path / "t.csv", {"my item": ["a"], "rater": ["r"], "stars": ["1"]})
    result = run("check", path, "--kind", "labels")
    golden.says(result.output, "column 'item'")
    golden.says(result.output, "--column item='my")
    labels = run("check", write(tmp_path / "l.csv", LABELS), "--kind", "rankings")
    golden.says(labels.output, "labels, which")
    both = write(tmp_path / "b.csv", {"task_id": ["a"], "doc": ["b"], "rater": ["r"], "label": ["x"]})
    result = run("check", both, "--kind", "labels")
    golden.says(result.output, "--column item=task_id")
    assert run("check", both, "--kind", "labels", "--column", "item=doc").exit_code == 2  # one category
    assert "only category" in said(run("check", both, "--kind", "labels", "--column", "item=doc"))


def test_decimal_commas_where_commas_do_not_divide(file, capsys, golden):
    semicolons = file("item;rater;score\na;r;1,5\na;s;2\nb;r;3\nb;s;4,25\n")
    assert read_container(semicolons, "scores", []).score.tolist() == [1.5, 2, 3, 4.25]
    golden.says(capsys.readouterr().err, "decimal commas")
    quoted = file('item,rater,score\na,r,"1,500"\na,s,2\n')  # in such a file a comma may divide thousands
    with golden.raises(DataError):
        read_container(quoted, "scores", [])
    mixed = file("item;rater;score\na;r;1,5\na;s;2.5\n")
    with golden.raises(DataError):
        read_container(mixed, "scores", [])
    ids = file("item;rater;label\n1,5;r;x\n2,5;s;y\n")
    assert read_container(ids, "labels", []).items.tolist() == ["1,5", "2,5"]


def test_wide_scores(file, capsys, golden):
    path = file("task_id;Ann;Bob;note\na;1,5;2;good\nb;;4;\n")
    wide = read_container(path, "scores", [], layout="wide")
    table = {"item": list("aab"), "rater": ["Ann", "Bob", "Bob"], "score": [1.5, 2, 4]}
    assert wide == Scores.from_table(table)
    golden.says(capsys.readouterr().err, "number are")
    one = read_container(path, "scores", ["rater=Bob"], layout="wide")
    assert one.raters.tolist() == ["Bob"] and one.score.tolist() == [2, 4]
    long = file("item,rater,score\na,r,1\na,s,2\n")
    with golden.raises(DataError):
        read_container(long, "scores", [], layout="wide")
    bad = file("item,Ann,Bob\na,1,2\nb,high,4\n")
    with golden.raises(DataError):
        read_container(bad, "scores", [], layout="wide")


def test_a_note_is_no_rater_and_no_category(file, capsys, golden):
    wide = file("item,Ann,Bob,text\na,x,y,long\nb,x,x,story\n")
    found = read_container(wide, "labels", ["rater=Ann", "rater=Bob"], layout="wide")
    assert found.raters.tolist() == ["Ann", "Bob"] and found.categories.tolist() == ["x", "y"]
    counts = file("item,no,yes,text\na,9,1,long\nb,1,9,story\n")
    assert read_container(counts, "labels", [], layout="counts").categories.tolist() == ["no", "yes"]
    assert "'text'" in capsys.readouterr().err
    with golden.raises(DataError):
        read_container(counts, "labels", ["category=no"], layout="counts")


@pytest.mark.parametrize("kind", ["labels", "scores"])
@pytest.mark.parametrize("cell", [{"a": 1}, [1], {}, []], ids=str)
def test_a_cell_of_a_wide_table_that_is_a_list_or_an_object_is_refused(file, kind, cell):
    path = file(json.dumps([{"item": "a", "r": "1", "s": "2"}, {"item": "b", "r": "2", "s": cell}]), "t.json")
    result = run("check", path, "--kind", kind, "--layout", "wide")
    assert result.exit_code == 2 and "row 2, column 's'" in said(result), result.exception


@pytest.mark.filterwarnings("always")
def test_rows_with_an_empty_cell(tmp_path, golden):
    table = LABELS | {"rater": ["r", "", "r", "s"], "label": ["x", "y", "", "y"]}
    path = write(tmp_path / "t.csv", table)
    refused = run("check", path, "--kind", "labels")
    assert refused.exit_code == 2
    golden.says(said(refused))
    result = run("check", path, "--kind", "labels", "--drop-missing")
    assert result.exit_code == 0 and "answers 2" in said(result)
    golden.says(result.output, "empty cell")
    for command in ("fit", "report", "rank", "equivalence", "check", "evaluate"):
        assert "--drop-missing" in said(run(command, "--help")), command


def test_predictions_in_other_forms(file, tmp_path, capsys):
    usual = read_predictions(write(tmp_path / "p.csv", PROBABILITIES), [])
    renamed = file("document;predicted label;probability;split\na;x;0,75;7\nb;x;0,5;7\n")
    assert read_predictions(renamed, []).identical(usual)
    wide = read_predictions(file("item,x,y,text\na,0.75,0.25,long\nb,0.5,,story\n"), [])
    assert wide.sel(category="x").values.tolist() == [0.75, 0.5] and wide.category.values.tolist() == [
        "x",
        "y",
    ]
    assert float(wide.sel(item="b", category="y")) == -float("inf")
    chosen = file("item,x,y,z\na,0.5,0.5,3\n")
    assert read_predictions(chosen, ["category=x", "category=y"]).category.values.tolist() == ["x", "y"]
    models = read_predictions(file("item,model,x,y\na,m,1,0\na,n,0,1\n"), [])
    assert models.classifier.values.tolist() == ["m", "n"]
    hard = read_predictions(file("item,label\na,x\nb,y\n"), [])
    assert hard.values.tolist() == [["x"], ["y"]]
    capsys.readouterr()
    both = read_predictions(file("item,category,score,rank\na,x,0.75,1\nb,x,0.5,1\n"), [])
    assert both.identical(usual) and "reading the scores" in capsys.readouterr().err
    ranked = read_predictions(file("item,category,rank,p\na,x,1,0.75\n"), [])
    assert ranked.values.tolist() == [["x"]]
    for text in ("item,score\na,1\n", "item,rank\na,1\n", "item,text\na,b\n"):
        with pytest.raises(DataError, match="no column 'category'"):
            read_predictions(file(text), [])
    empty = file("item,category,score\na,x,1\nb,,0.5\n")
    assert read_predictions(empty, [], missing="drop")["item"].values.tolist() == ["a"]


def test_predictions_of_items_and_of_sides(file, capsys):
    orders = read_orders(
        file("model,score,note\na,2,x\nb,1,\n"),
        [],
        read_order_scores(file("item,rank\na,1\nb,2\n", "r.csv"), [])["item"].values,
    )
    assert orders.values.tolist() == [[2, 1]]
    sides = read_sides(file("item,score,probability\na,9,0.75\nb,9,0.5\n"), [], 1)
    assert sides.attrs["way"] == "probability" and "'score' left out" in capsys.readouterr().err


def test_an_item_that_is_ordered_twice_is_named(file, golden):
    twice = file("Case,score\na,1\nb,2\na,2\n", "s.csv")
    with golden.raises(ValueError):
        read_order_scores(twice, ["item=Case"])
    each = "item,classifier,score\na,m,1\na,n,2\nb,m,1\nb,n,1\n"
    assert read_order_scores(file(each, "e.csv"), []).sizes == {"classifier": 2, "item": 2}
    with golden.raises(ValueError):
        read_order_scores(file(f"{each}b,n,3\n", "f.csv"), [])


def test_long_text_in_a_column_that_is_read_is_refused(file, golden):
    path = file(f"item,category,score\na,{'x' * 20_000},1\nb,y,1\n")
    with golden.raises(ValueError):
        read_predictions(path, [])
    assert read_predictions(file(f"item,category,score,text\na,x,1,{'x' * 20_000}\n"), []).shape == (1, 1)


def test_json_and_renamed_attributes(file, golden):
    records = [
        dict(zip((*LABELS, "sort", "meta"), (*row, "m", {"k": [1]}), strict=True))
        for row in zip(*LABELS.values(), strict=True)
    ]
    path = file(json.dumps(records), "t.json")
    found = read_container(path, "labels", ["kind=sort"], rater_attributes=["kind"])
    assert found.rater_attributes["kind"].tolist() == ["m", "m"]
    assert found.select(items=["a", "b"]).counts.tolist() == Labels.from_table(LABELS).counts.tolist()
    settings = table_settings("labels", rater_attributes=("kind",))
    check_header(path, settings, ["kind=sort"])
    with golden.raises(ValueError):
        check_header(path, settings, [])
