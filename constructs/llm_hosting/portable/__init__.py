"""The portable rendering: the CDK's template -> one that needs no bootstrap, no asset and no CDK."""
