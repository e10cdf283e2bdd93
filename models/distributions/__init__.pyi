from .partial_ranking import PartialRanking as PartialRanking
from .partial_ranking import partial_ranking_logp as partial_ranking_logp
