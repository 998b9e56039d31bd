"""Tests of and by the simulation; the faults they plant lie beside them."""
