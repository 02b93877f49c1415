//! Admission of SA requests under load: fair between clients, with priority for joins over table
//! scans.
//!
//! Each client has a queue for each class. Classes are served in turn with fixed weights, so none
//! starves; within a class, clients are served in turn. A request that exceeds a limit is dropped
//! and counted: clients retry after a timeout, but take BUSY as final.
//!
//! A client has at most one table and one scan in progress. Scans run in slices: the caller returns
//! an unfinished scan ([`AdmissionQueue::resume`]), and other requests are served in between.
//!
//! Tables are delayed while too many bytes of earlier tables are in flight: the kernel buffers a
//! whole message until the client has acknowledged it, and does not report completion.
//!
//! No I/O, no clock, no threads; the caller decides when to serve requests.

use core::time::Duration;
use std::collections::VecDeque;

use ferrosm_mad::ids::Lid;
use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::id;
use ferrosm_mad::time::Instant;
use rustc_hash::FxHashMap;

use super::client_use::ClientTable;
use super::message::SaRequest;
use super::path::scan;
use super::records::indexed_components;
use super::registry::multicast::join;
use super::registry::services;
use super::request_kind::RequestKind;

pub use super::outcome::{ClientLoad, RequestCounts, RequestOutcome};

/// Cost and urgency of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestClass {
    /// Changes a registration: hosts wait for the reply before they can communicate.
    Write,
    /// Reads single records.
    Read,
    /// Reads a table, or scans all records for one.
    Table,
    /// Evaluates paths between many pairs of ports, in slices.
    Scan,
}

const CLASSES: usize = RequestClass::ALL.len();

/// Requests of each class that are served in one turn.
const TURN_LEN: [u8; CLASSES] = [8, 8, 1, 1];

/// Maximum number of scans in progress for all clients; each buffers its partial reply.
pub const SCANS_RUNNING_MAX: usize = 4;
/// Maximum number of waiting scans of one client; further ones are dropped.
pub const SCANS_WAITING_PER_CLIENT_MAX: usize = 4;

impl RequestClass {
    /// All classes, in the order of their turns and discriminants.
    pub const ALL: [Self; 4] = [Self::Write, Self::Read, Self::Table, Self::Scan];

    /// The label of metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Read => "read",
            Self::Table => "table",
            Self::Scan => "scan",
        }
    }

    /// The class of a request, which its components determine as well as its method.
    #[must_use]
    pub fn from_request(request: &SaRequest<'_>) -> Self {
        match request.method {
            _ if scan::is_scan(request) => Self::Scan,
            Method::Get if has_indexed_component(request) => Self::Read,
            Method::GetTable if request.attr == id::PATH => Self::Read,
            Method::Get | Method::GetTable => Self::Table,
            Method::GetMulti | Method::GetTraceTable => Self::Read,
            _ => Self::Write,
        }
    }

    /// Whether a client may have only one request of this class in progress.
    const fn is_exclusive(self) -> bool {
        matches!(self, Self::Table | Self::Scan)
    }
}

/// Whether a Get has an indexed component, so that it needs no scan of all records.
fn has_indexed_component(request: &SaRequest<'_>) -> bool {
    let indexed = match request.attr {
        // Paths are resolved by their ends; ClassPortInfo and SMInfoRecord have few records.
        id::CLASS_PORT_INFO | id::PATH | id::SM_INFO => return true,
        id::MC_MEMBER => join::INDEXED,
        id::SERVICE => services::INDEXED,
        attr => indexed_components(attr),
    };
    request.component_mask & indexed != 0
}

/// Expensive classes that may be served now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AllowedClasses {
    /// A table may start.
    pub tables: bool,
    /// A slice of a scan may run.
    pub scans: bool,
}

impl AllowedClasses {
    /// Neither.
    pub const NONE: Self = Self {
        tables: false,
        scans: false,
    };
    /// Both.
    pub const ALL: Self = Self {
        tables: true,
        scans: true,
    };

    const fn allows(self, class: RequestClass) -> bool {
        match class {
            RequestClass::Write | RequestClass::Read => true,
            RequestClass::Table => self.tables,
            RequestClass::Scan => self.scans,
        }
    }
}

/// Limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionLimits {
    /// Waiting requests of all clients.
    pub total: usize,
    /// Waiting requests of one client.
    pub per_client: usize,
    /// Requests of one client per second; 0 for no limit.
    pub rate: u32,
    /// Waiting table requests of all clients.
    pub tables: usize,
    /// Bytes of table replies in flight for all clients; a further table starts below this limit.
    pub table_bytes_in_flight: u64,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        Self {
            total: 1 << 16,
            per_client: 512,
            rate: 0,
            tables: 4096,
            table_bytes_in_flight: 64 << 20,
        }
    }
}

/// Assumed receive rate of clients in bytes of tables per second: half of what an adapter's QP1
/// achieves, so that bytes in flight are overestimated.
const TABLE_BYTES_PER_S: u64 = 64 << 20;

/// Queue of waiting requests.
#[derive(Debug)]
pub struct AdmissionQueue<T> {
    limits: AdmissionLimits,
    clients: FxHashMap<Lid, Client<T>>,
    /// Clients with waiting requests, by class, in the order of their turns.
    turns: [VecDeque<Lid>; CLASSES],
    /// The current class, and the requests of it that were served in this turn.
    turn: (usize, u8),
    waiting: usize,
    tables: usize,
    /// Unfinished scans between two slices, at most [`SCANS_RUNNING_MAX`].
    suspended: VecDeque<T>,
    /// Scans that have started and not finished.
    scans_running: usize,
    /// Estimated time when all sent tables are delivered.
    tables_delivered_at: Instant,
    /// By LID, so the size is bounded.
    loads: FxHashMap<Lid, ClientLoad>,
    uses: ClientTable,
    /// Requests per second of single clients, instead of [`AdmissionLimits::rate`].
    rates: FxHashMap<Lid, u32>,
}

#[derive(Debug)]
struct Client<T> {
    queues: [VecDeque<T>; CLASSES],
    /// A request of this exclusive class is in progress.
    in_progress: [bool; CLASSES],
    waiting: usize,
    bucket: Bucket,
}

impl<T> Client<T> {
    fn new(now: Instant) -> Self {
        Self {
            queues: Default::default(),
            in_progress: [false; CLASSES],
            waiting: 0,
            bucket: Bucket { full_at: now },
        }
    }

    /// Appends a request. Returns whether the client must be added to the turns of this class.
    fn push(&mut self, class: RequestClass, item: T) -> bool {
        let at = class as usize;
        let is_first = self.queues[at].is_empty() && !self.in_progress[at];
        self.queues[at].push_back(item);
        self.waiting += 1;
        is_first
    }
}

/// Token bucket of a client's request rate.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// When the bucket will be full.
    full_at: Instant,
}

impl Bucket {
    /// Takes a token; `false` if there is none. The bucket holds one second of tokens.
    fn take(&mut self, rate: u32, now: Instant) -> bool {
        const SECOND: Duration = Duration::from_secs(1);
        let Some(cost) = SECOND.checked_div(rate) else {
            return true;
        };
        let full_at = if self.full_at > now {
            self.full_at
        } else {
            now
        };
        let after = full_at + cost;
        if after.since(now) > SECOND {
            return false;
        }
        self.full_at = after;
        true
    }
}

impl<T> AdmissionQueue<T> {
    /// An empty queue.
    #[must_use]
    pub fn new(limits: AdmissionLimits) -> Self {
        Self {
            limits,
            clients: FxHashMap::default(),
            turns: Default::default(),
            turn: (0, 0),
            waiting: 0,
            tables: 0,
            suspended: VecDeque::new(),
            scans_running: 0,
            tables_delivered_at: Instant::START,
            loads: FxHashMap::default(),
            uses: ClientTable::default(),
            rates: FxHashMap::default(),
        }
    }

    /// Sets the requests per second of single clients. The others have the common limit.
    pub fn set_rates(&mut self, rates: impl Iterator<Item = (Lid, u32)>) {
        self.rates.clear();
        self.rates.extend(rates);
    }

    /// Requests per second of a client that are admitted; 0 for no limit.
    #[must_use]
    pub fn rate_of(&self, client: Lid) -> u32 {
        self.rates.get(&client).copied().unwrap_or(self.limits.rate)
    }

    /// Requests of a client that wait.
    #[must_use]
    pub fn waiting_of(&self, client: Lid) -> usize {
        self.clients.get(&client).map_or(0, |client| client.waiting)
    }

    /// Queues a request.
    ///
    /// # Errors
    /// Returns the request if a limit is exceeded: drop it and count [`RequestOutcome::Overload`].
    pub fn offer(
        &mut self,
        from: Lid,
        class: RequestClass,
        item: T,
        now: Instant,
    ) -> Result<(), T> {
        let is_table = class == RequestClass::Table;
        let rate = self.rate_of(from);
        let full =
            self.waiting >= self.limits.total || is_table && self.tables >= self.limits.tables;
        let client = self.clients.entry(from).or_insert_with(|| Client::new(now));
        let scans = client.queues[RequestClass::Scan as usize].len();
        if full
            || client.waiting >= self.limits.per_client
            || class == RequestClass::Scan && scans >= SCANS_WAITING_PER_CLIENT_MAX
            || !client.bucket.take(rate, now)
        {
            return Err(item);
        }
        if client.push(class, item) {
            self.turns[class as usize].push_back(from);
        }
        self.waiting += 1;
        self.tables += usize::from(is_table);
        Ok(())
    }

    /// Queues a request again that could not be answered yet, regardless of limits.
    pub fn readmit(&mut self, from: Lid, class: RequestClass, item: T, now: Instant) {
        let client = self.clients.entry(from).or_insert_with(|| Client::new(now));
        if client.push(class, item) {
            self.turns[class as usize].push_back(from);
        }
        self.waiting += 1;
        self.tables += usize::from(class == RequestClass::Table);
    }

    /// The next request, or the next suspended scan. Call [`Self::finish`] when a table or scan is
    /// complete.
    pub fn take(&mut self, allowed: AllowedClasses) -> Option<(RequestClass, T)> {
        for _ in 0..=CLASSES {
            let (at, served) = self.turn;
            let class = RequestClass::ALL[at];
            if served >= TURN_LEN[at] || !self.has_class(class, allowed) {
                self.turn = ((at + 1) % CLASSES, 0);
                continue;
            }
            self.turn = (at, served + 1);
            if class == RequestClass::Scan {
                // Starts scans up to the limit, then continues the suspended ones in turn.
                if self.scans_running >= SCANS_RUNNING_MAX || self.turns[at].is_empty() {
                    return Some((class, self.suspended.pop_front()?));
                }
                self.scans_running += 1;
            }
            let from = self.turns[at].pop_front()?;
            let client = self.clients.get_mut(&from)?;
            let item = client.queues[at].pop_front()?;
            client.waiting -= 1;
            self.waiting -= 1;
            self.tables -= usize::from(class == RequestClass::Table);
            if class.is_exclusive() {
                client.in_progress[at] = true;
            } else if !client.queues[at].is_empty() {
                self.turns[at].push_back(from);
            }
            return Some((class, item));
        }
        None
    }

    /// Returns an unfinished scan to the queue.
    pub fn resume(&mut self, scan: T) {
        self.suspended.push_back(scan);
    }

    /// A table or scan of a client is complete: its next one may start.
    pub fn finish(&mut self, from: Lid, class: RequestClass) {
        let at = class as usize;
        if class == RequestClass::Scan {
            self.scans_running = self.scans_running.saturating_sub(1);
        }
        if let Some(client) = self.clients.get_mut(&from)
            && core::mem::take(&mut client.in_progress[at])
            && !client.queues[at].is_empty()
        {
            self.turns[at].push_back(from);
        }
    }

    fn has_class(&self, class: RequestClass, allowed: AllowedClasses) -> bool {
        if !allowed.allows(class) {
            return false;
        }
        let has_turns = !self.turns[class as usize].is_empty();
        match class {
            RequestClass::Write | RequestClass::Read | RequestClass::Table => has_turns,
            RequestClass::Scan => {
                has_turns && self.scans_running < SCANS_RUNNING_MAX || !self.suspended.is_empty()
            }
        }
    }

    /// Whether another table may start: the bytes in flight are below the limit.
    #[must_use]
    pub fn may_send_table(&self, now: Instant) -> bool {
        self.tables_delivered_at.since(now) < transfer_time(self.limits.table_bytes_in_flight)
    }

    /// Records that a table of `bytes` bytes was sent.
    pub fn record_sent_table(&mut self, bytes: usize, now: Instant) {
        let from = self.tables_delivered_at.max(now);
        self.tables_delivered_at = from + transfer_time(bytes as u64);
    }

    /// Whether [`Self::take`] would return a request.
    #[must_use]
    pub fn has_next(&self, allowed: AllowedClasses) -> bool {
        RequestClass::ALL
            .into_iter()
            .any(|class| self.has_class(class, allowed))
    }

    /// Counts a request by outcome.
    pub fn count(&mut self, from: Lid, kind: RequestKind, outcome: RequestOutcome) {
        self.loads.entry(from).or_default().add(kind, outcome);
        self.uses.count(from, kind, outcome);
    }

    /// What clients ask for.
    #[must_use]
    pub const fn uses(&self) -> &ClientTable {
        &self.uses
    }

    /// Adds time of the SA's threads for a client.
    pub fn add_time(&mut self, from: Lid, time: Duration) {
        self.uses.add_time(from, time);
    }

    /// Begins the next interval of the clients' rates.
    pub fn begin_use_interval(&mut self, now: Instant) {
        self.uses.begin_interval(now);
    }

    /// Requests of each client, in arbitrary order.
    pub fn loads(&self) -> impl Iterator<Item = (Lid, ClientLoad)> {
        self.loads.iter().map(|(lid, load)| (*lid, *load))
    }

    /// The most frequent kinds are determined anew.
    pub fn begin_load_interval(&mut self) {
        for load in self.loads.values_mut() {
            load.begin_interval();
        }
    }

    /// Number of waiting requests.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.waiting
    }

    /// Whether no request waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Removes state of clients without waiting requests and with a full token bucket. Call it
    /// periodically.
    pub fn remove_idle_clients(&mut self, now: Instant) {
        self.clients.retain(|_, c| {
            c.waiting > 0 || c.in_progress.contains(&true) || c.bucket.full_at > now
        });
    }
}

fn transfer_time(bytes: u64) -> Duration {
    Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / TABLE_BYTES_PER_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn drain<T>(queue: &mut AdmissionQueue<T>) -> Vec<T> {
        core::iter::from_fn(|| Some(queue.take(AllowedClasses::ALL)?.1)).collect()
    }

    #[test]
    fn clients_take_turns() {
        let mut queue = AdmissionQueue::new(AdmissionLimits::default());
        for n in 0..100 {
            queue
                .offer(Lid(1), RequestClass::Read, (1, n), at_ms(0))
                .unwrap();
        }
        for n in 0..2 {
            queue
                .offer(Lid(2), RequestClass::Read, (2, n), at_ms(0))
                .unwrap();
        }
        let order = drain(&mut queue);
        assert_eq!(order[..4], [(1, 0), (2, 0), (1, 1), (2, 1)]);
        assert_eq!((order.len(), queue.len()), (102, 0));
    }

    #[test]
    fn classes_are_served_by_weight_without_starvation() {
        let mut queue = AdmissionQueue::new(AdmissionLimits::default());
        for n in 0..64 {
            for (class, name) in [
                (RequestClass::Table, 't'),
                (RequestClass::Read, 'r'),
                (RequestClass::Write, 'w'),
            ] {
                queue.offer(Lid(n), class, name, at_ms(0)).unwrap();
            }
        }
        let order: String = drain(&mut queue).into_iter().collect();
        assert_eq!(order[..17], *"wwwwwwwwrrrrrrrrt");
        assert_eq!(order.len(), 192);
        assert!(order.ends_with("tttt"));
    }

    #[test]
    fn queue_limit_is_per_client() {
        let limits = AdmissionLimits {
            total: 100,
            per_client: 10,
            ..AdmissionLimits::default()
        };
        let mut queue = AdmissionQueue::new(limits);
        let accepted = (0..50).filter(|n| {
            queue
                .offer(Lid(1), RequestClass::Read, *n, at_ms(0))
                .is_ok()
        });
        assert_eq!(accepted.count(), 10);
        assert!(queue.offer(Lid(2), RequestClass::Read, 0, at_ms(0)).is_ok());
        for client in 3..30 {
            for n in 0..10 {
                let _ = queue.offer(Lid(client), RequestClass::Read, n, at_ms(0));
            }
        }
        assert_eq!(queue.len(), 100);
    }

    #[test]
    fn rate_limit_allows_a_burst_of_one_second() {
        let limits = AdmissionLimits {
            rate: 100,
            ..AdmissionLimits::default()
        };
        let mut queue = AdmissionQueue::new(limits);
        let mut accepted = 0;
        for ms in 0..1000 {
            accepted += u32::from(
                queue
                    .offer(Lid(1), RequestClass::Read, (), at_ms(ms))
                    .is_ok(),
            );
            let _ = queue.take(AllowedClasses::ALL);
        }
        assert!((195..=201).contains(&accepted), "{accepted}");
        queue.remove_idle_clients(at_ms(10_000));
        assert!(queue.clients.is_empty());
    }

    #[test]
    fn limits_of_single_clients_replace_the_common_one() {
        let limits = AdmissionLimits {
            rate: 100,
            ..AdmissionLimits::default()
        };
        let mut queue = AdmissionQueue::new(limits);
        queue.set_rates([(Lid(1), 10), (Lid(2), 1000)].into_iter());
        let admitted = |queue: &mut AdmissionQueue<()>, lid| {
            let offers = (0..2000).filter(|ms| {
                let offered = queue.offer(lid, RequestClass::Read, (), at_ms(*ms)).is_ok();
                let _ = queue.take(AllowedClasses::ALL);
                offered
            });
            offers.count()
        };
        assert!((28..=31).contains(&admitted(&mut queue, Lid(1))));
        assert_eq!(admitted(&mut queue, Lid(2)), 2000);
        assert!((295..=301).contains(&admitted(&mut queue, Lid(3))));
        queue.set_rates(core::iter::empty());
        assert_eq!(queue.rate_of(Lid(1)), 100);
    }

    #[test]
    fn tables_wait_while_earlier_ones_are_in_flight() {
        let limits = AdmissionLimits {
            tables: 2,
            table_bytes_in_flight: TABLE_BYTES_PER_S,
            ..AdmissionLimits::default()
        };
        let mut queue = AdmissionQueue::new(limits);
        for n in 0..2 {
            queue
                .offer(Lid(n), RequestClass::Table, 't', at_ms(0))
                .unwrap();
        }
        assert!(
            queue
                .offer(Lid(3), RequestClass::Table, 't', at_ms(0))
                .is_err()
        );
        queue
            .offer(Lid(3), RequestClass::Read, 'r', at_ms(0))
            .unwrap();
        assert_eq!(
            queue.take(AllowedClasses::ALL),
            Some((RequestClass::Read, 'r'))
        );
        assert!(!queue.has_next(AllowedClasses::NONE) && queue.has_next(AllowedClasses::ALL));
        assert_eq!(queue.take(AllowedClasses::NONE), None);
        assert_eq!(
            queue.take(AllowedClasses::ALL),
            Some((RequestClass::Table, 't'))
        );
        // Two seconds of data, of which one second must be delivered.
        queue.record_sent_table(2 * usize::try_from(TABLE_BYTES_PER_S).unwrap(), at_ms(0));
        assert!(!queue.may_send_table(at_ms(1000)));
        assert!(queue.may_send_table(at_ms(1001)));
    }

    #[test]
    fn requests_are_counted_per_client() {
        let mut queue = AdmissionQueue::<()>::new(AdmissionLimits::default());
        for outcome in [
            RequestOutcome::Answered,
            RequestOutcome::Forwarded,
            RequestOutcome::Overload,
            RequestOutcome::Overload,
        ] {
            queue.count(Lid(7), RequestKind::OTHER, outcome);
        }
        queue.count(Lid(8), RequestKind::OTHER, RequestOutcome::Dropped);
        let mut clients: Vec<_> = queue
            .loads()
            .map(|(lid, load)| (lid, load.counts().overload, load.total()))
            .collect();
        clients.sort_unstable();
        assert_eq!(clients, [(Lid(7), 2, 4), (Lid(8), 0, 1)]);
    }

    /// 100 clients with endless scans: at most four run, at most one for each client, and reads are
    /// served between slices.
    #[test]
    fn scans_run_in_turn_and_reads_are_served_between_slices() {
        let mut queue = AdmissionQueue::new(AdmissionLimits::default());
        for lid in 1..=100 {
            let accepted = (0..50).filter(|n| {
                let scan = (lid, RequestClass::Scan, *n);
                queue
                    .offer(Lid(lid), RequestClass::Scan, scan, at_ms(0))
                    .is_ok()
            });
            assert_eq!(accepted.count(), SCANS_WAITING_PER_CLIENT_MAX);
        }
        for n in 0..20 {
            let read = (999, RequestClass::Read, n);
            queue
                .offer(Lid(999), RequestClass::Read, read, at_ms(0))
                .unwrap();
        }
        let (mut reads, mut slices) = (0, Vec::new());
        while slices.len() < 40 {
            let (class, item) = queue.take(AllowedClasses::ALL).unwrap();
            if class == RequestClass::Scan {
                slices.push(item);
                queue.resume(item);
            } else {
                reads += 1;
                assert!(
                    slices.len() <= 2,
                    "a read waited for {} slices",
                    slices.len()
                );
            }
        }
        assert_eq!(reads, 20);
        let running: std::collections::BTreeSet<u16> = slices.iter().map(|s| s.0).collect();
        assert_eq!(running.len(), SCANS_RUNNING_MAX);
        // Reads are served even if scans are not allowed.
        queue
            .offer(
                Lid(999),
                RequestClass::Read,
                (999, RequestClass::Read, 0),
                at_ms(0),
            )
            .unwrap();
        assert!(
            queue
                .take(AllowedClasses::NONE)
                .is_some_and(|(class, _)| class == RequestClass::Read)
        );
        assert!(queue.take(AllowedClasses::NONE).is_none());
        // A finished scan lets another client's scan start.
        let (_, (lid, ..)) = queue.take(AllowedClasses::ALL).unwrap();
        queue.finish(Lid(lid), RequestClass::Scan);
        let (_, (next, ..)) = queue.take(AllowedClasses::ALL).unwrap();
        assert!(!running.contains(&next), "{next} after {running:?}");
    }
}
