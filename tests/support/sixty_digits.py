"""The laws of one comparison in decimal arithmetic, a hundred digits wide, and their derivatives by central differences."""

from decimal import Decimal, localcontext

DIGITS = 100
PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651"
)
STEP = Decimal("1e-25")


def normal_tail(z):
    """P(Z > z): a series of positive terms near the middle, the continued fraction of Mills' ratio beyond."""
    if z < 0:
        return 1 - normal_tail(-z)
    density = (-z * z / 2).exp() / (2 * PI).sqrt()
    if z < 8:
        term = total = z
        n = 1
        while term > Decimal("1e-110"):
            term *= z * z / (2 * n + 1)
            total += term
            n += 1
        return Decimal("0.5") - density * total
    ratio = z
    for n in range(int(4300 / float(z) ** 2) + 20, 0, -1):
        ratio = z + n / ratio
    return density / ratio


def outcome_p(link, x, tie=None):
    """p(left), p(right) and, with a tie parameter, p(tie)."""
    if link == "thurstone":
        t = 0 if tie is None else tie
        p = [normal_tail(t - x), normal_tail(t + x)]
        u = abs(x)
        return p if tie is None else [*p, normal_tail(u - t) - normal_tail(u + t)]
    parts = [(x / 2).exp(), (-x / 2).exp()] + ([] if tie is None else [tie])
    return [part / sum(parts) for part in parts]


def log_p_and_slopes(link, x, tie=None):
    """log p of every outcome, its derivative in x, and in tie."""
    with localcontext() as context:
        context.prec = DIGITS
        x, tie = Decimal(x), None if tie is None else Decimal(tie)

        def logs(x, tie):
            return [p.ln() for p in outcome_p(link, x, tie)]

        def slope(above, below):
            return [float((a - b) / (2 * STEP)) for a, b in zip(above, below, strict=True)]

        log_p = [float(own) for own in logs(x, tie)]
        in_x = slope(logs(x + STEP, tie), logs(x - STEP, tie))
        if tie is None:
            return log_p, in_x, [0.0] * len(log_p)
        return log_p, in_x, slope(logs(x, tie + STEP), logs(x, tie - STEP))
