//! The part of etcd's version 3 interface that replication uses, as it is on the wire (etcd's `rpc.proto` and `kv.proto`; the numbers
//! of fields never change within version 3). Written out, so that building needs no compiler of protocols. It knows nothing of what
//! the keys mean.

use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub(super) struct Header {
    #[prost(int64, tag = "3")]
    pub(super) revision: i64,
    /// Grows when etcd's members agree on another leader.
    #[prost(uint64, tag = "4")]
    pub(super) raft_term: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(int64, tag = "2")]
    pub(super) create_revision: i64,
    #[prost(int64, tag = "3")]
    pub(super) mod_revision: i64,
    #[prost(bytes = "vec", tag = "5")]
    pub(super) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) range_end: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(super) limit: i64,
    #[prost(int64, tag = "4")]
    pub(super) revision: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RangeResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
    #[prost(message, repeated, tag = "2")]
    pub(super) kvs: Vec<KeyValue>,
    #[prost(bool, tag = "3")]
    pub(super) more: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PutRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(super) lease: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DeleteRangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) range_end: Vec<u8>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Op {
    #[prost(message, tag = "2")]
    Put(PutRequest),
    #[prost(message, tag = "3")]
    Delete(DeleteRangeRequest),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RequestOp {
    #[prost(oneof = "Op", tags = "2, 3")]
    pub(super) request: Option<Op>,
}

/// Which property of a key is compared; for being equal.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Property {
    /// Revision at which it came to be; 0: it does not exist.
    #[prost(int64, tag = "5")]
    CreateRevision(i64),
    /// Revision of its last change.
    #[prost(int64, tag = "6")]
    ModRevision(i64),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Compare {
    /// 1: the revision at which it came to be; 2: that of its last change.
    #[prost(int32, tag = "2")]
    pub(super) target: i32,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) key: Vec<u8>,
    #[prost(oneof = "Property", tags = "5, 6")]
    pub(super) is: Option<Property>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TxnRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    pub(super) success: Vec<RequestOp>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TxnResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
    #[prost(bool, tag = "2")]
    pub(super) succeeded: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WatchCreate {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) range_end: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(super) start_revision: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WatchRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) create: Option<WatchCreate>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Event {
    /// 0: put, 1: deleted.
    #[prost(int32, tag = "1")]
    pub(super) kind: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) kv: Option<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WatchResponse {
    #[prost(bool, tag = "4")]
    pub(super) canceled: bool,
    #[prost(message, repeated, tag = "11")]
    pub(super) events: Vec<Event>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LeaseGrantRequest {
    #[prost(int64, tag = "1")]
    pub(super) ttl: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LeaseGrantResponse {
    #[prost(int64, tag = "2")]
    pub(super) id: i64,
    #[prost(int64, tag = "3")]
    pub(super) ttl: i64,
    #[prost(string, tag = "4")]
    pub(super) error: String,
}

/// Of LeaseRevoke, LeaseKeepAlive and LeaseTimeToLive.
#[derive(Clone, PartialEq, Message)]
pub(super) struct LeaseRequest {
    #[prost(int64, tag = "1")]
    pub(super) id: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LeaseResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
    /// Seconds that are left, whole ones; 0 or -1: there is no such lease.
    #[prost(int64, tag = "3")]
    pub(super) ttl: i64,
    /// Seconds that it has when it is renewed; LeaseTimeToLive says it.
    #[prost(int64, tag = "4")]
    pub(super) granted_ttl: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Empty {}

/// Puts a value under a key, for as long as a lease lasts; 0: for ever.
pub(super) fn put(key: String, value: Vec<u8>, lease: i64) -> RequestOp {
    let key = key.into_bytes();
    RequestOp {
        request: Some(Op::Put(PutRequest { key, value, lease })),
    }
}

/// Deletes keys from one to before another; one key if the other is empty.
pub(super) fn delete(from: String, to: String) -> RequestOp {
    let (key, range_end) = (from.into_bytes(), to.into_bytes());
    RequestOp {
        request: Some(Op::Delete(DeleteRangeRequest { key, range_end })),
    }
}

/// That a key came to be at this revision; 0: that there is none.
pub(super) fn created_at(key: String, revision: i64) -> Compare {
    Compare {
        target: 1,
        key: key.into_bytes(),
        is: Some(Property::CreateRevision(revision)),
    }
}

/// That a key was changed last at this revision.
pub(super) fn changed_at(key: String, revision: i64) -> Compare {
    Compare {
        target: 2,
        key: key.into_bytes(),
        is: Some(Property::ModRevision(revision)),
    }
}
