"""Shards: examples split among threads, processes or machines, with one certificate."""
