//! The rows of the table: every input, with what tells one of its kind from another.

use ferrosm_mad::attr::{SmControl, SmState};

use super::super::{AfterHandover, ElectionInput, OtherSm};
use super::{HIGHER, LOWER, MANAGED, OTHER, OWN, THIRD, looked, peer, third};

/// Every input, with what tells one of its kind from another.
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
    let word = |s: SmState| s.name().unwrap_or("of an unknown state");
    for (rank, priority) in ranks {
        for state in states {
            let input = ElectionInput::SmInfoReceived(peer(priority, state));
            rows.push((format!("poll: {rank}, {}", word(state)), input));
        }
    }
    let foreign = OtherSm {
        sm_key_matches: false,
        ..peer(HIGHER, SmState::Master)
    };
    rows.push((
        "poll: another SM_Key".to_owned(),
        ElectionInput::SmInfoReceived(foreign),
    ));
    for (name, paths) in [("one way", 1), ("3 ways", 3)] {
        let input = ElectionInput::PollUnanswered { guid: OTHER, paths };
        rows.push((format!("poll: silence, {name}"), input));
    }
    rows.push(("look: nobody".to_owned(), looked(&[])));
    for (rank, priority) in ranks {
        for state in states {
            let input = looked(&[peer(priority, state)]);
            rows.push((format!("look: {rank}, {}", word(state)), input));
        }
    }
    rows.push(("look: another SM_Key".to_owned(), looked(&[foreign])));
    rows.push(("look: nobody, managed".to_owned(), MANAGED));
    for (name, guid) in [("lower", OTHER), ("higher", THIRD)] {
        for state in [SmState::Standby, SmState::Master] {
            let equal = OtherSm {
                guid,
                ..peer(OWN, state)
            };
            rows.push((
                format!("look: equal priority, {name} GUID, {}", word(state)),
                looked(&[equal]),
            ));
        }
    }
    rows.push((
        "look: lower Master, and a higher Standby".to_owned(),
        looked(&[
            peer(LOWER, SmState::Master),
            third(HIGHER, SmState::Standby),
        ]),
    ));
    rows.push((
        "look: two Masters, higher and lower".to_owned(),
        looked(&[peer(HIGHER, SmState::Master), third(LOWER, SmState::Master)]),
    ));
    rows.extend(of_a_third());
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
            let from = peer(priority, SmState::Master);
            rows.push((
                format!("Set {name}, {rank} master"),
                ElectionInput::ControlReceived { control, from },
            ));
        }
        let from = peer(LOWER, SmState::Standby);
        rows.push((
            format!("Set {name}, a standby"),
            ElectionInput::ControlReceived { control, from },
        ));
        rows.push((
            format!("Set {name}, another SM_Key"),
            ElectionInput::ControlReceived {
                control,
                from: foreign,
            },
        ));
    }
    for control in [SmControl::Handover, SmControl::Acknowledge] {
        for (name, accepted) in [("accepted", true), ("refused", false)] {
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
            format!("own {control} not answered"),
            ElectionInput::ControlUnanswered { guid, control },
        ));
    }
    rows.push((
        "trap 144, priority".to_owned(),
        ElectionInput::PriorityTrapReceived,
    ));
    rows.push((
        "other priority".to_owned(),
        ElectionInput::SetPriority(OWN + 1),
    ));
    for (name, then) in [
        ("stand by", AfterHandover::StandBy),
        ("stop", AfterHandover::Stop),
    ] {
        for (who, others) in [
            ("nobody there", vec![]),
            ("a lower one there", vec![peer(LOWER, SmState::Standby)]),
            (
                "a lower one that discovers there",
                vec![peer(LOWER, SmState::Discovering)],
            ),
        ] {
            rows.push((
                format!("operator: hand over and {name}, {who}"),
                ElectionInput::HandOver { then, others },
            ));
        }
    }
    rows.push(("operator: take over".to_owned(), ElectionInput::TakeOver));
    rows.push(("no link".to_owned(), ElectionInput::LinkDown));
    rows.push(("deposed".to_owned(), ElectionInput::Deposed(OTHER)));
    rows.push(("timer".to_owned(), ElectionInput::Timer));
    rows
}

/// What comes of an SM that this one did not ask, or asked long ago.
fn of_a_third() -> Vec<(String, ElectionInput)> {
    let mut rows = Vec::new();
    for state in [SmState::Standby, SmState::Master] {
        rows.push((
            format!("poll of a third: higher, {state}"),
            ElectionInput::SmInfoReceived(third(HIGHER, state)),
        ));
    }
    rows.push((
        "poll of a third: silence".to_owned(),
        ElectionInput::PollUnanswered {
            guid: THIRD,
            paths: 1,
        },
    ));
    for control in [SmControl::Handover, SmControl::Disable, SmControl::Discover] {
        for (rank, priority) in [("higher", HIGHER), ("lower", LOWER)] {
            let from = third(priority, SmState::Master);
            rows.push((
                format!("Set {control} of a third, {rank} master"),
                ElectionInput::ControlReceived { control, from },
            ));
        }
    }
    let control = SmControl::Acknowledge;
    let from = third(HIGHER, SmState::Standby);
    rows.push((
        "Set ACKNOWLEDGE of a third, a standby".to_owned(),
        ElectionInput::ControlReceived { control, from },
    ));
    let control = SmControl::Handover;
    rows.push((
        "own HANDOVER accepted by a third".to_owned(),
        ElectionInput::ControlAnswered {
            guid: THIRD,
            control,
            accepted: true,
        },
    ));
    rows
}
