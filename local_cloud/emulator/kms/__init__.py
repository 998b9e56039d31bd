"""KMS: what encrypts with a customer's key asks for permission on it, as on AWS."""
