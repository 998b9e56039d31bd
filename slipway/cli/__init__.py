"""The command line: a module for each verb, with its arguments; below them the parser and what verbs share."""
