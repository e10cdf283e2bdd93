"""Links of paired comparisons, by their names in arguments `link` and in the attribute `model` of trees."""

from typing import Final, Literal

Link = Literal["bradley_terry", "thurstone"]
LOGISTIC: Final = "bradley_terry"  # logistic function
PROBIT: Final = "thurstone"  # normal cdf
LINKS = (LOGISTIC, PROBIT)
