"""The life of a job."""
