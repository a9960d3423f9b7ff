//! Simulated clouds at the wire, and simulated nodes.
