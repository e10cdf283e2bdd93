from . import evaluation as evaluation
from . import inference as inference
from . import models as models
from . import reports as reports

__version__: str
