"""The packages that Slipway is made with: their locks, licences, known faults, and the bills of materials."""
