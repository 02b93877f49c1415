//! Questions to etcd's members: one member at a time, the next one when it fails, and no question without a limit. It knows nothing of
//! what the keys mean.

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

/// Bytes of an answer at most.
const ANSWER_MAX: usize = 256 << 20;
/// Keys in one answer, at first and at most: they are as many as make up a piece of about [`PIECE`], which has to come within the time
/// for one question.
const PAGES: (i64, i64) = (8, 1024);
/// Bytes that one answer should have.
const PIECE: usize = 1 << 20;

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Trouble {
    /// A member, or the way to it.
    #[error("etcd at {0}: {1}")]
    Etcd(String, String),
    /// It does not answer.
    #[error("etcd at {0} does not answer")]
    Late(String),
    /// A file.
    #[error("{0}: {1}")]
    File(String, String),
    /// What is there makes no sense.
    #[error("what etcd has under {0} makes no sense")]
    Garbled(&'static str),
    /// It is of other versions of replication and of records.
    #[error(
        "what etcd has is of another version of ferrosm (replication {0}, records {1}; here {VERSION}, {records})",
        records = records::VERSION
    )]
    Version(u16, u16),
    /// The key is another's.
    #[error("another subnet manager ({0:016x}) holds the key in etcd")]
    Taken(u64),
    /// The key is nobody's any more.
    #[error("the key in etcd is not this subnet manager's any more")]
    Fenced,
    /// What is watched is not there any longer.
    #[error("etcd has forgotten what changed")]
    Forgotten,
    /// A member refuses it, as any other would.
    #[error("etcd at {0} refuses it: {1}")]
    Refused(String, String),
    /// The key says that etcd has everything, and that is not so.
    #[error("this subnet manager acknowledges what etcd has not")]
    Apart,
    /// The own store.
    #[error("the own store: {0}")]
    Store(String),
}

impl Trouble {
    /// Whether another member may do better.
    pub(super) const fn is_of_member(&self) -> bool {
        matches!(self, Self::Etcd(..) | Self::Late(_) | Self::File(..))
    }

    /// Whether it will be the same when it is tried again at once.
    pub(super) const fn stays(&self) -> bool {
        matches!(self, Self::Refused(..) | Self::Garbled(_) | Self::Store(_))
    }
}

impl From<WireError> for Trouble {
    fn from(_: WireError) -> Self {
        Self::Garbled("the prefix of this fabric")
    }
}

/// The members, and which of them is asked.
#[derive(Debug)]
pub(super) struct Members {
    settings: EtcdSettings,
    now: Mutex<(usize, Option<Member>)>,
}

impl Members {
    pub(super) const fn new(settings: EtcdSettings) -> Self {
        let now = Mutex::new((0, None));
        Self { settings, now }
    }

    /// From now on another one is asked, or this one anew if there is no other; unless another task has seen to it already.
    pub(super) fn next(&self, after: &Member) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.0 == after.number {
            *now = (after.number.wrapping_add(1), None);
        }
    }

    fn connected(&self) -> Result<Member, usize> {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.1.clone().ok_or(now.0)
    }

    /// The one that is asked. It is connected to with the first question. TlsFiles are read beside: a disk that is slow delays no lease.
    pub(super) async fn member(&self) -> Result<Member, Trouble> {
        let number = match self.connected() {
            Ok(member) => return Ok(member),
            Err(number) => number,
        };
        let pems = match self.settings.files.clone() {
            Some(files) => {
                let read = tokio::task::spawn_blocking(move || Pems::read(&files)).await;
                Some(read.map_err(|e| Trouble::File("certificates".to_owned(), e.to_string()))??)
            }
            None => None,
        };
        let member = self.connect(number, pems).await?;
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        // Another task may have been faster, or is further.
        if now.0 == number {
            return Ok(now.1.get_or_insert(member).clone());
        }
        Ok(member)
    }

    async fn connect(&self, number: usize, pems: Option<Pems>) -> Result<Member, Trouble> {
        let endpoints = &self.settings.endpoints;
        let place = endpoints
            .get(number % endpoints.len().max(1))
            .cloned()
            .unwrap_or_default();
        let wrong = |e: tonic::transport::Error| Trouble::Etcd(place.clone(), sentence(&e));
        let mut endpoint = Endpoint::from_shared(place.clone())
            .map_err(wrong)?
            .connect_timeout(self.settings.limit)
            .tcp_nodelay(true);
        if let Some(pems) = pems.filter(|_| place.starts_with("https:")) {
            // Without a limit of its own a connection would wait for ever, whoever asked.
            let mut tls = ClientTlsConfig::new()
                .timeout(self.settings.limit)
                .ca_certificate(Certificate::from_pem(pems.ca))
                .identity(Identity::from_pem(pems.certificate, pems.key));
            if let Some(name) = &self.settings.server_name {
                tls = tls.domain_name(name);
            }
            endpoint = endpoint.tls_config(tls).map_err(wrong)?;
        }
        // A member without a leader is to report that, instead of not replying.
        let options = ConnectOptions::new().with_require_leader(true);
        let channel = Channel::Tonic(endpoint.connect_lazy());
        let client = Client::from_channel(channel, Some(options)).await;
        let client = client.map_err(|e| Trouble::Etcd(place.clone(), e.to_string()))?;
        Ok(Member {
            client,
            limit: self.settings.limit,
            number,
            place,
        })
    }
}

/// What the files of certificates hold: read for each connection, so that they may be renewed.
struct Pems {
    ca: Vec<u8>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl Pems {
    fn read(files: &TlsFiles) -> Result<Self, Trouble> {
        let read = |path: &std::path::Path| {
            std::fs::read(path)
                .map_err(|e| Trouble::File(path.display().to_string(), e.to_string()))
        };
        Ok(Self {
            ca: read(&files.ca)?,
            certificate: read(&files.certificate)?,
            key: read(&files.key)?,
        })
    }
}

/// An error with all that is behind it: the outermost says little.
fn sentence(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(inner) = next {
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = inner.source();
    }
    text
}

/// A member of etcd.
#[derive(Clone)]
pub(super) struct Member {
    client: Client,
    limit: Duration,
    number: usize,
    place: String,
}

impl Member {
    /// The same with another limit for its answers.
    pub(super) fn within(&self, limit: Duration) -> Self {
        Self {
            limit,
            ..self.clone()
        }
    }

    fn failed(&self, error: &ClientError) -> Trouble {
        let place = self.place.clone();
        let ClientError::GRpcStatus(status) = error else {
            return Trouble::Etcd(place, error.to_string());
        };
        // Of a failed connection the reason is behind the status.
        let said = match std::error::Error::source(status) {
            Some(source) => sentence(source),
            None => status.message().to_owned(),
        };
        if matches!(
            status.code(),
            Code::InvalidArgument | Code::ResourceExhausted
        ) {
            return Trouble::Refused(place, said);
        }
        Trouble::Etcd(place, said)
    }

    /// The reply to a request, unless it takes too long.
    async fn reply<T>(
        &self,
        request: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, Trouble> {
        match timeout(self.limit, request).await {
            Ok(reply) => reply.map_err(|e| self.failed(&e)),
            Err(_) => Err(Trouble::Late(self.place.clone())),
        }
    }

    fn kv(&self) -> KvClient {
        let kv = self.client.kv_client();
        kv.max_decoding_message_size(ANSWER_MAX)
    }

    /// What is under a key, with etcd's revision of this answer.
    pub(super) async fn get(&self, key: String) -> Result<(Option<KeyValue>, i64), Trouble> {
        let mut reply = self.page(key, GetOptions::new()).await?;
        let revision = revision(reply.header());
        Ok((reply.take_kvs().pop(), revision))
    }

    async fn page(
        &self,
        key: impl Into<Vec<u8>>,
        options: GetOptions,
    ) -> Result<GetResponse, Trouble> {
        self.reply(self.kv().get(key, Some(options))).await
    }

    /// All that is under keys from one to before another, in their order, as of a revision.
    pub(super) async fn range(
        &self,
        (from, to): (String, String),
        revision: i64,
    ) -> Result<Vec<KeyValue>, Trouble> {
        let mut all: Vec<KeyValue> = Vec::new();
        let mut from = from.into_bytes();
        let options = GetOptions::new().with_range(to).with_revision(revision);
        let mut page = PAGES.0;
        loop {
            let options = options.clone().with_limit(page);
            let mut reply = self.page(from, options).await?;
            let bytes: usize = reply.kvs().iter().map(|pair| pair.value().len()).sum();
            page = if bytes > PIECE { page / 2 } else { page * 2 }.clamp(1, PAGES.1);
            all.extend(reply.take_kvs());
            match all.last() {
                Some(last) if reply.more() => {
                    from = last.key().to_owned();
                    from.push(0);
                }
                Some(_) | None => return Ok(all),
            }
        }
    }

    /// Does something if something is so; the revision of it, `None` if it is not so.
    pub(super) async fn txn(
        &self,
        compare: Compare,
        success: Vec<TxnOp>,
    ) -> Result<Option<i64>, Trouble> {
        let txn = Txn::new().when([compare]).and_then(success);
        let reply = self.reply(self.kv().txn(txn)).await?;
        Ok(reply.succeeded().then_some(revision(reply.header())))
    }

    /// What changes from a revision on, under keys from one to before another.
    pub(super) async fn watch(
        &self,
        (from, to): (String, String),
        revision: i64,
    ) -> Result<Watch, Trouble> {
        let options = WatchOptions::new()
            .with_range(to)
            .with_start_revision(revision);
        let client = self.client.watch_client();
        let mut client = client.max_decoding_message_size(ANSWER_MAX);
        let stream = self.reply(client.watch(from, Some(options))).await?;
        let member = self.clone();
        Ok(Watch { member, stream })
    }

    /// A lease of so many seconds, or more: its number and what it has.
    pub(super) async fn grant(&self, ttl: i64) -> Result<(i64, i64), Trouble> {
        let mut client = self.client.lease_client();
        let lease = self.reply(client.grant(ttl, None)).await?;
        if lease.error().is_empty() {
            Ok((lease.id(), lease.ttl()))
        } else {
            Err(Trouble::Etcd(self.place.clone(), lease.error().to_owned()))
        }
    }

    /// Ends a lease, and what is bound to it.
    pub(super) async fn revoke(&self, id: i64) -> Result<(), Trouble> {
        let mut client = self.client.lease_client();
        self.reply(client.revoke(id)).await.map(|_| ())
    }

    /// Renews a lease; whether there still is one.
    pub(super) async fn renew(&self, id: i64) -> Result<bool, Trouble> {
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

    /// Whether a lease was not renewed for more than so many seconds. etcd tells whole seconds that are left, rounded down: a lease of
    /// which less than all but these is left is an old one. With it the term of etcd's
    /// leader, who begins by renewing all leases.
    pub(super) async fn is_old(&self, id: i64, silence_s: u8) -> Result<(bool, u64), Trouble> {
        let mut client = self.client.lease_client();
        let lease = self.reply(client.time_to_live(id, None)).await?;
        let old = lease.ttl() < 0 || lease.ttl() < lease.granted_ttl() - i64::from(silence_s);
        Ok((old, lease.header().map_or(0, ResponseHeader::raft_term)))
    }
}

/// etcd's revision of a reply.
fn revision(header: Option<&ResponseHeader>) -> i64 {
    header.map_or(0, ResponseHeader::revision)
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Member").field(&self.place).finish()
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

/// A watch.
#[derive(Debug)]
pub(super) struct Watch {
    member: Member,
    stream: WatchStream,
}

impl Watch {
    /// What has changed. May be cancelled.
    pub(super) async fn next(&mut self) -> Result<WatchResponse, Trouble> {
        let reply = self.stream.message().await;
        let reply = reply.map_err(|e| self.member.failed(&e))?;
        let reply = reply.ok_or_else(|| Trouble::Late(self.member.to_string()))?;
        if reply.canceled() {
            return Err(Trouble::Forgotten);
        }
        Ok(reply)
    }
}
