//! Alarms as text.

use ferrosm_api::alarm::{Alarm, AlarmState, Forgotten, NotifyResult, NotifyTest};
use ferrosm_api::answer::{Answer, Page};

use super::answers::{rest, short};
use super::table;

/// `alarms`.
#[must_use]
pub fn list(answer: &Answer<Page<Alarm>>) -> String {
    let page = &answer.body;
    if page.items.is_empty() {
        return "no alarms\n".to_owned();
    }
    let mut out = table::new([
        "Alarm", "Severity", "Kind", "Object", "What", "Since", "Times", "State",
    ]);
    table::right(&mut out, &[0, 6]);
    for alarm in &page.items {
        let what = match alarm.cause {
            Some(cause) => format!("{} (because of alarm {cause})", alarm.text),
            None => alarm.text.clone(),
        };
        out.add_row([
            alarm.id.to_string(),
            alarm.severity.name().to_owned(),
            alarm.kind.clone(),
            alarm.object.name.clone(),
            what,
            short(alarm.since.as_deref().unwrap_or(&alarm.raised_at)),
            alarm.occurrences.to_string(),
            state(alarm),
        ]);
    }
    format!("{out}\n{}", rest(page, "alarm", "alarms"))
}

/// `alarms ack`.
#[must_use]
pub fn acknowledged(alarm: &Alarm) -> String {
    format!(
        "alarm {} ({}: {}): {}\n",
        alarm.id,
        alarm.object.name,
        alarm.text,
        state(alarm)
    )
}

/// `forget`.
#[must_use]
pub fn forgotten(forgotten: &Forgotten) -> String {
    let lines = |kind: &str, names: &[String]| -> String {
        let lines = names
            .iter()
            .map(|name| format!("{kind} {name} forgotten\n"));
        lines.collect()
    };
    lines("node", &forgotten.nodes) + &lines("link", &forgotten.links)
}

/// `notify test`.
#[must_use]
pub fn notify_results(test: &NotifyTest) -> String {
    let line = |result: &NotifyResult| match &result.error {
        None => format!("{}: sent\n", result.name),
        Some(error) => format!("{}: not sent: {error}\n", result.name),
    };
    test.items.iter().map(line).collect()
}

fn state(alarm: &Alarm) -> String {
    match (alarm.state, &alarm.acknowledged) {
        (AlarmState::Acknowledged, Some(by)) => {
            let until = by
                .until
                .as_deref()
                .map(|at| format!(" until {}", short(at)));
            let reason = by.reason.as_deref().map(|reason| format!(": {reason}"));
            format!(
                "acknowledged by {}{}{}",
                by.by,
                until.unwrap_or_default(),
                reason.unwrap_or_default()
            )
        }
        (AlarmState::Cleared, _) => {
            let at = alarm.cleared_at.as_deref().map(short);
            format!("cleared {}", at.unwrap_or_default())
        }
        (state @ (AlarmState::Active | AlarmState::Acknowledged), _) => state.name().to_owned(),
    }
}
