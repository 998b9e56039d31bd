"""The laws, one module for each subject; `engine/` has those over the options of single engines."""
