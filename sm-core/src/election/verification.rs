//! Verification: a master that stalled, lost its lease, or is to hand over queries the other SMs
//! before it writes again.

use ferrosm_mad::attr::SmState;
use ferrosm_mad::time::Instant;

use super::master::{InterruptedWork, Leaving, MasterState, Verification};
use super::{
    AfterHandover, Decision, Election, ElectionNotice, HandoverReason, OtherSm, RoleChangeReason,
    SmRank, State,
};

impl Election {
    /// The process stalled: another SM may be master.
    pub(super) fn on_stalled(&mut self, sms_known: bool, out: &mut Vec<Decision>) {
        if !self.may_write() && !self.is_verifying() {
            return;
        }
        let handover = self.pending_handover();
        let work = InterruptedWork::Abandoned;
        self.verify(true, handover, work, sms_known, out);
    }

    /// The lease is lost: another SM may acquire it. The process did not stall and has received all
    /// MADs, so if it is idle and no other SM is master, nothing has to be repeated.
    pub(super) fn on_lease_lost(
        &mut self,
        is_idle: bool,
        sms_known: bool,
        out: &mut Vec<Decision>,
    ) {
        let work = match self.state {
            State::Master(MasterState::Verifying(before)) => before.work,
            // An SM that has just started finds this master before it acquires the lease.
            State::Master(MasterState::Active) if !sms_known => return,
            State::Master(MasterState::Active) if is_idle => InterruptedWork::Idle,
            State::Master(MasterState::Active) => InterruptedWork::Abandoned,
            State::Master(
                MasterState::Offering(_) | MasterState::Waiting(_) | MasterState::Leaving(_),
            )
            | State::NotActive(_)
            | State::Discovering
            | State::Standby(_) => return,
        };
        let handover = self.pending_handover();
        self.verify(true, handover, work, sms_known, out);
    }

    /// The operator requests a handover from an active master, or one that waits for another. The
    /// other SMs are queried first, because one may have just started.
    pub(super) fn prepare_handover(
        &mut self,
        now: Instant,
        after: AfterHandover,
        sms_known: bool,
        out: &mut Vec<Decision>,
    ) {
        if sms_known {
            let work = InterruptedWork::Abandoned;
            self.verify(false, Some(after), work, sms_known, out);
        } else {
            self.choose_successor(now, after, &[], out);
        }
    }

    /// The handover that follows the verification.
    pub(super) const fn pending_handover(&self) -> Option<AfterHandover> {
        match self.state {
            State::Master(MasterState::Verifying(verification)) => verification.handover,
            State::Master(
                MasterState::Active
                | MasterState::Offering(_)
                | MasterState::Waiting(_)
                | MasterState::Leaving(_),
            )
            | State::NotActive(_)
            | State::Discovering
            | State::Standby(_) => None,
        }
    }

    fn verify(
        &mut self,
        is_outdated: bool,
        handover: Option<AfterHandover>,
        work: InterruptedWork,
        sms_known: bool,
        out: &mut Vec<Decision>,
    ) {
        let work = if !sms_known {
            out.push(Decision::Sweep);
            InterruptedWork::InSweep
        } else {
            out.push(Decision::RescanSms);
            if work == InterruptedWork::InSweep {
                InterruptedWork::Abandoned
            } else {
                work
            }
        };
        self.due = None;
        self.state = State::Master(MasterState::Verifying(Verification {
            is_outdated,
            handover,
            work,
        }));
    }

    /// The SMInfo scan is complete: this SM is replaced, hands over, or is active again.
    pub(super) fn finish_verification(
        &mut self,
        now: Instant,
        verification: Verification,
        seen: &[OtherSm],
        out: &mut Vec<Decision>,
    ) {
        let master = seen.iter().find(|p| p.is_master());
        if let Some(master) = master.filter(|_| verification.is_outdated) {
            // It may have acknowledged registrations that this SM does not know: its state is
            // loaded before anything else.
            self.on_mastership_lost(RoleChangeReason::Deposed(master.guid), out);
            return;
        }
        self.state = State::Master(MasterState::Active);
        match verification.handover {
            Some(after) => self.choose_successor(now, after, seen, out),
            None => self.compare_sms(now, seen, out),
        }
        // An SM of higher rank may be about to become master, because it queried this one while
        // that reported Discovering. A sweep queries it again.
        let own_rank = self.rank();
        let discovers = |p: &OtherSm| p.state == SmState::Discovering && p.rank() > own_rank;
        let repeats = match verification.work {
            InterruptedWork::Idle => verification.is_outdated && seen.iter().any(discovers),
            InterruptedWork::Abandoned => true,
            InterruptedWork::InSweep => false,
        };
        if repeats && self.may_write() {
            out.push(Decision::Sweep);
        }
    }

    /// Hands over, or stops, at the operator's request. `seen` are the SMs that responded.
    fn choose_successor(
        &mut self,
        now: Instant,
        after: AfterHandover,
        seen: &[OtherSm],
        out: &mut Vec<Decision>,
    ) {
        if after == AfterHandover::Stop {
            self.prepare_stop(now, Leaving { scans: 0 }, seen, out);
            return;
        }
        // After the handover this SM has priority 0. A successor that it outranks then would hand
        // the subnet back.
        let min_rank = SmRank {
            priority: 0,
            guid: self.own_guid,
        };
        // The rank of an SM that is not ready may still change.
        let is_candidate = |p: &&OtherSm| p.competes() && (p.rank() > min_rank || !p.is_ready());
        let candidates = seen.iter().filter(is_candidate);
        // One that lacks the M_Key is chosen only if no other is left, for the message.
        match candidates.max_by_key(|p| (!p.lacks_m_key(), p.state, p.rank())) {
            Some(peer) if peer.lacks_m_key() => {
                out.push(Decision::Notice(ElectionNotice::LacksMKey(peer.guid)));
            }
            Some(peer) if peer.is_ready() => {
                self.offer(now, peer.guid, after, HandoverReason::Operator, out);
            }
            Some(peer) => out.push(Decision::Notice(ElectionNotice::SuccessorNotReady(
                peer.guid,
            ))),
            None if seen.is_empty() => {
                let is_any_ignored = !self.ignored.is_empty();
                out.push(Decision::Notice(ElectionNotice::NoOtherSm {
                    is_any_ignored,
                }));
            }
            None => out.push(Decision::Notice(ElectionNotice::NoSuccessor)),
        }
    }
}
