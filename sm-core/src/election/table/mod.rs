//! Tests over all states and inputs. They generate the transition table of the module documentation
//! and check invariants in each cell.

mod handovers;
mod rows;

use core::fmt::Write as _;
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use super::{
    AfterHandover, ControlSource, Decision, Election, ElectionInput, ElectionNotice,
    ElectionSettings, HandoverReason, InactiveReason, MasterState, OtherSm, PollLimit,
    RoleChangeReason, SmMKey, State,
};
use rows::{forged, rows};

const ME: PortGuid = PortGuid(5);
/// The SM that is polled, offered the subnet or waited for, and the source of all inputs unless
/// stated otherwise.
const OTHER: PortGuid = PortGuid(4);
/// An SM from which this one awaits no response.
const THIRD: PortGuid = PortGuid(6);

const STATES: [&str; 13] = [
    "NotActive",
    "NotActive, managed",
    "NotActive, stopped",
    "Discovering",
    "Standby",
    "Standby, out of sync",
    "Master, active",
    "Master, loading replica",
    "Master, stalled",
    "Master, handing over",
    "Master, offering",
    "Master, waiting",
    "Master, leaving",
];

fn other(priority: u8, state: SmState) -> OtherSm {
    OtherSm {
        guid: OTHER,
        priority,
        state,
        act_count: 1,
        sm_key_matches: true,
        m_key: SmMKey::Unknown,
    }
}

fn third(priority: u8, state: SmState) -> OtherSm {
    OtherSm {
        guid: THIRD,
        ..other(priority, state)
    }
}

const LOWER: u8 = 1;
const OWN: u8 = 5;
const HIGHER: u8 = 9;

fn scanned(seen: &[OtherSm]) -> ElectionInput {
    ElectionInput::ScanCompleted {
        seen: seen.to_vec(),
        managed: false,
    }
}

/// A control that the SM at its source confirms.
const fn control_received(control: SmControl, from: OtherSm) -> ElectionInput {
    let source = ControlSource {
        port: Some(from.guid),
        sm: from,
    };
    ElectionInput::ControlReceived {
        control,
        from,
        source,
    }
}

/// A subnet configured by an SM that does not respond.
const MANAGED: ElectionInput = ElectionInput::ScanCompleted {
    seen: Vec::new(),
    managed: true,
};

/// The operator requests a handover while other SMs are known.
const fn hand_over(after: AfterHandover) -> ElectionInput {
    let sms_known = true;
    ElectionInput::HandOver {
        then: after,
        sms_known,
    }
}

/// Brings an SM into a state, by inputs only. In the master states, `OTHER` ranks lower if it is
/// waited for.
fn election_in_state(name: &str) -> Election {
    election_in_state_with(name, ElectionSettings::default())
}

fn election_in_state_with(name: &str, settings: ElectionSettings) -> Election {
    let index = STATES.iter().position(|state| *state == name);
    index
        .and_then(|index| build_state(index, settings))
        .unwrap_or_else(|| panic!("{name} not reached"))
}

/// `None` if the state cannot be reached with these settings.
fn build_state(index: usize, settings: ElectionSettings) -> Option<Election> {
    let settings = ElectionSettings {
        priority: OWN,
        poll_interval: Duration::ZERO,
        missed_polls: 1,
        handover_tries: 1,
        wait_polls: 2,
        successor_scan_interval: Duration::ZERO,
        successor_scans_max: 1,
        ..settings
    };
    let mut e = Election::new(ME, settings.clone());
    let feed = |e: &mut Election, input| {
        let _ = e.step(Instant::START, input);
    };
    match STATES[index] {
        "NotActive" => {
            feed(&mut e, scanned(&[other(HIGHER, SmState::Master)]));
            feed(
                &mut e,
                control_received(SmControl::Disable, other(HIGHER, SmState::Master)),
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
        "NotActive, stopped" => feed(
            &mut e,
            ElectionInput::HandOver {
                then: AfterHandover::Stop,
                sms_known: false,
            },
        ),
        "Standby" => feed(&mut e, scanned(&[other(HIGHER, SmState::Master)])),
        "Standby, out of sync" => {
            let is_incomplete = true;
            feed(&mut e, ElectionInput::ReplicaChanged { is_incomplete });
            feed(&mut e, scanned(&[other(HIGHER, SmState::Master)]));
        }
        "Master, loading replica" => {
            feed(&mut e, scanned(&[other(HIGHER, SmState::Master)]));
            let (control, from) = (SmControl::Handover, other(HIGHER, SmState::Master));
            feed(&mut e, control_received(control, from));
        }
        "Master, active" => feed(&mut e, scanned(&[])),
        "Master, stalled" => {
            feed(&mut e, scanned(&[]));
            feed(&mut e, ElectionInput::Stalled { sms_known: true });
        }
        "Master, handing over" => {
            feed(&mut e, scanned(&[]));
            feed(&mut e, hand_over(AfterHandover::StandBy));
        }
        "Master, offering" => {
            feed(&mut e, scanned(&[]));
            feed(&mut e, scanned(&[other(HIGHER, SmState::Standby)]));
        }
        "Master, waiting" => {
            feed(&mut e, scanned(&[]));
            feed(&mut e, scanned(&[other(LOWER, SmState::Master)]));
        }
        "Master, leaving" => {
            feed(&mut e, scanned(&[]));
            feed(&mut e, hand_over(AfterHandover::Stop));
            feed(&mut e, scanned(&[other(LOWER, SmState::Discovering)]));
        }
        _ => {}
    }
    (state_name(&e) == STATES[index]).then_some(e)
}

fn state_name(e: &Election) -> &'static str {
    match &e.state {
        State::NotActive(InactiveReason::Disabled) => "NotActive",
        State::NotActive(InactiveReason::Managed) => "NotActive, managed",
        State::NotActive(InactiveReason::Stopped) => "NotActive, stopped",
        State::Discovering => "Discovering",
        State::Standby(_) if e.replica.is_incomplete => "Standby, out of sync",
        State::Standby(_) => "Standby",
        State::Master(MasterState::Active) if e.replica.is_loading => "Master, loading replica",
        State::Master(MasterState::Active) => "Master, active",
        State::Master(MasterState::Verifying(v)) if v.is_outdated => "Master, stalled",
        State::Master(MasterState::Verifying(_)) => "Master, handing over",
        State::Master(MasterState::Offering(_)) => "Master, offering",
        State::Master(MasterState::Waiting(_)) => "Master, waiting",
        State::Master(MasterState::Leaving(_)) => "Master, leaving",
    }
}

fn cell(before: &str, e: &Election, outputs: &[Decision]) -> String {
    let mut words: Vec<String> = outputs
        .iter()
        .filter_map(|o| match o {
            Decision::Poll { .. } => Some("Get".to_owned()),
            Decision::SendControl { control, .. } => Some(format!("Set {control}")),
            Decision::Reply { accepted: true } => Some("accept".to_owned()),
            Decision::Reply { accepted: false } => Some("reject".to_owned()),
            Decision::EnterState { .. } => None,
            Decision::Sweep => Some("sweep".to_owned()),
            Decision::ScanSms => Some("scan".to_owned()),
            Decision::RescanSms => Some("rescan".to_owned()),
            Decision::LoadReplica => Some("load replica".to_owned()),
            Decision::SendPriorityTrap { .. } => Some("trap 144".to_owned()),
            Decision::Stop { handed_to, .. } => {
                let result = if handed_to.is_some() {
                    "handed over"
                } else {
                    "not handed over"
                };
                Some(format!("stop ({result})"))
            }
            Decision::Notice(n) if n.is_alarm() => Some("alarm".to_owned()),
            Decision::Notice(_) => Some("notice".to_owned()),
        })
        .collect();
    if state_name(e) != before {
        words.push(format!("**{}**", state_name(e)));
    }
    if words.is_empty() {
        "-".to_owned()
    } else {
        words.join(", ")
    }
}

fn missed_poll(limit: PollLimit) -> Decision {
    let master = OTHER;
    Decision::Notice(ElectionNotice::MasterPollMissed { master, limit })
}

/// The first missed poll of the master is reported, further ones are not; and the next response.
#[test]
fn first_missed_poll_and_next_response_are_reported() {
    let settings = ElectionSettings::default();
    let limit = PollLimit {
        polls: settings.missed_polls,
        is_one_per_path: false,
        interval: settings.poll_interval,
    };
    let missed = missed_poll(limit);
    let mut e = Election::new(ME, settings);
    let master = other(HIGHER, SmState::Master);
    let _ = e.step(Instant::START, scanned(&[master]));
    let miss = |e: &mut Election| {
        let (guid, paths) = (OTHER, 1);
        let input = ElectionInput::PollUnanswered { guid, paths };
        e.step(Instant::START, input)
    };
    let respond = |e: &mut Election| e.step(Instant::START, ElectionInput::SmInfoReceived(master));
    assert_eq!(respond(&mut e), []);
    for _ in 0..2 {
        assert!(miss(&mut e).contains(&missed));
        for _ in 0..3 {
            let notices = miss(&mut e);
            let mut notices = notices.iter();
            assert!(!notices.any(|d| matches!(d, Decision::Notice(_))));
        }
        let responds = ElectionNotice::MasterResponds(OTHER);
        assert_eq!(respond(&mut e), [Decision::Notice(responds)]);
        assert_eq!(respond(&mut e), []);
    }
    for _ in 0..4 {
        let _ = miss(&mut e);
    }
    assert!(miss(&mut e).contains(&Decision::Sweep));
}

/// A standby that may miss two polls takes over after three if three paths lead to the master, and
/// reports why.
#[test]
fn standby_polls_over_each_path_before_takeover() {
    let settings = ElectionSettings {
        missed_polls: 2,
        ..ElectionSettings::default()
    };
    let limit = PollLimit {
        polls: 3,
        is_one_per_path: true,
        interval: settings.poll_interval,
    };
    let text = "after 3 unanswered polls (one over each path), one every 10 s";
    assert_eq!(limit.to_string(), text);
    let mut e = Election::new(ME, settings);
    let _ = e.step(Instant::START, scanned(&[other(HIGHER, SmState::Master)]));
    let mut miss = || {
        let (guid, paths) = (OTHER, 3);
        let input = ElectionInput::PollUnanswered { guid, paths };
        e.step(Instant::START, input)
    };
    assert!(miss().contains(&missed_poll(limit)));
    assert!(!miss().contains(&Decision::Sweep));
    assert!(miss().contains(&Decision::Sweep));
}

#[test]
fn transition_table_matches_the_step_function() {
    let mut text = format!("| input | {} |\n", STATES.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(STATES.len() + 1));
    for (name, input) in rows() {
        let _ = write!(text, "| {name} |");
        for before in STATES {
            let mut e = election_in_state(before);
            let outputs = e.step(Instant::START, input.clone());
            let _ = write!(text, " {} |", cell(before, &e, &outputs));
        }
        text.push('\n');
    }
    for (name, output) in outputs() {
        let cells = STATES.map(|state| output(&election_in_state(state)));
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    let documented = include_str!("../transitions.md");
    if text != documented {
        println!("{text}");
    }
    assert_eq!(text, documented, "transitions.md is outdated");
}

/// An output that depends on the state only.
type StateOutput = fn(&Election) -> String;

/// The outputs that depend on the state only, with their row titles.
fn outputs() -> [(&'static str, StateOutput); 5] {
    [
        ("*state in SMInfo*", |e| e.reported_state(None).to_string()),
        ("*priority in SMInfo*", |e| e.priority().to_string()),
        ("*may write*", |e| e.may_write().to_string()),
        ("*may register*", |e| e.may_register().to_string()),
        ("*abandons requests*", |e| e.must_yield().to_string()),
    ]
}

/// Invariants that hold in every cell.
#[test]
fn invariants_hold_in_every_cell() {
    let no_failback = ElectionSettings {
        master_priority: 15,
        ..ElectionSettings::default()
    };
    let refuses_managed = ElectionSettings {
        refuse_managed: true,
        ..ElectionSettings::default()
    };
    let with_allow_list = ElectionSettings {
        allowed: Some(Arc::new(BTreeSet::from([OTHER]))),
        ..ElectionSettings::default()
    };
    let mut checked = 0;
    for settings in [
        ElectionSettings::default(),
        no_failback,
        refuses_managed,
        with_allow_list,
    ] {
        checked += check_invariants(&settings, false) + check_invariants(&settings, true);
    }
    assert!(checked > 4000, "{checked} cells");
}

/// Checks all states that can be reached with these settings, with a complete or an incomplete
/// replica. Returns the number of cells.
fn check_invariants(settings: &ElectionSettings, replica_incomplete: bool) -> usize {
    let mut checked = 0;
    for (name, input) in rows() {
        for (index, before) in STATES.iter().enumerate() {
            let Some(mut e) = build_state(index, settings.clone()) else {
                continue;
            };
            checked += 1;
            let is_incomplete = replica_incomplete;
            let _ = e.step(
                Instant::START,
                ElectionInput::ReplicaChanged { is_incomplete },
            );
            let state_before = e.state();
            let outputs = e.step(Instant::START, input.clone());
            let at = format!("{name} in {before}");
            let replies = outputs
                .iter()
                .filter(|o| matches!(o, Decision::Reply { .. }));
            let is_control = matches!(input, ElectionInput::ControlReceived { .. });
            assert_eq!(
                replies.count(),
                usize::from(is_control),
                "{at}: one reply to a Set"
            );
            if is_control {
                assert!(
                    matches!(outputs[0], Decision::Reply { .. } | Decision::Notice(_)),
                    "{at}"
                );
            }
            let entered = outputs.iter().rev().find_map(|o| {
                let Decision::EnterState { state, .. } = o else {
                    return None;
                };
                Some(*state)
            });
            assert_eq!(
                entered.unwrap_or(state_before),
                e.state(),
                "{at}: state changes are reported"
            );
            if e.state() == SmState::Discovering && entered.is_some() {
                assert_eq!(
                    outputs.last(),
                    Some(&Decision::Sweep),
                    "{at}: a sweep starts in Discovering"
                );
            }
            if state_before == SmState::Standby && e.state() == SmState::Master {
                let handed = matches!(&input, ElectionInput::ControlReceived { control, .. } if *control == SmControl::Handover);
                assert!(handed, "{at}: only HANDOVER makes a standby master");
            }
            // A state that awaits something has a timer.
            let awaits =
                e.other().is_some() || matches!(e.state, State::Master(MasterState::Leaving(_)));
            assert_eq!(e.poll_timeout().is_some(), awaits, "{at}: timer");
        }
    }
    checked
}

#[test]
fn sm_not_allowed_is_rejected_and_reported_once() {
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
    let foreign = other(HIGHER, SmState::Master);
    let out = e.step(Instant::START, scanned(&[foreign]));
    assert!(
        matches!(out[0], Decision::Notice(n) if n.is_alarm()),
        "{out:?}"
    );
    assert!(e.may_write());
    assert_eq!(e.step(Instant::START, scanned(&[foreign])), vec![]);
    let control = SmControl::Handover;
    let out = e.step(Instant::START, control_received(control, foreign));
    assert_eq!(out, vec![Decision::Reply { accepted: false }]);
    // A changed SM state is reported again.
    let out = e.step(Instant::START, scanned(&[other(HIGHER, SmState::Standby)]));
    assert_eq!(out.len(), 1);
    assert!(e.may_write());
}

/// A control that the SM at its source does not confirm changes nothing in any state, and raises an
/// alarm. The only exception repeats a discovery that is in progress.
#[test]
fn forged_controls_are_not_obeyed() {
    for control in (1..=5).map(SmControl) {
        for (name, input) in forged(control) {
            for before in STATES {
                let mut e = election_in_state(before);
                let unchanged = e.clone();
                let out = e.step(Instant::START, input.clone());
                let at = format!("{name} in {before}: {out:?}");
                let is_discovery = before == "Discovering" && name.contains("not discovered");
                if is_discovery && control == SmControl::Handover {
                    assert_eq!(
                        out,
                        [Decision::Reply { accepted: true }, Decision::Sweep],
                        "{at}"
                    );
                    continue;
                }
                assert!(
                    matches!(out[0], Decision::Notice(n) if n.is_alarm()),
                    "{at}"
                );
                let rejected = [Decision::Reply { accepted: false }];
                assert!(out[1..].is_empty() || out[1..] == rejected, "{at}");
                assert_eq!(
                    (state_name(&e), e.due),
                    (state_name(&unchanged), unchanged.due),
                    "{at}"
                );
            }
        }
    }
}

/// A master whose allow-list contains none of the test SMs.
fn master_with_allow_list() -> Election {
    let settings = ElectionSettings {
        allowed: Some(Arc::new(BTreeSet::from([PortGuid(77)]))),
        ..ElectionSettings::default()
    };
    let mut e = Election::new(ME, settings);
    let _ = e.step(Instant::START, scanned(&[]));
    assert!(e.may_write());
    e
}

/// Even if it returns with the same state.
#[test]
fn ignored_sm_is_reported_again_when_it_returns() {
    let mut e = master_with_allow_list();
    let foreign = other(HIGHER, SmState::Standby);
    let report = Decision::Notice(ElectionNotice::SmNotAllowed(OTHER, SmState::Standby));
    let sm_gone = Decision::Notice(ElectionNotice::IgnoredSmGone(OTHER));
    for _ in 0..3 {
        let out = e.step(Instant::START, scanned(&[foreign]));
        assert_eq!(out, vec![report.clone()]);
        assert_eq!(e.step(Instant::START, scanned(&[foreign])), vec![]);
        let out = e.step(Instant::START, scanned(&[]));
        assert_eq!(out, vec![sm_gone.clone()]);
        assert_eq!(e.step(Instant::START, scanned(&[])), vec![]);
    }
    assert!(!ElectionNotice::IgnoredSmGone(OTHER).is_alarm());
}

/// An operator who reads today's log must see the alarm.
#[test]
fn ignored_sm_is_reported_hourly() {
    let mut e = master_with_allow_list();
    let foreign = other(HIGHER, SmState::Standby);
    let mut scan = |minutes: u64| {
        let now = Instant::START + Duration::from_mins(minutes);
        e.step(now, scanned(&[foreign])).len()
    };
    let reports: Vec<u64> = (0..200).filter(|&minutes| scan(minutes) == 1).collect();
    assert_eq!(reports, [0, 60, 120, 180]);
}

/// The GUID in a control can be forged. Even after many forged controls, an SM that a scan finds is
/// reported. One that sent a control before is reported again, because its location is then known.
#[test]
fn forged_guids_hide_no_ignored_sm() {
    let mut e = master_with_allow_list();
    let send_handover = |e: &mut Election, guid| {
        let from = OtherSm {
            guid: PortGuid(guid),
            ..other(HIGHER, SmState::Master)
        };
        let control = SmControl::Handover;
        let mut out = e.step(Instant::START, control_received(control, from));
        assert_eq!(out.pop(), Some(Decision::Reply { accepted: false }));
        out.len()
    };
    let reports: usize = (1000..1200).map(|guid| send_handover(&mut e, guid)).sum();
    assert_eq!(reports, 64, "reports are limited");
    let out = e.step(Instant::START, scanned(&[other(HIGHER, SmState::Master)]));
    let foreign = Decision::Notice(ElectionNotice::SmNotAllowed(OTHER, SmState::Master));
    assert_eq!(out, vec![foreign.clone()]);
    assert_eq!(send_handover(&mut e, OTHER.0), 0, "already reported");

    let mut e = master_with_allow_list();
    assert_eq!(send_handover(&mut e, OTHER.0), 1);
    assert_eq!(send_handover(&mut e, OTHER.0), 0);
    let out = e.step(Instant::START, scanned(&[other(HIGHER, SmState::Master)]));
    assert_eq!(out, vec![foreign]);
}

#[test]
fn managed_subnet_is_refused_until_operator_allows_takeover() {
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

    // A standby has seen the master of the subnet.
    let mut e = Election::new(ME, settings);
    let _ = e.step(Instant::START, scanned(&[other(HIGHER, SmState::Master)]));
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
fn master_priority_prevents_failback() {
    let settings = ElectionSettings {
        master_priority: 14,
        ..ElectionSettings::default()
    };
    let mut e = election_in_state_with("Master, active", settings);
    assert_eq!(e.priority(), 14);
    assert_eq!(
        e.step(Instant::START, scanned(&[other(13, SmState::Standby)])),
        vec![]
    );
    assert!(e.may_write());
    let _ = e.step(Instant::START, scanned(&[other(15, SmState::Standby)]));
    assert_eq!(state_name(&e), "Master, offering");
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
fn standby_tries_all_paths_before_discovery() {
    let mut e = election_in_state("Standby");
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
