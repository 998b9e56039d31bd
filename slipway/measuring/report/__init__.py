"""The report of a load test, and the comparison of two reports."""
