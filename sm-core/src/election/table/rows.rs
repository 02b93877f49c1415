//! Rows of the transition table: every kind of input.

use ferrosm_mad::attr::{SmControl, SmState};

use super::super::{AfterHandover, ControlSource, ElectionInput, OtherSm, SmMKey};
use super::{HIGHER, LOWER, MANAGED, OTHER, OWN, THIRD, control_received, other, scanned, third};

/// Every kind of input, with its row title.
pub(super) fn rows() -> Vec<(String, ElectionInput)> {
    let mut rows = Vec::new();
    let states = [
        SmState::NotActive,
        SmState::Discovering,
        SmState::Standby,
        SmState::Master,
        SmState(7),
    ];
    let ranks = [("higher", HIGHER), ("lower", LOWER)];
    let state_title = |s: SmState| s.name().unwrap_or("unknown state");
    for (rank, priority) in ranks {
        for state in states {
            let input = ElectionInput::SmInfoReceived(other(priority, state));
            rows.push((format!("poll: {rank}, {}", state_title(state)), input));
        }
    }
    let foreign = OtherSm {
        sm_key_matches: false,
        ..other(HIGHER, SmState::Master)
    };
    rows.push((
        "poll: other SM_Key".to_owned(),
        ElectionInput::SmInfoReceived(foreign),
    ));
    for state in [SmState::Standby, SmState::Master] {
        let input = ElectionInput::SmInfoReceived(with_other_m_key(HIGHER, state));
        rows.push((format!("poll: other M_Key, {}", state_title(state)), input));
    }
    for (name, paths) in [("1 path", 1), ("3 paths", 3)] {
        let input = ElectionInput::PollUnanswered { guid: OTHER, paths };
        rows.push((format!("poll: no response, {name}"), input));
    }
    rows.push(("scan: no SM".to_owned(), scanned(&[])));
    for (rank, priority) in ranks {
        for state in states {
            let input = scanned(&[other(priority, state)]);
            rows.push((format!("scan: {rank}, {}", state_title(state)), input));
        }
    }
    rows.push(("scan: other SM_Key".to_owned(), scanned(&[foreign])));
    for state in [SmState::Standby, SmState::Master] {
        let input = scanned(&[with_other_m_key(HIGHER, state)]);
        rows.push((format!("scan: other M_Key, {}", state_title(state)), input));
    }
    rows.push(("scan: no SM, managed".to_owned(), MANAGED));
    for (name, guid) in [("lower", OTHER), ("higher", THIRD)] {
        for state in [SmState::Standby, SmState::Master] {
            let equal = OtherSm {
                guid,
                ..other(OWN, state)
            };
            rows.push((
                format!("scan: equal priority, {name} GUID, {}", state_title(state)),
                scanned(&[equal]),
            ));
        }
    }
    rows.push((
        "scan: lower Master, and a higher Standby".to_owned(),
        scanned(&[
            other(LOWER, SmState::Master),
            third(HIGHER, SmState::Standby),
        ]),
    ));
    rows.push((
        "scan: two Masters, higher and lower".to_owned(),
        scanned(&[
            other(HIGHER, SmState::Master),
            third(LOWER, SmState::Master),
        ]),
    ));
    rows.extend(third_sm_rows());
    for control in [
        SmControl::Handover,
        SmControl::Acknowledge,
        SmControl::Disable,
        SmControl::Standby,
        SmControl::Discover,
        SmControl(9),
    ] {
        let name = control.name().unwrap_or("unknown modifier");
        for (rank, priority) in ranks {
            let from = other(priority, SmState::Master);
            rows.push((
                format!("Set {name}, {rank} master"),
                control_received(control, from),
            ));
        }
        let from = other(LOWER, SmState::Standby);
        rows.push((
            format!("Set {name}, a standby"),
            control_received(control, from),
        ));
        if matches!(control, SmControl::Handover | SmControl::Disable) {
            rows.extend(forged(control));
        }
        rows.push((
            format!("Set {name}, other SM_Key"),
            control_received(control, foreign),
        ));
    }
    for control in [SmControl::Handover, SmControl::Acknowledge] {
        for (name, accepted) in [("accepted", true), ("rejected", false)] {
            rows.push((
                format!("own {control} {name}"),
                ElectionInput::ControlAnswered {
                    guid: OTHER,
                    control,
                    accepted,
                },
            ));
        }
        let guid = OTHER;
        rows.push((
            format!("own {control} unanswered"),
            ElectionInput::ControlUnanswered { guid, control },
        ));
    }
    rows.push((
        "trap 144, priority".to_owned(),
        ElectionInput::PriorityTrapReceived,
    ));
    rows.push((
        "priority set".to_owned(),
        ElectionInput::SetPriority(OWN + 1),
    ));
    for (name, then) in [
        ("stand by", AfterHandover::StandBy),
        ("stop", AfterHandover::Stop),
    ] {
        for (suffix, sms_known) in [("no known SM", false), ("known SMs", true)] {
            rows.push((
                format!("operator: hand over and {name}, {suffix}"),
                ElectionInput::HandOver { then, sms_known },
            ));
        }
    }
    rows.push(("operator: take over".to_owned(), ElectionInput::TakeOver));
    rows.push(("no link".to_owned(), ElectionInput::LinkDown));
    rows.push((
        "another SM holds the lease".to_owned(),
        ElectionInput::Deposed(OTHER),
    ));
    for (suffix, sms_known) in [("no known SM", false), ("known SMs", true)] {
        rows.push((
            format!("process stalled, {suffix}"),
            ElectionInput::Stalled { sms_known },
        ));
        for (work, is_idle) in [("idle", true), ("requests in progress", false)] {
            rows.push((
                format!("lease lost, {work}, {suffix}"),
                ElectionInput::LeaseLost { is_idle, sms_known },
            ));
        }
    }
    for (name, is_incomplete) in [("incomplete", true), ("complete", false)] {
        rows.push((
            format!("replica {name}"),
            ElectionInput::ReplicaChanged { is_incomplete },
        ));
    }
    rows.push((
        "replica loaded, or none".to_owned(),
        ElectionInput::ReplicaLoadEnded,
    ));
    for (name, guid) in [("the other SM", OTHER), ("a third SM", THIRD)] {
        let uncertain = false;
        rows.push((
            format!("replication: {name} is silent"),
            ElectionInput::PeerSilent { guid, uncertain },
        ));
    }
    rows.push(("timer".to_owned(), ElectionInput::Timer));
    rows
}

/// Inputs from an SM from which this one awaits no response.
fn third_sm_rows() -> Vec<(String, ElectionInput)> {
    let mut rows = Vec::new();
    for state in [SmState::Standby, SmState::Master] {
        rows.push((
            format!("poll of a third SM: higher, {state}"),
            ElectionInput::SmInfoReceived(third(HIGHER, state)),
        ));
    }
    rows.push((
        "poll of a third SM: no response".to_owned(),
        ElectionInput::PollUnanswered {
            guid: THIRD,
            paths: 1,
        },
    ));
    for control in [SmControl::Handover, SmControl::Disable, SmControl::Discover] {
        for (rank, priority) in [("higher", HIGHER), ("lower", LOWER)] {
            let from = third(priority, SmState::Master);
            rows.push((
                format!("Set {control} of a third SM, {rank} master"),
                control_received(control, from),
            ));
        }
    }
    let control = SmControl::Acknowledge;
    let from = third(HIGHER, SmState::Standby);
    rows.push((
        "Set ACKNOWLEDGE of a third SM, a standby".to_owned(),
        control_received(control, from),
    ));
    let control = SmControl::Handover;
    rows.push((
        "own HANDOVER accepted by a third SM".to_owned(),
        ElectionInput::ControlAnswered {
            guid: THIRD,
            control,
            accepted: true,
        },
    ));
    rows
}

/// Controls that name `OTHER` as their sender and come from elsewhere, or do not agree with what
/// `OTHER` responds.
pub(super) fn forged(control: SmControl) -> Vec<(String, ElectionInput)> {
    let from = other(HIGHER, SmState::Master);
    let name = control.name().unwrap_or("unknown modifier");
    let received = |port, sm| ElectionInput::ControlReceived {
        control,
        from,
        source: ControlSource { port, sm },
    };
    vec![
        (
            format!("Set {name} from the port of a third SM"),
            received(Some(THIRD), third(HIGHER, SmState::Master)),
        ),
        (
            format!("Set {name} from the port of a third SM that claims the GUID"),
            received(Some(THIRD), from),
        ),
        (
            format!("Set {name} from a port that is not discovered"),
            received(None, from),
        ),
        (
            format!("Set {name}, sender not active"),
            received(Some(OTHER), other(HIGHER, SmState::NotActive)),
        ),
        (
            format!("Set {name}, no SM at its source"),
            ElectionInput::ControlUnconfirmed {
                control,
                claimed: OTHER,
                port: Some(THIRD),
            },
        ),
    ]
}

/// An SM that told that it has another M_Key.
fn with_other_m_key(priority: u8, state: SmState) -> OtherSm {
    OtherSm {
        m_key: SmMKey::Other,
        ..other(priority, state)
    }
}
