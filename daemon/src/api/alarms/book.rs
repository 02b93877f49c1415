//! The life of alarms: raised, acknowledged, cleared.
//!
//! A state machine without I/O and clock. It compares what is wrong with what was, and says what
//! changed.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::SystemTime;

use ferrosm_api::alarm::{Acknowledgement, Alarm, AlarmChange, AlarmState};
use serde::{Deserialize, Serialize};

use super::conditions::{Condition, Conditions};
use crate::api::rfc3339;

/// Most alarms at the same time. What is wrong beyond that is counted only.
pub(in crate::api) const ALARMS_MAX: usize = 10_000;
/// Cleared alarms that are remembered.
const CLEARED_MAX: usize = 1000;
/// What is wrong again within this time after it was cleared has the same alarm.
const REOPEN_WITHIN: Duration = Duration::from_secs(600);

/// Whether what is wrong is reported, or was reported by another SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::api) enum Announce {
    /// Alarms that are raised are news.
    News,
    /// Another SM has reported them.
    Known,
}

/// All alarms.
#[derive(Debug, Default)]
pub(in crate::api) struct AlarmBook {
    last_id: u64,
    /// By the key of what is wrong.
    open: BTreeMap<String, OpenAlarm>,
    /// The newest last.
    cleared: VecDeque<ClearedAlarm>,
    /// What is wrong and has no alarm, because there are too many.
    suppressed: usize,
    /// Rises with each change.
    revision: u64,
}

#[derive(Debug)]
struct OpenAlarm {
    alarm: Alarm,
    /// `times_down` of its condition.
    times_down: u32,
    acknowledged_until: Option<SystemTime>,
    /// This SM does not know now whether it is still wrong: it is not master, or has just started.
    is_suspended: bool,
    is_of_service: bool,
}

#[derive(Debug)]
struct ClearedAlarm {
    open: OpenAlarm,
    at: SystemTime,
}

/// Alarms as they are kept across restarts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::api) struct SavedAlarms {
    last_id: u64,
    open: Vec<Alarm>,
}

impl AlarmBook {
    /// With the alarms of an earlier run. They are not listed until it is known whether they are
    /// still wrong.
    pub(in crate::api) fn restored(saved: SavedAlarms) -> Self {
        let SavedAlarms { last_id, open } = saved;
        let open = open.into_iter().take(ALARMS_MAX).map(|alarm| {
            let until = alarm.acknowledged.as_ref().and_then(|a| a.until.as_ref());
            let open = OpenAlarm {
                times_down: 0,
                acknowledged_until: until.and_then(|at| humantime::parse_rfc3339(at).ok()),
                is_suspended: true,
                is_of_service: false,
                alarm,
            };
            (open.alarm.key.clone(), open)
        });
        Self {
            last_id,
            open: open.collect(),
            ..Self::default()
        }
    }

    /// The alarms, to keep them across a restart.
    pub(in crate::api) fn saved(&self) -> SavedAlarms {
        SavedAlarms {
            last_id: self.last_id,
            open: self.open.values().map(|open| open.alarm.clone()).collect(),
        }
    }

    /// Rises with each change.
    pub(in crate::api) const fn revision(&self) -> u64 {
        self.revision
    }

    /// What is wrong and has no alarm, because there are too many.
    pub(in crate::api) const fn suppressed(&self) -> usize {
        self.suppressed
    }

    /// All alarms: the most severe first, those that were cleared last.
    pub(in crate::api) fn list(&self) -> Vec<Alarm> {
        let open = self.open.values().filter(|open| !open.is_suspended);
        let mut alarms: Vec<Alarm> = open.map(|open| open.alarm.clone()).collect();
        alarms.sort_by_key(|alarm| (core::cmp::Reverse(alarm.severity), alarm.id));
        let cleared = self.cleared.iter().rev();
        alarms.extend(cleared.map(|cleared| cleared.open.alarm.clone()));
        alarms
    }

    /// The number of the alarm of a condition.
    pub(in crate::api) fn id_of(&self, key: &str) -> Option<u64> {
        let open = self.open.get(key).filter(|open| !open.is_suspended);
        open.map(|open| open.alarm.id)
    }

    /// Compares the alarms with what is wrong now. Returns what changed: causes before what they
    /// explain.
    pub(in crate::api) fn update(
        &mut self,
        conditions: Conditions,
        announce: Announce,
        now: SystemTime,
    ) -> Vec<(AlarmChange, Alarm)> {
        let mut changes = Vec::new();
        let Conditions {
            items,
            covers_fabric,
        } = conditions;
        let wrong: BTreeSet<&str> = items.iter().map(|condition| &*condition.key).collect();
        self.clear_others(&wrong, covers_fabric, now, &mut changes);
        self.suppressed = 0;
        // What a condition refers to has its alarm first.
        let (causes, caused): (Vec<_>, Vec<_>) = items
            .into_iter()
            .partition(|condition| condition.cause.is_none());
        for condition in causes.into_iter().chain(caused) {
            if let Some(change) = self.open(condition, announce, now) {
                changes.push(change);
            }
        }
        self.end_acknowledgements(now, &mut changes);
        if !changes.is_empty() {
            self.revision += 1;
        }
        changes
    }

    /// Whether an acknowledgement has ended since the last update.
    pub(in crate::api) fn has_ended_acknowledgement(&self, now: SystemTime) -> bool {
        let mut untils = self
            .open
            .values()
            .filter_map(|open| open.acknowledged_until);
        untils.any(|until| until <= now)
    }

    /// Acknowledges an alarm. `None` if no such alarm is open.
    pub(in crate::api) fn acknowledge(
        &mut self,
        id: u64,
        acknowledgement: Acknowledgement,
        until: Option<SystemTime>,
    ) -> Option<Alarm> {
        let open = self
            .open
            .values_mut()
            .find(|open| open.alarm.id == id && !open.is_suspended)?;
        open.alarm.state = AlarmState::Acknowledged;
        open.alarm.acknowledged = Some(acknowledgement);
        open.acknowledged_until = until;
        self.revision += 1;
        Some(open.alarm.clone())
    }

    /// Clears alarms of what is not wrong any more.
    fn clear_others(
        &mut self,
        wrong: &BTreeSet<&str>,
        covers_fabric: bool,
        now: SystemTime,
        changes: &mut Vec<(AlarmChange, Alarm)>,
    ) {
        let mut over = Vec::new();
        for (key, open) in &mut self.open {
            if wrong.contains(&**key) {
                continue;
            }
            if covers_fabric || open.is_of_service {
                over.push(key.clone());
            } else if !open.is_suspended {
                open.is_suspended = true;
                self.revision += 1;
            }
        }
        for key in over {
            let Some(mut open) = self.open.remove(&key) else {
                continue;
            };
            open.alarm.state = AlarmState::Cleared;
            open.alarm.cleared_at = Some(rfc3339(now));
            changes.push((AlarmChange::Cleared, open.alarm.clone()));
            if self.cleared.len() == CLEARED_MAX {
                self.cleared.pop_front();
            }
            self.cleared.push_back(ClearedAlarm { open, at: now });
        }
    }

    /// The alarm of a condition: the open one, the one that was cleared a moment ago, or a new one.
    fn open(
        &mut self,
        condition: Condition,
        announce: Announce,
        now: SystemTime,
    ) -> Option<(AlarmChange, Alarm)> {
        let cause = condition
            .cause
            .as_ref()
            .and_then(|key| self.open.get(key).map(|open| open.alarm.id));
        if let Some(open) = self.open.get_mut(&condition.key) {
            let has_changed = open.refresh(condition, cause, &mut self.revision);
            let is_shown = core::mem::take(&mut open.is_suspended);
            self.revision += u64::from(is_shown);
            return has_changed.then(|| (AlarmChange::Changed, open.alarm.clone()));
        }
        if self.open.len() >= ALARMS_MAX {
            self.suppressed += 1;
            return None;
        }
        let key = condition.key.clone();
        let open = match self.take_cleared(&key, now) {
            Some(mut open) => {
                let is_counted = open.times_down < condition.times_down;
                // saturates: a counter stops at its maximum.
                let occurrences = open
                    .alarm
                    .occurrences
                    .saturating_add(u32::from(!is_counted));
                open.alarm.occurrences = occurrences;
                open.alarm.cleared_at = None;
                open.alarm.state = match open.alarm.acknowledged {
                    Some(_) => AlarmState::Acknowledged,
                    None => AlarmState::Active,
                };
                open.refresh(condition, cause, &mut self.revision);
                open
            }
            None => {
                self.last_id += 1;
                OpenAlarm::new(self.last_id, condition, cause, now)
            }
        };
        self.revision += 1;
        let alarm = open.alarm.clone();
        self.open.insert(key, open);
        (announce == Announce::News).then_some((AlarmChange::Raised, alarm))
    }

    fn take_cleared(&mut self, key: &str, now: SystemTime) -> Option<OpenAlarm> {
        let is_recent = |cleared: &ClearedAlarm| {
            let ago = now.duration_since(cleared.at).unwrap_or_default();
            cleared.open.alarm.key == key && ago < REOPEN_WITHIN
        };
        let at = self.cleared.iter().rposition(is_recent)?;
        self.cleared.remove(at).map(|cleared| cleared.open)
    }

    fn end_acknowledgements(&mut self, now: SystemTime, changes: &mut Vec<(AlarmChange, Alarm)>) {
        let open = self.open.values_mut();
        for open in open.filter(|open| open.acknowledged_until.is_some_and(|until| until <= now)) {
            open.acknowledged_until = None;
            open.alarm.acknowledged = None;
            open.alarm.state = AlarmState::Active;
            changes.push((AlarmChange::Unacknowledged, open.alarm.clone()));
        }
    }
}

impl OpenAlarm {
    fn new(id: u64, condition: Condition, cause: Option<u64>, now: SystemTime) -> Self {
        Self {
            times_down: condition.times_down,
            acknowledged_until: None,
            is_suspended: false,
            is_of_service: condition.is_of_service,
            alarm: Alarm {
                id,
                key: condition.key,
                kind: condition.kind.to_owned(),
                severity: condition.severity,
                state: AlarmState::Active,
                object: condition.object,
                text: condition.text,
                raised_at: rfc3339(now),
                since: condition.since,
                cleared_at: None,
                occurrences: 1,
                acknowledged: None,
                cause,
                parts: condition.parts,
                num_parts: condition.num_parts,
            },
        }
    }

    /// Takes over what a condition is now. Returns whether kind or severity changed.
    fn refresh(&mut self, condition: Condition, cause: Option<u64>, revision: &mut u64) -> bool {
        self.is_of_service = condition.is_of_service;
        let alarm = &mut self.alarm;
        let before = alarm.clone();
        // The count begins anew with each term of this SM as master.
        let new_losses = condition.times_down.saturating_sub(self.times_down);
        self.times_down = condition.times_down;
        // saturates: a counter stops at its maximum.
        alarm.occurrences = alarm.occurrences.saturating_add(new_losses);
        condition.kind.clone_into(&mut alarm.kind);
        alarm.severity = condition.severity;
        alarm.object = condition.object;
        alarm.text = condition.text;
        alarm.since = condition.since;
        alarm.cause = cause;
        alarm.parts = condition.parts;
        alarm.num_parts = condition.num_parts;
        *revision += u64::from(*alarm != before);
        alarm.kind != before.kind || alarm.severity != before.severity
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_api::event::EventSeverity;
    use ferrosm_api::object::ObjectName;

    use super::*;

    fn at(s: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1000 + s)
    }

    fn condition(key: &str, times_down: u32) -> Condition {
        Condition {
            key: key.to_owned(),
            kind: "link-down",
            severity: EventSeverity::Error,
            object: ObjectName {
                guid: "0x1".to_owned(),
                name: key.to_owned(),
                location: key.to_owned(),
            },
            place: key.to_owned(),
            text: "down".to_owned(),
            since: None,
            times_down,
            cause: None,
            parts: Vec::new(),
            num_parts: 0,
            is_of_service: false,
        }
    }

    fn fabric(items: Vec<Condition>) -> Conditions {
        Conditions {
            items,
            covers_fabric: true,
        }
    }

    fn standby() -> Conditions {
        Conditions::default()
    }

    /// What changed, with the numbers of the alarms.
    fn changes(
        book: &mut AlarmBook,
        conditions: Conditions,
        now: SystemTime,
    ) -> Vec<(AlarmChange, u64)> {
        let changes = book.update(conditions, Announce::News, now);
        let changes = changes.iter().map(|(change, alarm)| (*change, alarm.id));
        changes.collect()
    }

    /// An alarm has one number from raise to clear; a link that is lost again soon keeps it and is
    /// counted.
    #[test]
    fn alarm_keeps_its_number() {
        use AlarmChange::{Changed, Cleared, Raised};
        let mut book = AlarmBook::default();
        let a = |times| fabric(vec![condition("a", times)]);
        assert_eq!(changes(&mut book, a(1), at(0)), [(Raised, 1)]);
        assert_eq!(changes(&mut book, a(1), at(1)), []);
        assert_eq!(changes(&mut book, fabric(vec![]), at(2)), [(Cleared, 1)]);
        let both = fabric(vec![condition("a", 2), condition("b", 1)]);
        assert_eq!(changes(&mut book, both, at(3)), [(Raised, 1), (Raised, 2)]);
        let flapping = Condition {
            kind: "link-flapping",
            ..condition("a", 5)
        };
        let both = fabric(vec![flapping, condition("b", 1)]);
        assert_eq!(changes(&mut book, both, at(4)), [(Changed, 1)]);
        let first = &book.list()[0];
        assert_eq!((&*first.kind, first.occurrences), ("link-flapping", 5));
        assert_eq!(first.raised_at, rfc3339(at(0)));
        assert_eq!(
            changes(&mut book, fabric(vec![]), at(5)),
            [(Cleared, 1), (Cleared, 2)]
        );
        // Long after it was cleared it is another alarm.
        assert_eq!(changes(&mut book, a(6), at(605)), [(Raised, 3)]);
        let states: Vec<_> = book.list().iter().map(|alarm| alarm.state).collect();
        use AlarmState::{Active, Cleared as Over};
        assert_eq!(states, [Active, Over, Over]);
    }

    /// An acknowledgement ends at its time, or with the alarm.
    #[test]
    fn acknowledgement_ends() {
        use AlarmChange::{Raised, Unacknowledged};
        let mut book = AlarmBook::default();
        let a = || fabric(vec![condition("a", 0)]);
        assert_eq!(changes(&mut book, a(), at(0)), [(Raised, 1)]);
        let by = || Acknowledgement {
            by: "root".to_owned(),
            at: rfc3339(at(0)),
            until: None,
            reason: None,
        };
        assert_eq!(book.acknowledge(2, by(), None), None);
        let acknowledged = book.acknowledge(1, by(), Some(at(9))).unwrap();
        assert_eq!(acknowledged.state, AlarmState::Acknowledged);
        assert_eq!(changes(&mut book, a(), at(8)), []);
        assert_eq!(changes(&mut book, a(), at(9)), [(Unacknowledged, 1)]);
        assert_eq!(book.list()[0].state, AlarmState::Active);
    }

    /// What was wrong before a takeover is no news; alarms of an earlier run or term keep their
    /// numbers, and are not listed while this SM does not know.
    #[test]
    fn known_alarms_are_not_raised_again() {
        let mut book = AlarmBook::default();
        let both = || fabric(vec![condition("a", 0), condition("b", 0)]);
        assert_eq!(book.update(both(), Announce::Known, at(0)), []);
        assert_eq!(book.id_of("b"), Some(2));
        assert_eq!(changes(&mut book, standby(), at(1)), []);
        assert_eq!((book.list().len(), book.id_of("a")), (0, None));
        let mut restarted = AlarmBook::restored(book.saved());
        assert_eq!(restarted.list(), []);
        let later = fabric(vec![condition("b", 0), condition("c", 0)]);
        assert_eq!(
            changes(&mut restarted, later, at(2)),
            [(AlarmChange::Cleared, 1), (AlarmChange::Raised, 3)]
        );
        let open: Vec<u64> = restarted.list().iter().map(|alarm| alarm.id).collect();
        assert_eq!(open, [2, 3, 1]);
    }

    /// The number of alarms is bounded; the rest is counted.
    #[test]
    fn alarms_are_bounded() {
        let mut book = AlarmBook::default();
        let many = (0..ALARMS_MAX + 5).map(|i| condition(&format!("{i}"), 0));
        let raised = book.update(fabric(many.collect()), Announce::News, at(0));
        assert_eq!((raised.len(), book.suppressed()), (ALARMS_MAX, 5));
        let cleared = book.update(fabric(vec![]), Announce::News, at(1));
        assert_eq!((cleared.len(), book.suppressed()), (ALARMS_MAX, 0));
        assert_eq!(book.list().len(), CLEARED_MAX);
    }

    /// A condition refers to the alarm of its cause, whatever their order.
    #[test]
    fn cause_has_its_alarm_first() {
        let mut book = AlarmBook::default();
        let host = Condition {
            cause: Some("switch".to_owned()),
            ..condition("host", 0)
        };
        let conditions = fabric(vec![host, condition("switch", 0)]);
        assert_eq!(book.update(conditions, Announce::News, at(0)).len(), 2);
        let host = book.list().into_iter().find(|a| a.key == "host").unwrap();
        assert_eq!((host.id, host.cause), (2, Some(1)));
    }
}
