//! Encoding of numbers, texts and bytes: [`Encoder`] writes, [`Decoder`] reads.

use std::io::{Error, ErrorKind};

/// A message that cannot be decoded; contains its kind, such as `request`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed {0}")]
pub struct Malformed(pub &'static str);

impl From<Malformed> for Error {
    fn from(error: Malformed) -> Self {
        Self::new(ErrorKind::InvalidData, error)
    }
}

/// Encodes a message.
#[derive(Default)]
pub(crate) struct Encoder(Vec<u8>);

impl Encoder {
    pub(crate) fn number(&mut self, number: u32) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        // saturates: a frame that is too long is rejected when it is sent.
        self.number(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.raw(bytes)
    }

    /// Bytes without a length prefix.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Decodes a message. The fields are the remaining bytes and the kind of message for [`Malformed`].
pub(crate) struct Decoder<'f>(&'f [u8], &'static str);

impl<'f> Decoder<'f> {
    /// Creates a decoder; `message_name` is the kind of message in errors.
    pub(crate) const fn new(bytes: &'f [u8], message_name: &'static str) -> Self {
        Self(bytes, message_name)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The remaining bytes.
    pub(crate) const fn rest(self) -> &'f [u8] {
        self.0
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (array, left) = self.0.split_first_chunk().ok_or(Malformed(self.1))?;
        self.0 = left;
        Ok(*array)
    }

    pub(crate) fn number16(&mut self) -> Result<u16, Malformed> {
        u16::try_from(self.number()?).map_err(|_| Malformed(self.1))
    }

    fn take(&mut self, len: usize) -> Result<&'f [u8], Malformed> {
        let (bytes, left) = self.0.split_at_checked(len).ok_or(Malformed(self.1))?;
        self.0 = left;
        Ok(bytes)
    }

    pub(crate) fn number(&mut self) -> Result<u32, Malformed> {
        let (number, left) = self.0.split_first_chunk().ok_or(Malformed(self.1))?;
        self.0 = left;
        Ok(u32::from_le_bytes(*number))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'f [u8], Malformed> {
        let len = self.number()? as usize;
        self.take(len)
    }

    pub(crate) fn text(&mut self) -> Result<String, Malformed> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| Malformed(self.1))
    }

    /// Returns an error unless all bytes are decoded.
    pub(crate) fn expect_end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Malformed(self.1))
        }
    }
}
