//! The connecting side: a standby queries each peer until it finds the master, and follows it.

use core::time::Duration;
use std::sync::Arc;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use super::frames::{ConnectionError, exchange_preambles, receive, send};
use super::shared::TcpShared;
use crate::Role;
use crate::follower::{ProtocolError, SessionId};
use crate::wire::{CHUNK, FRAME_MAX, HELLO_MAX, Message, NodeRole, Refusal, decode};

/// Time for one attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval of attempts: first and longest.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Result of an attempt.
enum Found {
    /// The peer is master; the connection and its session.
    Master(SessionId, Box<TlsStream<TcpStream>>),
    /// The peer is not to be followed.
    NotMaster,
    /// The peer is this node.
    Itself,
}

/// Queries a peer repeatedly while this node is standby, and follows it if it is master.
pub(super) async fn poll_peer(shared: Arc<TcpShared>, peer: String, index: usize) {
    let seed = shared.settings.guid ^ u64::try_from(index).unwrap_or(0).rotate_left(32);
    let mut backoff = Backoff::new(seed);
    loop {
        let is_standby = || shared.with_state(|state, _| state.role == Role::Standby);
        shared.node.wait_until(is_standby).await;
        let has_no_master = shared.with_state(|state, _| state.follower.master().is_none());
        let target = if has_no_master {
            let found = connect(&shared, &peer).await;
            if found.is_ok() {
                shared.clear_peer_error(&peer);
            }
            found
        } else {
            Ok(Found::NotMaster)
        };
        match target {
            Ok(Found::Itself) => return,
            Ok(Found::NotMaster) => {}
            Ok(Found::Master(session, stream)) => {
                backoff.restart();
                follow(&shared, &peer, session, stream).await;
            }
            Err(error) => report(&shared, &peer, &error),
        }
        sleep(backoff.next()).await;
    }
}

fn report(shared: &TcpShared, peer: &str, error: &ConnectionError) {
    if error.needs_operator() {
        shared.report_peer_error(peer, error.to_string());
    } else {
        tracing::debug!(peer, %error, "replication connection closed");
    }
}

/// Follows a master, reconnecting until it is no longer master or unreachable.
async fn follow(
    shared: &Arc<TcpShared>,
    peer: &str,
    session: SessionId,
    stream: Box<TlsStream<TcpStream>>,
) {
    let mut connection = (session, stream);
    let mut backoff = Backoff::new(shared.settings.guid);
    loop {
        let (session, stream) = connection;
        let error = receive_from_master(shared, session, *stream).await;
        report(shared, peer, &error);
        let refused = error.needs_operator();
        let reconnect = shared.change(|state, _| {
            let following = state.follower.follows(session);
            state.follower.on_disconnected(session);
            following
        });
        if !reconnect {
            return;
        }
        if refused {
            // The rejection is likely to persist.
            sleep(backoff.next()).await;
        }
        match connect(shared, peer).await {
            Ok(Found::Master(session, stream)) => connection = (session, stream),
            Ok(Found::NotMaster | Found::Itself) | Err(_) => {
                shared.change(|state, now| state.follower.on_master_unreachable(session, now));
                return;
            }
        }
    }
}

/// Connects to a peer and queries its role.
async fn connect(shared: &Arc<TcpShared>, peer: &str) -> Result<Found, ConnectionError> {
    let configs = shared.tls.current().ok_or(ConnectionError::NoCertificate)?;
    let previous = shared.with_state(|state, _| state.follower.session());
    let position = shared.node.position().await;
    let query = async {
        let stream = TcpStream::connect(peer).await?;
        stream.set_nodelay(true)?;
        let connector = TlsConnector::from(configs.client);
        let mut stream = connector
            .connect(certificate_name(shared, peer)?, stream)
            .await?;
        exchange_preambles(&mut stream).await?;
        let hello_sent = shared.node.now();
        send(&mut stream, &Message::Hello(shared.hello(position))).await?;
        stream.flush().await?;
        let mut frame = Vec::new();
        receive(&mut stream, &mut frame, HELLO_MAX).await?;
        let Message::Hello(hello) = decode(&frame)? else {
            return Err(ProtocolError::UnexpectedMessage.into());
        };
        Ok::<_, ConnectionError>((stream, hello, hello_sent))
    };
    let (stream, hello, hello_sent) = timeout(CONNECT_TIMEOUT, query)
        .await
        .map_err(|_| ConnectionError::TimedOut)??;
    if hello.guid == shared.settings.guid {
        // All nodes may have the same list of peers.
        tracing::debug!(peer, "replication peer is this node");
        return Ok(Found::Itself);
    }
    if hello.fabric != shared.settings.fabric {
        return Err(Refusal::Fabric(hello.fabric).into());
    }
    if hello.role != NodeRole::Master {
        return Ok(Found::NotMaster);
    }
    let session = shared.change(|state, _| {
        let standby = state.role == Role::Standby;
        standby.then(|| {
            state
                .follower
                .on_connected(hello.guid, previous, hello_sent)
        })
    });
    Ok(session.flatten().map_or(Found::NotMaster, |session| {
        Found::Master(session, Box::new(stream))
    }))
}

/// The name that the peer's certificate must have.
fn certificate_name(
    shared: &TcpShared,
    peer: &str,
) -> Result<ServerName<'static>, ConnectionError> {
    let host = peer
        .rsplit_once(':')
        .map_or(peer, |(host, _)| host)
        .trim_start_matches('[')
        .trim_end_matches(']');
    let name = shared.settings.server_name.as_deref().unwrap_or(host);
    let invalid_name = |_| std::io::Error::other(format!("invalid certificate name \"{name}\""));
    Ok(ServerName::try_from(name.to_owned()).map_err(invalid_name)?)
}

/// Processes the master's messages until the connection ends.
async fn receive_from_master(
    shared: &Arc<TcpShared>,
    session: SessionId,
    stream: TlsStream<TcpStream>,
) -> ConnectionError {
    let (reader, writer): (ReadHalf<_>, WriteHalf<_>) = tokio::io::split(stream);
    let is_over = || !shared.with_state(|state, _| state.follower.follows(session));
    let result = tokio::select! {
        done = receive_messages(shared, session, BufReader::with_capacity(CHUNK, reader)) => done,
        done = send_messages(shared, session, BufWriter::new(writer)) => done,
        () = shared.node.wait_until(is_over) => Ok(()),
    };
    result.err().unwrap_or(ConnectionError::Closed)
}

async fn receive_messages<R: AsyncRead + Unpin>(
    shared: &TcpShared,
    session: SessionId,
    mut from: R,
) -> Result<(), ConnectionError> {
    let mut frame = Vec::new();
    loop {
        receive(&mut from, &mut frame, FRAME_MAX).await?;
        let message = decode(&frame)?;
        shared.with_state(|state, now| state.follower.on_message(session, message, now))?;
        if shared.with_state(|state, _| state.follower.follows(session)) {
            shared.node.notify();
        } else {
            return Ok(());
        }
    }
}

async fn send_messages<W: AsyncWrite + Unpin>(
    shared: &TcpShared,
    session: SessionId,
    mut to: W,
) -> Result<(), ConnectionError> {
    let mut changed = shared.node.changes();
    let step = shared.settings.timing.heartbeat / 5;
    loop {
        changed.mark_unchanged();
        while let Some(message) = shared.with_state(|state, now| state.follower.poll(session, now))
        {
            send(&mut to, &message).await?;
        }
        to.flush().await?;
        tokio::select! {
            done = changed.changed() => if done.is_err() { return Ok(()) },
            () = sleep(step) => {}
        }
    }
}

/// Exponential backoff with jitter: deterministic for a seed, and different for each node.
#[derive(Debug)]
struct Backoff {
    next: Duration,
    random: ChaCha8Rng,
}

impl Backoff {
    fn new(seed: u64) -> Self {
        Self {
            next: BACKOFF.0,
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    const fn restart(&mut self) {
        self.next = BACKOFF.0;
    }

    /// From half of the interval to all of it.
    fn next(&mut self) -> Duration {
        let due = self.next;
        self.next = due.saturating_mul(2).min(BACKOFF.1);
        self.random.random_range(due / 2..=due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_grows_to_its_limit_and_differs_between_nodes() {
        let delays = |seed| {
            let mut backoff = Backoff::new(seed);
            (0..20).map(|_| backoff.next()).collect::<Vec<_>>()
        };
        assert_eq!(delays(1), delays(1));
        assert_ne!(delays(1), delays(2));
        assert!(
            delays(3)
                .iter()
                .all(|p| *p >= BACKOFF.0 / 2 && *p <= BACKOFF.1)
        );
        assert!(delays(3)[10..].iter().all(|p| *p >= BACKOFF.1 / 2));
    }
}
