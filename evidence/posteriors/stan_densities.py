"""Compare the log densities of the Stan programs with ours: `python stan_densities.py points.json`.

Needs httpstan, which has wheels for some versions of Python only, and a C++ compiler; not this package. `python -m
evidence.posteriors --points points.json` writes the points. Writes ``densities.json``: for each pair the largest
difference of the two log densities from their mean difference, the constant that neither has.
"""

import asyncio
import importlib.metadata
import json
import sys
from pathlib import Path

import httpstan.models

HERE = Path(__file__).parent


def compiled(law):
    """Return the compiled Stan program of a model; compile it if that has not been done."""
    code = (HERE / "models" / "stan" / f"{law}.stan").read_text("utf-8")
    name = httpstan.models.calculate_model_name(code)
    try:
        return httpstan.models.import_services_extension_module(name)
    except KeyError:
        asyncio.run(httpstan.models.build_services_extension_module(code))
        return httpstan.models.import_services_extension_module(name)


def main():
    """Write and print the differences."""
    path, found = HERE / "densities.json", {}
    if path.exists():
        found = json.loads(path.read_text("utf-8"))["differences"]
    for own in json.loads(Path(sys.argv[1]).read_text("utf-8")):
        program = compiled(own["model"])
        apart = []
        for point in own["points"]:
            free = program.transform_inits(own["data"], point["parameters"])
            apart.append(program.log_prob(own["data"], free, False) - point["log_density"])
        middle = sum(apart) / len(apart)
        found[own["name"]] = {"points": len(apart), "largest_difference": max(abs(x - middle) for x in apart)}
        print(own["name"], found[own["name"]], flush=True)
    versions = {"httpstan": importlib.metadata.version("httpstan")}
    text = json.dumps({"versions": versions, "differences": found}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
