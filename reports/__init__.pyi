from .analyses.analysis import Analysis as Analysis
from .analyses.analysis import Answer as Answer
from .composition import Report as Report
from .composition import make as make
from .page import Section as Section
from .page import write_report as write_report
from .results import write_results as write_results
