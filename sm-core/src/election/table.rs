//! The whole product of states and inputs, walked: what the machine does in each cell, as the table of the module's
//! documentation. A cell that nobody thought of shows here, and any change of the machine changes the text.

use core::fmt::Write as _;
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use super::{Duty, Election, Idle, Input, Notice, Output, Peer, Settings, State, Then, Why};

const ME: PortGuid = PortGuid(5);
/// The SM that is watched, offered to or waited for, and that the inputs are of.
const OTHER: PortGuid = PortGuid(4);

const COLUMNS: [&str; 7] = [
    "NotActive",
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

const LOWER: u8 = 1;
const OWN: u8 = 5;
const HIGHER: u8 = 9;

fn looked(seen: &[Peer]) -> Input {
    Input::Looked {
        seen: seen.to_vec(),
        managed: false,
    }
}

/// An SM in the state of a column, by inputs alone. In the columns of masters the other is lower where it is waited for.
fn in_column(column: usize) -> Election {
    in_column_with(column, Settings::default())
}

fn in_column_with(column: usize, settings: Settings) -> Election {
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
    let mut e = Election::new(ME, settings);
    let mut feed = |input| {
        let _ = e.step(Instant::START, input);
    };
    match COLUMNS[column] {
        "NotActive" => {
            feed(looked(&[peer(HIGHER, SmState::Master)]));
            feed(Input::Asked {
                control: SmControl::Disable,
                from: peer(HIGHER, SmState::Master),
            });
        }
        "Standby" => feed(looked(&[peer(HIGHER, SmState::Master)])),
        "Master in charge" => feed(looked(&[])),
        "Master offering" => {
            feed(looked(&[]));
            feed(looked(&[peer(HIGHER, SmState::Standby)]));
        }
        "Master waiting" => {
            feed(looked(&[]));
            feed(looked(&[peer(LOWER, SmState::Master)]));
        }
        "Master leaving" => {
            feed(looked(&[]));
            feed(Input::HandOver {
                then: Then::Stop,
                others: vec![peer(LOWER, SmState::Discovering)],
            });
        }
        _ => {}
    }
    assert_eq!(column_of(&e), COLUMNS[column]);
    e
}

fn column_of(e: &Election) -> &'static str {
    match &e.state {
        State::NotActive(_) => COLUMNS[0],
        State::Discovering => COLUMNS[1],
        State::Standby(_) => COLUMNS[2],
        State::Master(Duty::InCharge) => COLUMNS[3],
        State::Master(Duty::Offering(_)) => COLUMNS[4],
        State::Master(Duty::Waiting(_)) => COLUMNS[5],
        State::Master(Duty::Leaving(_)) => COLUMNS[6],
    }
}

/// Every input, with what tells one of its kind from another.
fn rows() -> Vec<(String, Input)> {
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
            let input = Input::Seen(peer(priority, state));
            rows.push((format!("poll: {rank}, {}", word(state)), input));
        }
    }
    let foreign = Peer {
        key_fits: false,
        ..peer(HIGHER, SmState::Master)
    };
    rows.push(("poll: another SM_Key".to_owned(), Input::Seen(foreign)));
    for (name, paths) in [("one way", 1), ("3 ways", 3)] {
        let input = Input::Silent { guid: OTHER, paths };
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
                Input::Asked { control, from },
            ));
        }
        let from = peer(LOWER, SmState::Standby);
        rows.push((
            format!("Set {name}, a standby"),
            Input::Asked { control, from },
        ));
        rows.push((
            format!("Set {name}, another SM_Key"),
            Input::Asked {
                control,
                from: foreign,
            },
        ));
    }
    for control in [SmControl::Handover, SmControl::Acknowledge] {
        for (name, accepted) in [("accepted", true), ("refused", false)] {
            rows.push((
                format!("own {control} {name}"),
                Input::Answered {
                    guid: OTHER,
                    control,
                    accepted,
                },
            ));
        }
        let guid = OTHER;
        rows.push((
            format!("own {control} not answered"),
            Input::Unanswered { guid, control },
        ));
    }
    rows.push(("trap 144, priority".to_owned(), Input::PriorityTrap));
    rows.push(("other priority".to_owned(), Input::Priority(OWN + 1)));
    for (name, then) in [("stand by", Then::StandBy), ("stop", Then::Stop)] {
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
                Input::HandOver { then, others },
            ));
        }
    }
    rows.push(("operator: take over".to_owned(), Input::TakeOver));
    rows.push(("no link".to_owned(), Input::NoLink));
    rows.push(("deposed".to_owned(), Input::Deposed(OTHER)));
    rows.push(("timer".to_owned(), Input::Timer));
    rows
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
        for (column, before) in COLUMNS.iter().enumerate() {
            let mut e = in_column(column);
            let outputs = e.step(Instant::START, input.clone());
            let _ = write!(text, " {} |", cell(before, &e, &outputs));
        }
        text.push('\n');
    }
    let told = include_str!("transitions.md");
    if text != told {
        println!("{text}");
    }
    assert_eq!(text, told, "transitions.md is to say what the machine does");
}

/// What holds in every cell, whatever the table says.
#[test]
fn every_cell_keeps_the_rules() {
    for (name, input) in rows() {
        for (column, before) in COLUMNS.iter().enumerate() {
            let mut e = in_column(column);
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
                let set = Input::Asked {
                    control: SmControl::Handover,
                    from: peer(HIGHER, SmState::Master),
                };
                let lower = Input::Asked {
                    control: SmControl::Handover,
                    from: peer(LOWER, SmState::Master),
                };
                assert!(
                    input == set || input == lower,
                    "{at}: only HANDOVER makes a standby master"
                );
            }
            // Whoever waits for something has a time at which it stops waiting.
            let waits = e.other().is_some() || matches!(e.state, State::Master(Duty::Leaving(_)));
            assert_eq!(e.poll_timeout().is_some(), waits, "{at}: a timer");
        }
    }
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
    let mut e = in_column_with(3, settings);
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
    let mut e = in_column(2);
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
    let mut e = in_column(3);
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
    let mut e = in_column(3);
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
    let mut e = in_column(5);
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
    let mut e = in_column(1);
    let idle = peer(HIGHER, SmState::Standby);
    let _ = e.step(Instant::START, looked(&[idle]));
    for _ in 0..2 {
        assert_eq!(e.state(), SmState::Standby);
        let _ = e.step(Instant::START, Input::Seen(idle));
    }
    assert_eq!(e.state(), SmState::Discovering);
    let _ = e.step(Instant::START, looked(&[idle]));
    assert!(e.may_write());
    // It is not offered the subnet again and again, only when it is not what it was.
    assert_eq!(e.step(Instant::START, looked(&[idle])), vec![]);
    let again = Peer {
        act_count: 0,
        ..idle
    };
    let _ = e.step(Instant::START, looked(&[again]));
    assert_eq!(column_of(&e), "Master offering");
}
