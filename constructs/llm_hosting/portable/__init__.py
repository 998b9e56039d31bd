"""The portable rendering turns the CDK's template into one that needs no bootstrap, no assets and no CDK."""
