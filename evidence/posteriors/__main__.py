"""`python -m evidence.posteriors`: draw the reference posteriors and write their files; or write points for the densities."""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Write the files of all pairs, or of those whose name holds a text."""
    parser = argparse.ArgumentParser(prog="python -m evidence.posteriors", description=__doc__)
    parser.add_argument("--only", default="", help="pairs whose name holds this text")
    parser.add_argument("--points", help="file for points and our log densities; nothing is drawn")
    asked = parser.parse_args()
    import raterzoo

    from .densities import points
    from .pairs import HERE, LAWS, PAIRS, SOURCES, build, name_of, read_data, thin_of
    from .reference import SEED, checks, diagnostics, quantities, reference_draws, summary

    if asked.points:
        _write(Path(asked.points), points())
        return
    for source, own in SOURCES.items():
        (HERE / "data" / "data").mkdir(parents=True, exist_ok=True)
        (HERE / "data" / "data" / f"{source}.json").write_text(
            json.dumps(own.make()) + "\n", encoding="utf-8"
        )
        info = {"name": source, "title": own.title, "data_file": f"data/data/{source}.json"}
        _write(HERE / "data" / "info" / f"{source}.info.json", info)
    for name, law in LAWS.items():
        code = {
            kind: {"model_code": f"models/{kind}/{name}.{end}"}
            for kind, end in (("stan", "stan"), ("pymc", "py"))
        }
        info = {"name": name, "title": law.title, "model_implementations": code, "references": law.reference}
        _write(HERE / "models" / "info" / f"{name}.info.json", info)
    for source, law in PAIRS:
        name = name_of(source, law)
        if asked.only not in name:
            continue
        begun = time.process_time()
        own = LAWS[law]
        tree = reference_draws(build(law, read_data(source)), thin_of(source, law))
        names, draws = quantities(tree["posterior"].to_dataset(), own)
        found = diagnostics(names, draws)
        done = checks(found)
        dimensions = {one: sum(n.partition("[")[0] == one for n in names) for one in own.parameters}
        entry = {"name": name, "model_name": law, "data_name": source, "reference_posterior_name": name}
        _write(HERE / "posteriors" / f"{name}.json", {**entry, "dimensions": dimensions})
        arguments = {"chains": found["nchains"], "thin": thin_of(source, law), "seed": SEED}
        info = {
            "name": name,
            "inference": {"method": f"raterzoo, {tree.attrs['method']}", "method_arguments": arguments},
            "diagnostics": found,
            "checks_made": done,
            "versions": {"raterzoo": raterzoo.__version__},
        }
        folder = HERE / "reference_posteriors" / "summary_statistics"
        _write(folder / "info" / f"{name}.info.json", info)
        _write(folder / "summary" / f"{name}.json", summary(names, draws))
        wrong = [check for check, passed in done.items() if not passed]
        print(f"{name}: {time.process_time() - begun:.0f} s CPU, {wrong or 'all checks pass'}", flush=True)


if __name__ == "__main__":
    main()
