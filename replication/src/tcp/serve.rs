//! The listening side: accepts peers, reads their hello, and serves them if this node is master.

use core::time::Duration;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::frames::{ConnectionError, exchange_preambles, receive, send, send_last};
use super::shared::{NextAction, TcpShared};
use crate::follower::{ProtocolError, RawRecord};
use crate::leader::{ConnectionId, FollowerMessage, Leader};
use crate::log::Position;
use crate::wire::{CHUNK, FRAME_MAX, HELLO_MAX, Message, NodeRole, RawBytes, Refusal, decode};

/// Limit of concurrent connections; further ones wait in the system's backlog.
const CONNECTIONS_MAX: usize = 64;
/// Time within which a peer must send its hello.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause after the system failed to accept a connection.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Accepts connections until the task ends.
pub(super) async fn listen(shared: Arc<TcpShared>, listener: TcpListener) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut tasks = JoinSet::new();
    loop {
        // The semaphore is never closed.
        let Ok(permit) = permits.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, from)) => {
                let shared = shared.clone();
                tasks.spawn(async move {
                    let peer = from.ip().to_string();
                    match serve(&shared, stream, &peer).await {
                        Err(error) if error.needs_operator() => {
                            shared
                                .report_peer_error(&peer, format!("incoming connection: {error}"));
                        }
                        Err(error) => {
                            tracing::debug!(peer = %from, %error, "replication connection closed")
                        }
                        Ok(()) => {}
                    }
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept replication connection");
                sleep(ACCEPT_RETRY_INTERVAL).await;
            }
        }
        while tasks.try_join_next().is_some() {}
    }
}

async fn serve(
    shared: &Arc<TcpShared>,
    stream: TcpStream,
    peer: &str,
) -> Result<(), ConnectionError> {
    stream.set_nodelay(true)?;
    let configs = shared.tls.current().ok_or(ConnectionError::NoCertificate)?;
    let acceptor = TlsAcceptor::from(configs.server);
    let (mut stream, hello) = timeout(CONNECT_TIMEOUT, async {
        let mut stream = acceptor.accept(stream).await?;
        exchange_preambles(&mut stream).await?;
        let mut frame = Vec::new();
        receive(&mut stream, &mut frame, HELLO_MAX).await?;
        let Message::Hello(hello) = decode(&frame)? else {
            return Err(ProtocolError::UnexpectedMessage.into());
        };
        Ok::<_, ConnectionError>((stream, hello))
    })
    .await
    .map_err(|_| ConnectionError::TimedOut)??;

    let own_hello = shared.hello(None);
    let master = own_hello.role == NodeRole::Master;
    // A node that is in its own list of peers recognises itself by the response.
    let itself = hello.guid == own_hello.guid;
    send(&mut stream, &Message::Hello(own_hello)).await?;
    stream.flush().await?;
    if itself || !master {
        return Ok(());
    }
    let own_fabric = &shared.settings.fabric;
    // A refusal names the fabric of the node that sends it; the local report names the peer's.
    let (refusal, reason) = if hello.fabric == *own_fabric {
        match shared.accept_follower(&hello) {
            Ok(conn) => return serve_follower(shared, stream, conn, peer).await,
            Err(reason) => (reason.clone(), reason),
        }
    } else {
        let refusal = Refusal::Fabric(own_fabric.clone());
        (refusal, Refusal::Fabric(hello.fabric))
    };
    // Fails if the peer has already closed the connection: this node's hello may have shown it the
    // reason.
    let _ = timeout(CONNECT_TIMEOUT, refuse(stream, refusal)).await;
    Err(reason.into())
}

/// Sends a refusal, and closes the connection after the peer has.
async fn refuse<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    refusal: Refusal,
) -> Result<(), ConnectionError> {
    send_last(&mut stream, &Message::Refused(refusal)).await?;
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(())
}

/// Serves a follower until the connection ends.
async fn serve_follower(
    shared: &Arc<TcpShared>,
    stream: TlsStream<TcpStream>,
    conn: ConnectionId,
    peer: &str,
) -> Result<(), ConnectionError> {
    shared.clear_peer_error(peer);
    let (reader, writer) = tokio::io::split(stream);
    let is_over = || {
        let is_current = |l: &Leader| l.is_current_connection(conn);
        !shared.with_state(|state, _| state.leader.as_ref().is_some_and(is_current))
    };
    let receiving = receive_messages(shared, conn, BufReader::with_capacity(CHUNK, reader));
    tokio::pin!(receiving);
    let result = tokio::select! {
        done = &mut receiving => done,
        done = send_messages(shared, conn, BufWriter::with_capacity(CHUNK, writer)) => {
            if matches!(done, Ok(()) | Err(ConnectionError::Refused(Refusal::NoRecords))) {
                // See `send_last`.
                let _ = timeout(shared.settings.timing.lease, &mut receiving).await;
            }
            done
        }
        // If the peer hangs, a write may never return: end the connection when the leader has
        // dropped it.
        () = shared.node.wait_until(is_over) => Err(ConnectionError::Closed),
    };
    shared.change(|state, now| state.leader.as_mut().map(|l| l.on_disconnected(conn, now)));
    result
}

/// Receives the follower's messages.
async fn receive_messages<R: AsyncRead + Unpin>(
    shared: &TcpShared,
    conn: ConnectionId,
    mut from: R,
) -> Result<(), ConnectionError> {
    let mut frame = Vec::new();
    loop {
        receive(&mut from, &mut frame, HELLO_MAX).await?;
        let message = decode(&frame)?;
        let is_valid = shared.change(|state, now| {
            let Some(leader) = &mut state.leader else {
                return true;
            };
            match message {
                Message::Ping(ping) => {
                    leader.on_ping(conn, ping, now);
                    true
                }
                Message::Ack(at) => leader.on_ack(conn, at, now).is_ok(),
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
        if !is_valid {
            return Err(ProtocolError::UnexpectedMessage.into());
        }
    }
}

/// Sends messages to the follower.
async fn send_messages<W: AsyncWrite + Unpin>(
    shared: &TcpShared,
    conn: ConnectionId,
    mut to: W,
) -> Result<(), ConnectionError> {
    let mut changed = shared.node.changes();
    loop {
        changed.mark_unchanged();
        match shared.next_action(conn) {
            NextAction::Send(FollowerMessage::Message(message)) => send(&mut to, &message).await?,
            NextAction::Send(FollowerMessage::Batch { seq, body }) => {
                let body = RawBytes(&body);
                send(&mut to, &Message::Batch { seq, body }).await?;
            }
            NextAction::Send(FollowerMessage::Snapshot) => {
                send_snapshot(shared, conn, &mut to).await?
            }
            NextAction::Wait => {
                to.flush().await?;
                if changed.changed().await.is_err() {
                    return Ok(());
                }
            }
            NextAction::Goodbye(reason) => {
                return send_last(&mut to, &Message::Goodbye(reason)).await;
            }
            NextAction::End => return Err(Refusal::Replaced.into()),
        }
    }
}

/// Sends a snapshot, with pongs in between.
async fn send_snapshot<W: AsyncWrite + Unpin>(
    shared: &TcpShared,
    conn: ConnectionId,
    to: &mut W,
) -> Result<(), ConnectionError> {
    let snapshot = shared.node.read_all().await;
    let position = snapshot
        .as_ref()
        .ok()
        .and_then(|snapshot| history_position(shared, snapshot.at));
    let (Ok(snapshot), Some(at)) = (snapshot, position) else {
        send_last(to, &Message::Refused(Refusal::NoRecords)).await?;
        return Err(Refusal::NoRecords.into());
    };
    let records = snapshot.records.len() as u64;
    send(to, &Message::Snapshot { at, records }).await?;
    let mut remaining = &snapshot.records[..];
    while let Some(chunk) = next_chunk(&mut remaining) {
        if remaining.is_empty() {
            shared.with_state(|state, _| {
                state.leader.as_mut().map(|l| l.snapshot_sent(conn, at.seq))
            });
        }
        send(to, &Message::Records(chunk)).await?;
        // Messages that do not wait for the end of the snapshot, such as pongs, are sent between
        // the chunks.
        while let NextAction::Send(FollowerMessage::Message(message)) = shared.next_action(conn) {
            send(to, &message).await?;
        }
        to.flush().await?;
        // Yield to other tasks, even if this connection accepts more.
        tokio::task::yield_now().await;
    }
    if records == 0 {
        shared.with_state(|state, _| state.leader.as_mut().map(|l| l.snapshot_sent(conn, at.seq)));
    }
    Ok(())
}

/// The position in this master's history of records at `at`.
fn history_position(shared: &TcpShared, at: Option<Position>) -> Option<Position> {
    shared.with_state(|state, _| {
        let log = state.leader.as_ref()?.log();
        let epoch = log.end_position().epoch;
        match at {
            // The store may be ahead of the log by the batch being committed.
            Some(at) if at.epoch == epoch => Some(at),
            at if at == log.base() => {
                let seq = at.map_or(0, |at| at.seq);
                Some(Position { epoch, seq })
            }
            Some(_) | None => None,
        }
    })
}

/// The records of the next frame; at least one.
fn next_chunk<'a>(remaining: &mut &'a [RawRecord]) -> Option<Vec<(RawBytes<'a>, RawBytes<'a>)>> {
    let mut bytes = 0;
    let mut count = 0;
    while let Some((key, value)) = remaining.get(count) {
        bytes += key.bytes().len() + value.len() + 8;
        if count > 0 && bytes > CHUNK.min(FRAME_MAX) {
            break;
        }
        count += 1;
    }
    let (chunk, remaining_records) = remaining.split_at(count);
    *remaining = remaining_records;
    let pieces = chunk
        .iter()
        .map(|(key, value)| (RawBytes(key.bytes()), RawBytes(value)));
    (count > 0).then(|| pieces.collect())
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn refused_peer_can_finish_sending() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (here, mut peer) = tokio::io::duplex(64);
            let closing = tokio::spawn(refuse(here, Refusal::NoRecords));
            let mut frame = Vec::new();
            receive(&mut peer, &mut frame, HELLO_MAX).await.unwrap();
            assert_eq!(
                decode(&frame).unwrap(),
                Message::Refused(Refusal::NoRecords)
            );
            assert_eq!(peer.read(&mut [0]).await.unwrap(), 0, "the stream ends");
            peer.write_all(&[0; 1024]).await.unwrap();
            drop(peer);
            closing.await.unwrap().unwrap();
        });
    }
}
