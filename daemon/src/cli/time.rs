//! Times on the command line.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

const DAY_S: u64 = 24 * 3600;

/// The time that a query is about.
#[derive(Debug, Clone, Default, Args)]
pub struct TimeArgs {
    /// Answer as of this time instead of now: `05:30` of today or `2026-11-29T05:30:00Z`, in UTC,
    /// or a time ago such as `1h`. The service keeps what changed since its start, within limits.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub at: Option<SystemTime>,
    /// Have the SM read the fabric again first: a light sweep, and the sweep of what it finds.
    #[arg(long, conflicts_with = "at")]
    pub fresh: bool,
}

pub(super) fn parse_time(text: &str) -> Result<SystemTime, String> {
    parse_time_at(text, SystemTime::now())
}

/// A length of time.
pub(super) fn parse_span(text: &str) -> Result<Duration, String> {
    let span = humantime::parse_duration(text);
    span.map_err(|_| format!("`{text}` is no time: write 30m, 2h or 1day"))
}

/// How long ago something was: a length of time, or a time of the past.
pub(super) fn parse_since(text: &str) -> Result<Duration, String> {
    let now = SystemTime::now();
    let at = parse_time_at(text, now)?;
    now.duration_since(at)
        .map_err(|_| format!("`{text}` is not in the past"))
}

/// How long until something: a length of time, or a time of today or tomorrow.
pub(super) fn parse_until(text: &str) -> Result<Duration, String> {
    parse_until_at(text, SystemTime::now())
}

fn parse_until_at(text: &str, now: SystemTime) -> Result<Duration, String> {
    if let Ok(span) = humantime::parse_duration(text) {
        return Ok(span);
    }
    let at = parse_time_at(text, now)?;
    let tomorrow = at + Duration::from_secs(DAY_S);
    let is_time_of_day = text.len() <= "00:00:00".len();
    let next = if at <= now && is_time_of_day {
        tomorrow
    } else {
        at
    };
    next.duration_since(now)
        .map_err(|_| format!("`{text}` is in the past"))
}

/// A time, as an operator types it at a time.
fn parse_time_at(text: &str, now: SystemTime) -> Result<SystemTime, String> {
    if text == "now" {
        return Ok(now);
    }
    if let Ok(at) = humantime::parse_rfc3339_weak(text) {
        return Ok(at);
    }
    let ago = humantime::parse_duration(text).ok();
    if let Some(at) = ago.and_then(|ago| now.checked_sub(ago)) {
        return Ok(at);
    }
    let seconds = text.split(':').map(|part| part.parse::<u64>().ok());
    let parsed = match seconds.collect::<Vec<_>>()[..] {
        [Some(h @ 0..24), Some(m @ 0..60)] => Some(h * 3600 + m * 60),
        [Some(h @ 0..24), Some(m @ 0..60), Some(s @ 0..60)] => Some(h * 3600 + m * 60 + s),
        [..] => None,
    };
    let of_day = parsed.ok_or_else(|| {
        "expected a time such as 2026-11-29T05:00:00Z, 05:00 (today, UTC), now, or 1h (ago)"
            .to_owned()
    })?;
    let now_s = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Ok(UNIX_EPOCH + Duration::from_secs(now_s / DAY_S * DAY_S + of_day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_operators_type_them() {
        let now = humantime::parse_rfc3339("2026-11-29T12:00:00Z").unwrap();
        for (text, expected) in [
            ("2026-11-29T05:00:01Z", "2026-11-29T05:00:01Z"),
            ("2026-11-29 05:00:01", "2026-11-29T05:00:01Z"),
            ("05:30", "2026-11-29T05:30:00Z"),
            ("23:59:59", "2026-11-29T23:59:59Z"),
            ("90m", "2026-11-29T10:30:00Z"),
            ("now", "2026-11-29T12:00:00Z"),
        ] {
            let at = parse_time_at(text, now).unwrap();
            assert_eq!(
                humantime::format_rfc3339(at).to_string(),
                expected,
                "{text}"
            );
        }
        for text in ["", "yesterday", "24:00", "5", "1:2:3:4"] {
            assert!(parse_time_at(text, now).is_err(), "{text}");
        }
        for (text, expected_s) in [("2h", 7200), ("18:00", 6 * 3600), ("06:00", 18 * 3600)] {
            let until = parse_until_at(text, now).unwrap();
            assert_eq!(until.as_secs(), expected_s, "{text}");
        }
        assert!(parse_until_at("2026-11-29T05:00:00Z", now).is_err());
    }
}
