"""Warning: the resumed run is not bit-identical to an uninterrupted one."""

__all__ = ["ResumeWarning"]


class ResumeWarning(UserWarning):
    """A resumed run is not bit-identical to an uninterrupted one.

    Either it was begun with other versions of packages, so that last digits may differ; or it is a run of
    NUTS, whose missing draws come from fresh chains.
    """
