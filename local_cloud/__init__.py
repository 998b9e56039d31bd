"""The embedded cloud: what synth wrote, deployed and answering on this machine."""
