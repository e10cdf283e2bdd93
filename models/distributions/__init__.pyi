from .counted_labels import CountedLabels as CountedLabels
from .item_scores import ItemScores as ItemScores
from .marginal_labels import RaterLabels as RaterLabels
from .paired_comparisons import PairedVotes as PairedVotes
from .partial_ranking import PartialRanking as PartialRanking
from .partial_ranking import partial_ranking_logp as partial_ranking_logp
from .shared_guesses import SharedGuess as SharedGuess
from .truth import truth_probability as truth_probability
