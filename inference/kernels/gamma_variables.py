"""Many Gamma variables from one stream: the draws of `random_streams` one after the other, to the last bit, in half the time.

Most of the time of a Gamma variable goes by waiting: a word of the stream depends on the one before, and whether a pair of
uniforms is accepted decides which word is next. Here the words that a row of variables may need are made at once, with the
accept-reject bound of each pair (`random_streams.standard_normal`), before any is used. Afterwards the stream is set to the
word after the last one used.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ...models.distributions.compiling import inner_njit
from .random_streams import standard_exponential, standard_gamma, uniform

GROUP = 64  # words, one of whose bits each has
SNAPSHOT = 16  # words after which the state of the stream is kept
WORDS_EACH = 4  # words that a variable takes, on average slightly less
FEW = 10  # variables, below which looking ahead does not pay


class WordsAhead(NamedTuple):
    """Work arrays: uniforms of the next words of a stream."""

    uniform: np.ndarray  # (word,)
    bound: np.ndarray  # (word,): of the pair that begins here
    accepted: np.ndarray  # uint64 (group of words,): bits of the pairs that may be accepted
    state: np.ndarray  # uint64 (snapshot, 4)


@inner_njit()
def _whole_snapshots(words: int) -> int:
    """Return a multiple of `SNAPSHOT` that is not less than a number of words."""
    return (words + SNAPSHOT - 1) // SNAPSHOT * SNAPSHOT


@inner_njit()
def words_ahead(variables: int) -> WordsAhead:
    """Allocate the work arrays for so many variables."""
    n = _whole_snapshots((WORDS_EACH + 1) * variables)
    accepted, state = np.empty(n // GROUP + 2, np.uint64), np.empty((n // SNAPSHOT + 1, 4), np.uint64)
    return WordsAhead(np.empty(n), np.empty(n), accepted, state)


@intrinsic
def _words_on_stack(typing_context):
    """Return four words, uint64 (4,), in memory of the caller, which must not return them.

    The compiler keeps them in registers, as no other array can be the same memory.
    """
    kind = types.Array(types.uint64, 1, "C")

    def code(context, builder, signature, arguments):
        array = context.make_array(kind)(context, builder)
        memory = cgutils.alloca_once(builder, context.get_value_type(types.UniTuple(types.uint64, 4)))
        eight = context.get_constant(types.intp, 8)
        context.populate_array(
            array,
            data=builder.bitcast(memory, array.data.type),
            shape=(context.get_constant(types.intp, 4),),
            strides=(eight,),
            itemsize=eight,
            meminfo=None,
        )
        return array._getvalue()

    return kind(), code


words_on_stack: Any = _words_on_stack


@intrinsic
def _trailing_zeros(typing_context, word):
    """Return the number of bits of a word before its first one."""

    def code(context, builder, signature, arguments):
        return builder.cttz(arguments[0], cgutils.false_bit)

    return types.uint64(types.uint64), code


trailing_zeros: Any = _trailing_zeros
EVERY_OTHER = np.uint64(0x5555555555555555)


@inner_njit(error_model="numpy")
def _look_ahead(rng, words, ahead):
    """Make uniforms of so many words or a few more, and the bounds of their pairs; return their number; advance `rng` by all."""
    n = _whole_snapshots(words)
    own, u, bound = words_on_stack(), ahead.uniform, ahead.bound
    for word in range(4):
        own[word] = rng[word]
    for snapshot in range(n // SNAPSHOT):
        for word in range(4):
            ahead.state[snapshot, word] = own[word]
        some = u[snapshot * SNAPSHOT :]
        for i in range(SNAPSHOT):
            some[i] = uniform(own)
    for word in range(4):
        rng[word] = ahead.state[n // SNAPSHOT, word] = own[word]
    second, bound[n - 1] = u[1:], np.inf
    for i in range(n - 1):
        # as in `standard_normal`
        v = 1.7156 * (second[i] - 0.5)
        x = u[i] - 0.449871
        y = abs(v) + 0.386595
        bound[i] = x * x + y * (0.19600 * y - 0.25472 * x)
    for group in range(n // GROUP + 2):
        some, bits = bound[min(n, group * GROUP) : min(n, (group + 1) * GROUP)], np.uint64(0)
        for i in range(len(some)):
            bits |= np.uint64(some[i] <= 0.27846) << np.uint64(i)
        ahead.accepted[group] = bits
    return n


@inner_njit(error_model="numpy")
def _next_pair(j, n, ahead):
    """Return the place of the first pair from j on that may be accepted; the first one unknown, if none is."""
    group, shift = j // GROUP, np.uint64(j % GROUP)
    later = ahead.accepted[group + 1] << np.uint64(1) << (np.uint64(GROUP - 1) - shift)
    bits = (ahead.accepted[group] >> shift | later) & EVERY_OTHER
    return j + (np.int64(trailing_zeros(bits)) if bits else min(GROUP, (n - j) // 2 * 2))


@inner_njit(error_model="numpy")
def _go_to(rng, used, ahead):
    """Set the stream to the word after so many that were looked ahead at."""
    for word in range(4):
        rng[word] = ahead.state[used // SNAPSHOT, word]
    for _ in range(used % SNAPSHOT):
        uniform(rng)


@inner_njit(error_model="numpy", forceinline=True)
def draw_gammas(
    rng: np.ndarray, shape: np.ndarray, gamma: np.ndarray, log_boost: np.ndarray, ahead: WordsAhead
) -> None:
    """Draw Gamma(shape, 1) variables, whose logs are log(gamma) - log_boost.

    As `random_streams.log_standard_gamma` for one shape after the other: up to shape one, gamma is of shape + 1.
    Shapes: shape (variable,), positive; gamma and log_boost (variable,), overwritten.
    """
    size, boosted = len(shape), np.int64(0)
    if size < FEW:
        for k in range(size):
            gamma[k], log_boost[k] = standard_gamma(rng, shape[k] if shape[k] > 1.0 else shape[k] + 1.0), 0.0
            if not shape[k] > 1.0:
                log_boost[k] = standard_exponential(rng) / shape[k]
        return
    for k in range(size):
        boosted += not shape[k] > 1.0
    u, bound = ahead.uniform, ahead.bound
    n, j = _look_ahead(rng, WORDS_EACH * size + boosted, ahead), np.int64(0)
    for k in range(size):
        centre = (shape[k] if shape[k] > 1.0 else shape[k] + 1.0) - 1.0 / 3.0
        spread = 1.0 / math.sqrt(9.0 * centre)
        while True:
            j = _next_pair(j, n, ahead)
            if j + 4 > n:
                _go_to(rng, j, ahead)
                n, j = _look_ahead(rng, WORDS_EACH * (size - k) + boosted, ahead), np.int64(0)
                continue
            if bound[j] >= 0.27597:
                v = 1.7156 * (u[j + 1] - 0.5)
                if not v * v <= -4.0 * math.log(u[j]) * u[j] * u[j]:
                    j += 2
                    continue
            x = 1.7156 * (u[j + 1] - 0.5) / u[j]
            j += 2
            root = 1.0 + spread * x
            if root > 0.0:
                ratio = root * root * root
                height = u[j]
                j += 1
                x *= x
                if height < 1.0 - 0.0331 * x * x:  # squeeze
                    break
                # full acceptance test
                if math.log(height) < 0.5 * x + centre * (1.0 - ratio + math.log(ratio)):
                    break
        gamma[k], log_boost[k] = centre * ratio, 0.0
        if not shape[k] > 1.0:
            log_boost[k] = -math.log(u[j]) / shape[k]
            j += 1
            boosted -= 1
    _go_to(rng, j, ahead)
