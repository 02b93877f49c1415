//! The fabric in formats of other programs: Slurm's topology.conf, links as CSV, Graphviz.

pub mod csv;
pub mod dot;
pub mod natural_order;
pub mod slurm;
