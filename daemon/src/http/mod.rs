//! The HTTP servers of the process: the API and the metrics.
//!
//! One thread with a runtime of its own serves all of them, so that no client slows the SM down.
//! Each [`endpoint`] bounds the number of its clients and the time that they may take. The subnet
//! is served without an endpoint that cannot be started: the failure is logged.

pub mod endpoint;

use core::pin::Pin;
use core::time::Duration;
use std::io;
use std::thread::JoinHandle;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tracing::{error, warn};

/// Time to send the last responses when the process stops.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// An endpoint that is served until the thread stops.
type Endpoint = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The thread. Dropping it ends all endpoints, once requests in progress have their responses.
#[derive(Debug)]
pub struct HttpThread {
    endpoints: Option<mpsc::UnboundedSender<Endpoint>>,
    /// Dropped to close the endpoints.
    open: Option<watch::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// An endpoint ends when the sender of this is dropped.
pub type Closing = watch::Receiver<()>;

impl HttpThread {
    /// Starts the thread. A failure is logged.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::try_start()
            .inspect_err(|error| {
                let effect = "no API and no metrics";
                warn!(%error, effect, "cannot start HTTP thread");
            })
            .ok()
    }

    fn try_start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (endpoints, inbox) = mpsc::unbounded_channel();
        let (open, _) = watch::channel(());
        let thread = std::thread::Builder::new()
            .name("http".to_owned())
            .spawn(move || runtime.block_on(serve(inbox)))?;
        Ok(Self {
            endpoints: Some(endpoints),
            open: Some(open),
            thread: Some(thread),
        })
    }

    /// Serves an endpoint. The future that `endpoint` returns must end soon after [`Closing`] does.
    pub fn serve<F>(&self, endpoint: impl FnOnce(Closing) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let (Some(endpoints), Some(open)) = (&self.endpoints, &self.open) {
            // Fails only if the thread panicked, which dropping it reports.
            let _ = endpoints.send(Box::pin(endpoint(open.subscribe())));
        }
    }
}

async fn serve(mut inbox: mpsc::UnboundedReceiver<Endpoint>) {
    let mut endpoints = JoinSet::new();
    while let Some(endpoint) = inbox.recv().await {
        endpoints.spawn(endpoint);
    }
    let ended = async { while endpoints.join_next().await.is_some() {} };
    // Clients that read no responses are disconnected.
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, ended).await;
}

impl Drop for HttpThread {
    fn drop(&mut self) {
        drop((self.open.take(), self.endpoints.take()));
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            error!(thread = "http", "thread panicked");
        }
    }
}
