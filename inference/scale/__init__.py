"""Data larger than one process: labels in shards and in files, items scattered among workers."""
