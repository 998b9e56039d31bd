"""The local cloud: deploys synthesized templates on this machine, where they answer real HTTP."""
