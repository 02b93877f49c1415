//! `ferrosm upgrade check`: what a restart of the service with this program would do.

use std::path::Path;

use ferrosm_api::answer::{Answer, Role};
use ferrosm_api::object::ObjectName;
use ferrosm_api::status::{ReplicaState, Sms, Status};
use ferrosm_store::StateInspection;
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::config;
use super::service;
use crate::cli::{ServiceDirArgs, UpgradeCommand};
use crate::failure::Failure;
use crate::output;

/// The version of this program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The result of `upgrade check`.
#[derive(Debug, Serialize)]
struct UpgradeCheck {
    /// The version of this program.
    version: &'static str,
    /// The version of the running service; none if none runs.
    running: Option<String>,
    /// Whether the restarted service would run.
    ok: bool,
    findings: Vec<UpgradeFinding>,
}

/// One thing that was checked.
#[derive(Debug, Serialize)]
struct UpgradeFinding {
    /// `configuration`, `state` or `takeover`.
    what: &'static str,
    /// Whether it prevents the service from running.
    fails: bool,
    text: String,
}

impl UpgradeFinding {
    const fn passed(what: &'static str, text: String) -> Self {
        Self {
            what,
            fails: false,
            text,
        }
    }

    fn failed(what: &'static str, failure: &Failure) -> Self {
        Self {
            what,
            fails: true,
            text: failure.to_string(),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// With exit status 1 if the restarted service would not run.
pub fn run(command: &UpgradeCommand) -> Result<(), Failure> {
    let UpgradeCommand::Check { service, json } = command;
    let check = check(service)?;
    let text = if *json {
        let json = serde_json::to_string_pretty(&check).map_err(Failure::runtime)?;
        format!("{json}\n")
    } else {
        render(&check)
    };
    output::print(&text)?;
    if check.ok {
        Ok(())
    } else {
        Err(Failure::Status(1))
    }
}

fn check(service: &ServiceDirArgs) -> Result<UpgradeCheck, Failure> {
    let mut findings = vec![configuration(service.config.as_deref())];
    let (running, takeover) = match asked::<Status>(service, "status") {
        Ok(status) => {
            let sms = asked::<Sms>(service, "sms")?;
            (
                Some(status.body.version.clone()),
                takeover(status.role, &sms),
            )
        }
        Err(Failure::NoService { message, .. }) => (None, message),
        Err(other) => return Err(other),
    };
    findings.extend(state(service));
    findings.push(UpgradeFinding::passed("takeover", takeover));
    Ok(UpgradeCheck {
        version: VERSION,
        running,
        ok: findings.iter().all(|finding| !finding.fails),
        findings,
    })
}

/// Whether this program accepts the configuration.
fn configuration(file: Option<&Path>) -> UpgradeFinding {
    let what = "configuration";
    let settings =
        config::source(file).and_then(|source| source.into_resolved(|_| {}).map_err(Failure::from));
    match settings {
        Ok((source, _)) => {
            let file = source.path().map_or_else(
                || "default settings".to_owned(),
                |path| path.display().to_string(),
            );
            UpgradeFinding::passed(what, format!("{file}: no errors"))
        }
        Err(failure) => UpgradeFinding::failed(what, &failure),
    }
}

/// Whether this program can read the persisted state; `None` if there is none yet, or the service
/// is on another host.
fn state(service: &ServiceDirArgs) -> Option<UpgradeFinding> {
    if service.api.is_some() {
        return None;
    }
    let what = "state";
    let dir = match service::state_dir(service) {
        Ok(dir) if dir.is_dir() => dir,
        Ok(_) | Err(_) => return None,
    };
    Some(match StateInspection::open(&dir) {
        Ok(inspection) => {
            let records = inspection.records().len();
            UpgradeFinding::passed(what, format!("{}: {records} records", dir.display()))
        }
        Err(error) => UpgradeFinding::failed(what, &error.into()),
    })
}

/// What happens to the fabric during a restart.
fn takeover(role: Role, sms: &Answer<Sms>) -> String {
    if role != Role::Master {
        return "this SM is not master: the fabric does not notice a restart".to_owned();
    }
    let others = sms.body.items.iter().filter(|sm| !sm.is_self);
    let is_eligible = |sm: &&ferrosm_api::status::Sm| sm.state == Role::Standby && sm.priority > 0;
    let mut standbys: Vec<_> = others.filter(is_eligible).collect();
    standbys.sort_by_key(|sm| sm.replica != Some(ReplicaState::InSync));
    match standbys.first() {
        Some(sm) if sm.replica == Some(ReplicaState::InSync) => format!(
            "{} takes over when the service stops, and has all registrations",
            name(&sm.port)
        ),
        Some(sm) => format!(
            "{} takes over when the service stops; hosts register again, because it has no replica in sync",
            name(&sm.port)
        ),
        None => "no standby with a priority above 0: the fabric forwards during the restart, but links that fail and requests to the SA \
                 wait for it"
            .to_owned(),
    }
}

fn name(port: &ObjectName) -> String {
    match (port.name.as_str(), port.location.as_str()) {
        ("", _) => port.guid.clone(),
        (name, "") => name.to_owned(),
        (name, location) => format!("{name} ({location})"),
    }
}

fn asked<T: DeserializeOwned>(args: &ServiceDirArgs, resource: &str) -> Result<Answer<T>, Failure> {
    Ok(service::send(args, Method::GET, resource, &[])?.answer)
}

fn render(check: &UpgradeCheck) -> String {
    let running = match &check.running {
        Some(version) if version == check.version => format!("ferrosm {version}, as this program"),
        Some(version) => format!("ferrosm {version}"),
        None => "no service".to_owned(),
    };
    let mut lines = vec![
        format!("  this program   ferrosm {}", check.version),
        format!("  running        {running}"),
    ];
    for finding in &check.findings {
        let mark = if finding.fails { '!' } else { ' ' };
        let text = finding.text.replace('\n', "\n                 ");
        lines.push(format!("{mark} {:<14} {text}", finding.what));
    }
    let verdict = if check.ok {
        "A restart with this program succeeds: `systemctl restart ferrosm`."
    } else {
        "Do not restart: the service would not run with this program."
    };
    lines.push(verdict.to_owned());
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sms(items: &str) -> Answer<Sms> {
        let text = format!(
            r#"{{"revision": 1, "at": "2026-11-30T00:00:00Z", "age_ms": 0, "role": "master", "items": {items}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn sm(name: &str, state: &str, priority: u8, replica: &str) -> String {
        let port = format!(r#"{{"guid": "0x1", "name": "{name}", "location": ""}}"#);
        format!(
            r#"{{"port": {port}, "is_self": false, "priority": {priority}, "state": "{state}"{replica}}}"#
        )
    }

    #[test]
    fn standby_in_sync_is_named_first() {
        let behind = sm("sm2", "standby", 5, r#", "replica": "incomplete""#);
        let in_sync = sm("sm3", "standby", 1, r#", "replica": "in-sync""#);
        let text = takeover(Role::Master, &sms(&format!("[{behind}, {in_sync}]")));
        assert!(text.starts_with("sm3 takes over"), "{text}");
        let text = takeover(Role::Master, &sms(&format!("[{behind}]")));
        assert!(text.contains("hosts register again"), "{text}");
        let zero = sm("sm2", "standby", 0, "");
        let text = takeover(Role::Master, &sms(&format!("[{zero}]")));
        assert!(text.starts_with("no standby"), "{text}");
        let text = takeover(Role::Standby, &sms("[]"));
        assert!(text.contains("does not notice"), "{text}");
    }
}
