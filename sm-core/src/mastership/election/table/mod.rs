//! The whole product of states and inputs, walked: what the machine does in each cell, as the table of the module's
//! documentation. A cell that nobody thought of shows here, and any change of the machine changes the text.

mod rows;

use core::fmt::Write as _;
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use super::{
    AfterHandover, Decision, Election, ElectionInput, ElectionNotice, ElectionSettings,
    InactiveReason, MasterState, OtherSm, RoleChangeReason, State,
};
use rows::rows;

const ME: PortGuid = PortGuid(5);
/// The SM that is watched, offered to or waited for, and that the inputs are of where nothing else is said.
const OTHER: PortGuid = PortGuid(4);
/// One that this SM has to do with only if it says something.
const THIRD: PortGuid = PortGuid(6);

const COLUMNS: [&str; 9] = [
    "NotActive",
    "NotActive, managed",
    "NotActive, ended",
    "Discovering",
    "Standby",
    "Master in charge",
    "Master offering",
    "Master waiting",
    "Master leaving",
];

fn peer(priority: u8, state: SmState) -> OtherSm {
    OtherSm {
        guid: OTHER,
        priority,
        state,
        act_count: 1,
        sm_key_matches: true,
    }
}

fn third(priority: u8, state: SmState) -> OtherSm {
    OtherSm {
        guid: THIRD,
        ..peer(priority, state)
    }
}

const LOWER: u8 = 1;
const OWN: u8 = 5;
const HIGHER: u8 = 9;

fn looked(seen: &[OtherSm]) -> ElectionInput {
    ElectionInput::ScanCompleted {
        seen: seen.to_vec(),
        managed: false,
    }
}

/// A subnet that bears the marks of an SM that does not answer.
const MANAGED: ElectionInput = ElectionInput::ScanCompleted {
    seen: Vec::new(),
    managed: true,
};

/// An SM in the state of a column, by inputs alone. In the columns of masters the other is lower where it is waited for.
fn in_column(name: &str) -> Election {
    in_column_with(name, ElectionSettings::default())
}

fn in_column_with(name: &str, settings: ElectionSettings) -> Election {
    let column = COLUMNS.iter().position(|column| *column == name);
    column
        .and_then(|column| reach(column, settings))
        .unwrap_or_else(|| panic!("no way to {name}"))
}

/// `None` where a column is not reached with these settings.
fn reach(column: usize, settings: ElectionSettings) -> Option<Election> {
    let settings = ElectionSettings {
        priority: OWN,
        poll_interval: Duration::ZERO,
        missed_polls: 1,
        handover_tries: 1,
        patience: 2,
        successor_scan_interval: Duration::ZERO,
        successor_scans_max: 1,
        ..settings
    };
    let mut e = Election::new(ME, settings.clone());
    let feed = |e: &mut Election, input| {
        let _ = e.step(Instant::START, input);
    };
    match COLUMNS[column] {
        "NotActive" => {
            feed(&mut e, looked(&[peer(HIGHER, SmState::Master)]));
            feed(
                &mut e,
                ElectionInput::ControlReceived {
                    control: SmControl::Disable,
                    from: peer(HIGHER, SmState::Master),
                },
            );
        }
        "NotActive, managed" => {
            e.set_settings(ElectionSettings {
                refuse_managed: true,
                ..e.settings.clone()
            });
            feed(&mut e, MANAGED);
            e.set_settings(settings);
        }
        "NotActive, ended" => feed(
            &mut e,
            ElectionInput::HandOver {
                then: AfterHandover::Stop,
                others: vec![],
            },
        ),
        "Standby" => feed(&mut e, looked(&[peer(HIGHER, SmState::Master)])),
        "Master in charge" => feed(&mut e, looked(&[])),
        "Master offering" => {
            feed(&mut e, looked(&[]));
            feed(&mut e, looked(&[peer(HIGHER, SmState::Standby)]));
        }
        "Master waiting" => {
            feed(&mut e, looked(&[]));
            feed(&mut e, looked(&[peer(LOWER, SmState::Master)]));
        }
        "Master leaving" => {
            feed(&mut e, looked(&[]));
            feed(
                &mut e,
                ElectionInput::HandOver {
                    then: AfterHandover::Stop,
                    others: vec![peer(LOWER, SmState::Discovering)],
                },
            );
        }
        _ => {}
    }
    (column_of(&e) == COLUMNS[column]).then_some(e)
}

fn column_of(e: &Election) -> &'static str {
    match &e.state {
        State::NotActive(InactiveReason::Disabled) => COLUMNS[0],
        State::NotActive(InactiveReason::Managed) => COLUMNS[1],
        State::NotActive(InactiveReason::Stopped) => COLUMNS[2],
        State::Discovering => COLUMNS[3],
        State::Standby(_) => COLUMNS[4],
        State::Master(MasterState::Active) => COLUMNS[5],
        State::Master(MasterState::Offering(_)) => COLUMNS[6],
        State::Master(MasterState::Waiting(_)) => COLUMNS[7],
        State::Master(MasterState::Leaving(_)) => COLUMNS[8],
    }
}

fn cell(before: &str, e: &Election, outputs: &[Decision]) -> String {
    let mut words: Vec<String> = outputs
        .iter()
        .filter_map(|o| match o {
            Decision::Poll { .. } => Some("Get".to_owned()),
            Decision::SendControl { control, .. } => Some(format!("Set {control}")),
            Decision::Reply { accepted: true } => Some("accept".to_owned()),
            Decision::Reply { accepted: false } => Some("refuse".to_owned()),
            Decision::EnterState { .. } => None,
            Decision::Sweep => Some("sweep".to_owned()),
            Decision::ScanSms => Some("look".to_owned()),
            Decision::SendPriorityTrap { .. } => Some("trap 144".to_owned()),
            Decision::Stop { handed_to } => {
                let who = if handed_to.is_some() {
                    "handed over"
                } else {
                    "not handed over"
                };
                Some(format!("end ({who})"))
            }
            Decision::Notice(n) if n.is_alarm() => Some("alarm".to_owned()),
            Decision::Notice(_) => Some("notice".to_owned()),
        })
        .collect();
    if column_of(e) != before {
        words.push(format!("**{}**", column_of(e)));
    }
    if words.is_empty() {
        "-".to_owned()
    } else {
        words.join(", ")
    }
}

#[test]
fn the_table_says_what_the_machine_does() {
    let mut text = format!("| input | {} |\n", COLUMNS.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(COLUMNS.len() + 1));
    for (name, input) in rows() {
        let _ = write!(text, "| {name} |");
        for before in COLUMNS {
            let mut e = in_column(before);
            let outputs = e.step(Instant::START, input.clone());
            let _ = write!(text, " {} |", cell(before, &e, &outputs));
        }
        text.push('\n');
    }
    let told = include_str!("../transitions.md");
    if text != told {
        println!("{text}");
    }
    assert_eq!(text, told, "transitions.md is to say what the machine does");
}

/// What holds in every cell, whatever the table says.
#[test]
fn every_cell_keeps_the_rules() {
    let sticky = ElectionSettings {
        master_priority: 15,
        ..ElectionSettings::default()
    };
    let careful = ElectionSettings {
        refuse_managed: true,
        ..ElectionSettings::default()
    };
    let strict = ElectionSettings {
        allowed: Some(Arc::new(BTreeSet::from([OTHER]))),
        ..ElectionSettings::default()
    };
    let mut walked = 0;
    for settings in [ElectionSettings::default(), sticky, careful, strict] {
        walked += keeps_the_rules(&settings, false) + keeps_the_rules(&settings, true);
    }
    assert!(walked > 4000, "{walked} cells");
}

/// The cells that can be reached with these settings, by an SM with or without the copy of its master's state.
fn keeps_the_rules(settings: &ElectionSettings, replica_incomplete: bool) -> usize {
    let mut walked = 0;
    for (name, input) in rows() {
        for (column, before) in COLUMNS.iter().enumerate() {
            let Some(mut e) = reach(column, settings.clone()) else {
                continue;
            };
            walked += 1;
            e.set_replica_incomplete(replica_incomplete);
            let was = e.state();
            let outputs = e.step(Instant::START, input.clone());
            let at = format!("{name} in {before}");
            let replies = outputs
                .iter()
                .filter(|o| matches!(o, Decision::Reply { .. }));
            let asked = matches!(input, ElectionInput::ControlReceived { .. });
            assert_eq!(
                replies.count(),
                usize::from(asked),
                "{at}: one answer to a Set"
            );
            if asked {
                assert!(
                    matches!(outputs[0], Decision::Reply { .. } | Decision::Notice(_)),
                    "{at}"
                );
            }
            let told = outputs.iter().rev().find_map(|o| {
                let Decision::EnterState { state, .. } = o else {
                    return None;
                };
                Some(*state)
            });
            assert_eq!(told.unwrap_or(was), e.state(), "{at}: a change is told");
            if e.state() == SmState::Discovering && told.is_some() {
                assert_eq!(
                    outputs.last(),
                    Some(&Decision::Sweep),
                    "{at}: who discovers sweeps"
                );
            }
            if was == SmState::Standby && e.state() == SmState::Master {
                let handed = matches!(&input, ElectionInput::ControlReceived { control, .. } if *control == SmControl::Handover);
                assert!(handed, "{at}: only HANDOVER makes a standby master");
            }
            // Whoever waits for something has a time at which it stops waiting.
            let waits =
                e.other().is_some() || matches!(e.state, State::Master(MasterState::Leaving(_)));
            assert_eq!(e.poll_timeout().is_some(), waits, "{at}: a timer");
        }
    }
    walked
}

#[test]
fn a_rogue_is_refused_told_once_and_never_given_anything() {
    let settings = ElectionSettings {
        allowed: Some(Arc::new(BTreeSet::from([PortGuid(77)]))),
        ..ElectionSettings::default()
    };
    let mut e = Election::new(
        ME,
        ElectionSettings {
            priority: 1,
            ..settings
        },
    );
    let rogue = peer(HIGHER, SmState::Master);
    let out = e.step(Instant::START, looked(&[rogue]));
    assert!(
        matches!(out[0], Decision::Notice(n) if n.is_alarm()),
        "{out:?}"
    );
    assert!(e.may_write());
    assert_eq!(e.step(Instant::START, looked(&[rogue])), vec![]);
    let control = SmControl::Handover;
    let out = e.step(
        Instant::START,
        ElectionInput::ControlReceived {
            control,
            from: rogue,
        },
    );
    assert_eq!(out, vec![Decision::Reply { accepted: false }]);
    // It is told again where it became something else.
    let out = e.step(Instant::START, looked(&[peer(HIGHER, SmState::Standby)]));
    assert_eq!(out.len(), 1);
    assert!(e.may_write());
}

/// One where nobody else may run, in charge.
fn alone() -> Election {
    let settings = ElectionSettings {
        allowed: Some(Arc::new(BTreeSet::from([PortGuid(77)]))),
        ..ElectionSettings::default()
    };
    let mut e = Election::new(ME, settings);
    let _ = e.step(Instant::START, looked(&[]));
    assert!(e.may_write());
    e
}

/// Also if it comes back long after, and says that it is what it was.
#[test]
fn a_rogue_that_comes_back_is_told_again() {
    let mut e = alone();
    let rogue = peer(HIGHER, SmState::Standby);
    let told = Decision::Notice(ElectionNotice::SmNotAllowed(OTHER, SmState::Standby));
    let gone = Decision::Notice(ElectionNotice::IgnoredSmGone(OTHER));
    for _ in 0..3 {
        let out = e.step(Instant::START, looked(&[rogue]));
        assert_eq!(out, vec![told.clone()]);
        assert_eq!(e.step(Instant::START, looked(&[rogue])), vec![]);
        let out = e.step(Instant::START, looked(&[]));
        assert_eq!(out, vec![gone.clone()]);
        assert_eq!(e.step(Instant::START, looked(&[])), vec![]);
    }
    assert!(!ElectionNotice::IgnoredSmGone(OTHER).is_alarm());
}

/// An alarm that was told a year ago is not known to who looks today.
#[test]
fn a_rogue_that_stays_is_told_once_an_hour() {
    let mut e = alone();
    let rogue = peer(HIGHER, SmState::Standby);
    let mut look = |minutes: u64| {
        let now = Instant::START + Duration::from_mins(minutes);
        e.step(now, looked(&[rogue])).len()
    };
    let told: Vec<u64> = (0..200).filter(|&minutes| look(minutes) == 1).collect();
    assert_eq!(told, [0, 60, 120, 180]);
}

/// A request may name any GUID: however many do, who is there is told; and who asked before it was found is told once more, because
/// only then its place is known.
#[test]
fn invented_guids_hide_no_rogue() {
    let mut e = alone();
    let ask = |e: &mut Election, guid| {
        let from = OtherSm {
            guid: PortGuid(guid),
            ..peer(HIGHER, SmState::Master)
        };
        let control = SmControl::Handover;
        let mut out = e.step(
            Instant::START,
            ElectionInput::ControlReceived { control, from },
        );
        assert_eq!(out.pop(), Some(Decision::Reply { accepted: false }));
        out.len()
    };
    let told: usize = (1000..1200).map(|guid| ask(&mut e, guid)).sum();
    assert_eq!(told, 64, "it has an end");
    let out = e.step(Instant::START, looked(&[peer(HIGHER, SmState::Master)]));
    let rogue = Decision::Notice(ElectionNotice::SmNotAllowed(OTHER, SmState::Master));
    assert_eq!(out, vec![rogue.clone()]);
    assert_eq!(ask(&mut e, OTHER.0), 0, "it is known");

    let mut e = alone();
    assert_eq!(ask(&mut e, OTHER.0), 1);
    assert_eq!(ask(&mut e, OTHER.0), 0);
    let out = e.step(Instant::START, looked(&[peer(HIGHER, SmState::Master)]));
    assert_eq!(out, vec![rogue]);
}

#[test]
fn a_managed_subnet_is_not_taken_unless_told_to() {
    let settings = ElectionSettings {
        refuse_managed: true,
        ..ElectionSettings::default()
    };
    let managed = || ElectionInput::ScanCompleted {
        seen: vec![],
        managed: true,
    };
    let mut e = Election::new(ME, settings.clone());
    let out = e.step(Instant::START, managed());
    assert!(matches!(out[0], Decision::Notice(n) if n.is_alarm()));
    assert_eq!(e.state, State::NotActive(InactiveReason::Managed));
    let out = e.step(Instant::START, ElectionInput::TakeOver);
    assert_eq!(out.last(), Some(&Decision::Sweep));
    let _ = e.step(Instant::START, managed());
    assert!(e.may_write());

    // A backup knows whose subnet it is.
    let mut e = Election::new(ME, settings);
    let _ = e.step(Instant::START, looked(&[peer(HIGHER, SmState::Master)]));
    while e.state() == SmState::Standby {
        let _ = e.step(
            Instant::START,
            ElectionInput::PollUnanswered {
                guid: OTHER,
                paths: 1,
            },
        );
    }
    let _ = e.step(Instant::START, managed());
    assert!(e.may_write());
}

#[test]
fn a_sticky_master_keeps_the_subnet_when_a_better_one_comes_back() {
    let settings = ElectionSettings {
        master_priority: 14,
        ..ElectionSettings::default()
    };
    let mut e = in_column_with("Master in charge", settings);
    assert_eq!(e.priority(), 14);
    assert_eq!(
        e.step(Instant::START, looked(&[peer(13, SmState::Standby)])),
        vec![]
    );
    assert!(e.may_write());
    let _ = e.step(Instant::START, looked(&[peer(15, SmState::Standby)]));
    assert_eq!(column_of(&e), "Master offering");
    let control = SmControl::Handover;
    let _ = e.step(
        Instant::START,
        ElectionInput::ControlAnswered {
            guid: OTHER,
            control,
            accepted: true,
        },
    );
    assert_eq!((e.state(), e.priority()), (SmState::Standby, OWN));
}

#[test]
fn several_ways_are_tried_before_a_death_is_believed() {
    let mut e = in_column("Standby");
    for path in 0..3 {
        assert_eq!(e.state(), SmState::Standby);
        let out = e.step(Instant::START, ElectionInput::Timer);
        assert_eq!(out, vec![Decision::Poll { to: OTHER, path }]);
        let _ = e.step(
            Instant::START,
            ElectionInput::PollUnanswered {
                guid: OTHER,
                paths: 3,
            },
        );
    }
    assert_eq!(e.state(), SmState::Discovering);
}

#[test]
fn an_operators_handover_is_not_undone_by_the_next_sweep() {
    let mut e = in_column("Master in charge");
    let lower = peer(LOWER, SmState::Standby);
    let _ = e.step(
        Instant::START,
        ElectionInput::HandOver {
            then: AfterHandover::StandBy,
            others: vec![lower],
        },
    );
    let control = SmControl::Handover;
    let out = e.step(
        Instant::START,
        ElectionInput::ControlAnswered {
            guid: OTHER,
            control,
            accepted: true,
        },
    );
    let why = RoleChangeReason::HandedOverTo(OTHER);
    let state = SmState::Standby;
    assert_eq!(out, vec![Decision::EnterState { state, why }]);
    assert!(lower.rank() > e.rank());
    let _ = e.step(Instant::START, ElectionInput::SetPriority(OWN));
    assert!(lower.rank() > e.rank(), "nothing was changed");
    let _ = e.step(Instant::START, ElectionInput::SetPriority(OWN + 1));
    assert!(lower.rank() < e.rank());
}

/// The operator's word moves the subnet to nobody who would begin with nothing.
#[test]
fn a_handover_skips_who_is_not_ready() {
    let copying = OtherSm {
        guid: PortGuid(9),
        ..peer(HIGHER, SmState::Discovering)
    };
    let input = |others: &[OtherSm]| ElectionInput::HandOver {
        then: AfterHandover::StandBy,
        others: others.to_vec(),
    };
    let mut e = in_column("Master in charge");
    let out = e.step(Instant::START, input(&[copying]));
    assert_eq!(
        out,
        [Decision::Notice(ElectionNotice::SuccessorNotReady(
            copying.guid
        ))]
    );
    assert!(e.may_write());
    let ready = peer(LOWER, SmState::Standby);
    let _ = e.step(Instant::START, input(&[copying, ready]));
    assert_eq!(e.other(), Some(ready.guid));
}

/// A master that is to end looks every second for somebody who is ready, writes nothing meanwhile, and after the last look takes
/// who is there.
#[test]
fn an_end_waits_for_somebody_who_is_ready() {
    let settings = ElectionSettings {
        priority: OWN,
        ..ElectionSettings::default()
    };
    let (pause, looks) = (
        settings.successor_scan_interval,
        settings.successor_scans_max,
    );
    let discovering = peer(HIGHER, SmState::Discovering);
    let leaving = || {
        let mut e = Election::new(ME, settings.clone());
        let _ = e.step(Instant::START, looked(&[]));
        let input = ElectionInput::HandOver {
            then: AfterHandover::Stop,
            others: vec![discovering],
        };
        let out = e.step(Instant::START, input);
        assert_eq!(
            out,
            [Decision::Notice(ElectionNotice::SuccessorNotReady(OTHER))]
        );
        assert!(!e.may_write());
        assert_eq!(e.state(), SmState::Master);
        e
    };
    let look = |e: &mut Election, at: Instant| {
        assert_eq!(e.poll_timeout(), Some(at));
        assert_eq!(e.step(at, ElectionInput::Timer), [Decision::ScanSms]);
    };
    let offered = |e: &Election| column_of(e) == "Master offering" && e.other() == Some(OTHER);

    let mut e = leaving();
    look(&mut e, Instant::START + pause);
    let at = Instant::START + pause;
    assert_eq!(e.step(at, looked(&[discovering])), []);
    let _ = e.step(at, looked(&[peer(LOWER, SmState::Standby)]));
    assert!(offered(&e), "one that is ready gets it, whatever its rank");

    let mut e = leaving();
    for n in 1..=looks {
        let at = Instant::START + pause * n.into();
        look(&mut e, at);
        assert!(!offered(&e), "after look {n}");
        let _ = e.step(at, looked(&[discovering]));
    }
    assert!(offered(&e), "nobody else is there");

    let mut e = leaving();
    let out = e.step(Instant::START, looked(&[]));
    let alone = Decision::Stop { handed_to: None };
    assert_eq!(out.last(), Some(&alone), "it went away");
}

#[test]
fn a_lower_master_that_keeps_its_part_gets_all_of_it() {
    let mut e = in_column("Master waiting");
    let stubborn = peer(LOWER, SmState::Master);
    let _ = e.step(Instant::START, ElectionInput::SmInfoReceived(stubborn));
    assert_eq!(column_of(&e), "Master waiting");
    let out = e.step(Instant::START, ElectionInput::SmInfoReceived(stubborn));
    assert!(
        matches!(out[0], Decision::Notice(n) if n.is_alarm()),
        "{out:?}"
    );
    assert_eq!(column_of(&e), "Master offering");
    // It does not even answer the offer, but is master: that is enough to stand by.
    let control = SmControl::Handover;
    let guid = OTHER;
    let _ = e.step(
        Instant::START,
        ElectionInput::ControlUnanswered { guid, control },
    );
    let _ = e.step(Instant::START, ElectionInput::SmInfoReceived(stubborn));
    assert_eq!(e.state(), SmState::Standby);
}

#[test]
fn a_better_one_that_never_becomes_master_is_not_waited_for() {
    let mut e = in_column("Discovering");
    let idle = peer(HIGHER, SmState::Standby);
    let _ = e.step(Instant::START, looked(&[idle]));
    for _ in 0..2 {
        assert_eq!(e.state(), SmState::Standby);
        let _ = e.step(Instant::START, ElectionInput::SmInfoReceived(idle));
    }
    assert_eq!(e.state(), SmState::Discovering);
    let _ = e.step(Instant::START, looked(&[idle]));
    assert!(e.may_write());
    // It is offered the subnet once, because it may have waited for that.
    let out = e.step(Instant::START, looked(&[idle]));
    assert_eq!(column_of(&e), "Master offering", "{out:?}");
    let control = SmControl::Handover;
    let guid = idle.guid;
    let _ = e.step(
        Instant::START,
        ElectionInput::ControlUnanswered { guid, control },
    );
    let _ = e.step(Instant::START, ElectionInput::SmInfoReceived(idle));
    assert!(e.may_write());
    // Not again and again, also if it said that it takes it, only when it is not what it was.
    assert_eq!(e.step(Instant::START, looked(&[idle])), vec![]);
    let again = OtherSm {
        act_count: 0,
        ..idle
    };
    let _ = e.step(Instant::START, looked(&[again]));
    assert_eq!(column_of(&e), "Master offering");
    let accepted = ElectionInput::ControlAnswered {
        guid,
        control,
        accepted: true,
    };
    let _ = e.step(Instant::START, accepted);
    for _ in 0..2 {
        assert_eq!(e.state(), SmState::Standby);
        let _ = e.step(Instant::START, ElectionInput::SmInfoReceived(again));
    }
    for _ in 0..3 {
        let _ = e.step(Instant::START, looked(&[again]));
        assert_eq!(column_of(&e), "Master in charge");
    }
}
