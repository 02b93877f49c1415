//! Sweeps, and the transmission of SMPs.

use super::super::FlagValue::{Required, Sets};
use super::super::conversion::{Conversion, TimeUnit};
use super::super::value::LONG;
use super::super::value::ValueFormat::Boolean;
use super::{Equivalent, NotNeeded, OpenSmOption, flag, whole};

#[rustfmt::skip]
pub(super) const OPTIONS: &[OpenSmOption] = &[
    OpenSmOption::new("sweep_interval", LONG, "10", Equivalent::key("sweep.interval", Conversion::Time { unit: TimeUnit::Seconds, min: 1, max: 86_400, zero: true })
        .differs("With 0 a light sweep runs every 5 minutes; OpenSM runs none."))
        .flag("sweep", Some('s'), Required),
    OpenSmOption::new("reassign_lids", Boolean, "FALSE", flag("lids.reassign")
        .differs("ferrosm reassigns LIDs once for each process, OpenSM in each heavy sweep."))
        .flag("reassign_lids", Some('r'), Sets("TRUE")),
    OpenSmOption::new("force_heavy_sweep", Boolean, "FALSE", Equivalent::operation("`ferrosm sweep` runs a full sweep; periodic ones are light")),
    OpenSmOption::new("sweep_on_trap", Boolean, "TRUE", Equivalent::fabric("a trap always causes a sweep of the nodes concerned")),
    OpenSmOption::new("max_wire_smps", LONG, "4", Equivalent::key("sweep.max-outstanding", Conversion::SmpWindow { max: 4096 })
        .differs("ferrosm's default is 64, reduced after timeouts. 0, unlimited in OpenSM, becomes 4096."))
        .flag("maxsmps", Some('n'), Required),
    OpenSmOption::new("max_wire_smps2", LONG, "4", NotNeeded("ferrosm adapts the number of SMPs in flight to timeouts")),
    OpenSmOption::new("max_smps_timeout", LONG, "600000", NotNeeded("ferrosm adapts the number of SMPs in flight to timeouts")),
    OpenSmOption::new("transaction_timeout", LONG, "200", Equivalent::key("sweep.smp-timeout", Conversion::Time { unit: TimeUnit::Milliseconds, min: 1, max: 60_000, zero: false }))
        .flag("timeout", Some('t'), Required),
    OpenSmOption::new("transaction_retries", LONG, "3", whole("sweep.smp-retries", 0, 7))
        .flag("retries", None, Required),
    OpenSmOption::new("long_transaction_timeout", LONG, "500", NotNeeded("ferrosm does not use the optimized SLtoVLMappingTable, for which it is meant")),
    OpenSmOption::new("max_msg_fifo_timeout", LONG, "10000", NotNeeded("[sa] limits the queue of requests by number, not by time")),
    OpenSmOption::new("single_thread", Boolean, "FALSE", NotNeeded("the SA server sets the number of its threads")),
];
