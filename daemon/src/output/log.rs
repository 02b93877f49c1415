//! The log, and the log events of the subnet manager.
//!
//! Events are constant, lower case, with data in fields; docs/operations.md lists them. Levels:
//! `error` requires an operator, `warn` is a deviation, `info` has a few lines per sweep, `debug`
//! has details per phase.

use ferrosm_core::election::ElectionNotice;
use ferrosm_core::event::{AboutSm, LocalSweepReasons, Observation, RefusedRequest, SmLocation};
use ferrosm_core::plan::messages::EngineMessage;
use ferrosm_core::plan::partitions::absent_members;
use ferrosm_core::report::ProblemKind;
use ferrosm_core::{DurabilityEvent, Event, Problem, SweepReport};
use ferrosm_fabric::location::PortName;
use ferrosm_mad::attr::SmState;
use ferrosm_routing::Diagnostic;
use ferrosm_sa::registry::multicast::MlidExhaustion;
use tracing::field::DisplayValue;
use tracing::{debug, error, info, warn};
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

use super::opensm_format::OpensmFormat;
use super::progress::Terminal;
use super::report;
use crate::config::{LogFormat, LogSettings, parse_log_level};

/// Changes the log level at run time.
#[derive(Debug, Clone)]
pub struct Handle(Option<reload::Handle<Targets, Registry>>);

impl Handle {
    /// Sets the level, a value of `log.level`; invalid values are ignored.
    pub fn set_level(&self, level: &str) {
        if let (Some(handle), Some(targets)) = (&self.0, parse_log_level(level)) {
            // Fails only at exit, without a subscriber.
            let _ = handle.reload(targets);
        }
    }
}

/// Initializes the log; only the first call has an effect.
#[must_use]
pub fn init(settings: &LogSettings, terminal: &Terminal) -> Handle {
    let level: Targets = parse_log_level(&settings.level).unwrap_or_default();
    let (filter, handle) = reload::Layer::new(level);
    let registry = tracing_subscriber::registry().with(filter);
    let format = tracing_subscriber::fmt::layer().with_writer(terminal.clone());
    let set = match settings.format {
        LogFormat::Compact => {
            use std::io::IsTerminal;
            let format = format
                .with_ansi(std::io::stderr().is_terminal())
                .with_target(false);
            registry.with(format.compact()).try_init()
        }
        LogFormat::Json => registry.with(format.json().flatten_event(true)).try_init(),
        LogFormat::Opensm => {
            let format = format.with_ansi(false);
            registry.with(format.event_format(OpensmFormat)).try_init()
        }
    };
    Handle(set.is_ok().then_some(handle))
}

/// Logs an event.
pub fn event(event: &Event, role: SmState) {
    match event {
        Event::PhaseStarted(phase) => debug!(%phase, "phase started"),
        Event::SweepCompleted(report) => LoggedSweep::default().sweep(report, role),
        Event::ProblemFound(found) => {
            let is_unanswered = matches!(found.kind, ProblemKind::NoResponse { .. });
            problem(
                found,
                is_unanswered
                    .then_some("it stays in the routes until a full sweep or a link change"),
            );
        }
        Event::LocalPortUnusable(why) => warn!(reason = %why, "local port unusable"),
        Event::LocalPortUsable(port) => info!(%port, "local port usable"),
        Event::RoleChanged { state, why } => {
            info!(role = %state, reason = %why, "role changed")
        }
        Event::TrapReceived {
            number,
            vendor,
            location,
            violation,
            change,
        } => {
            let change = change.map(|change| change.to_string());
            let name = if vendor.is_some() {
                "vendor specific"
            } else {
                trap_name(*number)
            };
            let about = change.unwrap_or_else(|| name.to_owned());
            let vendor = vendor.map(|id| format!("{id:#08x}"));
            let packet = violation.as_ref().map(tracing::field::display);
            info!(number, vendor, about, source = %location, packet, "trap received")
        }
        Event::RoutingFailed(why) => {
            let effect = "the installed routes stay; new links and nodes are not routed";
            error!(reason = why.to_string(), effect, "routing failed")
        }
        Event::Observation(Observation::Election(about))
        | Event::HandoverFailed(about)
        | Event::Alarm(about) => election_notice(about),
        Event::Observation(other) => observation(other),
        Event::Stopped {
            handed_to: Some(to),
            ..
        } => {
            let (port, linked_to) = fields_of(to);
            info!(to = %to.what, port, linked_to, "mastership handed over")
        }
        Event::Stopped {
            was_master: true, ..
        } => {
            let effect = "the subnet has no master; it keeps forwarding";
            warn!(effect, "no SM took over");
        }
        // This SM was not master.
        Event::Stopped { .. } => {}
        Event::Durability(DurabilityEvent::RepliesProtected) => {
            info!("SA replies wait for saved registrations again");
        }
        Event::Durability(DurabilityEvent::RepliesUnprotected) => {
            let effect = "replies sent anyway: clients may have to register again after a restart or takeover";
            warn!(effect, "SA registrations not saved in time");
        }
        Event::Durability(DurabilityEvent::WritesUnprotected) => {
            let effect = "devices are written anyway: the next master may not know their SLtoVL tables and M_Keys";
            warn!(effect, "device settings not saved in time");
        }
        Event::MlidsExhausted(MlidExhaustion::Shared { count }) => {
            warn!(mlids = count, "MLIDs exhausted");
        }
        Event::MlidsExhausted(MlidExhaustion::Rejected { count }) => {
            let reason = "no MLID to share";
            warn!(mlids = count, reason, "multicast group rejected");
        }
        Event::RequestRefused(request) => request_refused(request),
        Event::FurtherRequestsRefused(count) => further_requests_refused(*count),
        Event::PartitionMembersAbsent(members) => warn!(
            count = members.len(),
            members = absent_members::describe(members),
            "partition members not in the subnet"
        ),
        Event::NodeAdded(node, links) => info!(%node, links, "node added"),
        Event::NodeRemoved(node, reason) => warn!(%node, %reason, "node removed"),
        Event::SwitchRestarted(node) => {
            let effect = "it lost its tables; they are written again";
            warn!(%node, effect, "switch restarted");
        }
        Event::LinkUp(a, b) => info!(link = %format_args!("{a} - {b}"), "link up"),
        Event::LinkDown(a, b) => warn!(link = %format_args!("{a} - {b}"), "link down"),
        Event::LinkDegraded(change) => {
            let [a, b] = change.ends;
            let (active, possible) = (change.active, change.possible);
            warn!(link = %format_args!("{a} - {b}"), %active, %possible, "link degraded");
        }
        Event::LinkRestored(change) => {
            let ([a, b], active) = (change.ends, change.active);
            info!(link = %format_args!("{a} - {b}"), %active, "link no longer degraded");
        }
        Event::FurtherLinksDegraded(count) => warn!(count, "further links degraded"),
    }
}

/// Logs a request of an SA client that was refused: as a warning if the site has to act.
pub fn request_refused(refused: &RefusedRequest) {
    let (attribute, method) = (refused.kind.attribute(), refused.kind.method());
    let (port, reason, cause) = (
        refused.port,
        refused.refusal.to_string(),
        refused.refusal.cause().label(),
    );
    let gid = refused.subject.map(tracing::field::display);
    let member = refused.member.map(tracing::field::display);
    let repeats = Some(refused.repeats).filter(|repeats| *repeats > 0);
    match (refused.is_join(), refused.refusal.cause().is_fault()) {
        (true, true) => {
            warn!(group = gid, %port, member, cause, reason, repeats, "multicast join refused");
        }
        (true, false) => {
            info!(group = gid, %port, member, cause, reason, repeats, "multicast join refused");
        }
        (false, true) => {
            warn!(attribute, method, %port, gid, member, cause, reason, repeats, "SA request refused");
        }
        (false, false) => {
            info!(attribute, method, %port, gid, member, cause, reason, repeats, "SA request refused");
        }
    }
}

/// Logs the number of refusals that were not logged one by one.
pub fn further_requests_refused(count: u64) {
    warn!(count, "further SA requests refused");
}

/// What a trap reports (IBA vol. 1, tables "Traps" of 13.4.8 and 14.2.5.1).
const fn trap_name(number: u16) -> &'static str {
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

/// The port of an SM and the port at the other end of its link, as fields.
pub fn fields_of<T>(about: &AboutSm<T>) -> (Option<PortField>, Option<PortField>) {
    let (port, peer) = match about.location {
        Some(SmLocation::Port { port, peer }) => (Some(port), peer),
        Some(SmLocation::Unknown) | None => (None, None),
    };
    let display = tracing::field::display;
    (port.map(display), peer.map(display))
}

/// A port as a field of an event.
type PortField = DisplayValue<PortName>;

fn election_notice(about: &AboutSm<ElectionNotice>) {
    let (port, linked_to) = fields_of(about);
    let reason = about.what.to_string();
    match about.what {
        ElectionNotice::SmKeyMismatch(sm) => {
            error!(%sm, port, linked_to, reason, "SM with another SM_Key ignored");
        }
        ElectionNotice::SmNotAllowed(sm, state) => {
            error!(%sm, %state, port, linked_to, reason, "SM not on the allow-list ignored");
        }
        ElectionNotice::LowerMasterRemains(sm) => {
            error!(%sm, port, linked_to, reason, "lower-ranked master remains");
        }
        ElectionNotice::ManagedSubnetRefused => {
            let effect = "this SM stays inactive; `ferrosm takeover` makes it master";
            error!(reason, effect, "takeover refused")
        }
        ElectionNotice::ControlUnconfirmed {
            control, claimed, ..
        } => {
            error!(%control, sm = %claimed, port, linked_to, reason, "unconfirmed SM control ignored");
        }
        ElectionNotice::OwnPortUnreadable(sm) => {
            error!(%sm, port, linked_to, reason, "handover rejected");
        }
        ElectionNotice::SmAppeared(sm, state, priority) => {
            info!(%sm, %state, priority, port, linked_to, "SM appeared");
        }
        ElectionNotice::SmSilent(sm) => warn!(%sm, port, linked_to, "SM does not respond"),
        ElectionNotice::SmGone(sm) => warn!(%sm, port, linked_to, "SM gone"),
        ElectionNotice::IgnoredSmGone(sm) => info!(%sm, port, linked_to, "ignored SM gone"),
        ElectionNotice::SecondMaster(sm) => warn!(%sm, port, linked_to, "second master found"),
        ElectionNotice::MasterResponds(sm) => info!(%sm, port, linked_to, "master responds again"),
        ElectionNotice::MasterPollMissed { master, limit } => {
            let takeover = limit.to_string();
            warn!(sm = %master, port, linked_to, unanswered_polls = 1, takeover, "master did not respond");
        }
        ElectionNotice::HandoverNotTaken(_)
        | ElectionNotice::SuccessorNotReady(_)
        | ElectionNotice::NoOtherSm { .. }
        | ElectionNotice::NoSuccessor => warn!(reason = about.to_string(), "handover failed"),
    }
}

fn observation(observation: &Observation) {
    match observation {
        Observation::Election(about) => election_notice(about),
        Observation::ForeignMaster { port, master } => {
            let effect = "another SM configured this port; full sweep follows";
            warn!(%port, master_lid = master.0, effect, "foreign master found");
        }
        Observation::ProcessStalled => info!("verifying role after stall"),
        Observation::ReplicaTimedOut => warn!("replica not loaded in time"),
        Observation::ReplicaUnavailable => warn!("replica unavailable"),
        Observation::RestoredViewUsed { age } => {
            let until = "the first sweep is complete";
            info!(
                age_s = age.as_secs(),
                until, "SA replies from saved topology"
            );
        }
        Observation::RestoredViewRejected(reason) => {
            let effect = "the SA replies when the first sweep is complete";
            info!(
                reason = reason.to_string(),
                effect, "saved topology rejected"
            );
        }
        Observation::RestoredViewWithdrawn => {
            let reason = "too many ports have other LIDs than saved";
            let effect = "the SA replies when the first sweep is complete";
            info!(reason, effect, "saved topology withdrawn");
        }
        Observation::EndPortsOutdated { count } => {
            let reason = "absent, or another LID than saved";
            info!(count, reason, "ports removed from saved topology");
        }
        Observation::GroupParametersChanged { hosts } => info!(hosts, "group parameters changed"),
        Observation::FullMembershipsLost { ports } => {
            let effect = "limited members do not reach each other";
            warn!(ports, effect, "full partition memberships lost");
        }
        Observation::GroupMembersRemoved { count } => {
            let reason = "not in the partition of the group";
            warn!(count, reason, "multicast members removed");
        }
        Observation::AliasGuidsRejected {
            port,
            block,
            failure,
        } => warn!(%port, block, reason = failure.to_string(), "alias GUIDs rejected"),
        Observation::LinkMoved(port) => info!(%port, "link moved"),
        Observation::LinkFlapping(link) => {
            let ([a, b], flaps, window_s) = (link.ends, link.flaps, link.window.as_secs());
            let effect = link.hold.map_or_else(
                || "still used by routes: something is reached over it only".to_owned(),
                |hold| format!("routes avoid it until it is up for {} s", hold.as_secs()),
            );
            warn!(link = %format_args!("{a} - {b}"), flaps, window_s, effect, "link flapping");
        }
        Observation::LinkStable([a, b]) => {
            info!(link = %format_args!("{a} - {b}"), "link stable again");
        }
        Observation::InconsistencyFound => {
            let effect = "full sweep follows";
            info!(effect, "inconsistency found");
        }
        Observation::ChangesFound(reason) => info!(%reason, "sweep of changed parts scheduled"),
    }
}

/// What was logged about the last sweep, so that the log does not repeat it.
#[derive(Debug, Default)]
pub struct LoggedSweep {
    /// Its problems, and those found since.
    problems: Vec<Problem>,
    /// The problems of the last full sweep.
    full: Vec<Problem>,
    /// Its messages about the routing.
    messages: Vec<EngineMessage>,
    /// Whether its routing had paths with different SLs.
    had_several_sls: bool,
    /// Why the last light sweep requested a local sweep, if no full sweep has run since.
    reasons: Option<LocalSweepReasons>,
    /// This SM is master, and the last sweep left no problem.
    is_up: bool,
    /// The next local sweep has the same reasons as the last one, and none is a new change.
    is_repeated: bool,
}

impl LoggedSweep {
    /// Logs an event between sweeps. The same reasons for another local sweep are logged at debug.
    pub fn event(&mut self, event: &Event, role: SmState) {
        if let Event::ProblemFound(problem) = event {
            self.problems.push(problem.clone());
        }
        if let Event::Observation(Observation::ChangesFound(reason)) = event {
            let is_new_change = reason.changed_switches > 0 || reason.outdated_routes;
            self.is_repeated = !is_new_change && self.reasons == Some(*reason);
            self.reasons = Some(*reason);
            if self.is_repeated {
                debug!(%reason, "sweep of changed parts scheduled");
                return;
            }
        }
        if let Event::RoleChanged { state, .. } = event {
            self.is_up &= *state == SmState::Master;
        }
        self::event(event, role);
    }

    /// Logs a sweep. A local sweep logs only problems that are new, and is logged at debug if it
    /// repeats the last one.
    pub fn sweep(&mut self, r: &SweepReport, role: SmState) {
        let is_repeated = core::mem::take(&mut self.is_repeated) && self.is_unchanged(r);
        if is_repeated {
            debug!(
                sweep = r.number,
                problems = r.num_severe(),
                "sweep complete"
            );
        } else {
            log_sweep(r, role);
        }
        self.log_messages(r);
        if r.has_several_sls && !self.had_several_sls {
            let effect = "programs that ignore the SL of their path records may deadlock";
            let action = "configure these programs, or set `routing.vls = 1`";
            warn!(
                engine = r.engine,
                effect, action, "routing uses several SLs"
            );
        }
        self.had_several_sls = r.has_several_sls;
        log_details(r);
        let known = if r.local { &self.problems[..] } else { &[] };
        log_problems(&r.problems, known);
        if !r.local {
            // After a failure, what the rest of the sweep would have found is not known.
            if !r.failed {
                log_solved(&self.full, &r.problems);
            }
            self.full.clone_from(&r.problems);
        }
        self.problems.clone_from(&r.problems);
        self.messages.clone_from(&r.engine_messages);
        if !r.local {
            self.reasons = None;
        }
        // A local sweep reports the problems of its own scope only.
        let is_fabric_sound = !self.full.iter().any(|p| p.kind.is_severe());
        let is_up = role == SmState::Master && !r.failed && r.num_severe() == 0 && is_fabric_sound;
        if is_up && !self.is_up {
            info!(switches = r.switches, cas = r.cas, "subnet up");
        }
        self.is_up = is_up;
    }

    /// Whether a local sweep found and changed nothing.
    fn is_unchanged(&self, r: &SweepReport) -> bool {
        let is_known = |p: &Problem| report::is_known(p, &self.problems);
        let has_same_problems =
            r.problems.len() == self.problems.len() && r.problems.iter().all(is_known);
        let has_writes = r.lids_changed > 0 || r.lft_blocks_written > 0;
        r.local && has_same_problems && !has_writes && !r.has_new_routes && !r.failed
    }

    /// Logs the messages about new routes. Decisions that are unchanged since the last sweep are
    /// not repeated.
    fn log_messages(&self, r: &SweepReport) {
        let engine = Some(r.engine).filter(|engine| !engine.is_empty());
        // Without new routes, the report repeats the messages about those in force.
        let is_write_failure = |message: &EngineMessage| {
            matches!(
                message,
                EngineMessage::LftsNotWritten { .. } | EngineMessage::MftsNotWritten
            )
        };
        let is_decision = |message: &EngineMessage| {
            matches!(message, EngineMessage::Engine(diagnostic)
                if !matches!(diagnostic.message, Diagnostic::Rerouted(_)))
        };
        let is_current = |message: &&EngineMessage| {
            let is_repeated = is_decision(message) && self.messages.contains(message);
            is_write_failure(message) || ((r.has_new_routes || r.failed) && !is_repeated)
        };
        for message in r.engine_messages.iter().filter(is_current) {
            let (kind, detail) = (message.kind(), message.to_string());
            if message.costs_service() {
                warn!(engine, kind, detail, "routing message");
            } else {
                info!(engine, kind, detail, "routing message");
            }
        }
    }
}

fn log_sweep(r: &SweepReport, role: SmState) {
    let severe = r.num_severe();
    let engine = Some(r.engine).filter(|engine| !engine.is_empty());
    info!(
        sweep = r.number,
        scope = if r.local {
            "changed parts"
        } else {
            "whole fabric"
        },
        problems = severe,
        minor_problems = Some(r.problems.len() - severe).filter(|n| *n > 0),
        %role,
        switches = r.switches,
        cas = r.cas,
        routers = r.routers,
        links = r.links,
        lids = r.lids,
        top_lid = r.top_lid.0,
        lids_written = r.lids_changed,
        engine,
        max_hops = r.proof.as_ref().map(|p| p.max_hops),
        lft_blocks_written = r.lft_blocks_written,
        smps_sent = r.smps_sent(),
        took_ms = super::json::sweep::ms(r.took),
        "sweep complete"
    );
}

/// Logs a nearly full P_Key table, and counts and times of a sweep.
fn log_details(r: &SweepReport) {
    let table = r.fullest_pkey_table.as_ref();
    if let Some(table) = table.filter(|table| table.free() < usize::from(table.capacity / 4)) {
        let (used, capacity, free) = (table.used, table.capacity, table.free());
        info!(location = %table.location, used, capacity, free, "P_Key table nearly full");
    }
    for (attr, count) in &r.smps {
        let name = ferrosm_mad::attr::id::name(*attr).unwrap_or("?");
        debug!(
            attr = name,
            gets = count.gets,
            sets = count.sets,
            timeouts = count.timeouts,
            "SMP counts"
        );
    }
    for (phase, took) in &r.phases {
        debug!(%phase, took_ms = super::json::sweep::ms(*took), "phase complete");
    }
}

/// Logs problems that are not known.
pub fn log_problems(problems: &[Problem], known: &[Problem]) {
    let new = problems.iter().filter(|p| !report::is_known(p, known));
    let (listed, suppressed) = report::first_problems(new);
    for found in listed {
        problem(found, None);
    }
    if suppressed > 0 {
        warn!(suppressed, "further problems found");
    }
}

/// Logs the problems of the last full sweep that this one did not find.
fn log_solved(before: &[Problem], now: &[Problem]) {
    let mut solved = before.iter().filter(|p| !report::is_known(p, now));
    for problem in solved.by_ref().take(report::PROBLEMS_MAX) {
        let (kind, location) = (problem.kind.name(), &problem.location);
        info!(kind, %location, "problem no longer found");
    }
    let suppressed = solved.count();
    if suppressed > 0 {
        info!(suppressed, "further problems no longer found");
    }
}

fn problem(found: &Problem, effect: Option<&str>) {
    let (kind, location) = (found.kind.name(), &found.location);
    let detail = found.kind.to_string();
    if found.kind.is_severe() {
        warn!(kind, %location, detail, effect, "problem found");
    } else if found.kind.breaks_setting() {
        warn!(kind, %location, detail, "setting not in force");
    } else {
        info!(kind, %location, detail, "minor problem found");
    }
}
