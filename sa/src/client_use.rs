//! What each client asks for, how it is answered, and the time that this takes. At most
//! [`CLIENTS_MAX`] clients; those with the fewest requests are counted together.

use core::time::Duration;

use ferrosm_mad::ids::Lid;
use ferrosm_mad::time::Instant;
use rustc_hash::FxHashMap;

use super::outcome::{RequestCounts, RequestOutcome};
use super::request_kind::RequestKind;

/// Most clients that are counted one by one.
pub const CLIENTS_MAX: usize = 4096;
/// Clients that make room for others at once.
const EVICTED: usize = CLIENTS_MAX / 8;
/// Most kinds of requests of a client that are counted one by one.
const KINDS_MAX: usize = 16;

/// The requests of a client.
#[derive(Debug, Clone, Default)]
pub struct ClientUse {
    counts: RequestCounts,
    kinds: Vec<(RequestKind, u64)>,
    /// Requests of further kinds.
    other_kinds: u64,
    /// Time of the SA's threads. The SM's time for requests that change registrations is not
    /// included.
    busy: Duration,
    /// Requests in the interval before, and in this one.
    before: u64,
    now: u64,
}

impl ClientUse {
    /// Requests by outcome.
    #[must_use]
    pub const fn counts(&self) -> RequestCounts {
        self.counts
    }

    /// Requests by kind, and those of further kinds.
    #[must_use]
    pub fn kinds(&self) -> (&[(RequestKind, u64)], u64) {
        (&self.kinds, self.other_kinds)
    }

    /// Time of the SA's threads.
    #[must_use]
    pub const fn busy(&self) -> Duration {
        self.busy
    }

    /// Requests in the last and the current interval.
    #[must_use]
    pub const fn recent(&self) -> u64 {
        self.before + self.now
    }

    fn count(&mut self, kind: RequestKind, outcome: RequestOutcome) {
        self.counts.add(outcome);
        self.now += 1;
        if let Some((_, count)) = self.kinds.iter_mut().find(|(known, _)| *known == kind) {
            *count += 1;
        } else if self.kinds.len() < KINDS_MAX {
            self.kinds.push((kind, 1));
        } else {
            self.other_kinds += 1;
        }
    }
}

/// The requests of all clients.
#[derive(Debug, Default)]
pub struct ClientTable {
    clients: FxHashMap<Lid, ClientUse>,
    /// Clients that had to make room, and those that found none.
    others: RequestCounts,
    /// Time of the SA's threads for all clients.
    busy: Duration,
    interval_began: Instant,
    /// Length of the interval before.
    interval: Duration,
    has_evicted: bool,
}

impl ClientTable {
    /// Counts a request.
    pub fn count(&mut self, from: Lid, kind: RequestKind, outcome: RequestOutcome) {
        if !self.clients.contains_key(&from) && self.clients.len() >= CLIENTS_MAX {
            self.evict();
            if self.clients.len() >= CLIENTS_MAX {
                self.others.add(outcome);
                return;
            }
        }
        self.clients.entry(from).or_default().count(kind, outcome);
    }

    /// Adds time of the SA's threads for a client.
    pub fn add_time(&mut self, from: Lid, time: Duration) {
        self.busy += time;
        if let Some(client) = self.clients.get_mut(&from) {
            client.busy += time;
        }
    }

    /// Removes the clients with the fewest requests, at most once in an interval.
    fn evict(&mut self) {
        if core::mem::replace(&mut self.has_evicted, true) {
            return;
        }
        let mut by_use: Vec<(u64, u64, Lid)> = self
            .clients
            .iter()
            .map(|(lid, client)| (client.recent(), client.counts.total(), *lid))
            .collect();
        by_use.sort_unstable();
        for (_, _, lid) in by_use.into_iter().take(EVICTED) {
            if let Some(client) = self.clients.remove(&lid) {
                self.others.append(client.counts);
            }
        }
    }

    /// Begins the next interval of rates.
    pub fn begin_interval(&mut self, now: Instant) {
        self.interval = now.since(self.interval_began);
        self.interval_began = now;
        self.has_evicted = false;
        for client in self.clients.values_mut() {
            client.before = core::mem::take(&mut client.now);
        }
    }

    /// Time that [`ClientUse::recent`] is of.
    #[must_use]
    pub fn recent_time(&self, now: Instant) -> Duration {
        self.interval + now.since(self.interval_began)
    }

    /// Requests of clients that are not counted one by one.
    #[must_use]
    pub const fn others(&self) -> RequestCounts {
        self.others
    }

    /// Time of the SA's threads for all clients.
    #[must_use]
    pub const fn busy(&self) -> Duration {
        self.busy
    }

    /// The clients, in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = (Lid, &ClientUse)> {
        self.clients.iter().map(|(lid, client)| (*lid, client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: RequestKind = RequestKind::OTHER;

    /// A client that floods is listed, however many others there were before.
    #[test]
    fn clients_with_few_requests_make_room() {
        let mut table = ClientTable::default();
        let lid = |n: usize| Lid(u16::try_from(n).unwrap());
        for n in 1..=CLIENTS_MAX + 100 {
            table.count(lid(n), KIND, RequestOutcome::Answered);
        }
        for _ in 0..1000 {
            table.count(Lid(40_000), KIND, RequestOutcome::Overload);
        }
        assert!(table.iter().count() <= CLIENTS_MAX);
        let found = table.iter().find(|(lid, _)| *lid == Lid(40_000)).unwrap().1;
        assert_eq!((found.recent(), found.counts().overload), (1000, 1000));
        assert_eq!(found.kinds(), (&[(KIND, 1000)][..], 0));
        let listed: u64 = table
            .iter()
            .map(|(_, client)| client.counts().total())
            .sum();
        assert_eq!(listed + table.others().total(), CLIENTS_MAX as u64 + 1100);
    }

    #[test]
    fn rates_are_of_the_last_two_intervals() {
        let mut table = ClientTable::default();
        let at = |s: u64| Instant::START + Duration::from_secs(s);
        for s in 0..4 {
            for _ in 0..10 {
                table.count(Lid(1), KIND, RequestOutcome::Answered);
            }
            table.add_time(Lid(1), Duration::from_millis(5));
            table.begin_interval(at(10 * (s + 1)));
        }
        let client = table.iter().next().unwrap().1;
        assert_eq!(
            (client.recent(), table.recent_time(at(45))),
            (10, Duration::from_secs(15))
        );
        assert_eq!(client.busy(), Duration::from_millis(20));
        assert_eq!(client.counts().total(), 40);
    }
}
