//! Queue pairs on a small configured fabric.
