from . import evaluation as evaluation
from . import inference as inference
from . import models as models
from . import papers as papers
from . import reports as reports
from .models.data.reading.read import read as read
from .reports.analyses.analyse import analyse as analyse

__version__: str
