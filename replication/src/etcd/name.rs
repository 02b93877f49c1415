//! The name of the fabric that owns the keys, stored by its first node: another fabric with the
//! same keys would depose its master and load its records.

use std::sync::atomic::Ordering;

use etcd_client::{Compare, CompareOp, TxnOp};

use super::client::{EtcdError, EtcdMember};
use super::shared::EtcdShared;

/// Checks that the keys belong to this fabric, and stores its name if they belong to none. The
/// result is kept for this process.
///
/// # Errors
/// The keys belong to another fabric, or a request fails.
pub(super) async fn claim_keys(shared: &EtcdShared, member: &EtcdMember) -> Result<(), EtcdError> {
    if shared.owns_keys.load(Ordering::Relaxed) {
        return Ok(());
    }
    let key = shared.keys.name();
    let fabric = &shared.settings.fabric;
    let owner = loop {
        if let (Some(pair), _) = member.get(key.clone()).await? {
            break String::from_utf8_lossy(pair.value()).into_owned();
        }
        let is_absent = Compare::create_revision(key.clone(), CompareOp::Equal, 0);
        // Plain text, because all versions must read it.
        let put = TxnOp::put(key.clone(), fabric.as_str(), None);
        if member.txn(is_absent, vec![put]).await?.is_some() {
            report_old_records(shared, member).await?;
        }
    };
    if owner != *fabric {
        return Err(EtcdError::OtherFabric(key, owner));
    }
    shared.owns_keys.store(true, Ordering::Relaxed);
    Ok(())
}

/// Earlier versions shared keys between names that differ only in `/`, space and `_`. Records under
/// such keys may be those of another fabric, so they are not used.
async fn report_old_records(shared: &EtcdShared, member: &EtcdMember) -> Result<(), EtcdError> {
    let Some(old) = shared.keys.of_earlier_versions() else {
        return Ok(());
    };
    if member.get(old.name()).await?.0.is_none() && member.get(old.head()).await?.0.is_some() {
        let effect = "hosts register again; records under the old keys are not read";
        let old_keys = old.range().from;
        let keys = shared.keys.range().from;
        tracing::warn!(
            old_keys,
            keys,
            effect,
            "records under ambiguous etcd keys ignored"
        );
    }
    Ok(())
}
