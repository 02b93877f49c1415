//! Captures and rings as text.

use core::fmt::Write;

use ferrosm_api::answer::Answer;
use ferrosm_api::capture::Captures;

/// What `capture status` prints.
#[must_use]
pub fn render(answer: &Answer<Captures>) -> String {
    let mut text = render_capture(&answer.body);
    let Some(rings) = &answer.body.rings else {
        text.push_str("rings: off (files.rings-mib)\n");
        return text;
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "rings: {} of at most {} in {}",
        mib(rings.mad_bytes + rings.recording.bytes),
        mib(rings.limit_bytes),
        rings.dir
    );
    if rings.dropped > 0 {
        let _ = writeln!(
            text,
            "  {} MADs dropped: disk too slow or full",
            rings.dropped
        );
    }
    let recording = &rings.recording;
    if !recording.file.is_empty() {
        let until = match &recording.ended {
            Some(reason) => format!("ended: {reason}"),
            None => "continues".to_owned(),
        };
        let _ = writeln!(
            text,
            "  recording since {}, {}, {until}: {}",
            recording.began_at,
            mib(recording.bytes),
            recording.file
        );
    }
    text
}

/// The capture on demand.
#[must_use]
pub fn render_capture(captures: &Captures) -> String {
    let Some(capture) = &captures.capture else {
        return "no capture since the start of the service\n".to_owned();
    };
    let state = match &capture.ended {
        Some(reason) => format!("ended ({reason})"),
        None => "runs".to_owned(),
    };
    let dropped = match capture.dropped {
        0 => String::new(),
        n => format!(", {n} MADs dropped: disk too slow"),
    };
    format!(
        "capture {state}: {} MADs, {} of at most {}{dropped}: {}\n",
        capture.packets,
        mib(capture.bytes),
        mib(capture.max_bytes),
        capture.file
    )
}

/// A size in MiB.
fn mib(bytes: u64) -> String {
    format!("{}.{} MiB", bytes >> 20, ((bytes & 0xF_FFFF) * 10) >> 20)
}
