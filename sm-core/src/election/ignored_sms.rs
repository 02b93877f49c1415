//! SMs that the election ignores: not on the allow-list, or with another SM_Key. Each is reported
//! when it appears, and once an hour while it stays. The election classifies them.

use core::time::Duration;
use std::collections::BTreeMap;

use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use super::{Decision, ElectionNotice, OtherSm};

/// Limit of reported SMs, separately for SMs that responded and SMs that sent a control. A control
/// may contain any GUID; those beyond the limit are rejected without a report.
const REPORTED_MAX: usize = 64;
/// Interval after which an SM that is still present is reported again.
const REPORT_INTERVAL: Duration = Duration::from_hours(1);

/// The last report of each SM, and its time.
type Reports = BTreeMap<PortGuid, (ElectionNotice, Instant)>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct IgnoredSms {
    /// SMs that responded, and therefore exist.
    responders: Reports,
    /// SMs that only sent controls. They have a limit of their own, so that forged GUIDs hide no
    /// real SM.
    senders: Reports,
}

impl IgnoredSms {
    pub(super) const fn new() -> Self {
        Self {
            responders: BTreeMap::new(),
            senders: BTreeMap::new(),
        }
    }

    /// Whether an ignored SM with this GUID responded.
    pub(super) fn contains(&self, guid: PortGuid) -> bool {
        self.responders.contains_key(&guid)
    }

    /// Whether no ignored SM responded.
    pub(super) fn is_empty(&self) -> bool {
        self.responders.is_empty()
    }

    /// An ignored SM responded. It is reported even if its control was reported before, because its
    /// location is known now.
    pub(super) fn on_response(
        &mut self,
        now: Instant,
        guid: PortGuid,
        notice: ElectionNotice,
        out: &mut Vec<Decision>,
    ) {
        self.senders.remove(&guid);
        report(&mut self.responders, now, guid, notice, out);
    }

    /// An ignored SM sent a control.
    pub(super) fn on_request(
        &mut self,
        now: Instant,
        guid: PortGuid,
        notice: ElectionNotice,
        out: &mut Vec<Decision>,
    ) {
        if self.senders.len() >= REPORTED_MAX {
            self.senders
                .retain(|_, (_, at)| now < *at + REPORT_INTERVAL);
        }
        if !self.responders.contains_key(&guid) {
            report(&mut self.senders, now, guid, notice, out);
        }
    }

    /// The SM takes part in the election.
    pub(super) fn remove(&mut self, guid: PortGuid) {
        self.responders.remove(&guid);
        self.senders.remove(&guid);
    }

    /// An SMInfo scan is complete; `other_sms` are the SMs that responded.
    pub(super) fn on_scan_completed(&mut self, other_sms: &[OtherSm], out: &mut Vec<Decision>) {
        self.responders.retain(|guid, _| {
            let responded = other_sms.iter().any(|p| p.guid == *guid);
            if !responded {
                out.push(Decision::Notice(ElectionNotice::IgnoredSmGone(*guid)));
            }
            responded
        });
    }
}

fn report(
    reports: &mut Reports,
    now: Instant,
    guid: PortGuid,
    notice: ElectionNotice,
    out: &mut Vec<Decision>,
) {
    let before = reports.get(&guid);
    // The sender chooses what a control claims: otherwise it could cause a report with each one.
    let is_same = |reported: &ElectionNotice| {
        let both = (reported, &notice);
        *reported == notice
            || matches!(
                both,
                (
                    ElectionNotice::ControlUnconfirmed { .. },
                    ElectionNotice::ControlUnconfirmed { .. }
                )
            )
    };
    let is_known =
        before.is_some_and(|(reported, at)| is_same(reported) && now < *at + REPORT_INTERVAL);
    let has_room = before.is_some() || reports.len() < REPORTED_MAX;
    if has_room && !is_known {
        reports.insert(guid, (notice, now));
        out.push(Decision::Notice(notice));
    }
}
