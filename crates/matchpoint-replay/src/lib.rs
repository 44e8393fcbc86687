//! Arrival order, and the replay of a trace through matching engines.
