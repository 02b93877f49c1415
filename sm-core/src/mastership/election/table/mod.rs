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

use super::{Duty, Election, Idle, Input, Notice, Output, Peer, Settings, State, Then, Why};
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

fn peer(priority: u8, state: SmState) -> Peer {
    Peer {
        guid: OTHER,
        priority,
        state,
        act_count: 1,
        key_fits: true,
    }
}

fn third(priority: u8, state: SmState) -> Peer {
    Peer {
        guid: THIRD,
        ..peer(priority, state)
    }
}

const LOWER: u8 = 1;
const OWN: u8 = 5;
const HIGHER: u8 = 9;

fn looked(seen: &[Peer]) -> Input {
    Input::Looked {
        seen: seen.to_vec(),
        managed: false,
    }
}

/// A subnet that bears the marks of an SM that does not answer.
const MANAGED: Input = Input::Looked {
    seen: Vec::new(),
    managed: true,
};

/// An SM in the state of a column, by inputs alone. In the columns of masters the other is lower where it is waited for.
fn in_column(name: &str) -> Election {
    in_column_with(name, Settings::default())
}

fn in_column_with(name: &str, settings: Settings) -> Election {
    let column = COLUMNS.iter().position(|column| *column == name);
    column
        .and_then(|column| reach(column, settings))
        .unwrap_or_else(|| panic!("no way to {name}"))
}

/// `None` where a column is not reached with these settings.
fn reach(column: usize, settings: Settings) -> Option<Election> {
    let settings = Settings {
        priority: OWN,
        poll_interval: Duration::ZERO,
        missed_polls: 1,
        handover_tries: 1,
        patience: 2,
        leave_pause: Duration::ZERO,
        leave_looks: 1,
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
                Input::Asked {
                    control: SmControl::Disable,
                    from: peer(HIGHER, SmState::Master),
                },
            );
        }
        "NotActive, managed" => {
            e.set_settings(Settings {
                refuse_managed: true,
                ..e.settings.clone()
            });
            feed(&mut e, MANAGED);
            e.set_settings(settings);
        }
        "NotActive, ended" => feed(
            &mut e,
            Input::HandOver {
                then: Then::Stop,
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
                Input::HandOver {
                    then: Then::Stop,
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
        State::NotActive(Idle::Disabled) => COLUMNS[0],
        State::NotActive(Idle::Managed) => COLUMNS[1],
        State::NotActive(Idle::Stopped) => COLUMNS[2],
        State::Discovering => COLUMNS[3],
        State::Standby(_) => COLUMNS[4],
        State::Master(Duty::InCharge) => COLUMNS[5],
        State::Master(Duty::Offering(_)) => COLUMNS[6],
        State::Master(Duty::Waiting(_)) => COLUMNS[7],
        State::Master(Duty::Leaving(_)) => COLUMNS[8],
    }
}

fn cell(before: &str, e: &Election, outputs: &[Output]) -> String {
    let mut words: Vec<String> = outputs
        .iter()
        .filter_map(|o| match o {
            Output::Get { .. } => Some("Get".to_owned()),
            Output::Set { control, .. } => Some(format!("Set {control}")),
            Output::Reply { accepted: true } => Some("accept".to_owned()),
            Output::Reply { accepted: false } => Some("refuse".to_owned()),
            Output::Become { .. } => None,
            Output::Sweep => Some("sweep".to_owned()),
            Output::Look => Some("look".to_owned()),
            Output::Announce { .. } => Some("trap 144".to_owned()),
            Output::Stop { handed_to } => {
                let who = if handed_to.is_some() {
                    "handed over"
                } else {
                    "not handed over"
                };
                Some(format!("end ({who})"))
            }
            Output::Notice(n) if n.is_alarm() => Some("alarm".to_owned()),
            Output::Notice(_) => Some("notice".to_owned()),
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
    let sticky = Settings {
        master_priority: 15,
        ..Settings::default()
    };
    let careful = Settings {
        refuse_managed: true,
        ..Settings::default()
    };
    let strict = Settings {
        allowed: Some(Arc::new(BTreeSet::from([OTHER]))),
        ..Settings::default()
    };
    let mut walked = 0;
    for settings in [Settings::default(), sticky, careful, strict] {
        walked += keeps_the_rules(&settings, false) + keeps_the_rules(&settings, true);
    }
    assert!(walked > 4000, "{walked} cells");
}

/// The cells that can be reached with these settings, by an SM with or without the copy of its master's state.
fn keeps_the_rules(settings: &Settings, lacks_copy: bool) -> usize {
    let mut walked = 0;
    for (name, input) in rows() {
        for (column, before) in COLUMNS.iter().enumerate() {
            let Some(mut e) = reach(column, settings.clone()) else {
                continue;
            };
            walked += 1;
            e.set_lacks_copy(lacks_copy);
            let was = e.state();
            let outputs = e.step(Instant::START, input.clone());
            let at = format!("{name} in {before}");
            let replies = outputs.iter().filter(|o| matches!(o, Output::Reply { .. }));
            let asked = matches!(input, Input::Asked { .. });
            assert_eq!(
                replies.count(),
                usize::from(asked),
                "{at}: one answer to a Set"
            );
            if asked {
                assert!(
                    matches!(outputs[0], Output::Reply { .. } | Output::Notice(_)),
                    "{at}"
                );
            }
            let told = outputs.iter().rev().find_map(|o| {
                let Output::Become { state, .. } = o else {
                    return None;
                };
                Some(*state)
            });
            assert_eq!(told.unwrap_or(was), e.state(), "{at}: a change is told");
            if e.state() == SmState::Discovering && told.is_some() {
                assert_eq!(
                    outputs.last(),
                    Some(&Output::Sweep),
                    "{at}: who discovers sweeps"
                );
            }
            if was == SmState::Standby && e.state() == SmState::Master {
                let handed = matches!(&input, Input::Asked { control, .. } if *control == SmControl::Handover);
                assert!(handed, "{at}: only HANDOVER makes a standby master");
            }
            // Whoever waits for something has a time at which it stops waiting.
            let waits = e.other().is_some() || matches!(e.state, State::Master(Duty::Leaving(_)));
            assert_eq!(e.poll_timeout().is_some(), waits, "{at}: a timer");
        }
    }
    walked
}

#[test]
fn a_rogue_is_refused_told_once_and_never_given_anything() {
    let settings = Settings {
        allowed: Some(Arc::new(BTreeSet::from([PortGuid(77)]))),
        ..Settings::default()
    };
    let mut e = Election::new(
        ME,
        Settings {
            priority: 1,
            ..settings
        },
    );
    let rogue = peer(HIGHER, SmState::Master);
    let out = e.step(Instant::START, looked(&[rogue]));
    assert!(
        matches!(out[0], Output::Notice(n) if n.is_alarm()),
        "{out:?}"
    );
    assert!(e.may_write());
    assert_eq!(e.step(Instant::START, looked(&[rogue])), vec![]);
    let control = SmControl::Handover;
    let out = e.step(
        Instant::START,
        Input::Asked {
            control,
            from: rogue,
        },
    );
    assert_eq!(out, vec![Output::Reply { accepted: false }]);
    // It is told again where it became something else.
    let out = e.step(Instant::START, looked(&[peer(HIGHER, SmState::Standby)]));
    assert_eq!(out.len(), 1);
    assert!(e.may_write());
}

/// One where nobody else may run, in charge.
fn alone() -> Election {
    let settings = Settings {
        allowed: Some(Arc::new(BTreeSet::from([PortGuid(77)]))),
        ..Settings::default()
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
    let told = Output::Notice(Notice::Rogue(OTHER, SmState::Standby));
    let gone = Output::Notice(Notice::OutsiderGone(OTHER));
    for _ in 0..3 {
        let out = e.step(Instant::START, looked(&[rogue]));
        assert_eq!(out, vec![told.clone()]);
        assert_eq!(e.step(Instant::START, looked(&[rogue])), vec![]);
        let out = e.step(Instant::START, looked(&[]));
        assert_eq!(out, vec![gone.clone()]);
        assert_eq!(e.step(Instant::START, looked(&[])), vec![]);
    }
    assert!(!Notice::OutsiderGone(OTHER).is_alarm());
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
        let from = Peer {
            guid: PortGuid(guid),
            ..peer(HIGHER, SmState::Master)
        };
        let control = SmControl::Handover;
        let mut out = e.step(Instant::START, Input::Asked { control, from });
        assert_eq!(out.pop(), Some(Output::Reply { accepted: false }));
        out.len()
    };
    let told: usize = (1000..1200).map(|guid| ask(&mut e, guid)).sum();
    assert_eq!(told, 64, "it has an end");
    let out = e.step(Instant::START, looked(&[peer(HIGHER, SmState::Master)]));
    let rogue = Output::Notice(Notice::Rogue(OTHER, SmState::Master));
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
    let settings = Settings {
        refuse_managed: true,
        ..Settings::default()
    };
    let managed = || Input::Looked {
        seen: vec![],
        managed: true,
    };
    let mut e = Election::new(ME, settings.clone());
    let out = e.step(Instant::START, managed());
    assert!(matches!(out[0], Output::Notice(n) if n.is_alarm()));
    assert_eq!(e.state, State::NotActive(Idle::Managed));
    let out = e.step(Instant::START, Input::TakeOver);
    assert_eq!(out.last(), Some(&Output::Sweep));
    let _ = e.step(Instant::START, managed());
    assert!(e.may_write());

    // A backup knows whose subnet it is.
    let mut e = Election::new(ME, settings);
    let _ = e.step(Instant::START, looked(&[peer(HIGHER, SmState::Master)]));
    while e.state() == SmState::Standby {
        let _ = e.step(
            Instant::START,
            Input::Silent {
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
    let settings = Settings {
        master_priority: 14,
        ..Settings::default()
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
        Input::Answered {
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
        let out = e.step(Instant::START, Input::Timer);
        assert_eq!(out, vec![Output::Get { to: OTHER, path }]);
        let _ = e.step(
            Instant::START,
            Input::Silent {
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
        Input::HandOver {
            then: Then::StandBy,
            others: vec![lower],
        },
    );
    let control = SmControl::Handover;
    let out = e.step(
        Instant::START,
        Input::Answered {
            guid: OTHER,
            control,
            accepted: true,
        },
    );
    let why = Why::HandedOver(OTHER);
    let state = SmState::Standby;
    assert_eq!(out, vec![Output::Become { state, why }]);
    assert!(lower.rank() > e.rank());
    let _ = e.step(Instant::START, Input::Priority(OWN));
    assert!(lower.rank() > e.rank(), "nothing was changed");
    let _ = e.step(Instant::START, Input::Priority(OWN + 1));
    assert!(lower.rank() < e.rank());
}

/// The operator's word moves the subnet to nobody who would begin with nothing.
#[test]
fn a_handover_skips_who_is_not_ready() {
    let copying = Peer {
        guid: PortGuid(9),
        ..peer(HIGHER, SmState::Discovering)
    };
    let input = |others: &[Peer]| Input::HandOver {
        then: Then::StandBy,
        others: others.to_vec(),
    };
    let mut e = in_column("Master in charge");
    let out = e.step(Instant::START, input(&[copying]));
    assert_eq!(out, [Output::Notice(Notice::NotReady(copying.guid))]);
    assert!(e.may_write());
    let ready = peer(LOWER, SmState::Standby);
    let _ = e.step(Instant::START, input(&[copying, ready]));
    assert_eq!(e.other(), Some(ready.guid));
}

/// A master that is to end looks every second for somebody who is ready, writes nothing meanwhile, and after the last look takes
/// who is there.
#[test]
fn an_end_waits_for_somebody_who_is_ready() {
    let settings = Settings {
        priority: OWN,
        ..Settings::default()
    };
    let (pause, looks) = (settings.leave_pause, settings.leave_looks);
    let discovering = peer(HIGHER, SmState::Discovering);
    let leaving = || {
        let mut e = Election::new(ME, settings.clone());
        let _ = e.step(Instant::START, looked(&[]));
        let input = Input::HandOver {
            then: Then::Stop,
            others: vec![discovering],
        };
        let out = e.step(Instant::START, input);
        assert_eq!(out, [Output::Notice(Notice::NotReady(OTHER))]);
        assert!(!e.may_write());
        assert_eq!(e.state(), SmState::Master);
        e
    };
    let look = |e: &mut Election, at: Instant| {
        assert_eq!(e.poll_timeout(), Some(at));
        assert_eq!(e.step(at, Input::Timer), [Output::Look]);
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
    let alone = Output::Stop { handed_to: None };
    assert_eq!(out.last(), Some(&alone), "it went away");
}

#[test]
fn a_lower_master_that_keeps_its_part_gets_all_of_it() {
    let mut e = in_column("Master waiting");
    let stubborn = peer(LOWER, SmState::Master);
    let _ = e.step(Instant::START, Input::Seen(stubborn));
    assert_eq!(column_of(&e), "Master waiting");
    let out = e.step(Instant::START, Input::Seen(stubborn));
    assert!(
        matches!(out[0], Output::Notice(n) if n.is_alarm()),
        "{out:?}"
    );
    assert_eq!(column_of(&e), "Master offering");
    // It does not even answer the offer, but is master: that is enough to stand by.
    let control = SmControl::Handover;
    let guid = OTHER;
    let _ = e.step(Instant::START, Input::Unanswered { guid, control });
    let _ = e.step(Instant::START, Input::Seen(stubborn));
    assert_eq!(e.state(), SmState::Standby);
}

#[test]
fn a_better_one_that_never_becomes_master_is_not_waited_for() {
    let mut e = in_column("Discovering");
    let idle = peer(HIGHER, SmState::Standby);
    let _ = e.step(Instant::START, looked(&[idle]));
    for _ in 0..2 {
        assert_eq!(e.state(), SmState::Standby);
        let _ = e.step(Instant::START, Input::Seen(idle));
    }
    assert_eq!(e.state(), SmState::Discovering);
    let _ = e.step(Instant::START, looked(&[idle]));
    assert!(e.may_write());
    // It is offered the subnet once, because it may have waited for that.
    let out = e.step(Instant::START, looked(&[idle]));
    assert_eq!(column_of(&e), "Master offering", "{out:?}");
    let control = SmControl::Handover;
    let guid = idle.guid;
    let _ = e.step(Instant::START, Input::Unanswered { guid, control });
    let _ = e.step(Instant::START, Input::Seen(idle));
    assert!(e.may_write());
    // Not again and again, also if it said that it takes it, only when it is not what it was.
    assert_eq!(e.step(Instant::START, looked(&[idle])), vec![]);
    let again = Peer {
        act_count: 0,
        ..idle
    };
    let _ = e.step(Instant::START, looked(&[again]));
    assert_eq!(column_of(&e), "Master offering");
    let accepted = Input::Answered {
        guid,
        control,
        accepted: true,
    };
    let _ = e.step(Instant::START, accepted);
    for _ in 0..2 {
        assert_eq!(e.state(), SmState::Standby);
        let _ = e.step(Instant::START, Input::Seen(again));
    }
    for _ in 0..3 {
        let _ = e.step(Instant::START, looked(&[again]));
        assert_eq!(column_of(&e), "Master in charge");
    }
}
