"""Print the recipe of a release: `python .ci/conda/fill_source.py SDIST ADDRESS > recipe.yaml`.

Its source is the address where the source distribution is published, with the SHA-256 of the file here. In the repository it is
the repository itself, so that the recipe can be built before there is a release.
"""

import re
import sys
from hashlib import sha256
from pathlib import Path

RECIPE = Path(__file__).with_name("recipe.yaml")


def filled(sdist: Path, address: str) -> str:
    """Return the recipe with address and sum of the source distribution; SystemExit if it is of another version."""
    recipe = RECIPE.read_text()
    version = re.search(r'version: "(.+)"', recipe)[1]
    name = f"raterzoo-{version}.tar.gz"
    if sdist.name != name or not address.endswith(f"/{name}"):
        sys.exit(f"{sdist.name} at {address}: the recipe is of {name}, and both end in it")
    source = f"  url: {address}\n  sha256: {sha256(sdist.read_bytes()).hexdigest()}\n"
    return re.sub(r"(?<=^source:\n)(  .*\n)+", source, recipe, flags=re.MULTILINE)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.stdout.write(filled(Path(sys.argv[1]), sys.argv[2]))
