from .page import Section as Section
from .page import write_report as write_report
