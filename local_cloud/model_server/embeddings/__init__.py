"""Stands in for the engines that make vectors of texts, and scores of how well texts fit a query."""
