from .expected_information import next_to_ask as next_to_ask
from .plans import Decision as Decision
from .plans import Precision as Precision
from .plans import Prices as Prices
from .plans import plan as plan
from .plans import stated_skills as stated_skills
from .stages import regular_graph as regular_graph
