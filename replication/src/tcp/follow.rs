//! The connecting side: a standby asks each of its peers whether it is master, and follows the one that is.

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

use super::frames::{Broken, greet, receive, send};
use super::shared::Shared;
use crate::Role;
use crate::follower::{Offence, Turn};
use crate::wire::{CHUNK, FRAME_MAX, HELLO_MAX, Message, NodeRole, Refusal, decode};

/// Time for one try.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two tries: first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// Whom a try found.
enum Found {
    /// The master, on this connection, in this turn.
    Master(Turn, Box<TlsStream<TcpStream>>),
    /// Nobody to follow.
    Nobody,
    /// This node itself.
    Itself,
}

/// Asks one peer again and again while this node is standby, and follows it when it is master.
pub(super) async fn seek(shared: Arc<Shared>, peer: String, place: usize) {
    let seed = shared.settings.guid ^ u64::try_from(place).unwrap_or(0).rotate_left(32);
    let mut pauses = Pauses::new(seed);
    loop {
        let is_standby = || shared.with(|core, _| core.role == Role::Standby);
        shared.node.wait_until(is_standby).await;
        let free = shared.with(|core, _| core.follower.leader().is_none());
        let found = if free {
            attempt(&shared, &peer).await
        } else {
            Ok(Found::Nobody)
        };
        match found {
            Ok(Found::Itself) => return,
            Ok(Found::Nobody) => {}
            Ok(Found::Master(turn, stream)) => {
                shared.content(&peer);
                pauses.restart();
                follow(&shared, &peer, turn, stream).await;
            }
            Err(broken) => told(&shared, &peer, &broken),
        }
        sleep(pauses.next()).await;
    }
}

fn told(shared: &Shared, peer: &str, broken: &Broken) {
    if broken.is_mistake() {
        shared.complain(peer, broken.to_string());
    } else {
        tracing::debug!("replication: {peer}: {broken}");
    }
}

/// Follows, also over connections that break, until the peer is master no longer or cannot be reached.
async fn follow(shared: &Arc<Shared>, peer: &str, turn: Turn, stream: Box<TlsStream<TcpStream>>) {
    let mut now = (turn, stream);
    let mut pauses = Pauses::new(shared.settings.guid);
    loop {
        let (turn, stream) = now;
        let broken = listen(shared, turn, *stream).await;
        told(shared, peer, &broken);
        let refused = broken.is_mistake();
        let again = shared.change(|core, _| {
            let following = core.follower.follows(turn);
            core.follower.broken(turn);
            following
        });
        if !again {
            return;
        }
        if refused {
            // It will not think otherwise at once.
            sleep(pauses.next()).await;
        }
        match attempt(shared, peer).await {
            Ok(Found::Master(turn, stream)) => now = (turn, stream),
            Ok(Found::Nobody | Found::Itself) | Err(_) => {
                shared.change(|core, now| core.follower.gone(turn, now));
                return;
            }
        }
    }
}

/// One connection to a peer, and the question whether it is master.
async fn attempt(shared: &Arc<Shared>, peer: &str) -> Result<Found, Broken> {
    let configs = shared.tls.current().ok_or(Broken::Unready)?;
    let told = shared.with(|core, _| core.follower.turn());
    let position = shared.node.position().await;
    let asked = async {
        let stream = TcpStream::connect(peer).await?;
        stream.set_nodelay(true)?;
        let connector = TlsConnector::from(configs.client);
        let mut stream = connector.connect(name(shared, peer)?, stream).await?;
        greet(&mut stream).await?;
        let asked = shared.node.now();
        send(&mut stream, &Message::Hello(shared.hello(position))).await?;
        stream.flush().await?;
        let mut frame = Vec::new();
        receive(&mut stream, &mut frame, HELLO_MAX).await?;
        let Message::Hello(hello) = decode(&frame)? else {
            return Err(Offence::Order.into());
        };
        Ok::<_, Broken>((stream, hello, asked))
    };
    let (stream, hello, asked) = timeout(PATIENCE, asked).await.map_err(|_| Broken::Late)??;
    if hello.guid == shared.settings.guid {
        return itself(shared, peer);
    }
    if hello.fabric != shared.settings.fabric {
        return Err(Refusal::Fabric(hello.fabric).into());
    }
    if hello.standing != NodeRole::Master {
        return Ok(Found::Nobody);
    }
    let turn = shared.change(|core, _| {
        let standby = core.role == Role::Standby;
        standby.then(|| core.follower.connected(hello.guid, told, asked))
    });
    Ok(turn
        .flatten()
        .map_or(Found::Nobody, |turn| Found::Master(turn, Box::new(stream))))
}

/// A peer has this node's GUID: it is this node, where all nodes have the same list of peers.
fn itself(shared: &Shared, peer: &str) -> Result<Found, Broken> {
    tracing::debug!(
        "replication: {peer} is this node ({:016x})",
        shared.settings.guid
    );
    Ok(Found::Itself)
}

/// The name that the peer's certificate must have.
fn name(shared: &Shared, peer: &str) -> Result<ServerName<'static>, Broken> {
    let host = peer.rsplit_once(':').map_or(peer, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let name = shared.settings.server_name.as_deref().unwrap_or(host);
    let bad = |_| std::io::Error::other(format!("\"{name}\" can be no name of a certificate"));
    Ok(ServerName::try_from(name.to_owned()).map_err(bad)?)
}

/// Takes what the master sends until that ends.
async fn listen(shared: &Arc<Shared>, turn: Turn, stream: TlsStream<TcpStream>) -> Broken {
    let (reader, writer): (ReadHalf<_>, WriteHalf<_>) = tokio::io::split(stream);
    let is_over = || !shared.with(|core, _| core.follower.follows(turn));
    let done = tokio::select! {
        done = hear(shared, turn, BufReader::with_capacity(CHUNK, reader)) => done,
        done = speak(shared, turn, BufWriter::new(writer)) => done,
        () = shared.node.wait_until(is_over) => Ok(()),
    };
    done.err().unwrap_or(Broken::Ended)
}

async fn hear<R: AsyncRead + Unpin>(
    shared: &Shared,
    turn: Turn,
    mut from: R,
) -> Result<(), Broken> {
    let mut frame = Vec::new();
    loop {
        receive(&mut from, &mut frame, FRAME_MAX).await?;
        let message = decode(&frame)?;
        shared.with(|core, now| core.follower.received(turn, message, now))?;
        if shared.with(|core, _| core.follower.follows(turn)) {
            shared.node.notify();
        } else {
            return Ok(());
        }
    }
}

async fn speak<W: AsyncWrite + Unpin>(
    shared: &Shared,
    turn: Turn,
    mut to: W,
) -> Result<(), Broken> {
    let mut changed = shared.node.changes();
    let step = shared.settings.timing.heartbeat / 5;
    loop {
        changed.mark_unchanged();
        while let Some(message) = shared.with(|core, now| core.follower.poll(turn, now)) {
            send(&mut to, &message).await?;
        }
        to.flush().await?;
        tokio::select! {
            done = changed.changed() => if done.is_err() { return Ok(()) },
            () = sleep(step) => {}
        }
    }
}

/// Times between tries: each up to twice the one before, not the same for all nodes, and the same again for the same seed.
#[derive(Debug)]
struct Pauses {
    next: Duration,
    random: ChaCha8Rng,
}

impl Pauses {
    fn new(seed: u64) -> Self {
        Self {
            next: PAUSES.0,
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    const fn restart(&mut self) {
        self.next = PAUSES.0;
    }

    /// From half of what is due to all of it.
    fn next(&mut self) -> Duration {
        let due = self.next;
        self.next = due.saturating_mul(2).min(PAUSES.1);
        self.random.random_range(due / 2..=due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_limit_and_differ_between_nodes() {
        let all = |seed| {
            let mut pauses = Pauses::new(seed);
            (0..20).map(|_| pauses.next()).collect::<Vec<_>>()
        };
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
        assert!(all(3).iter().all(|p| *p >= PAUSES.0 / 2 && *p <= PAUSES.1));
        assert!(all(3)[10..].iter().all(|p| *p >= PAUSES.1 / 2));
    }
}
