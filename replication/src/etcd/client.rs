//! Client of etcd: uses one member at a time and the next one after a failure. Every request has a
//! timeout.

use core::fmt;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use etcd_client::{
    Channel, Client, Compare, ConnectOptions, Error as ClientError, GetOptions, GetResponse,
    KeyValue, KvClient, ResponseHeader, Txn, TxnOp, WatchOptions, WatchResponse, WatchStream,
};
use thiserror::Error;
use tokio::time::timeout;
use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use super::EtcdSettings;
use crate::tls::TlsFiles;
use crate::wire::{VERSION, WireError};
use ferrosm_core::records;

/// Limit of a response in bytes.
const RESPONSE_MAX: usize = 256 << 20;
/// Number of keys in the first response of a range. The number is adapted to responses of about
/// [`PAGE_BYTES`], which must arrive within the timeout of one request.
const PAGE_KEYS_FIRST: i64 = 8;
/// Largest number of keys in a response.
const PAGE_KEYS_MAX: i64 = 1024;
/// Intended size of a response in bytes.
const PAGE_BYTES: usize = 1 << 20;

/// Why a request or its result failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum EtcdError {
    /// A member, or the connection to it, failed.
    #[error("etcd at {0}: {1}")]
    Member(String, String),
    /// The member did not respond in time.
    #[error("etcd at {0} timed out")]
    Timeout(String),
    /// A certificate file cannot be read.
    #[error("{0}: {1}")]
    File(String, String),
    /// A value cannot be decoded.
    #[error("malformed etcd data under {0}")]
    Garbled(&'static str),
    /// The granted and the requested time of a lease, in seconds.
    #[error("etcd granted a lease of {0} s instead of {1} s")]
    LeaseTooShort(i64, i64),
    /// A value is of another version of the replication protocol or of records.
    #[error(
        "etcd data is of another ferrosm version (replication {0}, records {1}; here {VERSION}, {records})",
        records = records::VERSION
    )]
    Version(u16, u16),
    /// The keys belong to another fabric.
    #[error(
        "{0} belongs to fabric {1:?}: set another replication.fabric or replication.etcd-prefix"
    )]
    OtherFabric(String, String),
    /// Another node holds the key.
    #[error("SM {0:016x} holds the etcd key")]
    HeldByOther(u64),
    /// This node does not hold the key any more.
    #[error("etcd key lost")]
    KeyLost,
    /// The watched revisions are not available, or another history began.
    #[error("etcd history not available")]
    HistoryUnavailable,
    /// The request is rejected, as it would be by any member.
    #[error("etcd at {0} rejected the request: {1}")]
    Rejected(String, String),
    /// The key claims that etcd is complete, but it is not.
    #[error("acknowledging batches that etcd lacks")]
    Incomplete,
    /// The local store failed.
    #[error("local store: {0}")]
    Store(String),
}

impl EtcdError {
    /// Whether another member may succeed.
    pub(super) const fn is_of_member(&self) -> bool {
        matches!(self, Self::Member(..) | Self::Timeout(_) | Self::File(..))
    }

    /// Whether an immediate retry would fail, too.
    pub(super) const fn is_persistent(&self) -> bool {
        matches!(
            self,
            Self::Rejected(..)
                | Self::Garbled(_)
                | Self::LeaseTooShort(..)
                | Self::OtherFabric(..)
                | Self::Store(_)
        )
    }
}

impl From<WireError> for EtcdError {
    fn from(_: WireError) -> Self {
        Self::Garbled("the prefix of this fabric")
    }
}

/// The members, and which of them is in use.
#[derive(Debug)]
pub(super) struct Members {
    settings: EtcdSettings,
    current: Mutex<(usize, Option<EtcdMember>)>,
}

impl Members {
    pub(super) const fn new(settings: EtcdSettings) -> Self {
        let current = Mutex::new((0, None));
        Self { settings, current }
    }

    /// Switches to the next member (or reconnects to the only one), unless another task already
    /// did.
    pub(super) fn switch_from(&self, failed: &EtcdMember) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.0 == failed.number {
            *current = (failed.number.wrapping_add(1), None);
        }
    }

    fn connected(&self) -> Result<EtcdMember, usize> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.1.clone().ok_or(current.0)
    }

    /// The member in use, connected with the first request. Certificate files are read by another
    /// thread, because a slow disk must not delay lease renewals.
    pub(super) async fn member(&self) -> Result<EtcdMember, EtcdError> {
        let number = match self.connected() {
            Ok(member) => return Ok(member),
            Err(number) => number,
        };
        let pems = match self.settings.files.clone() {
            Some(files) => {
                let read = tokio::task::spawn_blocking(move || Pems::read(&files)).await;
                Some(read.map_err(|e| EtcdError::File("certificates".to_owned(), e.to_string()))??)
            }
            None => None,
        };
        let member = self.connect(number, pems).await?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        // Another task may have connected first, or switched to another member.
        if current.0 == number {
            return Ok(current.1.get_or_insert(member).clone());
        }
        Ok(member)
    }

    async fn connect(&self, number: usize, pems: Option<Pems>) -> Result<EtcdMember, EtcdError> {
        let endpoints = &self.settings.endpoints;
        let url = endpoints
            .get(number % endpoints.len().max(1))
            .cloned()
            .unwrap_or_default();
        let member_error =
            |e: tonic::transport::Error| EtcdError::Member(url.clone(), with_sources(&e));
        let mut endpoint = Endpoint::from_shared(url.clone())
            .map_err(member_error)?
            .connect_timeout(self.settings.reply_timeout)
            .tcp_nodelay(true);
        if let Some(pems) = pems.filter(|_| url.starts_with("https:")) {
            // Without a timeout, the TLS handshake could block for ever.
            let mut tls = ClientTlsConfig::new()
                .timeout(self.settings.reply_timeout)
                .ca_certificate(Certificate::from_pem(pems.ca))
                .identity(Identity::from_pem(pems.certificate, pems.key));
            if let Some(name) = &self.settings.server_name {
                tls = tls.domain_name(name);
            }
            endpoint = endpoint.tls_config(tls).map_err(member_error)?;
        }
        // A member without a leader reports it, instead of blocking.
        let options = ConnectOptions::new().with_require_leader(true);
        let channel = Channel::Tonic(endpoint.connect_lazy());
        let client = Client::from_channel(channel, Some(options))
            .await
            .map_err(|e| EtcdError::Member(url.clone(), e.to_string()))?;
        Ok(EtcdMember {
            client,
            limit: self.settings.reply_timeout,
            number,
            url,
        })
    }
}

/// Contents of the certificate files; read for each connection, so that they can be renewed.
struct Pems {
    ca: Vec<u8>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Pems {
    fn read(files: &TlsFiles) -> Result<Self, EtcdError> {
        let read = |path: &std::path::Path| {
            std::fs::read(path)
                .map_err(|e| EtcdError::File(path.display().to_string(), e.to_string()))
        };
        Ok(Self {
            ca: read(&files.ca)?,
            certificate: read(&files.certificate)?,
            key: read(&files.key)?,
        })
    }
}

/// An error with its sources.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(inner) = next {
        let detail = inner.to_string();
        if !text.contains(&detail) {
            text = format!("{text}: {detail}");
        }
        next = inner.source();
    }
    text
}

/// The keys from `from` up to `end`, which is excluded.
pub(super) struct KeyRange {
    pub(super) from: String,
    /// Empty for a range of one key.
    pub(super) end: String,
}

impl KeyRange {
    pub(super) const fn of_key(key: String) -> Self {
        Self {
            from: key,
            end: String::new(),
        }
    }
}

/// A member of etcd.
#[derive(Clone)]
pub(super) struct EtcdMember {
    client: Client,
    limit: Duration,
    number: usize,
    url: String,
}

impl EtcdMember {
    /// The same member with another timeout.
    pub(super) fn with_timeout(&self, limit: Duration) -> Self {
        Self {
            limit,
            ..self.clone()
        }
    }

    fn failed(&self, error: &ClientError) -> EtcdError {
        let url = self.url.clone();
        let ClientError::GRpcStatus(status) = error else {
            return EtcdError::Member(url, error.to_string());
        };
        // The reason of a failed connection is the source of the status.
        let message = match std::error::Error::source(status) {
            Some(source) => with_sources(source),
            None => status.message().to_owned(),
        };
        if matches!(
            status.code(),
            Code::InvalidArgument | Code::ResourceExhausted
        ) {
            return EtcdError::Rejected(url, message);
        }
        EtcdError::Member(url, message)
    }

    /// The response to a request, within the timeout.
    async fn reply<T>(
        &self,
        request: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, EtcdError> {
        match timeout(self.limit, request).await {
            Ok(reply) => reply.map_err(|e| self.failed(&e)),
            Err(_) => Err(EtcdError::Timeout(self.url.clone())),
        }
    }

    fn kv(&self) -> KvClient {
        let kv = self.client.kv_client();
        kv.max_decoding_message_size(RESPONSE_MAX)
    }

    /// The value of a key, and etcd's revision of the response.
    pub(super) async fn get(&self, key: String) -> Result<(Option<KeyValue>, i64), EtcdError> {
        let mut reply = self.page(key, GetOptions::new()).await?;
        let revision = revision(reply.header());
        Ok((reply.take_kvs().pop(), revision))
    }

    async fn page(
        &self,
        key: impl Into<Vec<u8>>,
        options: GetOptions,
    ) -> Result<GetResponse, EtcdError> {
        self.reply(self.kv().get(key, Some(options))).await
    }

    /// All values of a range of keys, in order, at a revision.
    pub(super) async fn range(
        &self,
        keys: KeyRange,
        revision: i64,
    ) -> Result<Vec<KeyValue>, EtcdError> {
        let mut pairs: Vec<KeyValue> = Vec::new();
        let mut from = keys.from.into_bytes();
        let options = GetOptions::new()
            .with_range(keys.end)
            .with_revision(revision);
        let mut limit = PAGE_KEYS_FIRST;
        loop {
            let options = options.clone().with_limit(limit);
            let mut reply = self.page(from, options).await?;
            let bytes: usize = reply.kvs().iter().map(|pair| pair.value().len()).sum();
            limit = if bytes > PAGE_BYTES {
                limit / 2
            } else {
                limit * 2
            }
            .clamp(1, PAGE_KEYS_MAX);
            pairs.extend(reply.take_kvs());
            match pairs.last() {
                Some(last) if reply.more() => {
                    from = last.key().to_owned();
                    from.push(0);
                }
                Some(_) | None => return Ok(pairs),
            }
        }
    }

    /// A transaction. Returns its revision, or `None` if the comparison failed.
    pub(super) async fn txn(
        &self,
        compare: Compare,
        success: Vec<TxnOp>,
    ) -> Result<Option<i64>, EtcdError> {
        let txn = Txn::new().when([compare]).and_then(success);
        let reply = self.reply(self.kv().txn(txn)).await?;
        Ok(reply.succeeded().then_some(revision(reply.header())))
    }

    /// Watches a range of keys from a revision on.
    pub(super) async fn watch(&self, keys: KeyRange, revision: i64) -> Result<KeyWatch, EtcdError> {
        let options = WatchOptions::new()
            .with_range(keys.end)
            .with_start_revision(revision);
        let mut client = self
            .client
            .watch_client()
            .max_decoding_message_size(RESPONSE_MAX);
        let stream = self.reply(client.watch(keys.from, Some(options))).await?;
        let member = self.clone();
        Ok(KeyWatch { member, stream })
    }

    /// Creates a lease of at least `ttl` seconds. Returns its ID and TTL.
    pub(super) async fn grant(&self, ttl: i64) -> Result<(i64, i64), EtcdError> {
        let mut client = self.client.lease_client();
        let lease = self.reply(client.grant(ttl, None)).await?;
        if lease.error().is_empty() {
            Ok((lease.id(), lease.ttl()))
        } else {
            Err(EtcdError::Member(
                self.url.clone(),
                lease.error().to_owned(),
            ))
        }
    }

    /// Revokes a lease, which deletes its keys.
    pub(super) async fn revoke(&self, id: i64) -> Result<(), EtcdError> {
        let mut client = self.client.lease_client();
        self.reply(client.revoke(id)).await.map(|_| ())
    }

    /// Renews a lease. Returns whether it exists.
    pub(super) async fn renew(&self, id: i64) -> Result<bool, EtcdError> {
        let mut client = self.client.lease_client();
        let renewed = async {
            match client.keep_alive(id).await {
                Ok(_) => Ok(true),
                Err(ClientError::LeaseKeepAliveError(_)) => Ok(false),
                Err(error) => Err(error),
            }
        };
        self.reply(renewed).await
    }

    /// Whether a lease was not renewed for more than `silent_after_s` seconds, and the term of
    /// etcd's leader, which renews all leases when elected. etcd reports the remaining whole
    /// seconds, rounded down, so the lease is old if fewer than its TTL minus `silent_after_s`
    /// remain.
    pub(super) async fn is_overdue(
        &self,
        id: i64,
        silent_after_s: u8,
    ) -> Result<(bool, u64), EtcdError> {
        let mut client = self.client.lease_client();
        let lease = self.reply(client.time_to_live(id, None)).await?;
        let old = lease.ttl() < 0 || lease.ttl() < lease.granted_ttl() - i64::from(silent_after_s);
        Ok((old, lease.header().map_or(0, ResponseHeader::raft_term)))
    }
}

/// etcd's revision of a response.
fn revision(header: Option<&ResponseHeader>) -> i64 {
    header.map_or(0, ResponseHeader::revision)
}

impl fmt::Debug for EtcdMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Member").field(&self.url).finish()
    }
}

impl fmt::Display for EtcdMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

/// A watch of keys.
#[derive(Debug)]
pub(super) struct KeyWatch {
    member: EtcdMember,
    stream: WatchStream,
}

impl KeyWatch {
    /// The next changes. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<WatchResponse, EtcdError> {
        let reply = self
            .stream
            .message()
            .await
            .map_err(|e| self.member.failed(&e))?
            .ok_or_else(|| EtcdError::Member(self.member.to_string(), "watch ended".to_owned()))?;
        if reply.canceled() {
            return Err(EtcdError::HistoryUnavailable);
        }
        Ok(reply)
    }
}
