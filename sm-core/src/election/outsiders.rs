//! SMs that take no part: at ports where none may run, or with another SM_Key. What was told of them, so that each is told once, and
//! again when it comes back. Decides nothing: whether an SM is one of them is known before.

use std::collections::BTreeMap;

use ferrosm_mad::ids::PortGuid;

use super::{Notice, Output, Peer};

/// So many of each kind are told. Those that ask may name any GUID; when they are too many, further ones are refused without a word.
const TOLD_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Outsiders {
    /// They answered, so they are there.
    seen: BTreeMap<PortGuid, Notice>,
    /// They only asked, and take no room from those that are there.
    asked: BTreeMap<PortGuid, Notice>,
}

impl Outsiders {
    pub(super) const fn new() -> Self {
        Self {
            seen: BTreeMap::new(),
            asked: BTreeMap::new(),
        }
    }

    /// One answered. It is told where it runs, so also if it was told before that it asked.
    pub(super) fn on_answer(&mut self, guid: PortGuid, notice: Notice, out: &mut Vec<Output>) {
        self.asked.remove(&guid);
        tell(&mut self.seen, guid, notice, out);
    }

    /// One asked.
    pub(super) fn on_request(&mut self, guid: PortGuid, notice: Notice, out: &mut Vec<Output>) {
        if !self.seen.contains_key(&guid) {
            tell(&mut self.asked, guid, notice, out);
        }
    }

    /// It takes part.
    pub(super) fn forget(&mut self, guid: PortGuid) {
        self.seen.remove(&guid);
        self.asked.remove(&guid);
    }

    /// All SMs were asked, and these answered.
    pub(super) fn on_looked(&mut self, all: &[Peer], out: &mut Vec<Output>) {
        self.seen.retain(|guid, _| {
            let is_there = all.iter().any(|p| p.guid == *guid);
            if !is_there {
                out.push(Output::Notice(Notice::OutsiderGone(*guid)));
            }
            is_there
        });
    }
}

fn tell(
    told: &mut BTreeMap<PortGuid, Notice>,
    guid: PortGuid,
    notice: Notice,
    out: &mut Vec<Output>,
) {
    let has_room = told.len() < TOLD_MAX || told.contains_key(&guid);
    if has_room && told.insert(guid, notice) != Some(notice) {
        out.push(Output::Notice(notice));
    }
}
