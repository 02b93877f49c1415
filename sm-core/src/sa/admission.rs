//! Who is answered next when more is asked than can be answered: fair among clients, joins before table scans.
//!
//! Requests wait in one queue for each client and class. Classes are served by turns with fixed weights, so that none starves;
//! within a class clients take turns, so that a client that asks a thousand times waits for itself, not others for it. What does
//! not fit is refused, and the client is told to come back (BUSY), never passed over in silence.
//!
//! No I/O, no clock, no thread; whoever holds it decides when to take.

use core::time::Duration;
use std::collections::VecDeque;

use ferrosm_mad::ids::{AttrId, Lid};
use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::id;
use ferrosm_mad::time::Instant;
use rustc_hash::FxHashMap;

/// How much work a request is, and how urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Registers something: a host waits for it before it can communicate.
    Write,
    /// Reads one thing.
    Read,
    /// Reads a table.
    Table,
}

const CLASSES: usize = 3;

/// Requests of each class that are served before the next class has its turn.
const TURNS: [u8; CLASSES] = [8, 8, 1];

impl Class {
    /// The class of a request.
    #[must_use]
    pub fn of(method: Method, attr: AttrId) -> Self {
        match method {
            Method::Get => Self::Read,
            // Paths between two ports are asked for as a table too; who asks for all of them pays by its own turns.
            Method::GetTable if attr == id::PATH => Self::Read,
            Method::GetTable => Self::Table,
            Method::GetMulti | Method::GetTraceTable => Self::Read,
            _ => Self::Write,
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
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total: 1 << 16,
            of_client: 512,
            rate: 0,
        }
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
    refused: u64,
}

#[derive(Debug)]
struct Client<T> {
    queues: [VecDeque<T>; CLASSES],
    waiting: usize,
    bucket: Bucket,
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
            refused: 0,
        }
    }

    /// Lets a request wait for its turn.
    ///
    /// # Errors
    /// Gives it back if its client, or all together, have too many: the client is to be told [`ferrosm_mad::mad::Status::BUSY`].
    pub fn offer(&mut self, from: Lid, class: Class, item: T, now: Instant) -> Result<(), T> {
        let full = self.waiting >= self.limits.total;
        let client = self.clients.entry(from).or_insert_with(|| Client {
            queues: Default::default(),
            waiting: 0,
            bucket: Bucket { full_at: now },
        });
        if full
            || client.waiting >= self.limits.of_client
            || !client.bucket.take(self.limits.rate, now)
        {
            self.refused += 1;
            return Err(item);
        }
        let queue = &mut client.queues[class as usize];
        if queue.is_empty() {
            self.turns[class as usize].push_back(from);
        }
        queue.push_back(item);
        client.waiting += 1;
        self.waiting += 1;
        Ok(())
    }

    /// The next request to serve.
    pub fn take(&mut self) -> Option<T> {
        for _ in 0..=CLASSES {
            let (class, served) = self.now;
            if served >= TURNS[class] || self.turns[class].is_empty() {
                self.now = ((class + 1) % CLASSES, 0);
                continue;
            }
            let from = self.turns[class].pop_front()?;
            let client = self.clients.get_mut(&from)?;
            let item = client.queues[class].pop_front()?;
            client.waiting -= 1;
            self.waiting -= 1;
            if !client.queues[class].is_empty() {
                self.turns[class].push_back(from);
            }
            self.now = (class, served + 1);
            return Some(item);
        }
        None
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

    /// Requests that were refused.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// Forgets clients that have nothing waiting and asked nothing in the last second: call it now and then.
    pub fn tidy(&mut self, now: Instant) {
        self.clients
            .retain(|_, c| c.waiting > 0 || c.bucket.full_at > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn all<T>(queue: &mut Admission<T>) -> Vec<T> {
        core::iter::from_fn(|| queue.take()).collect()
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
            rate: 0,
        };
        let mut queue = Admission::new(limits);
        let taken = (0..50).filter(|n| queue.offer(Lid(1), Class::Read, *n, at(0)).is_ok());
        assert_eq!(taken.count(), 10);
        assert!(queue.offer(Lid(2), Class::Read, 0, at(0)).is_ok());
        assert_eq!(queue.refused(), 40);
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
            let _ = queue.take();
        }
        assert!((195..=201).contains(&taken), "{taken}");
        queue.tidy(at(10_000));
        assert!(queue.clients.is_empty());
    }
}
