from .expected_information import next_to_ask as next_to_ask
from .stages import regular_graph as regular_graph
from .stages import second_stage as second_stage
