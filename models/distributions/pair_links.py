"""Likelihoods of one comparison by a rater of reliability rho, at distance x = rho (q_i - q_j) + bias.

============================  =======================================================================  ======
law                           p(first), p(second), p(tie)                                              source
============================  =======================================================================  ======
logistic (Bradley-Terry)      F(x), F(-x)                   with F(x) = 1 / (1 + e^-x)                 [1]_
Davidson ties                 e^(x/2) / D, e^(-x/2) / D, nu / D   with D the sum of the numerators     [2]_
normal (Thurstone, case V)    Phi(x), Phi(-x)                                                          [3]_
threshold ties                Phi(x - t), Phi(-x - t), the rest                                        [4]_
============================  =======================================================================  ======

The answers of one rater on one pair are counts: a for the first, b for the second, c ties. Each law has two
functions without branches, so that loops vectorise:

``counts(x, a, b, c, tie) -> (log_p, slope, tie_slope)``: log likelihood without the multinomial coefficient,
and its derivatives with respect to x and to the tie parameter (nu or t);
``information(x, tie) -> (xx, x_tie, tie_tie)``: Fisher information in one answer.

All are exact in the far tails: the normal laws by erfcx, the logistic ones by powers of e^-|x|.

References
----------
.. [1] Bradley and Terry (1952), Biometrika 39, doi:10.1093/biomet/39.3-4.324.
.. [2] Davidson (1970), JASA 65, equation 2.1, doi:10.1080/01621459.1970.10481082.
.. [3] Thurstone (1927), Psychological Review 34, doi:10.1037/h0070288.
.. [4] Glenn and David (1960), Biometrics 16, doi:10.2307/2527957.
"""

from .logistic_links import logistic_score
from .normal_links import normal_score

__all__ = [
    "BRADLEY_TERRY",
    "DAVIDSON",
    "THRESHOLD",
    "THURSTONE",
    "law_code",
    "logistic_score",
    "normal_score",
]

BRADLEY_TERRY, THURSTONE, DAVIDSON, THRESHOLD = range(4)


def law_code(link: str, ties: bool) -> int:
    """Return the constant of this module for a link (logistic or normal), with or without ties."""
    if link not in ("bradley_terry", "thurstone"):
        raise ValueError(f"link={link!r} is not one of 'bradley_terry', 'thurstone'")
    return {
        ("bradley_terry", False): BRADLEY_TERRY,
        ("bradley_terry", True): DAVIDSON,
        ("thurstone", False): THURSTONE,
        ("thurstone", True): THRESHOLD,
    }[link, ties]
