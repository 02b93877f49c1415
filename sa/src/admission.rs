//! Who is answered next when more is asked than can be answered: fair among clients, joins before table scans.
//!
//! Requests wait in one queue for each client and class. Classes are served by turns with fixed weights, so that none starves;
//! within a class clients take turns, so that a client that asks a thousand times waits for itself, not others for it. A request
//! that exceeds a limit is dropped and counted: the client repeats it, while it would take BUSY as the final answer.
//!
//! A client has at most one table and one scan in progress. Scans run in slices: the holder puts an unfinished one back
//! ([`Admission::resume`]), and other requests are served in between.
//!
//! Tables are held back while too many bytes of earlier ones are on their way: a transport keeps a whole message until the
//! client has acknowledged it, and says nothing when it has.
//!
//! No I/O, no clock, no thread; whoever holds it decides when to take.

use core::time::Duration;
use std::collections::VecDeque;

use ferrosm_mad::ids::Lid;
use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::id;
use ferrosm_mad::time::Instant;
use rustc_hash::FxHashMap;

use super::message::Request;
use super::path::scan;
use super::records;

/// How much work a request is, and how urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Registers something: a host waits for it before it can communicate.
    Write,
    /// Reads one thing.
    Read,
    /// Reads a table, or searches all records for one.
    Table,
    /// Evaluates paths of many pairs of ports, in slices.
    Scan,
}

const CLASSES: usize = 4;
const ALL: [Class; CLASSES] = [Class::Write, Class::Read, Class::Table, Class::Scan];

/// Requests of each class that are served before the next class has its turn.
const TURNS: [u8; CLASSES] = [8, 8, 1, 1];

/// Scans that may be in progress, all clients together: each holds its reply so far in memory.
pub const SCANS_RUNNING_MAX: usize = 4;
/// Scans of one client that may wait; a further one is dropped.
pub const SCANS_WAITING_PER_CLIENT_MAX: usize = 4;

impl Class {
    /// The class of a request: decided by what it names, not only by its method.
    #[must_use]
    pub fn of(request: &Request<'_>) -> Self {
        match request.method {
            _ if scan::is_scan(request) => Self::Scan,
            Method::Get if records::names_indexed(request) => Self::Read,
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

/// Which classes of expensive requests may begin or go on now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expensive {
    /// A table may begin.
    pub tables: bool,
    /// A slice of a scan may run.
    pub scans: bool,
}

impl Expensive {
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

    const fn allows(self, class: Class) -> bool {
        match class {
            Class::Write | Class::Read => true,
            Class::Table => self.tables,
            Class::Scan => self.scans,
        }
    }
}

/// Bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests that wait, all clients together.
    pub total: usize,
    /// Requests of one client that wait.
    pub of_client: usize,
    /// Requests of one client in a second; 0 for any number.
    pub rate: u32,
    /// Requests for tables that wait, all clients together.
    pub tables: usize,
    /// Bytes of tables that are on their way, all clients together: one more begins while they are fewer.
    pub table_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total: 1 << 16,
            of_client: 512,
            rate: 0,
            tables: 4096,
            table_bytes: 64 << 20,
        }
    }
}

/// Bytes of tables in a second that clients are taken to receive; half of what an adapter's QP1 does, so that what is counted as
/// on its way is rather more than what is.
const TABLE_BYTES_PER_S: u64 = 64 << 20;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Answered at once.
    Answered,
    /// Left to the owner of what clients register.
    Owned,
    /// Not answered: no view, not a request, or a wrong SM_Key.
    Dropped,
    /// Rejected: the query exceeds the work or reply size of one request.
    TooLarge,
    /// Dropped because a limit of waiting requests or the request rate was exceeded.
    Overload,
}

/// Requests of a client, by what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Answered at once.
    pub answered: u64,
    /// Left to the owner of what clients register.
    pub owned: u64,
    /// Not answered.
    pub dropped: u64,
    /// Rejected: the query exceeds the work or reply size of one request.
    pub too_large: u64,
    /// Dropped because a limit of waiting requests or the request rate was exceeded.
    pub overload: u64,
}

impl Counts {
    /// Counts one.
    pub const fn add(&mut self, outcome: Outcome) {
        let count = match outcome {
            Outcome::Answered => &mut self.answered,
            Outcome::Owned => &mut self.owned,
            Outcome::Dropped => &mut self.dropped,
            Outcome::TooLarge => &mut self.too_large,
            Outcome::Overload => &mut self.overload,
        };
        *count += 1;
    }

    /// All of them.
    #[must_use]
    pub const fn asked(&self) -> u64 {
        self.answered + self.owned + self.dropped + self.too_large + self.overload
    }
}

/// Requests that wait.
#[derive(Debug)]
pub struct Admission<T> {
    limits: Limits,
    clients: FxHashMap<Lid, Client<T>>,
    /// Clients with something to serve, by class, in the order of their turns.
    turns: [VecDeque<Lid>; CLASSES],
    /// The class whose turn it is, and how many of it were served in this turn.
    now: (usize, u8),
    waiting: usize,
    tables: usize,
    /// Unfinished scans between two slices, at most [`SCANS_RUNNING_MAX`].
    suspended: VecDeque<T>,
    /// Scans that began and have not finished.
    scans_running: usize,
    /// When the tables that were sent will have arrived.
    tables_gone: Instant,
    /// By LID, so bounded by the number of LIDs.
    counts: FxHashMap<Lid, Counts>,
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

    /// Appends a request to its queue. Returns whether the client has to be given a turn in this class.
    fn push(&mut self, class: Class, item: T) -> bool {
        let at = class as usize;
        let is_first = self.queues[at].is_empty() && !self.in_progress[at];
        self.queues[at].push_back(item);
        self.waiting += 1;
        is_first
    }
}

/// Requests that a client may still make, in nanoseconds of its rate.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// When the bucket will be full.
    full_at: Instant,
}

impl Bucket {
    /// Takes one request's worth; `false` if there is none. The bucket holds a second's worth.
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

impl<T> Admission<T> {
    /// An empty queue.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            clients: FxHashMap::default(),
            turns: Default::default(),
            now: (0, 0),
            waiting: 0,
            tables: 0,
            suspended: VecDeque::new(),
            scans_running: 0,
            tables_gone: Instant::START,
            counts: FxHashMap::default(),
        }
    }

    /// Lets a request wait for its turn.
    ///
    /// # Errors
    /// Returns it if a limit of its client, or of all clients together, is exceeded: drop it and count [`Outcome::Overload`].
    pub fn offer(&mut self, from: Lid, class: Class, item: T, now: Instant) -> Result<(), T> {
        let is_table = class == Class::Table;
        let full =
            self.waiting >= self.limits.total || is_table && self.tables >= self.limits.tables;
        let client = self.clients.entry(from).or_insert_with(|| Client::new(now));
        let scans = client.queues[Class::Scan as usize].len();
        if full
            || client.waiting >= self.limits.of_client
            || class == Class::Scan && scans >= SCANS_WAITING_PER_CLIENT_MAX
            || !client.bucket.take(self.limits.rate, now)
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

    /// Lets a request wait again that was taken and could not be answered yet, whatever the limits.
    pub fn readmit(&mut self, from: Lid, class: Class, item: T, now: Instant) {
        let client = self.clients.entry(from).or_insert_with(|| Client::new(now));
        if client.push(class, item) {
            self.turns[class as usize].push_back(from);
        }
        self.waiting += 1;
        self.tables += usize::from(class == Class::Table);
    }

    /// The next request to serve, or the next suspended scan. Call [`Self::finished`] when a table or scan is complete.
    pub fn take(&mut self, allowed: Expensive) -> Option<(Class, T)> {
        for _ in 0..=CLASSES {
            let (at, served) = self.now;
            let class = ALL[at];
            if served >= TURNS[at] || !self.has(class, allowed) {
                self.now = ((at + 1) % CLASSES, 0);
                continue;
            }
            self.now = (at, served + 1);
            if class == Class::Scan {
                // Begins scans up to the limit, then runs those in progress in turn.
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
            self.tables -= usize::from(class == Class::Table);
            if class.is_exclusive() {
                client.in_progress[at] = true;
            } else if !client.queues[at].is_empty() {
                self.turns[at].push_back(from);
            }
            return Some((class, item));
        }
        None
    }

    /// Puts back a scan that is not finished.
    pub fn resume(&mut self, scan: T) {
        self.suspended.push_back(scan);
    }

    /// A table or scan of a client is complete: its next one may begin.
    pub fn finished(&mut self, from: Lid, class: Class) {
        let at = class as usize;
        if class == Class::Scan {
            self.scans_running = self.scans_running.saturating_sub(1);
        }
        if let Some(client) = self.clients.get_mut(&from)
            && core::mem::take(&mut client.in_progress[at])
            && !client.queues[at].is_empty()
        {
            self.turns[at].push_back(from);
        }
    }

    fn has(&self, class: Class, allowed: Expensive) -> bool {
        if !allowed.allows(class) {
            return false;
        }
        let fresh = !self.turns[class as usize].is_empty();
        match class {
            Class::Write | Class::Read | Class::Table => fresh,
            Class::Scan => {
                fresh && self.scans_running < SCANS_RUNNING_MAX || !self.suspended.is_empty()
            }
        }
    }

    /// Whether another table may be made: not too many bytes of others are on their way.
    #[must_use]
    pub fn may_send_table(&self, now: Instant) -> bool {
        self.tables_gone.since(now) < on_the_way(self.limits.table_bytes)
    }

    /// A table of so many bytes was sent.
    pub fn sent_table(&mut self, bytes: usize, now: Instant) {
        let from = self.tables_gone.max(now);
        self.tables_gone = from + on_the_way(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// Whether there is something to take.
    #[must_use]
    pub fn has_next(&self, allowed: Expensive) -> bool {
        ALL.into_iter().any(|class| self.has(class, allowed))
    }

    /// Counts what became of a client's request.
    pub fn count(&mut self, from: Lid, outcome: Outcome) {
        self.counts.entry(from).or_default().add(outcome);
    }

    /// What became of the requests of each client, in no order that means anything.
    pub fn counts(&self) -> impl Iterator<Item = (Lid, Counts)> {
        self.counts.iter().map(|(lid, counts)| (*lid, *counts))
    }

    /// Requests that wait.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.waiting
    }

    /// Whether nobody waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Forgets clients that have nothing waiting and asked nothing in the last second: call it now and then.
    pub fn tidy(&mut self, now: Instant) {
        self.clients.retain(|_, c| {
            c.waiting > 0 || c.in_progress.contains(&true) || c.bucket.full_at > now
        });
    }
}

fn on_the_way(bytes: u64) -> Duration {
    Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / TABLE_BYTES_PER_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn all<T>(queue: &mut Admission<T>) -> Vec<T> {
        core::iter::from_fn(|| Some(queue.take(Expensive::ALL)?.1)).collect()
    }

    #[test]
    fn clients_take_turns() {
        let mut queue = Admission::new(Limits::default());
        for n in 0..100 {
            queue.offer(Lid(1), Class::Read, (1, n), at(0)).unwrap();
        }
        for n in 0..2 {
            queue.offer(Lid(2), Class::Read, (2, n), at(0)).unwrap();
        }
        let order = all(&mut queue);
        assert_eq!(order[..4], [(1, 0), (2, 0), (1, 1), (2, 1)]);
        assert_eq!((order.len(), queue.len()), (102, 0));
    }

    #[test]
    fn no_class_starves_and_tables_come_seldom() {
        let mut queue = Admission::new(Limits::default());
        for n in 0..64 {
            for (class, name) in [(Class::Table, 't'), (Class::Read, 'r'), (Class::Write, 'w')] {
                queue.offer(Lid(n), class, name, at(0)).unwrap();
            }
        }
        let order: String = all(&mut queue).into_iter().collect();
        assert_eq!(order[..17], *"wwwwwwwwrrrrrrrrt");
        assert_eq!(order.len(), 192);
        assert!(order.ends_with("tttt"));
    }

    #[test]
    fn who_asks_too_much_is_refused_and_nobody_else() {
        let limits = Limits {
            total: 100,
            of_client: 10,
            ..Limits::default()
        };
        let mut queue = Admission::new(limits);
        let taken = (0..50).filter(|n| queue.offer(Lid(1), Class::Read, *n, at(0)).is_ok());
        assert_eq!(taken.count(), 10);
        assert!(queue.offer(Lid(2), Class::Read, 0, at(0)).is_ok());
        for client in 3..30 {
            for n in 0..10 {
                let _ = queue.offer(Lid(client), Class::Read, n, at(0));
            }
        }
        assert_eq!(queue.len(), 100);
    }

    #[test]
    fn a_rate_lets_a_second_s_worth_through_at_once_and_then_so_many() {
        let limits = Limits {
            rate: 100,
            ..Limits::default()
        };
        let mut queue = Admission::new(limits);
        let mut taken = 0;
        for ms in 0..1000 {
            taken += u32::from(queue.offer(Lid(1), Class::Read, (), at(ms)).is_ok());
            let _ = queue.take(Expensive::ALL);
        }
        assert!((195..=201).contains(&taken), "{taken}");
        queue.tidy(at(10_000));
        assert!(queue.clients.is_empty());
    }

    #[test]
    fn tables_wait_while_others_are_on_their_way() {
        let limits = Limits {
            tables: 2,
            table_bytes: TABLE_BYTES_PER_S,
            ..Limits::default()
        };
        let mut queue = Admission::new(limits);
        for n in 0..2 {
            queue.offer(Lid(n), Class::Table, 't', at(0)).unwrap();
        }
        assert!(queue.offer(Lid(3), Class::Table, 't', at(0)).is_err());
        queue.offer(Lid(3), Class::Read, 'r', at(0)).unwrap();
        assert_eq!(queue.take(Expensive::ALL), Some((Class::Read, 'r')));
        assert!(!queue.has_next(Expensive::NONE) && queue.has_next(Expensive::ALL));
        assert_eq!(queue.take(Expensive::NONE), None);
        assert_eq!(queue.take(Expensive::ALL), Some((Class::Table, 't')));
        // Two seconds' worth: one second of it has to be gone.
        queue.sent_table(2 * usize::try_from(TABLE_BYTES_PER_S).unwrap(), at(0));
        assert!(!queue.may_send_table(at(1000)));
        assert!(queue.may_send_table(at(1001)));
    }

    #[test]
    fn every_client_is_counted() {
        let mut queue = Admission::<()>::new(Limits::default());
        for outcome in [
            Outcome::Answered,
            Outcome::Owned,
            Outcome::Overload,
            Outcome::Overload,
        ] {
            queue.count(Lid(7), outcome);
        }
        queue.count(Lid(8), Outcome::Dropped);
        let mut all: Vec<_> = queue
            .counts()
            .map(|(lid, c)| (lid, c.overload, c.asked()))
            .collect();
        all.sort_unstable();
        assert_eq!(all, [(Lid(7), 2, 4), (Lid(8), 0, 1)]);
    }

    /// 100 clients with endless scans: at most four are in progress, none of a client twice, and between two slices reads are
    /// served.
    #[test]
    fn scans_run_in_turn_and_reads_are_served_between_slices() {
        let mut queue = Admission::new(Limits::default());
        for lid in 1..=100 {
            let taken = (0..50).filter(|n| {
                let scan = (lid, Class::Scan, *n);
                queue.offer(Lid(lid), Class::Scan, scan, at(0)).is_ok()
            });
            assert_eq!(taken.count(), SCANS_WAITING_PER_CLIENT_MAX);
        }
        for n in 0..20 {
            let read = (999, Class::Read, n);
            queue.offer(Lid(999), Class::Read, read, at(0)).unwrap();
        }
        let (mut reads, mut slices) = (0, Vec::new());
        while slices.len() < 40 {
            let (class, item) = queue.take(Expensive::ALL).unwrap();
            if class == Class::Scan {
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
        // Two reads can be taken while scans are not allowed at all.
        queue
            .offer(Lid(999), Class::Read, (999, Class::Read, 0), at(0))
            .unwrap();
        assert!(
            queue
                .take(Expensive::NONE)
                .is_some_and(|(class, _)| class == Class::Read)
        );
        assert!(queue.take(Expensive::NONE).is_none());
        // A finished scan makes room for one of another client.
        let (_, (lid, ..)) = queue.take(Expensive::ALL).unwrap();
        queue.finished(Lid(lid), Class::Scan);
        let (_, (next, ..)) = queue.take(Expensive::ALL).unwrap();
        assert!(!running.contains(&next), "{next} after {running:?}");
    }
}
