"""Wrong twins of compiled code: a module with a line of its source changed."""

from importlib.util import find_spec
from types import ModuleType


def altered(name, *changes, **replaced):
    """Return the module raterzoo.<name> with pieces of its source replaced, and some of its globals.

    Each change is a pair of texts, of which the first stands in the source exactly once. Compiled functions are not kept on disk.
    """
    spec = find_spec(f"raterzoo.{name}")
    with open(spec.origin) as file:
        source = file.read()
    for old, new in changes:
        assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in {name}"
        source = source.replace(old, new)
    module = ModuleType(f"{spec.name}_twin")
    module.__package__ = spec.parent
    exec(compile(source.replace("@kept(", "@nb.njit("), f"twin of {name}", "exec"), vars(module))
    vars(module).update(replaced)
    return module
