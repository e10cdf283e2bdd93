"""Random streams for compiled code, which can be cached, copied and stored: xoshiro256++ and three draws.

A stream is its state, uint64 (4,), advanced in place by every draw. Compiled functions of a NumPy generator
hold addresses of the running process and cannot be cached, which costs every process ten seconds.

References
----------
Blackman and Vigna (2021), Scrambled linear pseudorandom number generators, ACM TOMS 47,
doi:10.1145/3460772. Leva (1992), A fast normal random number generator, ACM TOMS 18,
doi:10.1145/138351.138364.
"""

import math

import numpy as np

from ...models.distributions.compiling import cached_njit, inner_njit


@inner_njit(inline="always")
def _rotate(word, by):
    """Rotate the bits of a word to the left."""
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@inner_njit(inline="always")
def _next_word(state):
    """Advance the state and return a word (xoshiro256++)."""
    word = _rotate(state[0] + state[3], 23) + state[0]
    shifted = state[1] << np.uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = _rotate(state[3], 45)
    return word


@inner_njit()
def uniform(rng: np.ndarray) -> float:
    """Draw from the odd multiples of 2**-54 in (0, 1): never 0, never 1."""
    return (np.float64(_next_word(rng) >> np.uint64(11)) + 0.5) * 2.0**-53


@inner_njit()
def standard_exponential(rng: np.ndarray) -> float:
    """Draw an Exponential(1) variable; it is positive."""
    return -math.log(uniform(rng))


@inner_njit()
def standard_normal(rng: np.ndarray) -> float:
    """Draw a Normal(0, 1) variable as a ratio of uniforms, between Leva's two quadratic bounds."""
    while True:
        u = uniform(rng)
        v = 1.7156 * (uniform(rng) - 0.5)  # 2 sqrt(2 / e) = 1.71553
        x = u - 0.449871
        y = abs(v) + 0.386595
        bound = x * x + y * (0.19600 * y - 0.25472 * x)
        if bound < 0.27597:  # inside the inner bound: accepted
            break
        # inside the outer bound: exact test
        if bound <= 0.27846 and v * v <= -4.0 * math.log(u) * u * u:
            break
    return v / u


# --- Streams of items ---


@cached_njit(nogil=True, error_model="numpy")
def item_streams(keys: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Derive streams, uint64 (4, item), from the keys of the items, uint64 (item,), and the stream of a chain, (4,)."""
    streams = np.empty((4, len(keys)), np.uint64)
    for i in range(len(keys)):
        mixed = _splitmix(keys[i])
        for k in range(4):
            streams[k, i] = _splitmix(mixed ^ words[k])
    return streams


@inner_njit(error_model="numpy")
def load_stream(streams: np.ndarray, item: int, rng: np.ndarray) -> None:
    """Copy the stream of an item, streams (4, item), into rng (4,)."""
    for word in range(4):
        rng[word] = streams[word, item]


@inner_njit(error_model="numpy")
def store_stream(streams: np.ndarray, item: int, rng: np.ndarray) -> None:
    """Copy rng (4,) back to the streams (4, item)."""
    for word in range(4):
        streams[word, item] = rng[word]


@inner_njit(inline="always")
def _splitmix(word):
    """Mix the bits of a word, one to one (SplitMix64)."""
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


# --- Gamma draws, their logs, and sums of exponentials, without underflow ---


@inner_njit(error_model="numpy", forceinline=True)
def standard_gamma(rng: np.ndarray, shape: float) -> float:
    """Draw a Gamma(shape, 1) variable, shape >= 1 (Marsaglia and Tsang 2000, doi:10.1145/358407.358414)."""
    if shape == 1.0:
        return standard_exponential(rng)
    centre = shape - 1.0 / 3.0
    spread = 1.0 / math.sqrt(9.0 * centre)
    while True:
        x = standard_normal(rng)
        root = 1.0 + spread * x
        if root > 0.0:
            ratio = root * root * root
            u = uniform(rng)
            x *= x
            if u < 1.0 - 0.0331 * x * x:  # squeeze
                break
            # full acceptance test
            if math.log(u) < 0.5 * x + centre * (1.0 - ratio + math.log(ratio)):
                break
    return centre * ratio


@inner_njit(error_model="numpy", forceinline=True)
def log_standard_gamma(rng: np.ndarray, shape: float) -> float:
    """Draw the log of a Gamma(shape, 1) variable, for any positive shape.

    Up to shape one the draw is log Gamma(shape + 1) + log(U) / shape: at shape 1/419 every sixth
    Gamma variable is smaller than any positive double, while its log is finite.
    """
    log_draw = math.log(standard_gamma(rng, shape if shape > 1.0 else shape + 1.0))
    if not shape > 1.0:
        log_draw -= standard_exponential(rng) / shape
    return log_draw


@inner_njit(error_model="numpy")
def exp_normalise(p: np.ndarray) -> None:
    """Replace log weights by the weights, divided by their sum."""
    largest, total = p[0], 0.0
    for j in range(1, len(p)):
        largest = max(largest, p[j])
    for j in range(len(p)):
        p[j] = math.exp(p[j] - largest)
        total += p[j]
    for j in range(len(p)):
        p[j] /= total


@inner_njit(error_model="numpy")
def category_at(weight: np.ndarray, left: float) -> int:
    """Return the first category up to which the weights sum to more than `left`; the last, if none."""
    for j in range(len(weight)):
        left -= weight[j]
        if left < 0.0:
            return j
    return len(weight) - 1


# --- Binomial and multinomial draws, for any number of trials ---

DIRECT_TRIALS = 12  # largest number of trials that are drawn one by one
FEW = 10.0  # largest mean number of the rarer outcome that is counted up from none


@inner_njit(error_model="numpy")
def draw_binomial(rng: np.ndarray, trials: int, p: float) -> int:
    """Draw a Binomial(trials, p) variable, for trials from 0 and p from 0 to 1.

    The a-th smallest of n uniforms is Beta(a, n + 1 - a); whichever side of p it falls on, only the uniforms on the
    other side remain undecided: the trials halve at each step, until the rarer outcome is rare enough to be counted
    (Devroye 1986, Non-uniform random variate generation, sections X.4.3 and X.4.1).
    """
    below = 0
    while trials > DIRECT_TRIALS and 0.0 < p < 1.0:
        if trials * min(p, 1.0 - p) < FEW:
            rare = _few_successes(rng, trials, min(p, 1.0 - p))
            return below + (rare if p < 0.5 else trials - rare)
        a = 1 + trials // 2
        # middle ~ Beta(a, n + 1 - a), the a-th smallest of n uniforms
        low = standard_gamma(rng, float(a))
        high = standard_gamma(rng, float(trials + 1 - a))
        middle = low / (low + high)
        if middle <= p:
            # a uniforms are below p, n - a are uniform above middle
            below += a
            trials -= a
            p = (p - middle) / (1.0 - middle)
        else:
            # a - 1 uniforms are below middle, the others above p
            trials = a - 1
            p /= middle
    if p >= 1.0:
        below += trials
    elif p > 0.0:
        for _ in range(trials):
            if uniform(rng) < p:
                below += 1
    return below


@inner_njit(error_model="numpy")
def _few_successes(rng, trials, p):
    """Draw a Binomial(trials, p) variable of small mean by inversion: P(k) / P(k - 1) = (n - k + 1) / k p / (1 - p)."""
    odds, term = p / (1.0 - p), math.exp(trials * math.log1p(-p))
    left, k = uniform(rng), 0
    while left >= term and k < trials:
        left -= term
        k += 1
        term *= odds * (trials - k + 1) / k
    return k


@inner_njit(error_model="numpy")
def split_count(rng: np.ndarray, count: int, share: np.ndarray, parts: np.ndarray) -> None:
    """Draw the multinomial allocation of `count` to parts with shares (part,), by successive binomials; parts is overwritten."""
    left = 1.0
    last = len(share) - 1
    for j in range(last):
        parts[j] = 0
        if count > 0 and share[j] > 0.0:
            # n_j | n_1, ..., n_(j-1) ~ Binomial(count left, p_j / probability left)
            parts[j] = draw_binomial(rng, count, min(1.0, share[j] / left))
        count -= parts[j]
        left -= share[j]
        if left <= 0.0:
            left = 0.0
            for after in range(j + 1, len(share)):
                left += share[after] if count > 0 else 0.0
    parts[last] = count


# --- Log Gamma variables of items ---


@cached_njit(nogil=True, error_model="numpy")
def draw_log_gammas(
    streams: np.ndarray, start: np.ndarray, shape: np.ndarray, log_rate: np.ndarray, draws: np.ndarray
) -> None:
    """Draw the logs of Gamma(shape, rate) variables.

    Shapes: streams uint64 (4, item), advanced in place; start (item + 1,), variables of each item, relative to
    start[0]; shape, log_rate (variable,); draws (draw, variable), overwritten.
    """
    rng = np.empty(4, np.uint64)
    for i in range(len(start) - 1):
        load_stream(streams, i, rng)
        for d in range(len(draws)):
            for k in range(start[i] - start[0], start[i + 1] - start[0]):
                draws[d, k] = log_standard_gamma(rng, shape[k]) - log_rate[k]
        store_stream(streams, i, rng)
