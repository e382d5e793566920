//! Orthogonal factors, with the core and the coupled factors adjusted.
