//! The consequences of what a component did, for other components.
//!
//! Components add effects in order; `manager/effects.rs` applies them in this order, the
//! consequences of an effect before the effects after it.

use ferrosm_fabric::observed::{ExclusionReason, NodeIdx, PortRef};
use ferrosm_mad::attr::{Notice, SmState};
use ferrosm_mad::ids::{AttrId, PortGuid};
use ferrosm_mad::mad::{MadIn, MadOut};

use crate::election::{Decision, ElectionInput, ElectionNotice};
use crate::event::{AboutSm, NoLinkReason};
use crate::report::ProblemKind;
use crate::report::routing_message::RoutingMessage;
use crate::smp::op::SmpOp;
use crate::smp::outcome::SetEcho;
use crate::smp::sender::SenderQuery;

/// A consequence of what a component did.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Report a problem of the sweep in progress, or one found while none is.
    Problem(Option<PortRef>, Box<ProblemKind>),
    /// Add a message about the routing to the report of the sweep in progress.
    Message(Box<RoutingMessage>),
    /// Read a switch again after the next light sweep.
    RereadSwitchLater(NodeIdx),
    /// Read a port again after the next light sweep.
    RereadPortLater(PortRef),
    /// Read these ports again after the next light sweep.
    RereadPortsLater(Vec<PortRef>),
    /// Read a switch again in the next local sweep, if one is requested.
    RereadSwitch(NodeIdx),
    /// Read a port again in the next local sweep, if one is requested.
    RereadPort(PortRef),
    /// The local node cannot be used.
    LocalNodeUnusable(Box<NoLinkReason>),
    /// A link between switches leads to another node than before: the contents of tables are
    /// unknown. A local sweep cannot continue.
    LinkMoved(PortRef),
    /// A node was added to the fabric.
    NodeAdded(NodeIdx),
    /// A node was removed from the fabric.
    NodeRemoved(NodeIdx),
    /// A link was added to the fabric.
    LinkAdded(PortRef, PortRef),
    /// A link was removed from the fabric, because a port of it has another one.
    LinkReplaced(PortRef, PortRef),
    /// The state of a switch port fell.
    LinkLost(PortRef),
    /// A switch lost its tables.
    SwitchRestarted(NodeIdx),
    /// A port has another width or speed than before; not in full sweeps.
    RateChanged(PortRef),
    /// An end port was discovered, or its device may have been reset: it may have lost its alias
    /// GUIDs.
    PortReset(PortGuid),
    /// Behind the port, new switches are excluded until they are counted.
    SwitchesUncounted(PortRef, ExclusionReason),
    /// The discovery of a sweep could not read a known switch.
    SwitchUnread(NodeIdx),
    /// A switch that did not respond responds again.
    SwitchResponds,
    /// Two links contradict each other.
    LinksContradict,
    /// A response was invalid: others of its device may be wrong as well.
    InvalidResponse,
    /// Something that routes depend on has changed.
    RoutesOutdated,
    /// The tables that devices keep have changed: an engine computes routes again. A reroute of the
    /// routing in force might preserve what a kept table cost it.
    KeptTablesChanged,
    /// A switch port rejected a table which LFTs depend on, if their order matters.
    TableRejected(PortRef),
    /// VL tables are written with a new epoch: knowledge of earlier epochs is invalid.
    NewVlEpoch,
    /// An end port was sent ClientReregister.
    ReregisterSent(PortGuid),
    /// A Set with ClientReregister failed at an end port.
    ReregisterFailed(PortGuid),
    /// The ports of a switch are read while its PortStateChange remains set: they are read again
    /// after the sweep.
    SwitchUncleared(NodeIdx),
    /// Forward a trap to subscribers, with the port that issued it. Precedes the re-reads that the
    /// trap causes.
    ForwardTrap(Box<Notice>, Option<PortRef>),
    /// Run a light sweep when the SM is idle.
    RequestLightSweep,
    /// Run a local sweep of the switches and ports to read again.
    RequestLocalSweep,
    /// Run a full sweep when the SM is idle.
    RequestFullSweep,
    /// Start a full sweep now.
    StartFullSweep,
    /// Step the election with this input.
    Elect(ElectionInput),
    /// Step the election with this input, which replies to the request.
    ElectOnRequest(ElectionInput, Box<MadIn>),
    /// Reply to a request.
    Reply(Box<MadOut>),
    /// Carry out a decision of the election.
    CarryOut(Decision),
    /// Report to a command the state that the election entered, and the SM handed over to.
    ReportRole(SmState, Option<PortGuid>),
    /// The decisions of a step of the election are carried out: sweep, and read everything again.
    SweepAsElected {
        /// The SM's own port has no link.
        is_link_down: bool,
    },
    /// Send a Set that expects no response.
    SendUntracked(SmpOp),
    /// Query the SM that sent a request.
    QuerySender(Box<SenderQuery>),
    /// Abandon what is in progress, and write nothing until this SM is known to be master.
    Yield,
    /// Abandon what is in progress, and leave the subnet to another SM: this SM is standby or not
    /// active.
    LeaveSubnet,
    /// Abandon what is in progress until the replica is loaded.
    AwaitReplica,
    /// Abandon the SMInfo scan in progress.
    EndSmScan,
    /// No LID assignment counts as confirmed: another SM may have assigned LIDs.
    UnconfirmLids,
    /// The master's own link is down: compare the fabric with the present state when the link is
    /// back, as after a restart.
    PreserveState {
        /// A replica was loaded, and no sweep as master has verified it.
        replica_unverified: bool,
    },
    /// The replica is outdated: discard what was adopted of it.
    DiscardReplica,
    /// Discard the restored state of devices if it is another SM's.
    DiscardStateOfOtherSm,
    /// Compare this SM with the SMs that the last scan found.
    CompareSms,
    /// Compare the SMs after the scan of a takeover, and sweep if this SM is master.
    CompareSmsAndSweep,
    /// Report that no SM took over.
    ReportNotHandedOver(Box<AboutSm<ElectionNotice>>),
    /// Report that the process may exit.
    ReportStopped {
        /// The SM that took over.
        handed_to: Option<PortGuid>,
        /// This SM was master until then.
        was_master: bool,
    },
}

// A component may add an effect for each of many ports; rare ones box what they hold.
const _: () = assert!(size_of::<Effect>() <= 64);

/// Effects in order.
#[derive(Debug, Default)]
pub(crate) struct Effects(Vec<Effect>);

impl Effects {
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }

    /// Takes the effects, the last one first.
    pub(crate) fn drain_reversed(&mut self) -> impl Iterator<Item = Effect> + '_ {
        self.0.drain(..).rev()
    }

    /// A Set that took effect was answered.
    pub(crate) fn set_echoed(&mut self, at: PortRef, attr: AttrId, echo: SetEcho) {
        match echo {
            SetEcho::Same => {}
            SetEcho::Normalized => self.problem(at, ProblemKind::SetNormalized { attr }),
        }
    }

    /// Reports a problem.
    pub(crate) fn problem(&mut self, at: PortRef, kind: ProblemKind) {
        self.push(Effect::Problem(Some(at), Box::new(kind)));
    }

    /// Reports a problem at a port, and reads the port again after the next light sweep.
    pub(crate) fn port_problem(&mut self, at: PortRef, kind: ProblemKind) {
        self.problem(at, kind);
        self.push(Effect::RereadPortLater(at));
    }

    /// The tables that switches keep have changed: routes are computed with them at once.
    pub(crate) fn reroute_now(&mut self) {
        self.push(Effect::KeptTablesChanged);
        self.push(Effect::RequestLocalSweep);
    }
}

impl Extend<Effect> for Effects {
    fn extend<T: IntoIterator<Item = Effect>>(&mut self, effects: T) {
        self.0.extend(effects);
    }
}
