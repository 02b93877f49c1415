//! Digests of outputs and of routing results. They are the same on every machine for the same
//! version of the program.

use core::fmt::{self, Write};
use core::hash::Hasher;
use std::sync::Arc;

use ferrosm_core::{Output, RoutingJobResult};
use ferrosm_fabric::snapshot::{Snapshot, persist};
use ferrosm_mad::mad::{Address, MadOut};
use ferrosm_sa::View;
use fnv::FnvHasher;

use crate::extent::RecordingExtent;
use crate::restored::for_each_record;

/// FNV-1a of bytes and text. It detects differences, not forgery.
#[derive(Default)]
struct Digest(FnvHasher);

impl Digest {
    fn write_bytes(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    /// As [`Self::write_bytes`], eight bytes at a time: with another value, and in an eighth of the
    /// time.
    fn write_words(&mut self, bytes: &[u8]) {
        const PRIME: u64 = 0x0000_0100_0000_01B3;
        let (words, rest) = bytes.as_chunks();
        let mut hash = self.value();
        for word in words {
            hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME);
        }
        self.0 = FnvHasher::with_key(hash);
        self.write_bytes(rest);
    }

    fn write_u64(&mut self, number: u64) {
        self.0.write(&number.to_le_bytes());
    }

    fn value(&self) -> u64 {
        self.0.finish()
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_bytes(text.as_bytes());
        Ok(())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.value())
    }
}

/// The digest of `bytes`.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut digest = Digest::default();
    digest.write_bytes(bytes);
    digest.value()
}

/// A running digest of outputs: MADs, records and views by their bytes, events by their fields.
#[derive(Debug)]
pub(crate) struct OutputDigest {
    extent: RecordingExtent,
    digest: Digest,
    /// The last snapshot, which is usually both published and persisted.
    snapshot: Option<(Arc<Snapshot>, u64)>,
}

impl OutputDigest {
    pub(crate) fn new(extent: RecordingExtent) -> Self {
        Self {
            extent,
            digest: Digest::default(),
            snapshot: None,
        }
    }

    /// Whether contents of views, records and jobs are part of the digest.
    fn has_contents(&self) -> bool {
        self.extent == RecordingExtent::Everything
    }

    /// The digest of all outputs so far.
    pub(crate) fn value(&self) -> u64 {
        self.digest.value()
    }

    pub(crate) fn add(&mut self, output: &Output) {
        match output {
            Output::Send(MadOut { to, mad }) => {
                self.add_tag(0);
                let Address {
                    lid,
                    qpn,
                    sl,
                    path_bits,
                } = to;
                if self.has_contents() {
                    self.add_text(format_args!("{lid} {qpn} {sl} {path_bits}"));
                    self.digest.write_bytes(mad.as_bytes());
                    return;
                }
                self.digest.write_bytes(&lid.0.to_le_bytes());
                self.digest.write_bytes(&qpn.0.to_le_bytes());
                self.digest.write_bytes(&[sl.0, *path_bits]);
                self.digest.write_words(mad.as_bytes());
            }
            Output::Gmp {
                to,
                bytes,
                answer_within,
            } => {
                self.add_tag(1);
                self.add_text(format_args!("{to:?}{answer_within:?} {}", bytes.len()));
                self.digest.write_bytes(bytes);
            }
            Output::Publish(view) => {
                self.add_tag(2);
                self.add_snapshot(view.as_deref().map(View::snapshot));
            }
            Output::Compute(job) => {
                self.add_tag(3);
                if !self.has_contents() {
                    return;
                }
                self.add_text(format_args!(
                    "{} {} {:?} {} {:?} {:?} {:?}",
                    job.id,
                    job.generation,
                    job.engines,
                    job.vls,
                    job.budget,
                    job.hint_warnings,
                    job.nodes()
                ));
            }
            Output::Persist { seq, updates } => {
                self.add_tag(4);
                self.digest.write_u64(*seq);
                if !self.has_contents() {
                    return;
                }
                for update in updates {
                    // Encoded for Unix time 0, so that the digest depends on the remaining time of
                    // a lease, not on the clock.
                    self.add_text(format_args!("{:?}", update.to_change(0)));
                }
            }
            Output::PersistSnapshot { seq, snapshot } => {
                self.add_tag(5);
                self.digest.write_u64(*seq);
                self.add_snapshot(snapshot.as_ref());
            }
            Output::LoadReplica { load } => {
                self.add_tag(6);
                self.digest.write_u64(*load);
            }
            Output::Replicate(role) => {
                self.add_tag(7);
                self.add_text(format_args!("{role:?}"));
            }
            Output::Event(event) => {
                self.add_tag(8);
                self.add_text(format_args!("{event:?}"));
            }
            Output::CommandReply { id, reply } => {
                self.add_tag(9);
                self.add_text(format_args!("{id:?} {reply:?}"));
            }
        }
    }

    /// A digest of the result of a routing job: tables, VLs, write order and messages, or the
    /// failure.
    pub(crate) fn of_result(&self, computed: &RoutingJobResult) -> u64 {
        let mut digest = Digest::default();
        let _written = match &computed.result {
            Ok(routes) => {
                let routing = &routes.run.routing;
                for lft in &routes.tables {
                    match self.extent {
                        RecordingExtent::Everything => digest.write_bytes(lft.entries()),
                        RecordingExtent::Traffic => digest.write_words(lft.entries()),
                    }
                }
                let writes = &routes.writes;
                if let Some(trees) = &writes.abort_trees {
                    let _written = write!(digest, "{trees:?}");
                }
                write!(
                    digest,
                    "{} {:?} {:?} {:?} {} {:?} {:?}",
                    routing.engine,
                    routing.vl_plan,
                    routes.proof,
                    writes.order,
                    routes.sl_to_vl_first,
                    writes.conflicting_groups,
                    routes.messages
                )
            }
            Err(failure) => write!(digest, "{failure:?}"),
        };
        digest.value()
    }

    fn add_tag(&mut self, tag: u8) {
        self.digest.write_bytes(&[tag]);
    }

    fn add_text(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a digest cannot fail.
        let _written = self.digest.write_fmt(text);
    }

    fn add_snapshot(&mut self, snapshot: Option<&Arc<Snapshot>>) {
        let Some(snapshot) = snapshot.filter(|_| self.has_contents()) else {
            self.digest.write_u64(0);
            return;
        };
        let digest = match &self.snapshot {
            Some((last, digest)) if Arc::ptr_eq(last, snapshot) => *digest,
            _ => digest_of_snapshot(snapshot),
        };
        self.snapshot = Some((Arc::clone(snapshot), digest));
        self.digest.write_u64(digest);
    }
}

fn digest_of_snapshot(snapshot: &Arc<Snapshot>) -> u64 {
    let mut digest = Digest::default();
    for_each_record(snapshot, &mut |change| match change {
        persist::SnapshotRecordUpdate::Put(guid, part, bytes) => {
            digest.write_u64(guid.0);
            digest.write_bytes(&[part as u8]);
            digest.write_bytes(bytes);
        }
        persist::SnapshotRecordUpdate::Head(bytes) => digest.write_bytes(bytes),
        persist::SnapshotRecordUpdate::Clear | persist::SnapshotRecordUpdate::Remove(..) => {}
    });
    digest.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each bit of MADs and tables counts, also behind the last eight bytes.
    #[test]
    fn digest_of_words_depends_on_each_bit() {
        let digest_of = |bytes: &[u8]| {
            let mut digest = Digest::default();
            digest.write_words(bytes);
            digest.value()
        };
        let bytes: Vec<u8> = (0..=68).collect();
        let whole = digest_of(&bytes);
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(digest_of(&other), whole, "bit {bit}");
        }
        assert_ne!(digest_of(&bytes[..68]), whole);
    }
}
