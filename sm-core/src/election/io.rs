//! Inputs and outputs of an [`Election`](super::Election).

use core::fmt;
use core::time::Duration;

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use serde::{Deserialize, Serialize};

use super::other_sm::OtherSm;
use crate::config::sections::ConfigSections;
use crate::event_table::{display, events};

/// An input of the election.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ElectionInput {
    /// Response to [`Decision::Poll`]. Responses to other queries are part of
    /// [`ElectionInput::ScanCompleted`].
    SmInfoReceived(OtherSm),
    /// No response to [`Decision::Poll`], or a response from another SM.
    PollUnanswered {
        /// The polled SM.
        guid: PortGuid,
        /// Number of known paths to it.
        paths: u8,
    },
    /// Another SM sent Set(SMInfo) with the correct M_Key, and the SM at the port that it came from
    /// responded to Get(SMInfo).
    ControlReceived {
        /// The attribute modifier.
        control: SmControl,
        /// The sender, as the control identifies it.
        from: OtherSm,
        /// The SM that it came from.
        source: ControlSource,
    },
    /// Set(SMInfo) came from a port without an SM, or from an unknown place.
    ControlUnconfirmed {
        /// The attribute modifier.
        control: SmControl,
        /// The sender, as the control identifies it.
        claimed: PortGuid,
        /// The port that it came from, if it is known.
        port: Option<PortGuid>,
    },
    /// Response to [`Decision::SendControl`].
    ControlAnswered {
        /// The responder.
        guid: PortGuid,
        /// The attribute modifier of the request.
        control: SmControl,
        /// Whether the responder accepted it.
        accepted: bool,
    },
    /// No response to [`Decision::SendControl`] after all retries.
    ControlUnanswered {
        /// The SM that did not respond.
        guid: PortGuid,
        /// The attribute modifier of the request.
        control: SmControl,
    },
    /// An SMInfo scan is complete, in a sweep or outside one.
    ScanCompleted {
        /// The SMs that responded.
        seen: Vec<OtherSm>,
        /// Whether ports are configured by a master that did not respond.
        managed: bool,
    },
    /// Another SM reported a changed priority by trap 144.
    PriorityTrapReceived,
    /// The operator set the priority of this SM.
    SetPriority(u8),
    /// The operator requests a handover.
    HandOver {
        /// What this SM does after the handover.
        then: AfterHandover,
        /// Ports with other SMs are known.
        sms_known: bool,
    },
    /// The operator allows this SM to take over a subnet that another SM configured. A standby
    /// whose master does not respond discovers the subnet at once.
    TakeOver,
    /// This process stalled for so long that another SM may be master.
    Stalled {
        /// Ports with other SMs are known.
        sms_known: bool,
    },
    /// The master's lease is lost (replication through etcd): another SM may acquire it.
    LeaseLost {
        /// No request is in progress, except an SMInfo scan outside a sweep.
        is_idle: bool,
        /// Ports with other SMs are known.
        sms_known: bool,
    },
    /// Whether the replica of the master's records lacks records.
    ReplicaChanged {
        /// It lacks records.
        is_incomplete: bool,
    },
    /// Whether other SMs must not see this one yet, because it has not compared its configuration
    /// with a fabric that another SM manages.
    Hidden(bool),
    /// Whether this SM would remove what the present master configured, without consent.
    ConsentChanged {
        /// Consent is missing.
        is_awaited: bool,
    },
    /// The replica is loaded, or cannot be.
    ReplicaLoadEnded,
    /// Replication receives nothing from an SM any more.
    PeerSilent {
        /// That SM.
        guid: PortGuid,
        /// This process was itself impaired: the SM may be alive.
        uncertain: bool,
    },
    /// Another SM holds the master's lease (replication through etcd): this SM must not remain
    /// master.
    Deposed(PortGuid),
    /// The SM's own port has no link.
    LinkDown,
    /// [`Election::poll_timeout`](super::Election::poll_timeout) has passed. Has no effect if it
    /// has not.
    Timer,
}

/// The SM that a control came from: a control identifies its sender itself, so that any host can
/// forge one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ControlSource {
    /// The port that the control came from; `None` if discovery has not found it yet.
    pub port: Option<PortGuid>,
    /// The response of the SM at that port to Get(SMInfo).
    pub sm: OtherSm,
}

/// What an SM does after it handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AfterHandover {
    /// It becomes standby of the new master.
    StandBy,
    Stop,
}

/// An output of the election.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Send Get(SMInfo); [`ElectionInput::SmInfoReceived`] or [`ElectionInput::PollUnanswered`]
    /// follows.
    Poll {
        /// The SM to poll.
        to: PortGuid,
        /// Index of the path: 0 is the shortest; the index wraps around after the last alternative.
        path: u8,
    },
    /// Send Set(SMInfo); [`ElectionInput::ControlAnswered`] or [`ElectionInput::ControlUnanswered`]
    /// follows.
    SendControl {
        /// The receiver.
        to: PortGuid,
        /// The attribute modifier.
        control: SmControl,
    },
    /// Reply to the [`ElectionInput::ControlReceived`] of this step. The reply contains the SMInfo
    /// from before the step (docs/sm-behaviour.md, 8.11).
    Reply {
        /// Whether the control is accepted.
        accepted: bool,
    },
    /// The SM state changes.
    EnterState {
        /// The new state.
        state: SmState,
        why: RoleChangeReason,
    },
    /// Start a full sweep that trusts no earlier result, because another SM may have configured
    /// devices. It ends with [`ElectionInput::ScanCompleted`].
    Sweep,
    /// Start an SMInfo scan soon; [`ElectionInput::ScanCompleted`] follows.
    ScanSms,
    /// Start an SMInfo scan next. One in progress is abandoned: its responses may be older than
    /// this step.
    RescanSms,
    /// Load the replica of the last master's records; [`ElectionInput::ReplicaLoadEnded`] follows.
    LoadReplica,
    /// Send trap 144 with the priority flag to this master, which then scans the SMs
    /// (docs/sm-behaviour.md, 8.4).
    SendPriorityTrap {
        /// The master.
        to: PortGuid,
    },
    /// The process may exit: the subnet is handed over, or no other SM took it.
    Stop {
        /// The new master.
        handed_to: Option<PortGuid>,
        /// This SM was master until then.
        was_master: bool,
    },
    /// Report this to the operator.
    Notice(ElectionNotice),
}

impl Decision {
    /// The new state, if it changes, and the SM that this one handed over to.
    #[must_use]
    pub const fn role(&self) -> Option<(SmState, Option<PortGuid>)> {
        match self {
            Self::EnterState {
                state,
                why: RoleChangeReason::HandedOverTo(to, _),
            } => Some((*state, Some(*to))),
            Self::EnterState { state, .. } => Some((*state, None)),
            Self::Poll { .. }
            | Self::SendControl { .. }
            | Self::Reply { .. }
            | Self::Sweep
            | Self::ScanSms
            | Self::RescanSms
            | Self::LoadReplica
            | Self::SendPriorityTrap { .. }
            | Self::Stop { .. }
            | Self::Notice(_) => None,
        }
    }
}

/// Why the SM state changed. `Display` is a part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoleChangeReason {
    /// No other SM is master or outranks this one.
    HighestRanked,
    /// The given SM is master, or outranks this one.
    Yielded(OtherSm),
    /// The given SM took over from this one.
    HandedOverTo(PortGuid, HandoverReason),
    /// The given SM, the former master, handed over to this one.
    HandoverReceived(PortGuid),
    /// The polled master does not respond.
    MasterSilent(PortGuid),
    /// The polled SM is neither master nor of higher rank any more.
    MasterSteppedDown(PortGuid),
    /// The polled SM outranks this one but did not become master.
    StayedStandby(PortGuid),
    /// A master sent this control.
    Controlled(SmControl, PortGuid),
    /// The operator requested it.
    OperatorRequest,
    /// The subnet is configured by another SM, and the configuration refuses to take over such
    /// subnets.
    SubnetManaged,
    /// The given SM holds the master's lease.
    Deposed(PortGuid),
    /// The SM's own port has no link.
    LinkDown,
}

impl RoleChangeReason {
    /// The SM concerned.
    #[must_use]
    pub const fn about(&self) -> Option<PortGuid> {
        match self {
            Self::Yielded(other) => Some(other.guid),
            Self::HandedOverTo(g, _)
            | Self::HandoverReceived(g)
            | Self::MasterSilent(g)
            | Self::MasterSteppedDown(g)
            | Self::StayedStandby(g)
            | Self::Deposed(g)
            | Self::Controlled(_, g) => Some(*g),
            Self::HighestRanked | Self::OperatorRequest | Self::SubnetManaged | Self::LinkDown => {
                None
            }
        }
    }
}

impl fmt::Display for RoleChangeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HighestRanked => f.write_str("no other SM is master or has a higher priority"),
            Self::Yielded(other) if other.is_master() => write!(
                f,
                "SM {} is already master (priority {})",
                other.guid, other.priority
            ),
            Self::Yielded(other) => write!(
                f,
                "SM {} becomes master: it has priority {} (at equal priority the lower GUID decides)",
                other.guid, other.priority
            ),
            Self::HandedOverTo(to, why) => write!(f, "handed over to SM {to}, {why}"),
            Self::HandoverReceived(from) => write!(f, "HANDOVER received from SM {from}"),
            Self::MasterSilent(g) => write!(f, "SM {g} does not respond"),
            Self::MasterSteppedDown(g) => write!(f, "SM {g} is no longer master"),
            Self::StayedStandby(g) => write!(f, "higher-ranked SM {g} did not become master"),
            Self::Controlled(control, by) => write!(f, "{control} received from SM {by}"),
            Self::OperatorRequest => f.write_str("operator request"),
            Self::SubnetManaged => f.write_str("subnet configured by another SM"),
            Self::Deposed(g) => write!(f, "replaced by SM {g}"),
            Self::LinkDown => f.write_str("the SM's own port is unusable"),
        }
    }
}

/// Why a master hands the subnet over. `Display` follows the name of the other SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HandoverReason {
    /// The other SM outranks this one.
    HigherRank {
        priority: u8,
        /// The priority of this SM as master.
        own_priority: u8,
    },
    /// The other SM is a lower-ranked master that did not hand over.
    LowerMasterRemains,
    /// The operator requested it.
    Operator,
}

impl fmt::Display for HandoverReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HigherRank {
                priority,
                own_priority,
            } if priority == own_priority => write!(
                f,
                "which has the same priority {priority} and the lower GUID"
            ),
            Self::HigherRank {
                priority,
                own_priority,
            } => write!(
                f,
                "which has the higher priority {priority} (this SM: {own_priority})"
            ),
            Self::LowerMasterRemains => f.write_str("which was also master and did not hand over"),
            Self::Operator => f.write_str("at the operator's request"),
        }
    }
}

/// The unanswered polls of a master after which a standby starts discovery and takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PollLimit {
    /// Number of consecutive polls.
    pub polls: u8,
    /// The number of paths to the master determines `polls`: it exceeds the configured number of
    /// polls.
    pub is_one_per_path: bool,
    /// Interval of polls.
    pub interval: Duration,
}

impl fmt::Display for PollLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = if self.is_one_per_path {
            " (one over each path)"
        } else {
            ""
        };
        let interval = self.interval.as_secs_f64();
        write!(
            f,
            "after {} unanswered polls{paths}, one every {interval} s",
            self.polls
        )
    }
}

events! {
    /// A message to the operator. `Display` is a sentence, the field `reason` of some events.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum ElectionNotice {
        section "Mastership" {
            /// The SM has another SM_Key and is ignored. An alarm.
            SmKeyMismatch(sm: PortGuid) => { sm: display(sm) } [
                Error "SM with another SM_Key ignored": "`sm`, its `port`, `linked_to`" do "[troubleshooting](#troubleshooting)";
            ]
            /// The SM is not on the allow-list and is ignored. An alarm.
            SmNotAllowed(sm: PortGuid, state: SmState) => { sm: display(sm), state: display(state) } [
                Error "SM not on the allow-list ignored": "as above" do "as above";
            ]
            /// An ignored SM is gone.
            IgnoredSmGone(sm: PortGuid) => { sm: display(sm) } [
                Info "ignored SM gone": "an ignored SM left";
            ]
            /// The SM sent HANDOVER, which this one rejected because it cannot read its own port.
            /// An alarm.
            OwnPortUnreadable(sm: PortGuid) => { sm: display(sm) } [
                Error "handover rejected": "the master handed over, but this SM cannot read its own port" do "set `subnet.m-key` to the master's";
            ]
            /// The SM sent HANDOVER, which this one rejected because it cannot read that SM's port.
            /// An alarm.
            MasterPortUnreadable(sm: PortGuid) => { sm: display(sm) } [
                Error "handover rejected": "the master handed over, but this SM cannot read the master's port" do "set `subnet.m-key` to the master's";
            ]
            /// The SM appeared; its state and priority.
            SmAppeared(sm: PortGuid, state: SmState, priority: u8) => {
                sm: display(sm),
                state: display(state),
                priority: *priority,
            } [
                Info "SM appeared": "another SM, its `state` and `priority`; also when it responds again";
            ]
            /// The SM does not respond, although its port reports an SM.
            SmSilent(sm: PortGuid) => { sm: display(sm) } [
                Warning "SM does not respond": "its port reports an SM, which does not answer the master" do "check that SM";
            ]
            /// The SM left.
            SmGone(sm: PortGuid) => { sm: display(sm) } [
                Warning "SM gone": "another SM left" do "start it, if it should be a standby";
            ]
            /// The SM at the port that a control came from does not confirm that it sent the
            /// control. An alarm.
            ControlUnconfirmed {
                control: SmControl,
                /// The SM that the control names as its sender.
                claimed: PortGuid,
                /// The port that it came from, if it is known.
                port: Option<PortGuid>,
            } => { control: display(control), sm: display(claimed) } [
                Error "unconfirmed SM control ignored": "a host sent a control such as HANDOVER in the name of an SM (`sm`), and the SM at its `port` does not confirm it; once an hour and port" do "inspect the host at `port`";
            ]
            /// The SM outranks this one, or was chosen by the operator, and did not take over.
            HandoverNotTaken(sm: PortGuid) => {} [
                Warning "handover failed": "mastership stays here; `reason`" do "as reported";
            ]
            /// The SM is also master and of lower rank. It is expected to hand over.
            SecondMaster(sm: PortGuid) => { sm: display(sm) } [
                Warning "second master found": "it ranks lower and should hand over; nothing is swept meanwhile" do "stop it if it does not";
            ]
            /// The SM is also master, of lower rank, and did not hand over: this SM hands over to
            /// it. An alarm.
            LowerMasterRemains(sm: PortGuid) => { sm: display(sm) } [
                Error "lower-ranked master remains": "two masters met; the lower-ranked one did not hand over within `sm.wait-polls` polls, so this SM hands over to it" do "inspect that SM; afterwards, the higher-ranked SM becomes master again by handover";
            ]
            /// The SM has another M_Key. An alarm.
            OtherMKey(sm: PortGuid) => { sm: display(sm) } [
                Error "SM with another M_Key found": "it gets no handover, and could not configure the subnet if this SM died" do "set `subnet.m-key` there to the master's, or rotate the key with replication";
            ]
            /// The configuration of the SM differs from this one in these sections.
            OtherConfig(sm: PortGuid, sections: ConfigSections) => {
                sm: display(sm),
                sections: display(sections),
            } [
                Warning "SM with another configuration found": "if it became master, it would configure the subnet by its own `sections` of the configuration; again when other sections differ" do "make these sections equal on all SMs: compare `ferrosm config print` there and here";
            ]
            /// The subnet is configured by an SM that does not respond, and the configuration
            /// refuses to take over such subnets. An alarm.
            ManagedSubnetRefused => {
                effect: "this SM stays inactive; `ferrosm takeover` makes it master",
            } [
                Error "takeover refused": "another SM configured the subnet and is silent; `sm.refuse-managed-subnet` is set" do "`ferrosm takeover` if that SM will not return";
            ]
            /// The polled master did not respond, for the first time since its last response.
            MasterPollMissed {
                master: PortGuid,
                /// When this SM takes over.
                limit: PollLimit,
            } => { sm: display(master), unanswered_polls: 1_u8, takeover: limit.to_string() } [
                Warning "master did not respond": "`takeover`: when this standby takes over" do "check that SM";
            ]
            /// The polled master responds again.
            MasterResponds(sm: PortGuid) => { sm: display(sm) } [
                Info "master responds again": "no takeover";
            ]
            /// The SM is still starting, or its replica is incomplete.
            SuccessorNotReady(sm: PortGuid) => {} [
                Warning "handover failed": "mastership stays here; `reason`" do "as reported";
            ]
            /// The SM has another M_Key, and no other SM is left.
            LacksMKey(sm: PortGuid) => {} [
                Warning "handover failed": "mastership stays here; `reason`" do "as reported";
            ]
            /// No other SM takes part in the election.
            NoOtherSm {
                /// Whether SMs responded that this one ignores.
                is_any_ignored: bool,
            } => {} [
                Warning "handover failed": "mastership stays here; `reason`" do "as reported";
            ]
            /// Other SMs are disabled, or would hand the subnet back.
            NoSuccessor => {} [
                Warning "handover failed": "mastership stays here; `reason`" do "as reported";
            ]
        }
    }
}

impl ElectionNotice {
    /// Whether the operator has to act.
    #[must_use]
    pub const fn is_alarm(&self) -> bool {
        matches!(
            self,
            Self::SmKeyMismatch(_)
                | Self::SmNotAllowed(..)
                | Self::ControlUnconfirmed { .. }
                | Self::OwnPortUnreadable(_)
                | Self::MasterPortUnreadable(_)
                | Self::OtherMKey(_)
                | Self::LowerMasterRemains(_)
                | Self::ManagedSubnetRefused
        )
    }

    /// Whether it is the reason why mastership stays here.
    #[must_use]
    pub const fn keeps_mastership(&self) -> bool {
        matches!(
            self,
            Self::NoOtherSm { .. }
                | Self::NoSuccessor
                | Self::SuccessorNotReady(_)
                | Self::LacksMKey(_)
                | Self::HandoverNotTaken(_)
        )
    }

    /// The SM concerned, if the notice is about one.
    #[must_use]
    pub const fn about(&self) -> Option<PortGuid> {
        match self {
            Self::SmKeyMismatch(g)
            | Self::SmNotAllowed(g, _)
            | Self::HandoverNotTaken(g)
            | Self::SecondMaster(g)
            | Self::LowerMasterRemains(g)
            | Self::MasterPollMissed { master: g, .. }
            | Self::MasterResponds(g)
            | Self::IgnoredSmGone(g)
            | Self::OwnPortUnreadable(g)
            | Self::MasterPortUnreadable(g)
            | Self::OtherMKey(g)
            | Self::OtherConfig(g, _)
            | Self::LacksMKey(g)
            | Self::SmAppeared(g, ..)
            | Self::SmSilent(g)
            | Self::SmGone(g)
            | Self::SuccessorNotReady(g) => Some(*g),
            Self::ControlUnconfirmed { port, .. } => *port,
            Self::ManagedSubnetRefused | Self::NoOtherSm { .. } | Self::NoSuccessor => None,
        }
    }
}

impl fmt::Display for ElectionNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SmKeyMismatch(g) => write!(
                f,
                "SM {g} ignored: SM_Key mismatch; if it is master too, both configure this subnet until they have the same sm.sm-key"
            ),
            Self::SmNotAllowed(g, state) => {
                write!(
                    f,
                    "SM {g} ({state}) ignored: not in sm.allowed-guids; it may still write to the fabric"
                )
            }
            Self::IgnoredSmGone(g) => write!(f, "ignored SM {g} is gone"),
            Self::OwnPortUnreadable(g) => write!(
                f,
                "HANDOVER of SM {g} rejected: this SM's own port does not respond to subnet.m-key"
            ),
            Self::MasterPortUnreadable(g) => write!(
                f,
                "HANDOVER of SM {g} rejected: its port does not respond to subnet.m-key"
            ),
            Self::OtherMKey(g) => write!(f, "SM {g} has another M_Key: it gets no handover"),
            Self::OtherConfig(g, sections) => {
                write!(f, "SM {g} has another configuration, in: {sections}")
            }
            Self::LacksMKey(g) => write!(
                f,
                "SM {g} has another M_Key and could not configure the subnet; set subnet.m-key there to this SM's"
            ),
            Self::SmAppeared(g, state, priority) => {
                write!(f, "SM {g} appeared ({state}, priority {priority})")
            }
            Self::SmSilent(g) => write!(f, "SM {g} does not respond, although its port reports an SM"),
            Self::SmGone(g) => write!(f, "SM {g} is gone"),
            Self::ControlUnconfirmed {
                control,
                claimed,
                port,
            } => {
                write!(f, "{control} in the name of SM {claimed} ignored: ")?;
                match port {
                    Some(port) => write!(
                        f,
                        "it came from port {port}, where no SM confirmed it: none responded in time, or its SMInfo differs"
                    ),
                    None => f.write_str("it came from an unknown port"),
                }
            }
            Self::HandoverNotTaken(g) => write!(f, "SM {g} did not take over"),
            Self::SecondMaster(g) => write!(f, "SM {g} is also master, waiting for its handover"),
            Self::LowerMasterRemains(g) => write!(
                f,
                "lower-ranked SM {g} is also master and did not hand over, handing over to it"
            ),
            Self::ManagedSubnetRefused => f.write_str(
                "subnet configured by an SM that does not respond, takeover refused by sm.refuse-managed-subnet",
            ),
            Self::MasterPollMissed { master, limit } => write!(
                f,
                "master {master} did not respond to 1 poll; takeover {limit}"
            ),
            Self::MasterResponds(g) => write!(f, "master {g} responds again"),
            Self::SuccessorNotReady(g) => {
                write!(f, "SM {g} is starting or its replica is incomplete")
            }
            Self::NoOtherSm {
                is_any_ignored: false,
            } => f.write_str("no other SM runs in this subnet"),
            Self::NoOtherSm {
                is_any_ignored: true,
            } => f.write_str("no other SM runs in this subnet, except SMs that this one ignores"),
            Self::NoSuccessor => f.write_str(
                "no other active SM has a priority above 0 (an SM that handed over reports 0 until it is master again)",
            ),
        }
    }
}
