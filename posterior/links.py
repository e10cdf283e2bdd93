"""Links of paired comparisons, by their names in arguments `link` and in the attribute `model` of trees."""

from typing import Final, Literal

Link = Literal["bradley_terry", "thurstone"]
LOGISTIC: Final = "bradley_terry"  # logistic function
PROBIT: Final = "thurstone"  # normal cdf
LINKS = (LOGISTIC, PROBIT)


def require_link(
    link: object, name: str = "link", error: type[ValueError] = ValueError, remedy: str = ""
) -> Link:
    """Return a link; raise `error`, with the name of the argument and the remedy, if it is unknown."""
    for known in LINKS:
        if link == known:
            return known
    raise error(f"{name}={link!r} is not one of {', '.join(map(repr, LINKS))}{remedy}")
