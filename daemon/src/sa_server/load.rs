//! Which clients send most requests: a log line names a client that sends a large share of all
//! requests, with or without limits.

use core::time::Duration;
use std::collections::BTreeMap;

use ferrosm_mad::ids::Lid;
use ferrosm_mad::time::Instant;
use ferrosm_sa::View;
use ferrosm_sa::admission::ClientLoad;
use tracing::info;

/// Interval over which requests are compared.
const INTERVAL: Duration = Duration::from_secs(60);
/// A client is busy if it sends more than one request of this number.
const SHARE: u64 = 4;
/// Requests of a busy client in an interval: 100 per second.
const REQUESTS_MIN: u64 = 6_000;
/// Interval at which a client that stays busy is logged.
const REPEAT_INTERVAL: Duration = Duration::from_secs(600);

/// Requests of the clients in the current interval. LIDs bound its size.
#[derive(Debug)]
pub(super) struct LoadMonitor {
    began: Instant,
    /// Requests of each client at its start.
    totals: BTreeMap<Lid, u64>,
    /// When busy clients were logged.
    logged: BTreeMap<Lid, Instant>,
}

/// A client that sends a large share of all requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BusyClient {
    lid: Lid,
    requests: u64,
    share_percent: u64,
}

impl LoadMonitor {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            began: now,
            totals: BTreeMap::new(),
            logged: BTreeMap::new(),
        }
    }

    /// Whether an interval has passed: call [`Self::log`].
    pub(super) fn is_due(&self, now: Instant) -> bool {
        now.since(self.began) >= INTERVAL
    }

    /// Logs the busy clients of the interval and begins the next one.
    pub(super) fn log(
        &mut self,
        view: Option<&View>,
        loads: &BTreeMap<Lid, ClientLoad>,
        now: Instant,
    ) {
        for busy in self.busy_clients(loads, now) {
            let port = view.and_then(|view| Some(view.port_name(view.by_lid(busy.lid)?)));
            let port = port.map(tracing::field::display);
            let mostly = loads.get(&busy.lid).and_then(ClientLoad::most_frequent);
            let mostly = mostly.map(|kind| format!("{}({})", kind.method(), kind.attribute()));
            info!(
                client = %busy.lid, port, requests = busy.requests, share_percent = busy.share_percent, mostly,
                "many SA requests of one client received"
            );
        }
    }

    fn busy_clients(&mut self, loads: &BTreeMap<Lid, ClientLoad>, now: Instant) -> Vec<BusyClient> {
        let before = core::mem::take(&mut self.totals);
        self.totals = loads
            .iter()
            .map(|(lid, load)| (*lid, load.total()))
            .collect();
        self.began = now;
        self.logged
            .retain(|_, logged| now.since(*logged) < REPEAT_INTERVAL);
        let in_interval = |(lid, total): (&Lid, &u64)| {
            let before = before.get(lid).copied().unwrap_or(0);
            (*lid, total.saturating_sub(before))
        };
        let all: u64 = self.totals.iter().map(in_interval).map(|(_, n)| n).sum();
        let mut busy = Vec::new();
        for (lid, requests) in self.totals.iter().map(in_interval) {
            let is_busy = requests >= REQUESTS_MIN && requests * SHARE > all;
            if is_busy && !self.logged.contains_key(&lid) {
                self.logged.insert(lid, now);
                busy.push(BusyClient {
                    lid,
                    requests,
                    share_percent: requests * 100 / all.max(1),
                });
            }
        }
        busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::mad::Method;
    use ferrosm_mad::sa::id;
    use ferrosm_sa::admission::RequestOutcome;
    use ferrosm_sa::request_kind::RequestKind;

    /// One host sends half of all requests: it is named once, and again after ten minutes. Hosts
    /// with an equal share, and a host that is the only one but sends few requests, are not named.
    #[test]
    fn clients_with_a_large_share_are_named() {
        let path = RequestKind::new(id::PATH, Method::Get);
        let node = RequestKind::new(id::NODE, Method::GetTable);
        let mut loads: BTreeMap<Lid, ClientLoad> = BTreeMap::new();
        let mut monitor = LoadMonitor::new(Instant::START);
        let mut minutes = Vec::new();
        for minute in 1..=14u64 {
            let requests = |lid| match (lid, minute) {
                (7, 3..) => 100_000,
                (7, 2) => 5_000,
                (_, 2) => 0,
                _ => 10_000,
            };
            for lid in 1..=10 {
                let load = loads.entry(Lid(lid)).or_default();
                for n in 0..requests(lid) {
                    let kind = if n % 3 == 0 { node } else { path };
                    load.add(kind, RequestOutcome::Answered);
                }
            }
            let now = Instant::START + INTERVAL * u32::try_from(minute).unwrap();
            assert!(monitor.is_due(now));
            for busy in monitor.busy_clients(&loads, now) {
                minutes.push((minute, busy.lid, busy.requests, busy.share_percent));
            }
        }
        let named = |minute| (minute, Lid(7), 100_000, 52);
        assert_eq!(minutes, [named(3), named(13)]);
        assert_eq!(loads[&Lid(7)].most_frequent(), Some(path));
    }
}
