"""Dashboards: what constructs show under each question, and how it becomes a page of CloudWatch."""
