"""Points of a plane on one line: Hilbert's curve, regions of polygons, and the cells of both."""
