"""The laws, one module for each subject."""
