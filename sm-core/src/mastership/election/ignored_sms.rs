//! SMs that take no part: at ports where none may run, or with another SM_Key. What was told of them, so that each is told once, again
//! when it comes back, and once an hour as long as it stays. Decides nothing: whether an SM is one of them is known before.

use core::time::Duration;
use std::collections::BTreeMap;

use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use super::{Decision, ElectionNotice, OtherSm};

/// So many of each kind are told. Those that ask may name any GUID; when they are too many, further ones are refused without a word.
const TOLD_MAX: usize = 64;
/// So long after it was told of one that is still there, it is told again.
const AGAIN: Duration = Duration::from_hours(1);

/// What was told of each last, and when.
type Told = BTreeMap<PortGuid, (ElectionNotice, Instant)>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct IgnoredSms {
    /// They answered, so they are there.
    seen: Told,
    /// They only asked, and take no room from those that are there.
    asked: Told,
}

impl IgnoredSms {
    pub(super) const fn new() -> Self {
        Self {
            seen: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    /// Whether one is there that was told of.
    pub(super) fn contains(&self, guid: PortGuid) -> bool {
        self.seen.contains_key(&guid)
    }

    /// One answered. It is told where it runs, so also if it was told before that it asked.
    pub(super) fn on_answer(
        &mut self,
        now: Instant,
        guid: PortGuid,
        notice: ElectionNotice,
        out: &mut Vec<Decision>,
    ) {
        self.asked.remove(&guid);
        tell(&mut self.seen, now, guid, notice, out);
    }

    /// One asked.
    pub(super) fn on_request(
        &mut self,
        now: Instant,
        guid: PortGuid,
        notice: ElectionNotice,
        out: &mut Vec<Decision>,
    ) {
        if !self.seen.contains_key(&guid) {
            tell(&mut self.asked, now, guid, notice, out);
        }
    }

    /// It takes part.
    pub(super) fn forget(&mut self, guid: PortGuid) {
        self.seen.remove(&guid);
        self.asked.remove(&guid);
    }

    /// All SMs were asked, and these answered.
    pub(super) fn on_scan_completed(&mut self, all: &[OtherSm], out: &mut Vec<Decision>) {
        self.seen.retain(|guid, _| {
            let contains = all.iter().any(|p| p.guid == *guid);
            if !contains {
                out.push(Decision::Notice(ElectionNotice::IgnoredSmGone(*guid)));
            }
            contains
        });
    }
}

fn tell(
    told: &mut Told,
    now: Instant,
    guid: PortGuid,
    notice: ElectionNotice,
    out: &mut Vec<Decision>,
) {
    let before = told.get(&guid);
    let is_known = before.is_some_and(|(known, at)| *known == notice && now < *at + AGAIN);
    let has_room = before.is_some() || told.len() < TOLD_MAX;
    if has_room && !is_known {
        told.insert(guid, (notice, now));
        out.push(Decision::Notice(notice));
    }
}
