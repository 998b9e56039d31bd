"""The life of a job, explored completely: every order of steps, faults included, of the shipped transitions."""
