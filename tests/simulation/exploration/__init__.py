"""Every order in which the shipped handlers' calls can reach AWS, for one or two jobs, with faults at every call."""
