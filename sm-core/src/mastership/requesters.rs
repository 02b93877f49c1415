//! Who sent an SMInfo request (ADR 0020).
//!
//! Any host can send Get(SMInfo), and Set(SMInfo) in the name of any SM. So the sender is queried
//! by Get(SMInfo) at the port that the request came from before a control is obeyed, and before the
//! SM_Key is shown to an SM that has not shown it. The port follows from the source LID, or from
//! the ReturnPath of a directed route, which the switches on the way wrote. While the sender is
//! queried, its request waits; OpenSM repeats it for 800 ms. Before HANDOVER is accepted, this SM
//! also reads the sender's port and its own, which it can read only with the M_Key in force. The
//! queries do not pass the queue of SMPs, which belongs to the sweep in progress.

use core::time::Duration;

use ferrosm_fabric::observed::{ObservedFabric, PortRef};
use ferrosm_mad::attr::{PortInfo, SmControl, SmInfo, SmState, id};
use ferrosm_mad::ids::{AttrId, MKey, Tid};
use ferrosm_mad::mad::{Mad, MadIn, Method, Status};
use ferrosm_mad::smp::{self, DATA_LEN, DrPath};
use ferrosm_mad::time::Instant;

use super::sm_info::{own_guid, sm_guid};
use super::{Mastership, config_proof, m_key_proof, sm_key_matches, sm_key_proof};
use crate::config::SmConfig;
use crate::config::sections::ConfigSections;
use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::election::{ControlSource, ElectionInput, ElectionNotice, OtherSm, SmMKey};
use crate::smp::sender::{Sender, SenderQuery};
use crate::smp::{UNTRACKED, sender_query_tid};

/// Requests that wait at the same time, one of each method from one sender. A further Get is
/// answered with SM_Key 0 at once, and a further Set is dropped: its sender repeats it.
const WAITING_MAX: usize = 16;
/// Of these, requests from senders at unknown ports.
const WAITING_UNKNOWN_MAX: usize = 4;
/// Time to wait for a response.
const TIMEOUT: Duration = Duration::from_millis(200);
/// Queries for one request, each with another M_Key if the port may have several.
const ATTEMPTS: u8 = 3;

/// A request whose sender is being queried.
#[derive(Debug)]
struct Waiting {
    request: MadIn,
    query: SenderQuery,
    /// The SM that sent HANDOVER, while its port, then this SM's own, is read.
    confirmed: Option<ControlSource>,
    /// When the query times out.
    due: Instant,
}

/// The requests whose senders are being queried, in order of `due`.
#[derive(Debug, Default)]
pub(super) struct SenderQueries {
    waiting: Vec<Waiting>,
    /// Number of the last query.
    last: u16,
}

impl SenderQueries {
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.first().map(|waiting| waiting.due)
    }

    /// The waiting requests of this sender.
    fn of<'a>(&'a self, sender: &'a Sender) -> impl Iterator<Item = &'a Mad> {
        let waiting = self.waiting.iter();
        let of_sender = waiting.filter(|w| w.query.sender.is_same(sender));
        of_sender.map(|w| &w.request.mad)
    }

    /// Whether a request of this method from this sender waits.
    fn has(&self, sender: &Sender, method: Method) -> bool {
        self.of(sender).any(|waiting| waiting.method() == method)
    }

    /// Whether there is no room for a request of this sender. One host may have many unknown paths.
    fn is_full(&self, sender: &Sender) -> bool {
        let unknown = self
            .waiting
            .iter()
            .filter(|w| w.query.sender.port.is_none());
        self.waiting.len() >= WAITING_MAX
            || sender.port.is_none() && unknown.count() >= WAITING_UNKNOWN_MAX
    }

    /// A request waits for this query, whose TID is still to be set.
    fn start(&mut self, ctx: &mut Ctx<'_>, mut waiting: Waiting) {
        self.last = self.last.wrapping_add(1);
        waiting.query.tid = sender_query_tid(self.last);
        waiting.due = ctx.now + TIMEOUT;
        ctx.effects
            .push(Effect::QuerySender(Box::new(waiting.query)));
        self.waiting.push(waiting);
    }

    /// Whether this request already waits, so that this is a retransmission.
    fn has_request(&self, sender: &Sender, request: &Mad) -> bool {
        self.of(sender)
            .any(|waiting| waiting.tid() == request.tid())
    }

    fn take_answered(&mut self, tid: Tid, attr: AttrId) -> Option<Waiting> {
        let mut queries = self.waiting.iter().map(|w| w.query);
        let at = queries.position(|q| q.tid == tid && q.attr == attr)?;
        Some(self.waiting.remove(at))
    }

    fn take_due(&mut self, now: Instant) -> Option<Waiting> {
        self.waiting.first().filter(|w| w.due <= now)?;
        Some(self.waiting.remove(0))
    }
}

impl Mastership {
    /// Whether the query of a sender is not answered yet. Checked for each response.
    pub(crate) const fn awaits_sender(&self) -> bool {
        !self.sender_queries.waiting.is_empty()
    }

    /// Another SM, or any host, requests SMInfo (Get) or sends a control (Set). `has_earlier_key`:
    /// with an M_Key that ports may still have. HANDOVER needs the key in force: its sender could
    /// not read the ports that this SM writes.
    pub(crate) fn on_request(
        &mut self,
        ctx: &mut Ctx<'_>,
        received: &MadIn,
        has_earlier_key: bool,
    ) {
        let mad = &received.mad;
        let is_set = mad.method() == Method::Set;
        let is_handover = is_set && control_of(received) == SmControl::Handover;
        let has_m_key = ctx.cfg.m_key == MKey::NONE
            || smp::m_key(mad) == ctx.cfg.m_key
            || has_earlier_key && !is_handover;
        // An SM with another key gets a response that says so, to choose another successor; but
        // not from a master: an SM that found it would remain standby, though it could not
        // configure the subnet.
        let shows_difference =
            self.role() != SmState::Master && compare_m_key(ctx, received) == SmMKey::Other;
        if !has_m_key && (is_set || ctx.cfg.m_key_protect_bits >= 2 && !shows_difference) {
            return;
        }
        let sender = Sender::of(ctx.fabric, received);
        let knows_m_key = ctx.cfg.m_key != MKey::NONE && has_m_key;
        let shown_key = self
            .shown_key(ctx, received, sender.as_ref())
            .or_else(|| knows_m_key.then_some(ctx.cfg.sm_key));
        if !is_set && (shown_key.is_some() || !has_m_key) {
            return self.respond(ctx, received, shown_key);
        }
        // A query to this SM's own port would be answered by this SM.
        let other =
            sender.filter(|sender| sender.port.is_none() || sender.port != ctx.fabric.local());
        let Some(sender) = other.filter(|sender| !sender.path.is_empty()) else {
            return self.on_unknown_sender(ctx, received, sender.as_ref());
        };
        if self.sender_queries.has_request(&sender, mad) {
            return;
        }
        if self.sender_queries.is_full(&sender) || self.sender_queries.has(&sender, mad.method()) {
            if !is_set {
                self.respond(ctx, received, None);
            }
            return;
        }
        let waiting = Waiting {
            request: *received,
            query: SenderQuery {
                sender,
                attr: id::SM_INFO,
                tid: UNTRACKED,
                attempt: 0,
            },
            confirmed: None,
            due: ctx.now,
        };
        self.sender_queries.start(ctx, waiting);
    }

    /// The SM_Key that the sender of a Get has shown or proven to know; `None` if it has not.
    fn shown_key(&self, ctx: &Ctx<'_>, received: &MadIn, sender: Option<&Sender>) -> Option<MKey> {
        if ctx.cfg.sm_key == MKey::NONE {
            return Some(MKey::NONE);
        }
        let port = sender.and_then(|sender| sender.port);
        let guid = port.and_then(|port| sm_guid(ctx.fabric, port));
        let own = own_guid(ctx.fabric);
        let keys = ctx.cfg.sm_keys();
        sm_key_proof::proven_key(keys, &received.mad, guid, own).or_else(|| {
            let mut known = self.other_sms.values();
            let (_, info) = known.find(|(at, _)| Some(*at) == port)?;
            accepted_key(ctx.cfg, info)
        })
    }

    /// The request waits for no query: a Get is answered without the SM_Key, a control is ignored.
    fn on_unknown_sender(&self, ctx: &mut Ctx<'_>, received: &MadIn, sender: Option<&Sender>) {
        if received.mad.method() != Method::Set {
            return self.respond(ctx, received, None);
        }
        let port = sender.and_then(|sender| sender.port);
        let input = ElectionInput::ControlUnconfirmed {
            control: control_of(received),
            claimed: SmInfo::decode(smp::data(&received.mad)).guid,
            port: port.and_then(|port| sm_guid(ctx.fabric, port)),
        };
        ctx.effects.push(Effect::Elect(input));
    }

    /// Responds to Get(SMInfo), with the SM_Key that its sender knows.
    fn respond(&self, ctx: &mut Ctx<'_>, request: &MadIn, shown_key: Option<MKey>) {
        let own_info = SmInfo {
            sm_key: shown_key.unwrap_or(MKey::NONE),
            ..self.sm_info(ctx.cfg, ctx.fabric, ctx.outbox.sent(), None)
        };
        let mut data = own_info.encode();
        m_key_proof::add_to_response(&mut data, compare_m_key(ctx, request));
        config_proof::add_to_response(&mut data, self.compare_config(ctx, request));
        let response = smp::response(&request.mad, Status::OK, &data);
        ctx.outbox.send(request.from, response);
    }

    /// A response arrived. Returns whether it answers a query of this module.
    pub(crate) fn on_sender_response(
        &mut self,
        ctx: &mut Ctx<'_>,
        tid: Tid,
        received: &MadIn,
    ) -> bool {
        let attr = received.mad.attr_id();
        let Some(waiting) = self.sender_queries.take_answered(tid, attr) else {
            return false;
        };
        let is_ok = received.mad.status().is_ok();
        match waiting.confirmed {
            Some(source) => {
                let info = PortInfo::decode(smp::data(&received.mad));
                if is_ok && shows_m_key(ctx.cfg, &info) {
                    self.on_port_read(ctx, waiting, source);
                } else {
                    self.on_port_unreadable(ctx, &waiting);
                }
            }
            None => {
                let info = SmInfo::decode(smp::data(&received.mad));
                self.on_sender_info(ctx, waiting, info, is_ok);
            }
        }
        true
    }

    /// The SM at the source of a request responded.
    fn on_sender_info(&mut self, ctx: &mut Ctx<'_>, waiting: Waiting, info: SmInfo, is_ok: bool) {
        let Waiting { request, query, .. } = waiting;
        let port = query.sender.port;
        let guid = port.and_then(|port| sm_guid(ctx.fabric, port));
        if !is_ok || port.is_some() && guid != Some(info.guid) {
            return self.on_unknown_sender(ctx, &request, Some(&query.sender));
        }
        let shown_key = accepted_key(ctx.cfg, &info);
        if let Some(port) = port
            && shown_key.is_some()
        {
            self.other_sms.insert(info.guid, (port, info));
        }
        if request.mad.method() != Method::Set {
            return self.respond(ctx, &request, shown_key);
        }
        let source = ControlSource {
            port: guid,
            sm: self.peer(ctx.cfg, &info),
        };
        let is_handover = control_of(&request) == SmControl::Handover;
        if !is_handover || shown_key.is_none() {
            return obey(ctx, &request, source);
        }
        let is_known = query.sender.port.is_some();
        let read = Waiting {
            request,
            query,
            confirmed: Some(source),
            due: ctx.now,
        };
        if is_known {
            self.read_port(ctx, read, query.sender);
        } else {
            self.on_port_read(ctx, read, source);
        }
    }

    /// Reads a port before HANDOVER is accepted.
    fn read_port(&mut self, ctx: &mut Ctx<'_>, mut waiting: Waiting, port: Sender) {
        waiting.query = SenderQuery {
            sender: port,
            attr: id::PORT_INFO,
            attempt: 0,
            ..waiting.query
        };
        self.sender_queries.start(ctx, waiting);
    }

    /// The port of the SM that sent HANDOVER can be read, or is unknown; or the own port can.
    fn on_port_read(&mut self, ctx: &mut Ctx<'_>, waiting: Waiting, source: ControlSource) {
        let own_port = ctx.fabric.local();
        match own_port.filter(|_| !waiting.query.sender.path.is_empty()) {
            Some(own_port) => {
                let own = Sender {
                    port: Some(own_port),
                    path: DrPath::LOCAL,
                };
                self.read_port(ctx, waiting, own);
            }
            None => obey(ctx, &waiting.request, source),
        }
    }

    /// HANDOVER came from the master, but this SM could not configure the subnet.
    fn on_port_unreadable(&self, ctx: &mut Ctx<'_>, waiting: &Waiting) {
        let request = &waiting.request;
        let own_info = self.sm_info(ctx.cfg, ctx.fabric, ctx.outbox.sent(), None);
        let reply = smp::response(&request.mad, Status::BAD_FIELD, &own_info.encode());
        ctx.outbox.send(request.from, reply);
        let from = SmInfo::decode(smp::data(&request.mad)).guid;
        let notice = if waiting.query.sender.path.is_empty() {
            ElectionNotice::OwnPortUnreadable(from)
        } else {
            ElectionNotice::MasterPortUnreadable(from)
        };
        self.emit_notice(ctx, notice);
    }

    /// Repeats the next query that timed out, or gives its request up. Call it until it returns
    /// `false`: none has timed out.
    pub(crate) fn on_sender_timeout(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Some(mut waiting) = self.sender_queries.take_due(ctx.now) else {
            return false;
        };
        waiting.query.attempt += 1;
        if waiting.query.attempt < ATTEMPTS {
            self.sender_queries.start(ctx, waiting);
        } else if waiting.confirmed.is_some() {
            self.on_port_unreadable(ctx, &waiting);
        } else {
            self.on_unknown_sender(ctx, &waiting.request, Some(&waiting.query.sender));
        }
        true
    }

    /// The data of Get(SMInfo) to the SM at `port`.
    pub(crate) fn sm_info_request(
        &self,
        cfg: &SmConfig,
        fabric: &ObservedFabric,
        port: Option<PortRef>,
    ) -> [u8; DATA_LEN] {
        let Some(responder) = port.and_then(|port| sm_guid(fabric, port)) else {
            return [0; DATA_LEN];
        };
        let own = own_guid(fabric);
        let mut data = sm_key_proof::request_data(cfg.sm_keys(), own, responder);
        m_key_proof::add_to_request(&mut data, cfg.m_key, own, responder);
        config_proof::add_to_request(&mut data, cfg.sm_key, &self.config_digests, own, responder);
        data
    }

    /// The sections in which the configuration of the SM that sent Get(SMInfo) differs; `None` if
    /// it sent no hashes.
    fn compare_config(&self, ctx: &Ctx<'_>, request: &MadIn) -> Option<ConfigSections> {
        let data = smp::data(&request.mad);
        if request.mad.method() == Method::Set {
            return None;
        }
        let requester = SmInfo::decode(data).guid;
        let own = own_guid(ctx.fabric);
        let keys = ctx.cfg.sm_keys().into_iter();
        let compared = keys.filter_map(|key| {
            config_proof::compare(data, key, &self.config_digests, requester, own)
        });
        // Hashes with another key differ in nearly all sections.
        compared.min_by_key(|differing| differing.0.count_ones())
    }
}

/// The SM_Key that an SM shows, if it is accepted.
fn accepted_key(cfg: &SmConfig, info: &SmInfo) -> Option<MKey> {
    sm_key_matches(cfg, info).then_some(info.sm_key)
}

/// Whether the SM that sent Get(SMInfo) has the M_Key of this one, as far as it tells.
fn compare_m_key(ctx: &Ctx<'_>, received: &MadIn) -> SmMKey {
    if received.mad.method() == Method::Set {
        return SmMKey::Unknown;
    }
    let data = smp::data(&received.mad);
    let requester = SmInfo::decode(data).guid;
    m_key_proof::compare(data, ctx.cfg.m_key, requester, own_guid(ctx.fabric))
}

/// Whether a port that responded to Get(PortInfo) accepts Sets with the same M_Key. With these
/// protect bits it hides its M_Key from requests with another one (IBA vol. 1, 14.2.4). Then 0 is
/// its M_Key only if this is what the configuration writes.
fn shows_m_key(cfg: &SmConfig, port: &PortInfo) -> bool {
    let is_0_configured = cfg.m_key == MKey::NONE && cfg.m_key_protect_bits == 1;
    port.m_key != MKey::NONE || port.m_key_protect_bits != 1 || is_0_configured
}

fn control_of(request: &MadIn) -> SmControl {
    SmControl(request.mad.attr_mod().0)
}

/// Steps the election with a control whose source responded.
fn obey(ctx: &mut Ctx<'_>, request: &MadIn, source: ControlSource) {
    let claimed = SmInfo::decode(smp::data(&request.mad));
    let input = ElectionInput::ControlReceived {
        control: control_of(request),
        from: OtherSm::new(&claimed, source.sm.sm_key_matches, source.sm.m_key),
        source,
    };
    ctx.effects
        .push(Effect::ElectOnRequest(input, Box::new(*request)));
}
