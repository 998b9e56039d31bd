"""What has to hold, whatever happened: invariants that read the history of a trial and tell of every breach."""
