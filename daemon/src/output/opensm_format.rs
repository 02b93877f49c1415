//! Log lines in OpenSM's format, for site scripts that read OpenSM's log:
//!
//! ```text
//! Nov 28 05:40:12 123456 [1A2B] 0x80 -> SUBNET UP
//! ```
//!
//! The time is UTC, the number in brackets is the process ID, and the level is a flag of OpenSM:
//! 0x01 error, 0x02 information, 0x08 debug, 0x80 the lines that scripts wait for. Fields follow
//! the event.

use core::fmt::{self, Write as _};
use std::time::SystemTime;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The format.
pub(super) struct OpensmFormat;

impl<S, N> FormatEvent<S, N> for OpensmFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Line::default();
        event.record(&mut line);
        let now = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
        writeln!(
            out,
            "{} {}",
            timestamp(&now).unwrap_or(now),
            line.text(*event.metadata().level(), std::process::id())
        )
    }
}

/// `Nov 28 05:40:12 123456` from `2026-11-28T05:40:12.123456Z`.
fn timestamp(rfc3339: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (date, time) = rfc3339.trim_end_matches('Z').split_once('T')?;
    let (time, micros) = time.split_once('.')?;
    let mut numbers = date.split('-').skip(1);
    let month = numbers.next()?;
    let day = numbers.next()?;
    let month = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
    Some(format!("{month} {day} {time} {micros}"))
}

/// Event and fields of a line.
#[derive(Default)]
struct Line {
    message: String,
    role: String,
    fields: String,
}

impl Line {
    fn text(&self, level: Level, pid: u32) -> String {
        // The states that OpenSM names in the same way.
        let entered = ["Master", "Standby", "Discovering"].contains(&&*self.role);
        let (code, message) = match &*self.message {
            "subnet up" => (0x80, "SUBNET UP".to_owned()),
            "role changed" if entered => {
                let state = self.role.to_uppercase();
                (0x80, format!("Entering {state} state"))
            }
            other => match level {
                Level::ERROR => (0x01, format!("ERR: {other}")),
                Level::WARN | Level::INFO => (0x02, other.to_owned()),
                Level::DEBUG | Level::TRACE => (0x08, other.to_owned()),
            },
        };
        let fields = &self.fields;
        format!("[{pid:04X}] {code:#04x} -> {message}{fields}")
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => {
                if name == "role" {
                    self.role = format!("{value:?}");
                }
                write!(self.fields, " {name}={value:?}")
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_format_of_opensm() {
        let line = |message: &str, role: &str, fields: &str, level| {
            let [message, role, fields] = [message, role, fields].map(str::to_owned);
            let line = Line {
                message,
                role,
                fields,
            };
            line.text(level, 0x1A2B)
        };
        assert_eq!(
            timestamp("2026-11-28T05:40:12.123456Z").unwrap(),
            "Nov 28 05:40:12 123456"
        );
        assert_eq!(
            line("subnet up", "", "", Level::INFO),
            "[1A2B] 0x80 -> SUBNET UP"
        );
        assert_eq!(
            line("role changed", "Standby", " role=Standby", Level::INFO),
            "[1A2B] 0x80 -> Entering STANDBY state role=Standby"
        );
        assert_eq!(
            line("role changed", "NotActive", "", Level::INFO),
            "[1A2B] 0x02 -> role changed"
        );
        assert_eq!(
            line("routing failed", "", " reason=\"x\"", Level::ERROR),
            "[1A2B] 0x01 -> ERR: routing failed reason=\"x\""
        );
    }
}
