//! Partitions, and GUIDs that the SM assigns.

use super::super::FlagValue::{Required, Sets};
use super::super::conversion::Conversion;
use super::super::value::HEX_BYTE;
use super::super::value::ValueFormat::{Boolean, Text};
use super::{Equivalent, NotNeeded, OpenSmOption, file, flag};

#[rustfmt::skip]
pub(super) const OPTIONS: &[OpenSmOption] = &[
    OpenSmOption::new("partition_config_file", Text, "/etc/opensm/partitions.conf", file("partitions.file").run_flag("-P")
        .differs("A file with an error is rejected as a whole and the partitions in force stay; OpenSM makes all ports full members of 0x7fff instead. No file is read unless the key names one."))
        .flag("Pconfig", Some('P'), Required),
    OpenSmOption::new("no_partition_enforcement", Boolean, "FALSE", Equivalent::key("partitions.enforce", Conversion::Constant("off")))
        .flag("no_part_enforce", Some('N'), Sets("TRUE")),
    OpenSmOption::new("part_enforce", Text, "both", Equivalent::key("partitions.enforce", Conversion::Enforcement))
        .flag("part_enforce", Some('Z'), Required),
    OpenSmOption::new("allow_both_pkeys", Boolean, "FALSE", flag("partitions.allow-both-pkeys"))
        .flag("allow_both_pkeys", Some('W'), Sets("TRUE")),
    OpenSmOption::new("keep_pkey_indexes", Boolean, "TRUE", NotNeeded("a P_Key keeps its index")),
    OpenSmOption::new("sm_assigned_guid", HEX_BYTE, "0x00", Equivalent::fabric("ferrosm assigns alias GUIDs only if the client names them")),
];
