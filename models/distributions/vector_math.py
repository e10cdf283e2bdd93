"""Elementary functions of compiled code: branch-free exp, log and erfcx, which the compiler vectorises, and a few loops.

Accurate to a few units in the last place over normal doubles: ``exp`` below -708 is the smallest normal
double, and ``log`` takes positive normal numbers only.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .compiling import inner_njit

# Options for loops: sums may be reordered; NaN and infinities are kept.
FAST: dict[str, Any] = {"fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy"}

# Options for formulas whose rounding errors cancel in the order written.
EXACT: dict[str, Any] = {"fastmath": {"contract"}, "error_model": "numpy", "forceinline": True}
LOG2_E, LOG_2 = 1.4426950408889634, 0.6931471805599453
LOG_2_HIGH, LOG_2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10  # add up to log 2
SHIFT = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest whole number in the last bits
MANTISSA, ONE_BITS = 0xFFFFFFFFFFFFF, 0x3FF0000000000000
LEAST, MOST = -708.0, 709.0
SQRT_2 = 1.4142135623730951


def _bits(typing_context: Any, x: Any) -> tuple[Any, Any]:
    """Return the bits of a double as an integer."""
    signature = types.int64(types.float64)
    return signature, lambda context, builder, s, a: builder.bitcast(a[0], ir.IntType(64))


def _double(typing_context: Any, x: Any) -> tuple[Any, Any]:
    """Return the double with the given bits."""
    signature = types.float64(types.int64)
    return signature, lambda context, builder, s, a: builder.bitcast(a[0], ir.DoubleType())


as_bits: Any = intrinsic(_bits)

_as_double: Any = intrinsic(_double)


@inner_njit(error_model="numpy")
def copy_into(target, source):
    """Copy an array (n,): the assignment of arrays would compile NumPy's message about their shapes, for two seconds."""
    for i in range(len(source)):
        target[i] = source[i]


@inner_njit(error_model="numpy")
def mean_of(x):
    """Return the mean of an array (n,), summed in order."""
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total / len(x)


@inner_njit(error_model="numpy", forceinline=True)
def log_add(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b)); either may be -inf."""
    high, low = max(a, b), min(a, b)
    if low > -np.inf:
        high += math.log1p(math.exp(low - high))
    return high


@inner_njit(error_model="numpy", forceinline=True)
def softplus(x):
    """Return log(1 + e^x)."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@inner_njit(**EXACT)
def exp(x):
    """Return e^x as 2**n * e**r with |r| <= log(2) / 2 and the Taylor series of e**r."""
    x = min(max(x, LEAST), MOST)
    shifted = x * LOG2_E + SHIFT
    n = shifted - SHIFT
    r = x - n * LOG_2_HIGH - n * LOG_2_LOW
    p = 1.6059043836821613e-10
    p = p * r + 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.755731922398589e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 0.0001984126984126984
    p = p * r + 0.001388888888888889
    p = p * r + 0.008333333333333333
    p = p * r + 0.041666666666666664
    p = p * r + 0.16666666666666666
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * _as_double((as_bits(shifted) << 52) + ONE_BITS)


@inner_njit(**EXACT)
def log(x):
    """Return log x for x = 2**n * m with m within sqrt(2) of one: n log(2) + 2 artanh((m - 1) / (m + 1))."""
    bits = as_bits(x)
    n = float((bits >> 52) - 1023)
    m = _as_double((bits & MANTISSA) | ONE_BITS)
    high = m > SQRT_2
    m = 0.5 * m if high else m
    n = n + 1.0 if high else n
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    p = p * z + 1.0
    return n * LOG_2 + 2.0 * s * p


@inner_njit(**EXACT)
def erfcx(y):
    """Return exp(y**2) erfc(y) for y >= 0; (1 + 2 y) times it is a polynomial in (y - 3.75) / (y + 3.75)."""
    t = 1.0 - 7.5 / (y + 3.75)
    p = -2.623107347133476e-09
    p = p * t - 1.9551358868985616e-09
    p = p * t + 3.197926671666804e-08
    p = p * t + 1.879082322370048e-08
    p = p * t - 2.4857126248016745e-07
    p = p * t - 5.084465378687302e-08
    p = p * t + 1.7419821586224816e-06
    p = p * t - 9.792625707303523e-07
    p = p * t - 1.1438048033346894e-05
    p = p * t + 2.2387565714911816e-05
    p = p * t + 5.164652974177416e-05
    p = p * t - 0.00029015535246077655
    p = p * t + 0.000293714378044958
    p = p * t + 0.0017556261651970652
    p = p * t - 0.009746579683265262
    p = p * t + 0.02836227737211114
    p = p * t - 0.05869339857664934
    p = p * t + 0.09230432116428125
    p = p * t - 0.10880393014244462
    p = p * t + 0.08227673848999506
    p = p * t + 0.0035854154854790257
    p = p * t - 0.14024059858554525
    p = p * t + 1.2375126308378275
    return p / (1.0 + 2.0 * y)
