//! Why an alarm was raised.

use ferrosm_api::alarm::Alarm;
use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::explain::{AlarmExplanation, AlarmQuery};

use super::changes_of;
use crate::api::alarms::Alarms;
use crate::api::changes::ChangeLog;

/// Most consequences that are listed.
const CONSEQUENCES_MAX: usize = 100;

/// Explains an alarm.
pub(in crate::api) fn alarm(
    alarms: &Alarms,
    changes: &ChangeLog,
    query: &AlarmQuery,
) -> Result<AlarmExplanation, ApiError> {
    let all = alarms.list();
    let find = |id: u64| all.iter().find(|alarm| alarm.id == id);
    let alarm = find(query.id).ok_or_else(|| {
        ApiError::new(
            ErrorKind::NotFound,
            format!("no alarm {} is known", query.id),
            "`ferrosm alarms` lists the alarms.",
        )
    })?;
    let mut causes: Vec<Alarm> = Vec::new();
    let mut last = alarm;
    while let Some(cause) = last.cause.and_then(find)
        && causes.iter().all(|known| known.id != cause.id)
    {
        causes.push(cause.clone());
        last = cause;
    }
    let caused = all.iter().filter(|other| other.cause == Some(alarm.id));
    Ok(AlarmExplanation {
        causes,
        consequences: caused.take(CONSEQUENCES_MAX).cloned().collect(),
        changes: changes_of(changes, &alarm.object.guid),
        action: action(alarm),
        alarm: alarm.clone(),
    })
}

/// What the operator can do.
fn action(alarm: &Alarm) -> String {
    let name = &alarm.object.name;
    match alarm.kind.as_str() {
        "node-absent" => format!(
            "Check power and cables of {name}. If it was removed on purpose: `ferrosm forget '{name}'`."
        ),
        "link-down" => format!(
            "Check the cable and both ports. If it was removed on purpose: `ferrosm forget '{name}'`."
        ),
        "link-flapping" => {
            "Check or replace the cable; the SM routes around it until it is stable.".to_owned()
        }
        "link-degraded" => {
            "Reseat or replace the cable, or enable the same speed and width at both ports."
                .to_owned()
        }
        "routing-failed" => {
            "`ferrosm explain engine` has the result of each engine; configure another engine."
                .to_owned()
        }
        "consent-awaited" => {
            "`ferrosm takeover` with the options named, or name the settings in the configuration."
                .to_owned()
        }
        "local-port-unusable" => "`ferrosm ports --local` shows the ports of this host.".to_owned(),
        "records-not-replicated" | "standby-out-of-sync" => {
            "`ferrosm sms` shows the standbys; check the network between the SMs and their logs."
                .to_owned()
        }
        // The text of a problem has what to do.
        _ => format!(
            "`ferrosm explain node '{name}'` shows what is known about it; docs/operations.md, troubleshooting."
        ),
    }
}
