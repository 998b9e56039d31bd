"""One deployment in memory, and the run of a trial on it."""
