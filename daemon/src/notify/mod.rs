//! Notifications of alarms: by HTTP, by a program, by syslog (`[[notify]]`).
//!
//! A thread with a runtime of its own sends them: the SM never waits for a target. Each target has
//! a bounded `queue`, gets one notification at a time, and does not delay the others.

mod exec;
mod queue;
mod syslog;
mod webhook;

use core::fmt;
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Instant, SystemTime};

use ferrosm_api::alarm::{Alarm, AlarmChange, AlarmState, Notification, NotifyResult};
use ferrosm_api::event::EventSeverity;
use ferrosm_api::object::ObjectName;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tracing::{info, warn};

use self::queue::{AfterFailure, NoticeQueue};
use self::webhook::Webhook;
use crate::config::NotifyEntry;
use crate::pattern::is_match;

/// Most changes of alarms that wait for the thread. Further ones are dropped and counted.
const CHANGES_MAX: usize = 16_384;
/// Most notifications that wait for the task of a target.
const INBOX_MAX: usize = 1024;
/// Longest time to send a notification, for example of a program.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a notification was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SendError(String);

impl SendError {
    fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Sends notifications, once its thread runs. Clones share the thread.
#[derive(Debug, Clone, Default)]
pub struct Notifier {
    requests: Arc<Mutex<Option<mpsc::Sender<Request>>>>,
}

#[derive(Debug)]
enum Request {
    Configure(Vec<NotifyEntry>),
    Notify(Arc<Notification>),
    Test {
        name: Option<String>,
        results: oneshot::Sender<Vec<NotifyResult>>,
    },
}

impl Notifier {
    /// Sends to these targets from now on. The first targets start the thread; a failure is logged.
    pub fn configure(&self, targets: Vec<NotifyEntry>) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.is_none() && targets.is_empty() {
            return;
        }
        if requests.is_none() {
            match start() {
                Ok(started) => *requests = Some(started),
                Err(error) => {
                    let effect = "no notifications";
                    warn!(%error, effect, "cannot start notification thread");
                    return;
                }
            }
        }
        if let Some(requests) = &*requests
            && requests.try_send(Request::Configure(targets)).is_err()
        {
            let effect = "notifications go to the old targets until the next reload";
            warn!(effect, "notification thread is busy");
        }
    }

    /// Reports a change of an alarm.
    pub fn notify(&self, change: AlarmChange, alarm: &Alarm, at: SystemTime) {
        // Who knows of the cause, or of the alarm, needs no notification.
        let is_known = alarm.state == AlarmState::Acknowledged && change == AlarmChange::Changed;
        if alarm.cause.is_some() || is_known {
            return;
        }
        let requests = self.sender();
        let Some(requests) = requests else {
            return;
        };
        let notice = Arc::new(Notification {
            at: humantime::format_rfc3339_millis(at).to_string(),
            host: host_name(),
            change,
            alarm: alarm.clone(),
        });
        if requests.try_send(Request::Notify(notice)).is_err() {
            warn!(alarm = alarm.id, "notification dropped");
        }
    }

    /// Sends a test to a target, or to all. An empty list: there is no such target.
    pub async fn test(&self, name: Option<String>) -> Vec<NotifyResult> {
        let (results, done) = oneshot::channel();
        let request = Request::Test { name, results };
        match self.sender() {
            Some(requests) if requests.send(request).await.is_ok() => {
                done.await.unwrap_or_default()
            }
            Some(_) | None => Vec::new(),
        }
    }

    fn sender(&self) -> Option<mpsc::Sender<Request>> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.clone()
    }
}

fn start() -> std::io::Result<mpsc::Sender<Request>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (requests, inbox) = mpsc::channel(CHANGES_MAX);
    thread::Builder::new()
        .name("notify".to_owned())
        .spawn(move || {
            runtime.block_on(serve(inbox));
            // Does not wait for a name service that hangs.
            runtime.shutdown_background();
        })?;
    Ok(requests)
}

/// A target, and its task.
struct Target {
    entry: NotifyEntry,
    inbox: mpsc::Sender<Arc<Notification>>,
    task: JoinHandle<()>,
}

impl Target {
    fn start(entry: NotifyEntry) -> Self {
        let (inbox, notices) = mpsc::channel(INBOX_MAX);
        let task = tokio::spawn(deliver(entry.clone(), notices));
        Self { entry, inbox, task }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut inbox: mpsc::Receiver<Request>) {
    let mut targets: Vec<Target> = Vec::new();
    while let Some(request) = inbox.recv().await {
        match request {
            Request::Configure(entries) => {
                // Targets that are unchanged keep what waits.
                let mut old = core::mem::take(&mut targets);
                for entry in entries {
                    let kept = old.iter().position(|target| target.entry == entry);
                    targets.push(match kept {
                        Some(at) => old.swap_remove(at),
                        None => Target::start(entry),
                    });
                }
            }
            Request::Notify(notice) => {
                for target in targets.iter().filter(|t| is_wanted(&t.entry, &notice)) {
                    if target.inbox.try_send(Arc::clone(&notice)).is_err() {
                        let alarm = notice.alarm.id;
                        warn!(target = target.entry.name, alarm, "notification dropped");
                    }
                }
            }
            Request::Test { name, results } => {
                let is_meant = |entry: &NotifyEntry| name.as_ref().is_none_or(|n| *n == entry.name);
                let entries = targets.iter().map(|target| target.entry.clone());
                let tests: JoinSet<NotifyResult> = entries.filter(is_meant).map(test).collect();
                tokio::spawn(async move {
                    let mut found = tests.join_all().await;
                    found.sort_by(|a, b| a.name.cmp(&b.name));
                    // The client may no longer wait.
                    let _ = results.send(found);
                });
            }
        }
    }
}

/// Whether a target gets a notification.
fn is_wanted(entry: &NotifyEntry, notice: &Notification) -> bool {
    let kinds = &entry.kinds;
    let is_of_kind = kinds.iter().any(|kind| is_match(kind, &notice.alarm.kind));
    notice.alarm.severity >= entry.severity && (kinds.is_empty() || is_of_kind)
}

/// Sends the notifications of a target, in order.
async fn deliver(entry: NotifyEntry, mut inbox: mpsc::Receiver<Arc<Notification>>) {
    let name = &entry.name;
    let mut queue = NoticeQueue::default();
    let mut is_failing = false;
    let mut is_full = false;
    let mut add = |queue: &mut NoticeQueue, notice| {
        let has_room = queue.push(notice, Instant::now());
        if !has_room && !core::mem::replace(&mut is_full, true) {
            warn!(
                target = name,
                waiting = queue::WAITING_MAX,
                "notifications dropped"
            );
        }
        is_full &= !has_room;
    };
    loop {
        let due = queue.due();
        let timer = async {
            match due {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => core::future::pending().await,
            }
        };
        tokio::select! {
            received = inbox.recv() => match received {
                Some(notice) => {
                    add(&mut queue, notice);
                    continue;
                }
                None => return,
            },
            () = timer => {}
        }
        let Some(notice) = queue.first() else {
            continue;
        };
        let mut sending = core::pin::pin!(send(&entry, &notice));
        let sent = loop {
            tokio::select! {
                sent = &mut sending => break sent,
                Some(further) = inbox.recv() => add(&mut queue, further),
            }
        };
        match sent {
            Ok(()) => {
                queue.on_sent();
                if core::mem::take(&mut is_failing) {
                    let dropped = queue.take_dropped();
                    info!(target = name, dropped, "notifications sent again");
                }
            }
            Err(error) => {
                let alarm = notice.alarm.id;
                if !core::mem::replace(&mut is_failing, true) {
                    warn!(target = name, alarm, %error, "cannot send notification");
                }
                if queue.on_failed(Instant::now()) == AfterFailure::GiveUp {
                    warn!(target = name, alarm, "notification dropped");
                }
            }
        }
    }
}

/// Sends a notification, within a time.
async fn send(entry: &NotifyEntry, notice: &Notification) -> Result<(), SendError> {
    let sending = async {
        if let Some(url) = &entry.url {
            let ca = entry.ca.clone();
            let url = url.clone();
            Webhook { url, ca }.send(notice).await
        } else if let Some(address) = &entry.syslog {
            syslog::send(address, notice).await
        } else {
            exec::send(&entry.exec, notice).await
        }
    };
    timeout(SEND_TIMEOUT, sending).await.unwrap_or_else(|_| {
        let seconds = SEND_TIMEOUT.as_secs();
        Err(SendError::new(format!("not sent within {seconds} s")))
    })
}

/// Sends a test, once.
async fn test(entry: NotifyEntry) -> NotifyResult {
    let at = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    let host = host_name();
    let notice = Notification {
        at: at.clone(),
        host: host.clone(),
        change: AlarmChange::Test,
        alarm: Alarm {
            id: 0,
            key: "test".to_owned(),
            kind: "test".to_owned(),
            severity: EventSeverity::Info,
            state: AlarmState::Active,
            object: ObjectName {
                guid: String::new(),
                name: host,
                location: String::new(),
            },
            text: "test of ferrosm notify; nothing is wrong".to_owned(),
            raised_at: at,
            since: None,
            cleared_at: None,
            occurrences: 1,
            acknowledged: None,
            cause: None,
            parts: Vec::new(),
            num_parts: 0,
        },
    };
    let sent = send(&entry, &notice).await;
    NotifyResult {
        name: entry.name,
        error: sent.err().map(|error| error.to_string()),
    }
}

/// The name of this host.
fn host_name() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
