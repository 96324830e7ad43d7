"""Training in many private steps: sums over samples of units, and teachers on disjoint parts."""
