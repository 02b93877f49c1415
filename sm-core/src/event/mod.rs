//! What a [`crate::SubnetManager`] reports to the operator.
//!
//! Events are data. The table in [`Event`] has one place for each: its variant, fields, name,
//! severity, meaning and action; those of the election are in [`ElectionNotice`]. [`News`] turns
//! the events of a subnet manager into those that an operator reads.

mod about_sm;
mod key_violation;
mod local_change;
mod news;
mod no_link;
mod reasons;
mod refused_request;

use core::fmt;
use core::time::Duration;

use ferrosm_fabric::location::{Location, NodeName, PortName};
use ferrosm_fabric::observed::NodeRemovalReason;
use ferrosm_mad::attr::{LinkRate, SmState, id};
use ferrosm_mad::ids::{AttrId, Lid, PortGuid};

use crate::config::port_limits::PortLimits;
use crate::election::{ElectionNotice, RoleChangeReason};
use crate::event_table::{display, events};
use crate::report::absent_member::{self, AbsentMember};
use crate::report::foreign_settings::{self, ForeignSettings};
use crate::report::routing_failure::RoutingFailure;
use crate::report::routing_message::RoutingMessage;
use crate::report::{PKeyTableUsage, Phase, Problem, SmpCount, SweepReport};
use ferrosm_sa::registry::multicast::MlidExhaustion;

pub use crate::event_table::{EventRow, FieldValue, Fields, Severity};
pub use about_sm::{AboutSm, SmLocation};
pub use key_violation::KeyViolation;
pub use local_change::LocalChangeReport;
pub(crate) use local_change::flags_of;
pub use news::{News, PROBLEMS_MAX, first_problems, report_problems};
pub use no_link::NoLinkReason;
pub use reasons::{LinkFlaps, LocalSweepReasons, ViewMismatch, WriteFailure};
pub use refused_request::RefusedRequest;

events! {
    /// A change of state that the operator can observe. `Display` is a line of the log.
    #[derive(Debug, Clone)]
    pub enum Event {
        section "Sweeps and fabric" {
            /// The fabric came up: this SM is master, and the last sweep left no problem.
            SubnetUp(switches: usize, cas: usize) => { switches: *switches, cas: *cas } [
                Info "subnet up": "the first sweep as master without problems, or the first one again; `SUBNET UP` with `--log-format opensm`";
            ]
            /// A sweep is complete; the report lists its problems.
            SweepCompleted(report: Box<SweepReport>) => {
                sweep: report.number,
                kind: display(report.kind),
                problems: report.num_severe(),
                minor_problems: Some(report.problems.len() - report.num_severe()).filter(|n| *n > 0),
                role: display(report.role),
                switches: report.switches,
                cas: report.cas,
                routers: report.routers,
                links: report.links,
                lids: report.lids,
                top_lid: report.top_lid.0,
                lids_written: report.lids_changed,
                engine: Some(report.engine).filter(|engine| !engine.is_empty()),
                max_hops: report.proof.as_ref().map(|proof| proof.max_hops),
                lft_blocks_written: report.lft_blocks_written,
                smps_sent: report.smps_sent(),
                took_ms: milliseconds(report.took),
            } [
                Info "sweep complete": "`kind` (`full` or `local`), number of problems, nodes, links, LIDs, engine, writes, time";
                Debug "sweep complete": "nothing changed";
            ]
            /// A problem was found while no sweep ran, and is not in the report of the last sweep.
            ProblemFound(problem: Problem) => row(problem.kind.severity_rank()) {
                kind: problem.kind.name(),
                location: display(problem.location),
                detail: problem.kind.to_string(),
                effect: problem.kind.effect_between_sweeps(),
            } [
                Warning "problem found": "`kind`, `location`, `detail` of a fault; logged again after full sweeps" do "[troubleshooting](#troubleshooting)";
                Warning "setting not in force": "the same; a setting of the configuration has no effect, such as the first engine" do "as `detail` says";
                Info "minor problem found": "the same; every port is up" do "as above";
            ]
            /// A problem in the report of a sweep that was not in the one before.
            ProblemReported(problem: Problem) => row(problem.kind.severity_rank()) {
                kind: problem.kind.name(),
                location: display(problem.location),
                detail: problem.kind.to_string(),
            } [
                Warning "problem found": "`kind`, `location`, `detail` of a fault; logged again after full sweeps" do "[troubleshooting](#troubleshooting)";
                Warning "setting not in force": "the same; a setting of the configuration has no effect, such as the first engine" do "as `detail` says";
                Info "minor problem found": "the same; every port is up" do "as above";
            ]
            /// This number of further problems is in the report of the sweep.
            FurtherProblemsReported(count: usize) => { suppressed: *count } [
                Warning "further problems found": "number of problems that are not logged" do "`--json` lists all";
            ]
            /// A full sweep did not find a problem of the one before.
            ProblemSolved(problem: Problem) => {
                kind: problem.kind.name(),
                location: display(problem.location),
            } [
                Info "problem no longer found": "a full sweep did not find a problem of the one before, or the port left the subnet";
            ]
            /// A full sweep did not find this number of further problems of the one before.
            FurtherProblemsSolved(count: usize) => { suppressed: *count } [
                Info "further problems no longer found": "number of such problems that are not logged";
            ]
            /// The routing in force has paths with different SLs, and the one before had none.
            SeveralSlsUsed(engine: &'static str) => {
                engine: *engine,
                effect: "programs that ignore the SL of their path records may deadlock",
                action: "configure these programs, or set `routing.vls = 1`",
            } [
                Warning "routing uses several SLs": "programs that ignore the SL of their path records are outside the proof against deadlocks" do "as `action` says";
            ]
            /// A message about the routing in force, or the update of its tables.
            RoutingReported(engine: &'static str, message: RoutingMessage)
            => row(usize::from(message.costs_service())) {
                engine: Some(*engine).filter(|engine| !engine.is_empty()),
                kind: message.kind(),
                detail: message.to_string(),
            } [
                Info "routing message": "about the routing and its installation: `kind` (stable), `detail`";
                Warning "routing message": "the same; hosts miss packets because of it, for a moment (drains) or for good (`dropped-transit`)" do "as `detail` says";
            ]
            /// Every engine rejected the fabric; the installed tables stay in force.
            RoutingFailed(failure: RoutingFailure) => {
                reason: failure.to_string(),
                effect: "the installed routes stay; new links and nodes are not routed",
            } [
                Error "routing failed": "no engine has a verified routing; the installed tables stay" do "[troubleshooting](#troubleshooting)";
            ]
            /// A node was discovered after the first sweep, with this number of links.
            NodeAdded(node: NodeName, links: usize) => { node: display(node), links: *links } [
                Info "node added": "a node and its `links`";
            ]
            /// A node was removed from the subnet.
            NodeRemoved(node: NodeName, reason: NodeRemovalReason) => {
                node: display(node),
                reason: display(reason),
            } [
                Warning "node removed": "`reason`; its links are not listed" do "check it";
            ]
            /// A switch lost LinearFDBTop or its LID since it was last read: it restarted and lost
            /// its tables, which are written again.
            SwitchRestarted(node: NodeName) => {
                node: display(node),
                effect: "it lost its tables; they are written again",
            } [
                Warning "switch restarted": "its tables are written again; its links, which went down with it, are not listed" do "check its power";
            ]
            /// A link came up between two ports of nodes that were not added with it.
            LinkUp(a: PortName, b: PortName) => { link: link(*a, *b) } [
                Info "link up": "a link of known nodes";
            ]
            /// A link went down.
            LinkDown(a: PortName, b: PortName) => { link: link(*a, *b) } [
                Warning "link down": "a link was lost" do "check the cable";
            ]
            /// A link that is up went down for a moment, which no sweep saw: a port of it has left
            /// the state Active. Not with the restart of a switch.
            LinkInterrupted(a: PortName, b: PortName) => { link: link(*a, *b) } [
                Warning "link interrupted": "a link went down and came up again between two sweeps, or the host at it was reset" do "check the cable if it happens again";
            ]
            /// A link was lost repeatedly. It is reported once, until [`Self::LinkStable`].
            LinkFlapping(flaps: LinkFlaps) => {
                link: link(flaps.ends[0], flaps.ends[1]),
                flaps: flaps.flaps,
                window_s: flaps.window.as_secs(),
                effect: flaps.effect(),
            } [
                Warning "link flapping": "lost `flaps` times in `window_s`; logged once. Routes avoid it until it is up for 30 s (doubled each time, up to 16 min), unless something is reached over it only" do "replace the cable";
            ]
            /// A link that flapped, or that did not become active, is stable.
            LinkStable(ends: [PortName; 2]) => { link: link(ends[0], ends[1]) } [
                Info "link stable again": "a link that flapped or did not become active is used again";
            ]
            /// A link runs below the width or speed that both ports have enabled. Reported once,
            /// and again after its rate changed.
            LinkDegraded(change: Box<LinkRateChange>) => {
                link: link(change.ends[0], change.ends[1]),
                active: display(change.active),
                possible: display(change.possible),
            } [
                Warning "link degraded": "width or speed `active` is below `possible`, which both ports have enabled; logged once" do "check the cable";
            ]
            /// A link runs at the width and speed that both ports have enabled, and was degraded
            /// before.
            LinkRestored(change: Box<LinkRateChange>) => {
                link: link(change.ends[0], change.ends[1]),
                active: display(change.active),
            } [
                Info "link no longer degraded": "as both ports permit";
            ]
            /// This number of further links is degraded; they are not reported one by one.
            FurtherLinksDegraded(count: usize) => { count: *count } [
                Warning "further links degraded": "number of links that are not logged" do "as above";
            ]
            /// A link between switches leads to another port than before.
            LinkMoved(port: PortName) => { port: display(port) } [
                Info "link moved": "a link leads to another port";
            ]
            /// A trap was received.
            TrapReceived {
                /// Its number; of a vendor's trap, the DeviceID.
                number: u16,
                /// The vendor whose trap it is; `None` if the specification defines it.
                vendor: Option<u32>,
                /// Its source.
                location: Location,
                /// Traps 256 to 259: the packet that was dropped.
                violation: Option<KeyViolation>,
                /// Trap 144: what changed.
                change: Option<LocalChangeReport>,
            } => {
                number: *number,
                vendor: vendor.map(|id| format!("{id:#08x}")),
                about: change.map_or_else(
                    || trap_name(*number, *vendor).to_owned(),
                    |change| change.to_string(),
                ),
                source: display(location),
                packet: violation.as_ref().map(display),
            } [
                Info "trap received": "trap number, what it is about, source; `packet` with a wrong key. A `vendor`'s trap is logged once until it pauses for 5 s";
            ]
            /// A light sweep found changes; a local sweep follows.
            ChangesFound(reasons: LocalSweepReasons) => { reason: display(reasons) } [
                Info "local sweep scheduled": "`reason`";
                Debug "local sweep scheduled": "unchanged `reason`";
            ]
            /// An inconsistency was found, or a Set reached another device; a full sweep follows.
            InconsistencyFound => { effect: "full sweep follows" } [
                Info "inconsistency found": "timeouts, invalid responses or contradictory links: a full sweep follows";
            ]
            /// A P_Key table is nearly full.
            PKeyTableNearlyFull(table: PKeyTableUsage) => {
                location: display(table.location),
                used: table.used,
                capacity: table.capacity,
                free: table.free(),
            } [
                Info "P_Key table nearly full": "less than a quarter of it is free";
            ]
            /// SMPs of a sweep with one attribute.
            SmpsCounted(attr: AttrId, count: SmpCount) => {
                attr: id::name(*attr).unwrap_or("?"),
                gets: count.gets,
                sets: count.sets,
                timeouts: count.timeouts,
            } [
                Debug "SMP counts": "SMPs of a sweep by attribute";
            ]
            /// A phase of a sweep started.
            PhaseStarted(phase: Phase) => { phase: display(phase) } [
                Debug "phase started": "phase of a sweep";
            ]
            /// A phase of a sweep took this long.
            PhaseCompleted(phase: Phase, took: Duration) => {
                phase: display(phase),
                took_ms: milliseconds(*took),
            } [
                Debug "phase complete": "its duration";
            ]
            /// The SM's own port is down or the local node does not respond. The SM waits until the
            /// port is up.
            LocalPortUnusable(why: NoLinkReason) => { reason: display(why) } [
                Warning "local port unusable": "down, or no response; logged once per `reason`" do "check the port";
            ]
            /// The SM's own port can be used again.
            LocalPortUsable(port: PortName) => { port: display(port) } [
                Info "local port usable": "up again";
            ]
        }
        section "Subnet administration" {
            /// Fewer MLIDs than groups.
            MlidsExhausted(exhaustion: MlidExhaustion)
            => row(usize::from(matches!(exhaustion, MlidExhaustion::Rejected { .. }))) {
                mlids: exhaustion.count(),
            } [
                Warning "MLIDs exhausted": "new groups share MLIDs within their partition" do "remove unused groups";
                Warning "multicast group rejected": "no MLID to share" do "as above";
            ]
            /// A request of an SA client was refused.
            RequestRefused(request: Box<RefusedRequest>) => row(request.row_index()) {
                attribute: Some(request.kind.attribute()).filter(|_| !request.is_join()),
                method: Some(request.kind.method()).filter(|_| !request.is_join()),
                group: request.subject.filter(|_| request.is_join()).map(display),
                port: display(request.port),
                gid: request.subject.filter(|_| !request.is_join()).map(display),
                member: request.member.map(display),
                cause: request.refusal.cause().label(),
                reason: request.refusal.to_string(),
                repeats: Some(request.repeats).filter(|repeats| *repeats > 0),
            } [
                Warning "multicast join refused": "`group`, `port`, `cause`, `reason` with both values; at most once in ten minutes for each port and cause, with `repeats`" do "[causes](sa.md#refused-requests)";
                Info "multicast join refused": "as above, where it is normal: a group without members";
                Warning "SA request refused": "path, service, subscription or alias GUID; limited as above" do "as above";
                Info "SA request refused": "as above, where it is normal: a peer that left";
            ]
            /// This number of further requests was refused; they are not reported one by one.
            FurtherRequestsRefused(count: u64) => { count: *count } [
                Warning "further SA requests refused": "refusals that were not logged one by one" do "`ferrosm_sa_refusals_total`";
            ]
            /// Configured members of partitions are not in the subnet. Each is reported once, and
            /// again after it was in the subnet.
            PartitionMembersAbsent(members: Vec<AbsentMember>) => {
                count: members.len(),
                members: absent_member::describe(members),
            } [
                Warning "partition members not in the subnet": "GUIDs that no port of the subnet has; logged when they leave" do "correct the GUID, or start the host";
            ]
            /// This SM would remove settings that another SM configured, and waits for consent.
            ConsentAwaited {
                /// What would be removed, by kind.
                foreign: Vec<ForeignSettings>,
                /// This SM is master, and the settings stay as they are.
                is_master: bool,
            } => {
                foreign: foreign_settings::describe(foreign),
                effect: if *is_master { "these settings stay as they are" } else { "this SM takes no handover" },
            } [
                Warning "consent awaited": "this SM would remove or change settings that another SM configured (`foreign`: P_Keys, LMC, M_Keys, QoS tables), and its configuration does not name them. While another SM is master, it takes no handover; as master, it keeps them" do "`ferrosm plan`; name them in the configuration, or accept the change: `ferrosm takeover` with the options in `foreign`, or `partitions.adopt = true`";
            ]
            /// Nothing waits for consent any more.
            ConsentGiven => {} [
                Info "consent given": "no settings of another SM wait any more";
            ]
            /// An operator created a partition at run time, or replaced it.
            PartitionAdded { name: String, number: u16 } => {
                partition: name.as_str(),
                p_key: display(format_args!("{number:#06x}")),
            } [
                Info "partition added": "a command created the partition, or replaced it; its P_Keys are written next";
            ]
            /// An operator removed a partition that was created at run time.
            PartitionRemoved { number: u16 } => { p_key: display(format_args!("{number:#06x}")) } [
                Info "partition removed": "a command removed a partition that one had created; its P_Keys are removed next";
            ]
            /// A command put another M_Key in force, here or at the master.
            MKeyRotated => {} [
                Info "M_Key rotated": "a command put another M_Key in force, here or at the master; ports get it next";
            ]
            /// Another SM_Key is in force, by a command here or at the master, or by the
            /// configuration.
            SmKeyRotated => {} [
                Info "SM_Key changed": "another SM_Key is in force, by a command or the configuration; the earlier one is accepted until no other SM shows it";
            ]
            /// An operator took something out of service.
            MaintenanceBegan {
                action: &'static str,
                /// Name of the switch or port.
                name: String,
                reason: String,
            } => { action: *action, name: name.as_str(), reason: Some(reason.as_str()).filter(|r| !r.is_empty()) } [
                Info "maintenance began": "`action`: a command drains a switch or link, or disables a port; `reason`";
            ]
            /// An operator limited the link at a port.
            PortLimitsSet(limits: Box<PortLimits>) => {
                port: limits.name.as_str(),
                limits: display(limits),
                reason: Some(limits.reason.as_str()).filter(|r| !r.is_empty()),
            } [
                Info "port limits set": "a command limits MTU, width or speed of the link at `port`; `reason`";
            ]
            /// An operator ended the limits of a port.
            PortLimitsEnded(port: String) => { port: port.as_str() } [
                Info "port limits ended": "a command ends the limits of the link at `port`";
            ]
            /// Something is in service again.
            MaintenanceEnded {
                action: &'static str,
                /// Name of the switch or port.
                name: String,
            } => { action: *action, name: name.as_str() } [
                Info "maintenance ended": "a command, or the end of its time, put it back into service; or no routing was found without it";
            ]
            /// A new configuration takes full memberships in partitions from this number of ports.
            FullMembershipsLost(ports: usize) => {
                ports: *ports,
                effect: "limited members do not reach each other",
            } [
                Warning "full partition memberships lost": "number of `ports` that a new configuration makes limited members, or none" do "check the partitions";
            ]
            /// This number of memberships in groups was removed, because the members are not in the
            /// partition of the group any more.
            GroupMembersRemoved(count: usize) => {
                count: *count,
                reason: "not in the partition of the group",
            } [
                Warning "multicast members removed": "`count` of memberships in groups of partitions that their ports left" do "as above";
            ]
            /// The SL, MTU or rate of groups changed; this number of hosts is sent
            /// ClientReregister.
            GroupParametersChanged(hosts: usize) => { hosts: *hosts } [
                Info "group parameters changed": "SL, MTU or rate; `hosts` received ClientReregister";
            ]
            /// A port does not accept alias GUIDs.
            AliasGuidsRejected {
                port: PortName,
                /// The block of GUIDs.
                block: u8,
                /// How the last write failed.
                failure: WriteFailure,
            } => { port: display(port), block: *block, reason: failure.to_string() } [
                Warning "alias GUIDs rejected": "a port rejected them; `reason`. Written again after the next sweep if it did not respond, otherwise after its next reset or registration" do "check its firmware";
            ]
            /// The store is late: replies to SA clients leave before the registrations that they
            /// confirm are durable.
            RepliesUnprotected => {
                effect: "replies sent anyway: clients may have to register again after a restart or takeover",
            } [
                Warning "SA registrations not saved in time": "the disk or a standby is slow: `effect`" do "check the disk";
            ]
            /// The store has caught up: replies wait for durable state again.
            RepliesProtected => {} [
                Info "SA replies wait for saved registrations again": "the store has caught up";
            ]
            /// The store is late: SLtoVL tables or M_Keys are written before the records that must
            /// precede them are durable.
            WritesUnprotected => {
                effect: "devices are written anyway: the next master may not know their SLtoVL tables and M_Keys",
            } [
                Warning "device settings not saved in time": "the disk or a standby is slow: `effect`" do "check the disk";
            ]
        }
        section "Mastership" {
            /// The SMInfo state of this SM changed.
            RoleChanged {
                /// The new state.
                state: SmState,
                why: AboutSm<RoleChangeReason>,
            } => { role: display(state), reason: display(why) } [
                Info "role changed": "the new role and the reason";
            ]
            /// The SM stopped after [`crate::Command::Stop`]: another SM became master, none did,
            /// or this SM was not master.
            Stopped {
                /// The new master, by its port GUID.
                handed_to: Option<AboutSm<PortGuid>>,
                /// Whether this SM was master.
                was_master: bool,
            } => row(stopped_row(handed_to.is_some(), *was_master)) {
                to: handed_to.as_ref().map(|to| display(to.what)),
                port: handed_to.as_ref().and_then(AboutSm::port).map(display),
                linked_to: handed_to.as_ref().and_then(AboutSm::peer).map(display),
                effect: (handed_to.is_none() && *was_master)
                    .then_some("the subnet has no master; it keeps forwarding"),
            } [
                Info "mastership handed over": "at exit: another SM became master";
                Warning "no SM took over": "at exit: the subnet has no master; it keeps forwarding" do "start an SM";
                Debug "stopped": "at exit: this SM was not master";
            ]
            /// A port names another SM as its master; a full sweep follows.
            ForeignMaster {
                port: PortName,
                /// The LID of that SM.
                master: Lid,
            } => {
                port: display(port),
                master_lid: master.0,
                effect: "another SM configured this port; full sweep follows",
            } [
                Warning "foreign master found": "MasterSMLID of `port` is another SM; a full sweep follows" do "stop that SM";
            ]
            /// The process stalled; the other SMs are queried before the next write.
            ProcessStalled => {} [
                Info "verifying role after stall": "SMs are queried before the next write";
            ]
            /// The replica was not loaded in time; the SM continues without it.
            ReplicaTimedOut => {} [
                Warning "replica not loaded in time": "the disk or etcd took more than 2 s; takeover without it: hosts register again" do "check the disk";
            ]
            /// A standby did not get a replica of its master's records in time; it accepts a
            /// handover without one.
            ReplicaUnavailable => {} [
                Warning "replica unavailable": "a handover is accepted without it: hosts register again" do "check the connection to the master";
            ]
            /// The SA replies from the restored view until the first sweep is complete.
            RestoredViewUsed {
                /// The age of the view.
                age: Duration,
            } => { age_s: age.as_secs(), until: "the first sweep is complete" } [
                Info "SA replies from restored view": "until the first sweep completes";
            ]
            /// The restored view is not used.
            RestoredViewRejected(mismatch: ViewMismatch) => {
                reason: mismatch.to_string(),
                effect: "the SA replies when the first sweep is complete",
            } [
                Info "restored view rejected": "`reason`; the SA replies after the first sweep";
            ]
            /// The restored view is withdrawn: too many ports have other LIDs.
            RestoredViewWithdrawn => {
                reason: "too many ports have other LIDs than saved",
                effect: "the SA replies when the first sweep is complete",
            } [
                Info "restored view withdrawn": "`reason`";
            ]
            /// This number of end ports of the restored view is absent or has another LID; they are
            /// removed from it.
            EndPortsOutdated(count: usize) => {
                count: *count,
                reason: "absent, or another LID than saved",
            } [
                Info "ports removed from restored view": "`reason`";
            ]
        }
        in other tables {
            /// What the election reports about another SM.
            Election(AboutSm<ElectionNotice>)
        }
    }
}

impl Event {
    /// The rows of the table by section of docs/operations.md.
    pub fn sections() -> impl Iterator<Item = (&'static str, &'static [EventRow])> {
        Self::SECTIONS
            .iter()
            .chain(ElectionNotice::SECTIONS)
            .copied()
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().name)?;
        for (name, value) in self.fields().as_slice() {
            write!(f, " {name}={value}")?;
        }
        Ok(())
    }
}

/// The rate of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkRateChange {
    /// Its ports.
    pub ends: [PortName; 2],
    /// The active width and speed.
    pub active: LinkRate,
    /// The width and speed that both ports support and have enabled.
    pub possible: LinkRate,
}

fn link(a: PortName, b: PortName) -> FieldValue {
    display(format_args!("{a} - {b}"))
}

/// In milliseconds, to a microsecond.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

const fn stopped_row(is_handed_over: bool, was_master: bool) -> usize {
    match (is_handed_over, was_master) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    }
}

/// What a trap reports (IBA vol. 1, tables "Traps" of 13.4.8 and 14.2.5.1).
const fn trap_name(number: u16, vendor: Option<u32>) -> &'static str {
    if vendor.is_some() {
        return "vendor specific";
    }
    match number {
        64 => "GID in service",
        65 => "GID out of service",
        66 => "multicast group created",
        67 => "multicast group deleted",
        128 => "link state change",
        129 => "local link integrity threshold",
        130 => "excessive buffer overrun threshold",
        131 => "flow control update watchdog",
        144 => "local change",
        145 => "SystemImageGUID change",
        256 => "bad M_Key",
        257 => "bad P_Key",
        258 => "bad Q_Key",
        259 => "bad P_Key at a switch port",
        _ => "unknown",
    }
}
