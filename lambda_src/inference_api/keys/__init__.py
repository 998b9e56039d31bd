"""The named keys of an API: who calls, what each has used, and its limits."""
