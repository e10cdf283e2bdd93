"""The laws of one comparison: what a rater with reliability rho says of a pair at distance x = rho (q_i - q_j) + bias.

============================  =======================================================================  ===============
law                           p(first), p(second), p(tie)                                              reference
============================  =======================================================================  ===============
logistic (Bradley-Terry)      F(x), F(-x)                   with F(x) = 1 / (1 + e^-x)                 [1]_
Davidson ties                 e^(x/2) / D, e^(-x/2) / D, nu / D   with D the sum of the numerators     [2]_
normal (Thurstone, case V)    Phi(x), Phi(-x)                                                          [3]_
threshold ties                Phi(x - t), Phi(-x - t), the rest                                        [4]_
============================  =======================================================================  ===============

A cell holds the answers of one rater on one pair: a for the first, b for the second, c ties. Every law has two functions, both
without branches, so that a loop over cells is computed several at a time:

``counts(x, a, b, c, tie) -> (log_p, slope, tie_slope)``: the log likelihood without the multinomial coefficient;
``information(x, tie) -> (xx, x_tie, tie_tie)``: the Fisher information in one answer.

Slopes are derivatives of the log likelihood with respect to x and to the tie parameter (nu or t). All are exact in the far
tails: the normal laws by erfcx, the logistic ones by powers of e^-|x|.

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
    """Return the law of a link, with or without ties.

    Parameters
    ----------
    link : {"bradley_terry", "thurstone"}
        Logistic or normal.
    ties : bool
        Whether a tie is an outcome.

    Returns
    -------
    int
        One of the four constants of this module.

    Raises
    ------
    ValueError
        If there is no such link.
    """
    if link not in ("bradley_terry", "thurstone"):
        raise ValueError(f"link={link!r} is not one of 'bradley_terry', 'thurstone'")
    return {
        ("bradley_terry", False): BRADLEY_TERRY,
        ("bradley_terry", True): DAVIDSON,
        ("thurstone", False): THURSTONE,
        ("thurstone", True): THRESHOLD,
    }[link, ties]
