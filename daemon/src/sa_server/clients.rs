//! What operators see of the clients, and limits of single clients that they set at run time.
//!
//! A limit is of a port, by its GUID: it holds for all its LIDs, also after they change. Limits end
//! with the process.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use ferrosm_mad::ids::{Lid, PortGuid};
use ferrosm_sa::admission::RequestCounts;
use ferrosm_sa::client_use::ClientUse;

use super::{Queue, SaServer, Shared};

/// Most clients with a limit of their own.
pub const LIMITS_MAX: usize = 1024;

/// A limit of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimit {
    /// Requests per second.
    pub per_s: u32,
    /// When it ends, if not with the process.
    pub until: Option<SystemTime>,
}

/// A client.
#[derive(Debug, Clone)]
pub struct SaClientUse {
    pub lid: Lid,
    pub uses: ClientUse,
    /// Requests that wait.
    pub waiting: usize,
    /// Requests per second that are admitted; 0 for no limit.
    pub rate: u32,
}

/// The clients with most requests.
#[derive(Debug, Clone)]
pub struct SaUse {
    /// The busiest ones now, the first ones first.
    pub clients: Vec<SaClientUse>,
    /// All clients that are counted one by one.
    pub total: usize,
    /// Requests of the others.
    pub others: RequestCounts,
    /// Time that rates are of.
    pub recent: Duration,
    /// Time of the SA's threads for all clients.
    pub busy: Duration,
}

/// The SA server as the API sees it. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct SaClients {
    shared: Arc<Mutex<Weak<Shared>>>,
}

impl SaClients {
    /// Requests of clients go to this server from now on.
    pub fn serve(&self, server: Option<&SaServer>) {
        let shared = server.map_or_else(Weak::new, |server| Arc::downgrade(&server.shared));
        *lock(&self.shared) = shared;
    }

    fn server(&self) -> Option<Arc<Shared>> {
        lock(&self.shared).upgrade()
    }

    /// The clients with most requests; `None` without an SA.
    #[must_use]
    pub fn top(&self, count: usize) -> Option<SaUse> {
        let shared = self.server()?;
        let queue = shared.queue();
        let uses = queue.admission.uses();
        let mut by_use: Vec<(u64, u64, Lid)> = uses
            .iter()
            .map(|(lid, client)| (client.recent(), client.counts().total(), lid))
            .collect();
        let total = by_use.len();
        by_use.sort_unstable_by_key(|(recent, total, lid)| {
            (core::cmp::Reverse((*recent, *total)), *lid)
        });
        by_use.truncate(count);
        let wanted: BTreeMap<Lid, &ClientUse> = uses
            .iter()
            .filter(|(lid, _)| by_use.iter().any(|(.., wanted)| wanted == lid))
            .collect();
        let client = |lid: Lid| {
            Some(SaClientUse {
                lid,
                uses: (*wanted.get(&lid)?).clone(),
                waiting: queue.admission.waiting_of(lid),
                rate: queue.admission.rate_of(lid),
            })
        };
        Some(SaUse {
            clients: by_use.iter().filter_map(|(.., lid)| client(*lid)).collect(),
            total,
            others: uses.others(),
            recent: uses.recent_time(shared.clock.now()),
            busy: uses.busy(),
        })
    }

    /// The limit of a client, if it has one.
    #[must_use]
    pub fn limit_of(&self, client: PortGuid) -> Option<ClientLimit> {
        lock(&self.server()?.limits).get(&client).copied()
    }

    /// Sets or removes the limit of a client. Returns whether it had one.
    ///
    /// # Errors
    /// There is no SA, or too many clients have a limit.
    pub fn set_limit(
        &self,
        client: PortGuid,
        limit: Option<ClientLimit>,
    ) -> Result<bool, LimitRefusal> {
        let shared = self.server().ok_or(LimitRefusal::NoSa)?;
        let before = {
            let mut limits = lock(&shared.limits);
            let is_full = limits.len() >= LIMITS_MAX && !limits.contains_key(&client);
            match limit {
                Some(_) if is_full => return Err(LimitRefusal::TooMany),
                Some(limit) => limits.insert(client, limit),
                None => limits.remove(&client),
            }
        };
        let mut queue = shared.queue();
        apply_limits(&shared, &mut queue);
        Ok(before.is_some())
    }
}

/// Why a limit cannot be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitRefusal {
    /// No SA serves.
    NoSa,
    /// [`LIMITS_MAX`] clients have one.
    TooMany,
}

/// Puts limits in force that are not over, for the LIDs that the clients have now.
pub(super) fn apply_limits(shared: &Shared, queue: &mut Queue) {
    let now = SystemTime::now();
    let mut limits = lock(&shared.limits);
    limits.retain(|_, limit| limit.until.is_none_or(|until| until > now));
    if limits.is_empty() {
        queue.admission.set_rates(core::iter::empty());
        return;
    }
    // Without a view there are no replies that could be limited.
    let Some(view) = shared.view() else {
        return;
    };
    let rates = limits.iter().filter_map(|(guid, limit)| {
        let end_port = view.end_port(view.by_guid(*guid)?);
        let lids = end_port.lid.0..end_port.lid.0.saturating_add(end_port.num_lids());
        Some(lids.map(|lid| (Lid(lid), limit.per_s)))
    });
    queue.admission.set_rates(rates.flatten());
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
