//! Questions to etcd's members: one member at a time, the next one when it fails, and no question without a limit. It knows nothing of
//! what the keys mean.

use core::fmt;
use core::time::Duration;
use std::sync::{Mutex, PoisonError};

use prost::Message;
use thiserror::Error;
use tokio::time::timeout;
use tokio_stream::StreamExt as _;
use tonic::client::Grpc;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Streaming};
use tonic_prost::ProstCodec;

use super::Settings;
use super::rpc::{
    Compare, Empty, KeyValue, LeaseGrantRequest, LeaseGrantResponse, LeaseRequest, LeaseResponse,
    RangeRequest, RangeResponse, RequestOp, TxnRequest, TxnResponse, WatchCreate, WatchRequest,
    WatchResponse,
};
use crate::tls::Files;
use crate::wire::{VERSION, WireError};
use ferrosm_core::kept;

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
        records = kept::VERSION
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
    settings: Settings,
    now: Mutex<(usize, Option<Member>)>,
}

impl Members {
    pub(super) const fn new(settings: Settings) -> Self {
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

    /// The one that is asked. It is connected to with the first question. Files are read beside: a disk that is slow delays no lease.
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
        let member = self.connect(number, pems)?;
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        // Another task may have been faster, or is further.
        if now.0 == number {
            return Ok(now.1.get_or_insert(member).clone());
        }
        Ok(member)
    }

    fn connect(&self, number: usize, pems: Option<Pems>) -> Result<Member, Trouble> {
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
        Ok(Member {
            channel: endpoint.connect_lazy(),
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
    fn read(files: &Files) -> Result<Self, Trouble> {
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
#[derive(Debug, Clone)]
pub(super) struct Member {
    channel: Channel,
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

    fn failed(&self, status: &tonic::Status) -> Trouble {
        // Of a failed connection the reason is behind the status.
        let said = match std::error::Error::source(status) {
            Some(source) => sentence(source),
            None => status.message().to_owned(),
        };
        let place = self.place.clone();
        if matches!(
            status.code(),
            Code::InvalidArgument | Code::ResourceExhausted
        ) {
            return Trouble::Refused(place, said);
        }
        Trouble::Etcd(place, said)
    }

    fn late<E>(&self) -> impl FnOnce(E) -> Trouble {
        let place = self.place.clone();
        |_| Trouble::Late(place)
    }

    /// A question and its answers.
    async fn stream<Q, A>(
        &self,
        path: &'static str,
        questions: impl tokio_stream::Stream<Item = Q> + Send + 'static,
    ) -> Result<Streaming<A>, Trouble>
    where
        Q: Message + Send + 'static,
        A: Message + Default + Send + 'static,
    {
        let mut grpc = Grpc::new(self.channel.clone()).max_decoding_message_size(ANSWER_MAX);
        let mut request = Request::new(questions);
        // A member without a leader is to say so, instead of nothing.
        if let Ok(yes) = "true".parse() {
            request.metadata_mut().insert("hasleader", yes);
        }
        let asked = async {
            let ready = grpc.ready().await;
            ready.map_err(|e| Trouble::Etcd(self.place.clone(), sentence(&e)))?;
            let path = path.parse().map_err(|_| Trouble::Garbled("a path"))?;
            let answer = grpc.streaming(request, path, ProstCodec::default()).await;
            answer.map_err(|e| self.failed(&e))
        };
        let answer = timeout(self.limit, asked).await.map_err(self.late())??;
        Ok(answer.into_inner())
    }

    /// A question with one answer.
    async fn ask<Q, A>(&self, path: &'static str, question: Q) -> Result<A, Trouble>
    where
        Q: Message + Send + 'static,
        A: Message + Default + Send + 'static,
    {
        let asked = async {
            let mut answers = self.stream(path, tokio_stream::once(question)).await?;
            let answer = answers.message().await.map_err(|e| self.failed(&e))?;
            answer.ok_or_else(|| Trouble::Late(self.place.clone()))
        };
        timeout(self.limit, asked).await.map_err(self.late())?
    }

    /// What is under a key, with etcd's revision of this answer.
    pub(super) async fn get(&self, key: String) -> Result<(Option<KeyValue>, i64), Trouble> {
        let (mut kvs, revision) = self.page(key.into_bytes(), Vec::new(), 0, 1).await?;
        Ok((kvs.kvs.pop(), revision))
    }

    async fn page(
        &self,
        key: Vec<u8>,
        range_end: Vec<u8>,
        revision: i64,
        limit: i64,
    ) -> Result<(RangeResponse, i64), Trouble> {
        let question = RangeRequest {
            key,
            range_end,
            limit,
            revision,
        };
        let answer: RangeResponse = self.ask("/etcdserverpb.KV/Range", question).await?;
        let revision = answer.header.as_ref().map_or(0, |h| h.revision);
        Ok((answer, revision))
    }

    /// All that is under keys from one to before another, in their order, as of a revision.
    pub(super) async fn range(
        &self,
        (from, to): (String, String),
        revision: i64,
    ) -> Result<Vec<KeyValue>, Trouble> {
        let mut all: Vec<KeyValue> = Vec::new();
        let mut from = from.into_bytes();
        let mut page = PAGES.0;
        loop {
            let to = to.clone().into_bytes();
            let (answer, _) = self.page(from, to, revision, page).await?;
            let bytes: usize = answer.kvs.iter().map(|pair| pair.value.len()).sum();
            page = if bytes > PIECE { page / 2 } else { page * 2 }.clamp(1, PAGES.1);
            all.extend(answer.kvs);
            match all.last() {
                Some(last) if answer.more => {
                    from = last.key.clone();
                    from.push(0);
                }
                Some(_) | None => return Ok(all),
            }
        }
    }

    /// Does something if something is so; the revision of it, `None` if it is not so.
    pub(super) async fn txn(
        &self,
        compare: Vec<Compare>,
        success: Vec<RequestOp>,
    ) -> Result<Option<i64>, Trouble> {
        let question = TxnRequest { compare, success };
        let answer: TxnResponse = self.ask("/etcdserverpb.KV/Txn", question).await?;
        let revision = answer.header.map_or(0, |h| h.revision);
        Ok(answer.succeeded.then_some(revision))
    }

    /// What changes from a revision on, under keys from one to before another.
    pub(super) async fn watch(
        &self,
        (from, to): (String, String),
        revision: i64,
    ) -> Result<Watch, Trouble> {
        let question = WatchRequest {
            create: Some(WatchCreate {
                key: from.into_bytes(),
                range_end: to.into_bytes(),
                start_revision: revision,
            }),
        };
        // etcd ends a watch when the questions end.
        let questions = tokio_stream::once(question).chain(tokio_stream::pending());
        let answers = self.stream("/etcdserverpb.Watch/Watch", questions).await?;
        let member = self.clone();
        Ok(Watch { member, answers })
    }

    /// A lease of so many seconds, or more: its number and what it has.
    pub(super) async fn grant(&self, ttl: i64) -> Result<(i64, i64), Trouble> {
        let question = LeaseGrantRequest { ttl };
        let answer: LeaseGrantResponse =
            self.ask("/etcdserverpb.Lease/LeaseGrant", question).await?;
        if answer.error.is_empty() {
            Ok((answer.id, answer.ttl))
        } else {
            Err(Trouble::Etcd(self.place.clone(), answer.error))
        }
    }

    /// Ends a lease, and what is bound to it.
    pub(super) async fn revoke(&self, id: i64) -> Result<(), Trouble> {
        let Empty {} = self
            .ask("/etcdserverpb.Lease/LeaseRevoke", LeaseRequest { id })
            .await?;
        Ok(())
    }

    /// Renews a lease; whether there still is one.
    pub(super) async fn renew(&self, id: i64) -> Result<bool, Trouble> {
        let question = LeaseRequest { id };
        let answer: LeaseResponse = self
            .ask("/etcdserverpb.Lease/LeaseKeepAlive", question)
            .await?;
        Ok(answer.ttl > 0)
    }

    /// Whether a lease was not renewed for more than so many seconds. etcd tells whole seconds that are left, rounded down: a lease of
    /// which less than all but these is left is an old one. With it the term of etcd's
    /// leader, who begins by renewing all leases.
    pub(super) async fn is_old(&self, id: i64, silence_s: u8) -> Result<(bool, u64), Trouble> {
        let question = LeaseRequest { id };
        let answer: LeaseResponse = self
            .ask("/etcdserverpb.Lease/LeaseTimeToLive", question)
            .await?;
        let old = answer.ttl < 0 || answer.ttl < answer.granted_ttl - i64::from(silence_s);
        Ok((old, answer.header.map_or(0, |header| header.raft_term)))
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
    answers: Streaming<WatchResponse>,
}

impl Watch {
    /// What has changed. May be cancelled.
    pub(super) async fn next(&mut self) -> Result<WatchResponse, Trouble> {
        let answer = self
            .answers
            .message()
            .await
            .map_err(|e| self.member.failed(&e))?;
        let answer = answer.ok_or_else(|| Trouble::Late(self.member.to_string()))?;
        if answer.canceled {
            return Err(Trouble::Forgotten);
        }
        Ok(answer)
    }
}
