"""The parser of the command line, and the arguments that several verbs take."""
