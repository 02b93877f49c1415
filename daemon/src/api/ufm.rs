//! The calls of UFM's REST interface by which ib-kubernetes puts GUIDs into partitions: optional,
//! over HTTPS with a user name and password (`[ufm]`).
//!
//! They become commands that create, change and remove partitions, besides those of the
//! configuration. Anything else of UFM's interface is not found.

use core::net::SocketAddr;
use core::time::Duration;
use std::path::Path;
use std::sync::Arc;

use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{ConnectInfo, Query, Request, State as Shared};
use axum::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use axum::{Extension, Router, middleware};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::command::WriteQuery;
use ferrosm_api::partition::{MemberChanges, PartitionDefinition};
use ferrosm_core::OperatorChange;
use ferrosm_core::config::partitions::{MemberSelector, Membership, Partition};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::access::Client;
use super::published::{State, ready};
use super::routes::{self, Failed, Turn, change};
use super::{Service, partition, requests};

/// Delay of the answer to a wrong password.
const REFUSAL_DELAY: Duration = Duration::from_secs(1);
/// Longest password file, in bytes.
const PASSWORD_LEN_MAX: usize = 1024;

/// The user of these calls.
#[derive(Debug, Clone)]
pub(super) struct Login {
    pub(super) user: Arc<str>,
    /// The header that a client has to send.
    authorization: Arc<str>,
}

impl Login {
    /// Reads the password from a file: its first line.
    pub(super) fn read(user: &str, password_file: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(password_file)
            .map_err(|e| format!("{}: {e}", password_file.display()))?;
        let password = text.lines().next().unwrap_or_default();
        if password.is_empty() || password.len() > PASSWORD_LEN_MAX {
            let file = password_file.display();
            return Err(format!("{file}: the first line has no password"));
        }
        let encoded = BASE64.encode(format!("{user}:{password}"));
        Ok(Self {
            user: user.into(),
            authorization: format!("Basic {encoded}").into(),
        })
    }

    /// Takes the same time for all headers of a length.
    fn accepts(&self, header: &HeaderValue) -> bool {
        let expected = self.authorization.as_bytes();
        let found = header.as_bytes();
        let pairs = expected.iter().zip(found);
        let difference = pairs.fold(0, |difference, (a, b)| difference | (a ^ b));
        expected.len() == found.len() && difference == 0
    }
}

pub(super) fn router(service: &Service, login: Login) -> Router {
    Router::new()
        .route("/ufmRest/app/ufm_version", get(get_version))
        .route("/ufmRest/resources/pkeys", get(get_pkeys).post(post_guids))
        .route("/ufmRest/resources/pkeys/", get(get_pkeys).post(post_guids))
        .route(
            "/ufmRest/actions/remove_guids_from_pkey",
            post(remove_guids),
        )
        .layer(middleware::from_fn_with_state(login, check_password))
        .with_state(service.clone())
}

async fn check_password(
    Shared(login): Shared<Login>,
    mut request: Request,
    next: Next,
) -> Response {
    let header = request.headers().get(AUTHORIZATION);
    if header.is_some_and(|header| login.accepts(header)) {
        let extensions = request.extensions_mut();
        if let Some(ConnectInfo(address)) = extensions.get::<ConnectInfo<SocketAddr>>().copied() {
            let user = Arc::clone(&login.user);
            extensions.insert(Client::Login { user, address });
        }
        return next.run(request).await;
    }
    if header.is_some() {
        tokio::time::sleep(REFUSAL_DELAY).await;
    }
    let body = json!({"error": "wrong user or password: see [ufm] of the configuration"});
    let challenge = [(WWW_AUTHENTICATE, "Basic realm=\"ferrosm\"")];
    (StatusCode::UNAUTHORIZED, challenge, Json(body)).into_response()
}

/// By this call, a client checks its connection.
async fn get_version() -> Json<Value> {
    Json(json!({"ufm_release_version": concat!("ferrosm ", env!("CARGO_PKG_VERSION"))}))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PKeyQuery {
    #[serde(default)]
    guids_data: bool,
}

/// The partitions, with the GUIDs that a request or the configuration names.
async fn get_pkeys(
    Shared(service): Shared<Service>,
    query: Result<Query<PKeyQuery>, QueryRejection>,
) -> Result<Json<Value>, Failed> {
    let Query(PKeyQuery { guids_data }) = query?;
    let state = service.published.state();
    let mut pkeys = Map::new();
    for partition in state.partitions.list() {
        let mut entry = json!({
            "partition": partition.name,
            "ip_over_ib": partition.has_ipoib_group(),
        });
        if guids_data {
            entry["guids"] = guids(partition).into();
        }
        pkeys.insert(format!("{:#x}", partition.number), entry);
    }
    Ok(Json(Value::Object(pkeys)))
}

/// Its members by GUID, in the form of UFM.
fn guids(partition: &Partition) -> Vec<Value> {
    let named = partition
        .members
        .iter()
        .filter_map(|(selector, membership)| {
            let guid = match selector {
                MemberSelector::Port(guid) => guid,
                MemberSelector::All
                | MemberSelector::AllCas
                | MemberSelector::AllSwitches
                | MemberSelector::AllRouters
                | MemberSelector::SmPort
                | MemberSelector::PortRange(_) => return None,
            };
            let membership = match membership {
                Membership::Full | Membership::Both => "full",
                Membership::Limited => "limited",
            };
            Some(json!({
                "guid": format!("{:016x}", guid.0),
                "membership": membership,
                "index0": partition.index0,
            }))
        });
    named.collect()
}

/// GUIDs to add.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddedGuids {
    pkey: String,
    #[serde(default)]
    index0: bool,
    #[serde(default)]
    ip_over_ib: bool,
    #[serde(default = "full")]
    membership: String,
    guids: Vec<String>,
}

fn full() -> String {
    "full".to_owned()
}

/// Adds GUIDs to a partition, which is created if it does not exist.
async fn post_guids(
    service: Shared<Service>,
    client: Extension<Client>,
    body: Result<Json<AddedGuids>, JsonRejection>,
) -> Result<Json<Value>, Failed> {
    let Json(added) = body?;
    let members = members(&added.guids, Some(&added.membership))?;
    let turn = change::turn(&service).await?;
    let state = service.published.state();
    let fabric = ready(&state)?;
    let change = match existing(&state, &added.pkey)? {
        Some(partition) => {
            let has_options =
                partition.index0 == added.index0 && partition.has_ipoib_group() == added.ip_over_ib;
            if !has_options {
                let message = format!(
                    "partition {} has index0 {} and ip_over_ib {}",
                    partition.name,
                    partition.index0,
                    partition.has_ipoib_group()
                );
                let remedy = "Send these values, or remove the partition first.";
                return Err(ApiError::new(ErrorKind::Conflict, message, remedy).into());
            }
            let changes = MemberChanges {
                add: members,
                remove: Vec::new(),
            };
            requests::change_members(fabric, &state, &added.pkey, &changes)?
        }
        None => {
            let number = partition::number(&state, &added.pkey)?;
            let definition = PartitionDefinition {
                p_key: added.pkey,
                index0: added.index0,
                ipoib: added.ip_over_ib,
                members,
                ..PartitionDefinition::default()
            };
            requests::put_partition(fabric, format!("ufm-{number:#06x}"), definition)?
        }
    };
    carry_out(service.clone(), client, change, turn).await
}

/// GUIDs to remove.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RemovedGuids {
    pkey: String,
    guids: Vec<String>,
}

/// Removes GUIDs from a partition, and the partition with its last member.
async fn remove_guids(
    service: Shared<Service>,
    client: Extension<Client>,
    body: Result<Json<RemovedGuids>, JsonRejection>,
) -> Result<Json<Value>, Failed> {
    let Json(removed) = body?;
    let changes = MemberChanges {
        add: Vec::new(),
        remove: members(&removed.guids, None)?,
    };
    let turn = change::turn(&service).await?;
    let state = service.published.state();
    let fabric = ready(&state)?;
    let changed = requests::change_members(fabric, &state, &removed.pkey, &changes)?;
    let change = if let OperatorChange::PutPartition(left) = &changed
        && left.members.is_empty()
    {
        OperatorChange::RemovePartition(left.number)
    } else {
        changed
    };
    carry_out(service.clone(), client, change, turn).await
}

/// The partition in force with a P_Key.
fn existing<'a>(state: &'a State, pkey: &str) -> Result<Option<&'a Partition>, ApiError> {
    let number = partition::number(state, pkey)?;
    let list = state.partitions.list().iter();
    Ok(list
        .into_iter()
        .find(|partition| partition.number == number))
}

/// GUIDs of UFM, 16 digits without prefix, as members of a partition.
fn members(guids: &[String], membership: Option<&str>) -> Result<Vec<String>, ApiError> {
    let member = |guid: &String| {
        let digits = guid.strip_prefix("0x").unwrap_or(guid);
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        if digits.is_empty() || digits.len() > 16 || !is_hex {
            let message = format!("{guid:?} is no GUID");
            let remedy = "Write 16 hexadecimal digits.";
            return Err(ApiError::new(ErrorKind::InvalidRequest, message, remedy));
        }
        Ok(match membership {
            Some(membership) => format!("0x{digits}={membership}"),
            None => format!("0x{digits}"),
        })
    };
    guids.iter().map(member).collect()
}

/// Success is status 200 for UFM's clients, also while the SM writes the tables.
async fn carry_out(
    service: Shared<Service>,
    client: Extension<Client>,
    change: OperatorChange,
    turn: Turn,
) -> Result<Json<Value>, Failed> {
    change::check_invariants(&service, &change).await?;
    let query = Query(WriteQuery {
        reason: Some("call of UFM's interface".to_owned()),
        ..WriteQuery::default()
    });
    routes::execute_in_turn(service, client, Ok(query), change.into(), Some(turn)).await?;
    Ok(Json(json!({})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_header_is_accepted() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("password");
        std::fs::write(&file, "open sesame\n").unwrap();
        let login = Login::read("kube", &file).unwrap();
        let accepts = |text: &str| login.accepts(&HeaderValue::from_str(text).unwrap());
        let header = format!("Basic {}", BASE64.encode("kube:open sesame"));
        assert!(accepts(&header));
        assert!(!accepts(&header[..header.len() - 1]));
        assert!(!accepts(&(header + "=")));
        assert!(!accepts(&format!(
            "Basic {}",
            BASE64.encode("kube:open sesamE")
        )));
        std::fs::write(&file, "\n").unwrap();
        let error = Login::read("kube", &file).unwrap_err();
        assert!(error.contains("no password"), "{error}");
    }

    #[test]
    fn guids_are_members() {
        let guids = ["0200000000000001".to_owned(), "0x2".to_owned()];
        let found = members(&guids, Some("full")).unwrap();
        assert_eq!(found, ["0x0200000000000001=full", "0x2=full"]);
        for invalid in ["", "02:00", "x", "00000000000000001", "1=full"] {
            let refused = members(&[invalid.to_owned()], None).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::InvalidRequest);
        }
    }
}
