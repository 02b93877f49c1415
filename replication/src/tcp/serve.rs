//! The listening side: peers come, say who they are, and are served if this node is master.

use core::time::Duration;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::frames::{Broken, greet, receive, send};
use super::shared::{Next, Shared};
use crate::follower::{Offence, RawRecord};
use crate::leader::{Conn, Leader, Outgoing};
use crate::log::Position;
use crate::wire::{Bytes, CHUNK, FRAME_MAX, HELLO_MAX, Hello, Message, NodeRole, Refusal, decode};

/// Connections at the same time; more wait in the system's queue.
const CONNECTIONS_MAX: usize = 64;
/// Time that a peer has to say who it is.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time to wait when the system has no connection to give.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes connections for ever.
pub(super) async fn listen(shared: Arc<Shared>, listener: TcpListener) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut tasks = JoinSet::new();
    loop {
        // Nobody closes the semaphore.
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, from)) => {
                let shared = shared.clone();
                tasks.spawn(async move {
                    let peer = from.ip().to_string();
                    match serve(&shared, stream, &peer).await {
                        Err(broken) if broken.is_mistake() => {
                            shared.complain(&peer, format!("a node that connected: {broken}"));
                        }
                        Err(broken) => tracing::debug!("replication: {from}: {broken}"),
                        Ok(()) => {}
                    }
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!("replication: cannot take a connection: {error}");
                sleep(PAUSE).await;
            }
        }
        while tasks.try_join_next().is_some() {}
    }
}

async fn serve(shared: &Arc<Shared>, stream: TcpStream, peer: &str) -> Result<(), Broken> {
    stream.set_nodelay(true)?;
    let configs = shared.tls.current().ok_or(Broken::Unready)?;
    let acceptor = TlsAcceptor::from(configs.server);
    let (mut stream, hello) = timeout(PATIENCE, async {
        let mut stream = acceptor.accept(stream).await?;
        greet(&mut stream).await?;
        let mut frame = Vec::new();
        receive(&mut stream, &mut frame, HELLO_MAX).await?;
        let Message::Hello(hello) = decode(&frame)? else {
            return Err(Offence::Order.into());
        };
        Ok::<_, Broken>((stream, hello))
    })
    .await
    .map_err(|_| Broken::Late)??;

    let own = shared.hello(None);
    let master = own.standing == NodeRole::Master;
    // A node that finds itself among its peers sees that by the answer.
    let itself = hello.guid == own.guid;
    send(&mut stream, &Message::Hello(own)).await?;
    stream.flush().await?;
    if itself || !master {
        return Ok(());
    }
    let joined = acceptable(shared, &hello).and_then(|()| shared.join(&hello));
    let conn = match joined {
        Ok(conn) => conn,
        Err(why) => {
            send(&mut stream, &Message::Refused(why.clone())).await?;
            stream.flush().await?;
            return Err(why.into());
        }
    };
    shared.content(peer);
    let (reader, writer) = tokio::io::split(stream);
    let is_over = || {
        let serves = |l: &Leader| l.serves(conn);
        !shared.with(|core, _| core.leader.as_ref().is_some_and(serves))
    };
    let done = tokio::select! {
        done = hear(shared, conn, BufReader::with_capacity(CHUNK, reader)) => done,
        done = speak(shared, conn, BufWriter::with_capacity(CHUNK, writer)) => done,
        // A write may hang with the peer; the leader gives it up in time.
        () = shared.node.wait_until(is_over) => Err(Broken::Ended),
    };
    shared.change(|core, now| core.leader.as_mut().map(|l| l.lost(conn, now)));
    done
}

fn acceptable(shared: &Shared, hello: &Hello) -> Result<(), Refusal> {
    if hello.fabric == shared.settings.fabric {
        Ok(())
    } else {
        Err(Refusal::Fabric(shared.settings.fabric.clone()))
    }
}

/// What the follower says.
async fn hear<R: AsyncRead + Unpin>(
    shared: &Shared,
    conn: Conn,
    mut from: R,
) -> Result<(), Broken> {
    let mut frame = Vec::new();
    loop {
        receive(&mut from, &mut frame, HELLO_MAX).await?;
        let message = decode(&frame)?;
        let fine = shared.change(|core, now| {
            let Some(leader) = &mut core.leader else {
                return true;
            };
            match message {
                Message::Ping(ping) => {
                    leader.pinged(conn, ping, now);
                    true
                }
                Message::Ack(at) => leader.acked(conn, at, now).is_ok(),
                Message::Hello(_)
                | Message::Refused(_)
                | Message::Resume(_)
                | Message::Snapshot { .. }
                | Message::Records(_)
                | Message::Batch { .. }
                | Message::Pong { .. }
                | Message::Goodbye(_) => false,
            }
        });
        if !fine {
            return Err(Offence::Order.into());
        }
    }
}

/// What the follower is told.
async fn speak<W: AsyncWrite + Unpin>(
    shared: &Shared,
    conn: Conn,
    mut to: W,
) -> Result<(), Broken> {
    let mut changed = shared.node.changes();
    loop {
        changed.mark_unchanged();
        match shared.next(conn) {
            Next::Send(Outgoing::Message(message)) => send(&mut to, &message).await?,
            Next::Send(Outgoing::Batch { seq, body }) => {
                let body = Bytes(&body);
                send(&mut to, &Message::Batch { seq, body }).await?;
            }
            Next::Send(Outgoing::Snapshot) => snapshot(shared, conn, &mut to).await?,
            Next::Wait => {
                to.flush().await?;
                if changed.changed().await.is_err() {
                    return Ok(());
                }
            }
            Next::Goodbye(leaving) => {
                send(&mut to, &Message::Goodbye(leaving)).await?;
                to.flush().await?;
                to.shutdown().await?;
                return Ok(());
            }
            Next::End => return Err(Refusal::Replaced.into()),
        }
    }
}

/// Sends everything; answers to pings go between.
async fn snapshot<W: AsyncWrite + Unpin>(
    shared: &Shared,
    conn: Conn,
    to: &mut W,
) -> Result<(), Broken> {
    let everything = shared.node.read_all().await;
    let place = everything.as_ref().ok().and_then(|e| place(shared, e.at));
    let (Ok(everything), Some(at)) = (everything, place) else {
        send(to, &Message::Refused(Refusal::NoRecords)).await?;
        to.flush().await?;
        return Err(Refusal::NoRecords.into());
    };
    let records = u64::try_from(everything.records.len()).unwrap_or(u64::MAX);
    send(to, &Message::Snapshot { at, records }).await?;
    let mut rest = &everything.records[..];
    while let Some(some) = chunk(&mut rest) {
        if rest.is_empty() {
            shared.with(|core, _| core.leader.as_mut().map(|l| l.snapshot_sent(conn, at.seq)));
        }
        send(to, &Message::Records(some)).await?;
        // Everything else waits until the records are gone.
        while let Next::Send(Outgoing::Message(message)) = shared.next(conn) {
            send(to, &message).await?;
        }
        to.flush().await?;
        // Others have their turn, though this connection could take more.
        tokio::task::yield_now().await;
    }
    if records == 0 {
        shared.with(|core, _| core.leader.as_mut().map(|l| l.snapshot_sent(conn, at.seq)));
    }
    Ok(())
}

/// Where records are in this master's history that the store says to be those at `at`.
fn place(shared: &Shared, at: Option<Position>) -> Option<Position> {
    shared.with(|core, _| {
        let log = core.leader.as_ref()?.log();
        let epoch = log.end().epoch;
        match at {
            // The store may be ahead of the log by what is being committed.
            Some(at) if at.epoch == epoch => Some(at),
            at if at == log.base() => {
                let seq = at.map_or(0, |at| at.seq);
                Some(Position { epoch, seq })
            }
            Some(_) | None => None,
        }
    })
}

/// The next records that go into one frame; at least one.
fn chunk<'a>(rest: &mut &'a [RawRecord]) -> Option<Vec<(Bytes<'a>, Bytes<'a>)>> {
    let mut bytes = 0;
    let mut count = 0;
    while let Some((key, value)) = rest.get(count) {
        bytes += key.bytes().len() + value.len() + 8;
        if count > 0 && bytes > CHUNK.min(FRAME_MAX) {
            break;
        }
        count += 1;
    }
    let (some, left) = rest.split_at(count);
    *rest = left;
    let pieces = some
        .iter()
        .map(|(key, value)| (Bytes(key.bytes()), Bytes(value)));
    (count > 0).then(|| pieces.collect())
}
