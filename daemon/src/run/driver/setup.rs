//! The parts of a driver that not every driver has.

use std::sync::Arc;

use ferrosm_store::DurabilityTracker;
use tokio::sync::mpsc;

use super::commands::CommandClients;
use super::{Driver, Shell};
use crate::api::commands::{CommandLog, SmRequest};
use crate::api::group::RegistryReads;
use crate::port::MadPort;
use crate::run::replication_link::ReplicationLink;
use crate::run::service_manager::Heartbeat;
use crate::sa_server::SaServer;

impl<P: MadPort, S: Shell> Driver<P, S> {
    /// With an SA server.
    #[must_use]
    pub fn with_sa_server(self, sa_server: Option<SaServer>) -> Self {
        Self { sa_server, ..self }
    }

    /// With a store: SA replies wait until their records are durable.
    #[must_use]
    pub fn with_durability(self, durable: Option<Arc<DurabilityTracker>>) -> Self {
        Self { durable, ..self }
    }

    /// With a watchdog of this loop.
    #[must_use]
    pub fn with_heartbeat(self, heartbeat: Heartbeat) -> Self {
        Self {
            beat_due: heartbeat.interval().map(|_| self.clock.now()),
            heartbeat: Some(heartbeat),
            ..self
        }
    }

    /// With replication.
    #[must_use]
    pub fn with_replication(self, replication: Option<ReplicationLink>) -> Self {
        let sm = match &replication {
            Some(replication) => self.sm.with_replication(replication.max_ack_delay()),
            None => self.sm,
        };
        Self {
            sm,
            replication,
            ..self
        }
    }

    /// With commands of clients, all of which are in this log.
    #[must_use]
    pub fn with_requests(self, requests: mpsc::Receiver<SmRequest>, log: CommandLog) -> Self {
        Self {
            requests: Some(requests),
            commands: CommandClients::new(log),
            ..self
        }
    }

    /// With clients that read the registrations of the SA.
    #[must_use]
    pub fn with_registry_reads(self, reads: RegistryReads) -> Self {
        Self {
            registry_reads: Some(reads),
            ..self
        }
    }
}
