//! Election and handover between several SMs.

use super::super::FlagValue::{Required, Sets};
use super::super::conversion::{Conversion, TimeUnit};
use super::super::value::ValueFormat::Boolean;
use super::super::value::{BYTE, LONG};
use super::{Equivalent, NotNeeded, OpenSmOption, whole};

#[rustfmt::skip]
pub(super) const OPTIONS: &[OpenSmOption] = &[
    OpenSmOption::new("sm_priority", BYTE, "0", whole("sm.priority", 0, 15).run_flag("--priority"))
        .flag("priority", Some('p'), Required),
    OpenSmOption::new("ignore_other_sm", Boolean, "FALSE", Equivalent::fabric("other SMs take part in the election; `sm.allowed-guids` lists those that may run")),
    OpenSmOption::new("sminfo_polling_timeout", LONG, "10000", Equivalent::key("sm.poll-interval", Conversion::Time { unit: TimeUnit::Milliseconds, min: 100, max: 3_600_000, zero: false })),
    OpenSmOption::new("polling_retry_number", LONG, "4", whole("sm.poll-retries", 1, 100)),
    OpenSmOption::new("honor_guid2lid_file", Boolean, "FALSE", NotNeeded("persisted LIDs always apply; `ferrosm state import guid2lid` imports OpenSM's"))
        .flag("honor_guid2lid", Some('x'), Sets("TRUE")),
    OpenSmOption::new("sm_inactive", Boolean, "FALSE", Equivalent::fabric("do not start the service: it takes part in the election"))
        .flag("inactive", Some('I'), Sets("TRUE")),
];
