"""The files of a model's weights: their headers, and whether they are whole."""
