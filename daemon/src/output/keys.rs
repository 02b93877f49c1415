//! Answers about management keys as text.

use core::fmt::Write as _;

use ferrosm_api::answer::Answer;
use ferrosm_api::key::{KeyState, Keys, RotationPlan};
use ferrosm_api::object::ObjectName;

use super::table;

/// `keys status`.
#[must_use]
pub fn status(answer: &Answer<Keys>) -> String {
    let keys = &answer.body;
    let ports = &keys.ports;
    let mut out = String::new();
    let _ = writeln!(out, "M_Key   {}", keys.m_key.name());
    let _ = writeln!(out, "SM_Key  {}", keys.sm_key.name());
    for (state, name) in [(keys.m_key, "subnet.m-key"), (keys.sm_key, "sm.sm-key")] {
        if state == KeyState::Rotated {
            let _ = writeln!(out, "  ~ {name} has another key: set it on all SMs");
        }
    }
    let _ = writeln!(
        out,
        "ports   {} with the M_Key in force, {} with an earlier one, {} without, {} unknown",
        ports.current, ports.earlier, ports.without, ports.unknown
    );
    for name in &ports.stragglers {
        let _ = writeln!(out, "  ~ {name}");
    }
    if !keys.sms.is_empty() {
        let mut sms = table::new(["SM", "M_Key", "SM_Key", "Replica"]);
        for sm in &keys.sms {
            let replica = if sm.is_replica { "in sync" } else { "none" };
            sms.add_row([
                named(&sm.port).to_owned(),
                sm.m_key.name().to_owned(),
                if sm.has_sm_key { "same" } else { "earlier" }.to_owned(),
                replica.to_owned(),
            ]);
        }
        let _ = writeln!(out, "{sms}");
    }
    out
}

/// `keys rotate --dry-run`.
#[must_use]
pub fn plan(plan: &RotationPlan) -> String {
    let mut out = match plan.ports {
        0 => "no port would be written\n".to_owned(),
        ports => format!("{ports} ports would get a new key\n"),
    };
    for sm in &plan.replicas {
        let _ = writeln!(out, "  {} would get it by replication", named(sm));
    }
    for sm in &plan.without {
        let _ = writeln!(
            out,
            "  ! {} would not have it, and could not take over",
            named(sm)
        );
    }
    out
}

fn named(object: &ObjectName) -> &str {
    if object.name.is_empty() {
        &object.guid
    } else {
        &object.name
    }
}
