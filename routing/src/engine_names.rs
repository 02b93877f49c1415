//! Names of the engines.

/// Names of all engines.
pub const ENGINE_NAMES: &[&str] = &[
    "dmodc",
    "dnup",
    "ftree",
    "updn",
    "minhop",
    "sssp",
    "dfsssp",
    "lash",
    "dor",
    "torus-2QoS",
    "dragonfly",
    "diameter2",
    "nue",
    "file",
];
