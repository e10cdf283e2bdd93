"""Reference posteriors of twenty pairs of model and data, in the format of posteriordb, for tests of other samplers.

``python -m evidence.posteriors`` draws them, and writes all files of the folder but the models, which are written by hand.
"""
