//! The rows of the table, in the sections of `opensm.conf`. A column is in the order of
//! [`OpenSmOption`]: name, format, default, equivalent; then its flag and what it requires.

mod congestion;
mod device;
mod handover;
mod nvidia;
mod operation;
mod partitions;
mod qos;
mod routing;
mod services;
mod sweep;

use super::conversion::Conversion;
use super::{Equivalent, OpenSmOption, Section};

/// All sections.
pub const SECTIONS: &[Section] = &[
    Section {
        title: "Device attributes",
        options: device::OPTIONS,
    },
    Section {
        title: "Partitions",
        options: partitions::OPTIONS,
    },
    Section {
        title: "Sweeps",
        options: sweep::OPTIONS,
    },
    Section {
        title: "Routing",
        options: routing::OPTIONS,
    },
    Section {
        title: "Several SMs",
        options: handover::OPTIONS,
    },
    Section {
        title: "SA and multicast",
        options: services::OPTIONS,
    },
    Section {
        title: "Operation and log",
        options: operation::OPTIONS,
    },
    Section {
        title: "QoS",
        options: qos::OPTIONS,
    },
    Section {
        title: "Congestion control",
        options: congestion::OPTIONS,
    },
    Section {
        title: "NVIDIA's SM",
        options: nvidia::OPTIONS,
    },
];

/// A key with a whole number in a range.
const fn whole(key: &'static str, min: u64, max: u64) -> Equivalent {
    Equivalent::key(key, Conversion::Whole { min, max })
}

/// A key that names a file.
const fn file(key: &'static str) -> Equivalent {
    Equivalent::key(key, Conversion::Path)
}

/// A key that is `true` if the option is TRUE.
const fn flag(key: &'static str) -> Equivalent {
    Equivalent::key(key, Conversion::Flag)
}

use Equivalent::NotNeeded;
