//! The API of the running service: JSON over HTTP/1.1 on a Unix socket ([`ferrosm_api`],
//! docs/api.md).
//!
//! [`published`] is what the service publishes and the API answers from; answers are computed on
//! the thread of the HTTP servers ([`crate::http`]) and send no MAD, except plans. [`commands`] go
//! to the loop of the SM. [`client`] is the other side, for the commands that ask the service.
//!
//! | module | contents |
//! |---|---|
//! | [`published`], `history`, `problems` | published state; what went down or left; problems that last |
//! | `enabled_ports` | ports that were enabled a moment ago |
//! | `interruptions` | links that were down between sweeps |
//! | `past` | states published earlier |
//! | `replicas` | whether standbys have what this master has written |
//! | `seen` | what was seen, as it is kept across restarts |
//! | [`events`] | the last events |
//! | [`alarms`] | alarms, and the thread that follows the published state |
//! | [`changes`] | what changed, with cause and effect |
//! | [`sweep_log`], `route_history` | the last sweeps; when and by which sweep LFT entries changed |
//! | `explain` | why routes, the engine, sweeps, nodes, ports and alarms are as they are |
//! | [`commands`] | commands of clients and signals, and the audit log |
//! | `rotating_lines` | the files of the audit log and of changes |
//! | [`config`] | requests that concern the configuration |
//! | [`server`], [`access`] | the socket and the TCP listener; who a client is and what it may do |
//! | `admission` | limits of bodies, and requests of pages in a browser |
//! | `routes`, `list`, `picked` | resources and their OpenAPI document; queries of lists |
//! | `lookup`, `names` | ports and nodes by GUID, LID or name; their names |
//! | [`intent`], [`intent_check`] | declared invariants and cables; their comparison |
//! | `forget` | what is no longer expected |
//! | `drawing`, `fabric`, `partition`, `path`, `status`, `structure` | answers |
//! | [`group`] | multicast groups, and what a host belongs to |
//! | `keys` | management keys, and requests to rotate them |
//! | `requests`, `members` | partitions and maintenance as commands; who members of partitions are |
//! | `port_limits` | limits of links at ports: requests, and whether they are in force |
//! | `web`, [`sessions`] | the page: its files, and who may use it |
//! | `ufm` | calls of UFM's interface, for ib-kubernetes |
//! | `sa_clients` | clients of the SA, and limits of single ones |
//! | `what_if` | predictions, which take longer |
//! | [`start_plan`] | plans of a start, which read the fabric |

pub mod access;
mod admission;
pub mod alarms;
pub mod changes;
pub mod client;
pub mod commands;
pub mod config;
mod drawing;
mod enabled_ports;
pub mod events;
mod explain;
pub(crate) mod fabric;
mod forget;
pub mod group;
mod history;
pub mod intent;
pub mod intent_check;
mod interruptions;
mod keys;
mod list;
mod lookup;
mod maintenance;
mod members;
mod names;
mod partition;
mod past;
mod path;
mod picked;
mod port_limits;
mod problems;
pub mod published;
mod replicas;
mod requests;
mod rotating_lines;
mod route_history;
#[allow(
    unused_qualifications,
    reason = "utoipa's attribute expands to paths that are in scope"
)]
mod routes;
mod sa_clients;
mod seen;
pub mod server;
pub mod sessions;
mod sm_reports;
pub mod start_plan;
mod status;
pub(crate) mod structure;
pub mod sweep_log;
mod ufm;
mod web;
mod what_if;

pub(crate) use names::node_kind;
pub(crate) use status::role;

use core::time::Duration;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ferrosm_api::config::FILES_LEN_MAX;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use self::access::{Client, ClientRoles};
use self::alarms::{Alarms, Followed};
use self::changes::ChangeLog;
use self::commands::{CommandLog, SmRequest};
use self::config::ConfigDesk;
use self::events::EventLog;
use self::group::RegistryDesk;
use self::published::Published;
use self::sessions::Sessions;
use self::start_plan::StartPlanner;
use self::sweep_log::SweepLog;
use crate::notify::Notifier;
use crate::rings::ServiceRings;
use crate::sa_server::clients::SaClients;

/// Name of the socket in its directory.
pub const SOCKET_NAME: &str = "api.sock";
/// The socket of versions before the API, in the state directory.
const OLD_SOCKET_NAME: &str = "control";
/// Group whose members may read.
const GROUP: &str = "ferrosm";
/// Longest request body, in bytes.
pub const REQUEST_BODY_MAX: usize = 65_536;
/// Longest body of a new configuration, in bytes. In JSON, a text is longer than its file.
const CONFIG_BODY_MAX: usize = 2 * FILES_LEN_MAX + REQUEST_BODY_MAX;
/// Longest body of a prediction, in bytes: the cables of a large fabric.
const WHAT_IF_BODY_MAX: usize = 8 << 20;
/// Time to receive a request body.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Most clients of root and of the user of the service connected at the same time.
pub const ADMINS_MAX: usize = 160;
/// Most other clients connected at the same time.
pub const VIEWERS_MAX: usize = 32;
/// Most clients over TCP that may only read connected at the same time.
const REMOTE_VIEWERS_MAX: usize = 96;
/// Most other clients over TCP connected at the same time.
const REMOTE_OPERATORS_MAX: usize = 32;
/// Most connections of pages at the same time: a hundred pages have four each, one of them for
/// their stream.
const PAGE_CLIENTS_MAX: usize = 512;
/// Most clients of UFM's calls connected at the same time.
const UFM_CLIENTS_MAX: usize = 16;
/// Most clients that receive streams of events at the same time. Fewer than viewers, so that others
/// can ask.
const EVENT_STREAMS_MAX: usize = 24;
/// The same for pages, which have connections of their own.
const PAGE_STREAMS_MAX: usize = 128;
/// Most commands that wait for the loop of the SM.
const COMMANDS_MAX: usize = 16;

/// The service, as the API sees it. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Service {
    pub published: Published,
    pub commands: CommandLog,
    pub config: ConfigDesk,
    pub events: EventLog,
    /// Held while a change is checked and executed.
    change_turn: Arc<tokio::sync::Mutex<()>>,
    predictor: what_if::Predictor,
    pub start_planner: StartPlanner,
    pub alarms: Alarms,
    pub notifier: Notifier,
    pub changes: ChangeLog,
    pub sweeps: SweepLog,
    pub registrations: RegistryDesk,
    event_streams: EventStreams,
    /// What clients over TCP may do.
    pub client_roles: ClientRoles,
    /// The sessions of the page.
    pub sessions: Sessions,
    pub rings: ServiceRings,
    pub sa_clients: SaClients,
    /// `None` while the service does not execute commands.
    requests: Arc<Mutex<Option<mpsc::Sender<SmRequest>>>>,
}

/// Streams of events that may be opened.
#[derive(Debug, Clone)]
struct EventStreams {
    of_pages: Arc<Semaphore>,
    of_others: Arc<Semaphore>,
}

impl Default for EventStreams {
    fn default() -> Self {
        Self {
            of_pages: Arc::new(Semaphore::new(PAGE_STREAMS_MAX)),
            of_others: Arc::new(Semaphore::new(EVENT_STREAMS_MAX)),
        }
    }
}

impl EventStreams {
    /// A stream for a client; `None` if there are too many.
    fn take(&self, client: &Client) -> Option<OwnedSemaphorePermit> {
        let places = match client {
            Client::Page { .. } => &self.of_pages,
            Client::User { .. } | Client::Certified { .. } | Client::Login { .. } => {
                &self.of_others
            }
        };
        Arc::clone(places).try_acquire_owned().ok()
    }
}

impl Service {
    /// What the thread of the alarms uses.
    #[must_use]
    pub fn followed(&self) -> Followed {
        Followed {
            published: self.published.clone(),
            alarms: self.alarms.clone(),
            events: self.events.clone(),
            notifier: self.notifier.clone(),
        }
    }

    /// Commands are executed from now on, by the receiver of the requests.
    #[must_use]
    pub fn accept_commands(&self) -> mpsc::Receiver<SmRequest> {
        let (requests, inbox) = mpsc::channel(COMMANDS_MAX);
        self.set_requests(Some(requests));
        inbox
    }

    /// Commands are no longer executed.
    pub fn refuse_commands(&self) {
        self.set_requests(None);
    }

    fn set_requests(&self, requests: Option<mpsc::Sender<SmRequest>>) {
        let current = self.requests.lock();
        *current.unwrap_or_else(PoisonError::into_inner) = requests;
    }

    fn requests(&self) -> Option<mpsc::Sender<SmRequest>> {
        let current = self.requests.lock();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Directory of state directories, and of the runtime directories that belong to them.
const STATE_ROOT: &str = "/var/lib";
const RUNTIME_ROOT: &str = "/run";

/// The socket of a service that starts: in the runtime directory that the service manager created,
/// so that a group may have access, otherwise in the state directory.
#[must_use]
pub fn socket_to_serve(state_dir: &Path) -> PathBuf {
    let created_dir = std::env::var_os("RUNTIME_DIRECTORY").map(PathBuf::from);
    let runtime_dir = runtime_dir_of(state_dir).filter(|dir| created_dir.as_ref() == Some(dir));
    let dir = runtime_dir.unwrap_or_else(|| state_dir.to_owned());
    dir.join(SOCKET_NAME)
}

/// The socket of a running service.
#[must_use]
pub fn socket_to_ask(state_dir: &Path) -> PathBuf {
    let in_runtime_dir = runtime_dir_of(state_dir).map(|dir| dir.join(SOCKET_NAME));
    // A service that was killed leaves its socket.
    let is_served = |socket: &PathBuf| match UnixStream::connect(socket) {
        Ok(_) => true,
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    };
    in_runtime_dir
        .filter(is_served)
        .unwrap_or_else(|| state_dir.join(SOCKET_NAME))
}

/// `/run/ferrosm` for `/var/lib/ferrosm`.
fn runtime_dir_of(state_dir: &Path) -> Option<PathBuf> {
    let name = state_dir.strip_prefix(STATE_ROOT).ok()?;
    Some(Path::new(RUNTIME_ROOT).join(name))
}

/// The last second of the year 9999, in seconds since 1970.
const YEAR_9999_END_S: u64 = 253_402_300_799;

/// A time in UTC, in milliseconds (RFC 3339). A time that has no such form, as a client may compute
/// it, is the first or last one that has: of the years 1970 and 9999.
pub(crate) fn rfc3339(at: SystemTime) -> String {
    let last = UNIX_EPOCH + Duration::from_secs(YEAR_9999_END_S);
    humantime::format_rfc3339_millis(at.clamp(UNIX_EPOCH, last)).to_string()
}
