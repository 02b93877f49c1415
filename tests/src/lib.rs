//! What ferrosm's scenario, conformance and interoperability tests share.
//!
//! | module | contents |
//! |---|---|
//! | [`lab`] | subnet managers on a simulated fabric, in process, in virtual time: start here |
//! | [`sa`] | SA requests of random clients, and replies that are expected without ferrosm's code |
//! | [`random_runs`] | random scenarios with one SM or several, their seeds and counts |
//! | [`programs`] | `ferrosm` and programs of other projects, and parsers of their output |
//! | [`fabrics`] | fabrics as text |
//!
//! Test helpers fail by panicking with a message. A missing program is a failure, not a skip.
//! Checks do not use ferrosm's own code.

pub mod fabrics;
pub mod lab;
pub mod programs;
pub mod random_runs;
pub mod sa;
