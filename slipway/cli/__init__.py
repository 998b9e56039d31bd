"""The command line: the parser, shared arguments, and a module for each verb.

A verb's module has two functions. `add` adds the verb and its arguments to the parser. `run` takes the parsed
arguments, does the work and returns the exit status; it imports the modules of that work only then.
"""
