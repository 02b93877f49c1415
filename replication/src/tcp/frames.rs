//! Messages on a connection: the first bytes of each side, then frames with their length. Nothing is put aside for what a peer only
//! announces.

use std::io;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::rustls;

use crate::follower::Offence;
use crate::tls;
use crate::wire::{Message, PREAMBLE, Refusal, WireError, check_preamble, encode};

/// Bytes that a frame's place begins with.
const ROOM: usize = 16 << 10;

/// Why a connection ended.
#[derive(Debug, Error)]
pub(super) enum Broken {
    /// The network, the other's process, or TLS.
    #[error("{}", tls_or_system(.0))]
    Io(#[from] io::Error),
    /// What came makes no sense.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// What came does not belong there.
    #[error(transparent)]
    Offence(#[from] Offence),
    /// It, or this node, does not want to.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It took too long.
    #[error("it does not answer")]
    Late,
    /// It is over, as it should be.
    #[error("it ended")]
    Ended,
    /// What is wrong with the own files is told elsewhere.
    #[error("this node has no certificates that are of use")]
    Unready,
}

impl Broken {
    /// Whether an operator has to do something, where a broken network does not count.
    pub(super) fn is_mistake(&self) -> bool {
        match self {
            Self::Io(error) => tls_error(error).is_some(),
            Self::Wire(_) | Self::Offence(_) => true,
            Self::Refused(why) => !matches!(why, Refusal::NotMaster | Refusal::Replaced),
            Self::Late | Self::Ended | Self::Unready => false,
        }
    }
}

fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

fn tls_or_system(error: &io::Error) -> String {
    tls_error(error).map_or_else(|| error.to_string(), tls::sentence)
}

/// Says what this side speaks, and hears what the other does.
pub(super) async fn greet<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> Result<(), Broken> {
    stream.write_all(&PREAMBLE).await?;
    stream.flush().await?;
    let mut got = [0; PREAMBLE.len()];
    stream.read_exact(&mut got).await?;
    Ok(check_preamble(got)?)
}

/// Sends one message; it may stay in a buffer until the next flush.
pub(super) async fn send<W: AsyncWrite + Unpin>(
    to: &mut W,
    message: &Message<'_>,
) -> Result<(), Broken> {
    Ok(to.write_all(&encode(message)?).await?)
}

/// Reads one frame into `frame`.
pub(super) async fn receive<R: AsyncRead + Unpin>(
    from: &mut R,
    frame: &mut Vec<u8>,
    max: usize,
) -> Result<(), Broken> {
    let len = from.read_u32().await?;
    let size = usize::try_from(len).unwrap_or(usize::MAX);
    if size > max {
        return Err(WireError::TooLong { len: size, max }.into());
    }
    frame.clear();
    frame.shrink_to(ROOM.max(size));
    let got = from.take(len.into()).read_to_end(frame).await?;
    if got < size {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(())
}
