"""The parameters of a portable template, one module for each subject."""
