"""Cost and use of many services, in many accounts and regions."""
