//! Management keys: which are in force, which ports and SMs have them, and requests to rotate them.
//! Answers contain no key.

use std::fs::File;
use std::io::Read;

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::key::{
    KeyMatch, KeyState, Keys, NewKey, PortMKeys, RotatedKey, RotationConsequence, RotationPlan,
    SmKeys,
};
use ferrosm_api::object::ObjectName;
use ferrosm_core::Command;
use ferrosm_core::config::key_rotation::KeyKind;
use ferrosm_core::election::SmMKey;
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::{MKey, PortGuid};

use super::list::invalid;
use super::names::end_port_name;
use super::published::State;

/// The keys.
pub(super) fn keys(state: &State) -> Keys {
    let sm_keys = &state.sm_reports.sm_keys;
    let report = &state.sm_reports.m_keys;
    let names = report.stragglers.iter().map(ToString::to_string);
    let sms = report.sms.iter().map(|(guid, m_key)| SmKeys {
        port: sm_name(state, *guid),
        m_key: match m_key {
            SmMKey::Same => KeyMatch::Same,
            SmMKey::Other => KeyMatch::Other,
            SmMKey::Unknown => KeyMatch::Unknown,
        },
        has_sm_key: !sm_keys.earlier.contains(guid),
        is_replica: state.replicas.has_all_records(*guid),
    });
    Keys {
        m_key: match (report.has_key, report.is_rotated) {
            (_, true) => KeyState::Rotated,
            (true, false) => KeyState::Configured,
            (false, false) => KeyState::None,
        },
        sm_key: match (sm_keys.is_rotated, state.is_sm_key_default) {
            (true, _) => KeyState::Rotated,
            (false, true) => KeyState::Default,
            (false, false) => KeyState::Configured,
        },
        ports: PortMKeys {
            current: report.current,
            earlier: report.earlier,
            without: report.without,
            unknown: report.unknown,
            stragglers: names.collect(),
        },
        sms: sms.collect(),
    }
}

/// What a rotation would do.
pub(super) fn plan(state: &State, kind: RotatedKey) -> Result<RotationPlan, ApiError> {
    require_master(state)?;
    let keys = keys(state);
    let ports = keys.ports;
    let (replicas, without) = keys.sms.into_iter().partition(|sm: &SmKeys| sm.is_replica);
    let names = |sms: Vec<SmKeys>| sms.into_iter().map(|sm| sm.port).collect();
    Ok(RotationPlan {
        ports: match kind {
            RotatedKey::MKey => ports.current + ports.earlier + ports.without + ports.unknown,
            RotatedKey::SmKey => 0,
        },
        replicas: names(replicas),
        without: names(without),
    })
}

/// The command for a rotation, unless it would lock out an SM without `accept`.
pub(super) fn rotation(
    state: &State,
    kind: RotatedKey,
    new: &NewKey,
    accepted: Option<RotationConsequence>,
) -> Result<Command, ApiError> {
    let plan = plan(state, kind)?;
    let key = match &new.key {
        Some(text) => parse(text)?,
        None => random()?,
    };
    if let Some(first) = plan.without.first()
        && accepted.is_none()
    {
        let name = if first.name.is_empty() {
            &first.guid
        } else {
            &first.name
        };
        let message = format!(
            "SM {name} does not replicate from this master: it would not have the new key, and could not take over"
        );
        let remedy = "Nothing was changed. Configure [replication] on all SMs, or stop that SM. `--accept lockout` rotates the key in spite of it; set `subnet.m-key` or `sm.sm-key` of that SM afterwards.";
        return Err(ApiError::new(ErrorKind::Conflict, message, remedy));
    }
    Ok(Command::Rotate(key_kind(kind), key))
}

const fn key_kind(kind: RotatedKey) -> KeyKind {
    match kind {
        RotatedKey::MKey => KeyKind::MKey,
        RotatedKey::SmKey => KeyKind::SmKey,
    }
}

fn require_master(state: &State) -> Result<(), ApiError> {
    if state.role == SmState::Master {
        return Ok(());
    }
    Err(ApiError::new(
        ErrorKind::NotMaster,
        "this SM is not master",
        "Run the command on the master; `ferrosm sms` shows which SM that is.",
    ))
}

fn sm_name(state: &State, guid: PortGuid) -> ObjectName {
    let fabric = state.fabric.as_ref();
    let known = fabric.and_then(|fabric| {
        let snapshot = &fabric.snapshot;
        let at = snapshot.by_guid(guid)?;
        Some(end_port_name(snapshot, at))
    });
    known.unwrap_or_else(|| ObjectName {
        guid: guid.to_string(),
        name: String::new(),
        location: String::new(),
    })
}

/// A key from a request. The message of an error does not contain it.
fn parse(text: &str) -> Result<MKey, ApiError> {
    let digits = text.trim().trim_start_matches("0x");
    let value = u64::from_str_radix(digits, 16).ok().filter(|key| *key != 0);
    let is_plain = digits.bytes().all(|b| b.is_ascii_hexdigit());
    value
        .filter(|_| is_plain)
        .map(MKey::new)
        .ok_or_else(|| invalid("key has 1 to 16 hexadecimal digits and is not 0"))
}

/// A random key.
fn random() -> Result<MKey, ApiError> {
    let mut bytes = [0; 8];
    loop {
        let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
        read.map_err(|e| {
            let message = format!("cannot read /dev/urandom: {e}");
            ApiError::new(ErrorKind::Internal, message, "Send a key with the request.")
        })?;
        let key = MKey::new(u64::from_be_bytes(bytes));
        if key != MKey::NONE {
            return Ok(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ferrosm_core::report::m_keys::MKeyReport;

    use super::*;
    use crate::api::published::Published;
    use crate::api::replicas::Replicas;
    use crate::api::sm_reports::SmReports;

    const STANDBY: PortGuid = PortGuid(5);

    fn master(replicas: Replicas) -> State {
        let published = Published::default();
        published.first_sweep_as_master();
        let mut state = State::clone(&published.state());
        let m_keys = MKeyReport {
            has_key: true,
            current: 3,
            earlier: 1,
            sms: vec![(STANDBY, SmMKey::Same)],
            ..MKeyReport::default()
        };
        state.sm_reports = Arc::new(SmReports {
            m_keys,
            ..SmReports::default()
        });
        state.replicas = Arc::new(replicas);
        state
    }

    #[test]
    fn rotation_locks_out_no_sm_unless_accepted() {
        let new = NewKey::default();
        let alone = master(Replicas::default());
        let refused = rotation(&alone, RotatedKey::MKey, &new, None).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Conflict);
        let accepted = rotation(
            &alone,
            RotatedKey::MKey,
            &new,
            Some(RotationConsequence::Lockout),
        );
        assert!(matches!(accepted, Ok(Command::Rotate(KeyKind::MKey, key)) if key != MKey::NONE));
        let replicated = master(Replicas {
            in_sync: vec![STANDBY],
            ..Replicas::default()
        });
        assert!(rotation(&replicated, RotatedKey::SmKey, &new, None).is_ok());
        let plan = plan(&replicated, RotatedKey::MKey).unwrap();
        assert_eq!(
            (plan.ports, plan.replicas.len(), plan.without.len()),
            (4, 1, 0)
        );
    }

    #[test]
    fn errors_do_not_show_the_key() {
        let state = master(Replicas::default());
        for text in ["0", "0x0", "xyzzy", "12345678901234567", "+5"] {
            let key = Some(text.to_owned());
            let error = rotation(&state, RotatedKey::SmKey, &NewKey { key }, None).unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidRequest);
            assert!(text.len() < 3 || !error.message.contains(text), "{error:?}");
        }
        assert_eq!(parse("0x00000000000000ab").ok(), Some(MKey::new(0xAB)));
    }
}
