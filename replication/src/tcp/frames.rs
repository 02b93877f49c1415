//! Messages on a connection: the preamble of both sides, then frames with their length. A peer's
//! announced length allocates no memory.

use std::io;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::rustls;

use crate::follower::ProtocolError;
use crate::tls;
use crate::wire::{Message, PREAMBLE, Refusal, WireError, check_preamble, encode};

/// Minimum capacity of the receive buffer in bytes.
const BUFFER_MIN: usize = 16 << 10;

/// Why a connection ended.
#[derive(Debug, Error)]
pub(super) enum ConnectionError {
    /// Network, peer process or TLS.
    #[error("{}", tls_or_system(.0))]
    Io(#[from] io::Error),
    /// The peer sent malformed bytes.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The peer violated the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// This node or the peer rejected the other.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The peer did not respond in time.
    #[error("timed out")]
    TimedOut,
    /// The connection was closed as intended.
    #[error("closed")]
    Closed,
    /// This node has no usable certificates; reported separately.
    #[error("no usable certificate")]
    NoCertificate,
}

impl ConnectionError {
    /// Whether the operator has to act. Network errors do not count.
    pub(super) fn needs_operator(&self) -> bool {
        match self {
            Self::Io(error) => tls_error(error).is_some(),
            Self::Wire(_) | Self::Protocol(_) => true,
            Self::Refused(refusal) => !matches!(refusal, Refusal::NotMaster | Refusal::Replaced),
            Self::TimedOut | Self::Closed | Self::NoCertificate => false,
        }
    }
}

fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

fn tls_or_system(error: &io::Error) -> String {
    tls_error(error).map_or_else(|| error.to_string(), tls::describe)
}

/// Exchanges preambles with the peer.
pub(super) async fn exchange_preambles<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
) -> Result<(), ConnectionError> {
    stream.write_all(&PREAMBLE).await?;
    stream.flush().await?;
    let mut preamble = [0; PREAMBLE.len()];
    stream.read_exact(&mut preamble).await?;
    Ok(check_preamble(preamble)?)
}

/// Sends a message; it may stay in the buffer until the next flush.
pub(super) async fn send<W: AsyncWrite + Unpin>(
    to: &mut W,
    message: &Message<'_>,
) -> Result<(), ConnectionError> {
    Ok(to.write_all(&encode(message)?).await?)
}

/// Sends the last message of a connection and ends the stream. The caller then reads until the peer
/// has closed the connection: closing a socket while the peer still sends resets the connection,
/// and the peer, whose writes fail, may not read the message.
pub(super) async fn send_last<W: AsyncWrite + Unpin>(
    to: &mut W,
    message: &Message<'_>,
) -> Result<(), ConnectionError> {
    send(to, message).await?;
    to.flush().await?;
    Ok(to.shutdown().await?)
}

/// Reads one frame into `frame`.
pub(super) async fn receive<R: AsyncRead + Unpin>(
    from: &mut R,
    frame: &mut Vec<u8>,
    max: usize,
) -> Result<(), ConnectionError> {
    let len = from.read_u32().await?;
    let size = len as usize;
    if size > max {
        return Err(WireError::TooLong { len: size, max }.into());
    }
    frame.clear();
    frame.shrink_to(BUFFER_MIN.max(size));
    let received = from.take(len.into()).read_to_end(frame).await?;
    if received < size {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(())
}
