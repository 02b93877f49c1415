//! The scenario language: what happens to a fabric and when, as text.
