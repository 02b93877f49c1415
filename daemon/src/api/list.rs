//! Queries of lists: conditions, fields, pages.

use std::time::SystemTime;

use ferrosm_api::answer::{ApiError, ErrorKind, ListQuery, PAGE_LIMIT_MAX, Page};
use serde::Serialize;
use serde_json::{Map, Value};

use super::picked;
use crate::pattern::is_match;

/// Objects on a page if the query has no `limit`.
const LIMIT_DEFAULT: usize = 1000;
/// Most conditions, and most fields. Each row is compared with all of them.
const CONDITIONS_MAX: usize = 64;

/// A row of a list, which makes its object. That is only done if a condition or the page needs it.
pub(super) trait Row {
    type Object: Serialize;

    fn object(self) -> Self::Object;

    /// What the object has in this field; `None` if only the object shows it. It lets conditions
    /// leave out rows of long lists without making their objects.
    fn field(&self, _name: &str) -> Option<Value> {
        None
    }
}

impl<T: Serialize, F: FnOnce() -> T> Row for F {
    type Object = T;

    fn object(self) -> T {
        self()
    }
}

/// The objects that a query selects.
pub(super) fn page<T: Serialize>(
    objects: impl IntoIterator<Item = T>,
    query: &ListQuery,
) -> Result<Page<Value>, ApiError> {
    page_of_rows(objects.into_iter().map(|object| move || object), query)
}

/// The objects that a query selects.
pub(super) fn page_of_rows(
    rows: impl IntoIterator<Item = impl Row>,
    query: &ListQuery,
) -> Result<Page<Value>, ApiError> {
    if query.at.is_some() || query.fresh {
        return Err(ApiError::new(
            ErrorKind::InvalidRequest,
            "this list is known only as it is now",
            "Nodes, ports, links and members of partitions have earlier and fresh lists; leave out `at` and `fresh`.",
        ));
    }
    let conditions = conditions(query.conditions.as_deref().unwrap_or(""))?;
    let limit = query.limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=PAGE_LIMIT_MAX).contains(&limit) {
        return Err(limit_exceeded(limit));
    }
    let skipped = match query.cursor.as_deref() {
        None => 0,
        Some(cursor) => cursor
            .parse::<usize>()
            .map_err(|_| invalid(format!("cursor `{cursor}` is not from this API")))?,
    };
    let named = query.fields.as_deref().filter(|fields| !fields.is_empty());
    let fields: Option<Vec<&str>> = named.map(|fields| fields.split(',').collect());
    if fields
        .as_ref()
        .is_some_and(|fields| fields.len() > CONDITIONS_MAX)
    {
        return Err(invalid(format!("at most {CONDITIONS_MAX} fields")));
    }
    let condition_fields: Vec<&str> = conditions.iter().map(|condition| condition.field).collect();
    let mut are_names_checked = false;
    let mut total = 0;
    let mut items = Vec::new();
    for row in rows {
        let has_room = items.len() < limit;
        let is_shown = has_room && total >= skipped;
        if conditions.is_empty() && are_names_checked && !is_shown {
            total += 1;
            continue;
        }
        let is_left_out = |condition: &Condition<'_>| {
            let field = row.field(condition.field);
            field.is_some_and(|field| !condition.holds_for(&field))
        };
        if are_names_checked && conditions.iter().any(is_left_out) {
            continue;
        }
        let object = row.object();
        if !are_names_checked {
            check_names(&encoded(&object)?, &conditions, fields.as_deref())?;
            are_names_checked = true;
        }
        if !conditions.is_empty() {
            let picked = picked::fields(&object, &condition_fields).map_err(not_encoded)?;
            if !conditions.iter().all(|condition| condition.holds(&picked)) {
                continue;
            }
        }
        total += 1;
        if is_shown {
            let value = encoded(&object)?;
            items.push(match &fields {
                Some(fields) => select(value, fields),
                None => value,
            });
        }
    }
    let shown = skipped + items.len();
    Ok(Page {
        total,
        next: (shown < total && !items.is_empty()).then(|| shown.to_string()),
        items,
    })
}

/// A page would be too large, or empty.
pub(super) fn limit_exceeded(limit: usize) -> ApiError {
    ApiError::new(
        ErrorKind::InvalidRequest,
        format!("limit is {limit}, and must be 1 to {PAGE_LIMIT_MAX}"),
        "Ask for the next page: `cursor` is `next` of the page before.",
    )
}

fn encoded<T: Serialize>(object: &T) -> Result<Value, ApiError> {
    serde_json::to_value(object).map_err(not_encoded)
}

fn not_encoded(error: serde_json::Error) -> ApiError {
    let message = format!("cannot encode an object: {error}");
    ApiError::new(ErrorKind::Internal, message, "")
}

/// A condition on one field.
struct Condition<'q> {
    field: &'q str,
    /// Names of objects in the field, outermost first; the last one is compared.
    inner: Vec<&'q str>,
    is_negated: bool,
    pattern: &'q str,
}

impl Condition<'_> {
    fn holds(&self, object: &Value) -> bool {
        self.holds_for(object.get(self.field).unwrap_or(&Value::Null))
    }

    /// Whether it holds for an object with this in the field.
    fn holds_for(&self, field: &Value) -> bool {
        let mut at = field;
        for name in &self.inner {
            at = at.get(name).unwrap_or(&Value::Null);
        }
        let matches = match at {
            Value::Null => self.pattern.is_empty(),
            Value::String(text) => is_match(self.pattern, text),
            Value::Array(values) => values.iter().any(|v| is_match(self.pattern, &plain(v))),
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                is_match(self.pattern, &plain(at))
            }
        };
        matches != self.is_negated
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn conditions(text: &str) -> Result<Vec<Condition<'_>>, ApiError> {
    let parts: Vec<&str> = text.split(',').filter(|part| !part.is_empty()).collect();
    if parts.len() > CONDITIONS_MAX {
        return Err(invalid(format!("at most {CONDITIONS_MAX} conditions")));
    }
    parts
        .into_iter()
        .map(|part| {
            let Some((name, pattern)) = part.split_once('=') else {
                return Err(invalid(format!(
                    "condition `{part}` is not like `state=down` or `name!=leaf-*`"
                )));
            };
            let (name, is_negated) = match name.strip_suffix('!') {
                Some(name) => (name, true),
                None => (name, false),
            };
            let (field, inner) = match name.split_once('.') {
                Some((field, inner)) => (field, inner.split('.').collect()),
                None => (name, Vec::new()),
            };
            Ok(Condition {
                field,
                inner,
                is_negated,
                pattern,
            })
        })
        .collect()
}

/// A misspelt name is an error rather than an empty list. Fields that may be absent are known.
fn check_names(
    object: &Value,
    conditions: &[Condition<'_>],
    fields: Option<&[&str]>,
) -> Result<(), ApiError> {
    const OPTIONAL: [&str; 9] = [
        "since",
        "peer",
        "note",
        "attached_to",
        "p_keys",
        "cleared_at",
        "acknowledged",
        "cause",
        "parts",
    ];
    let Some(object) = object.as_object() else {
        return Ok(());
    };
    let of_conditions = conditions.iter().map(|condition| condition.field);
    let of_fields = fields.unwrap_or_default().iter().copied();
    for name in of_conditions.chain(of_fields) {
        if !object.contains_key(name) && !OPTIONAL.contains(&name) {
            let known: Vec<&str> = object.keys().map(String::as_str).collect();
            let message = format!("no field `{name}`; there are: {}", known.join(", "));
            return Err(invalid(message));
        }
    }
    Ok(())
}

/// The object with some of its fields.
fn select(value: Value, fields: &[&str]) -> Value {
    let Value::Object(object) = value else {
        return value;
    };
    let kept = object
        .into_iter()
        .filter(|(name, _)| fields.contains(&name.as_str()));
    Value::Object(kept.collect::<Map<String, Value>>())
}

/// A time in a query.
pub(super) fn time(text: &str) -> Result<SystemTime, ApiError> {
    humantime::parse_rfc3339(text)
        .map_err(|_| invalid(format!("time `{text}` is not like 2026-11-29T05:00:00Z")))
}

/// A request that cannot be understood.
pub(super) fn invalid(message: impl Into<String>) -> ApiError {
    let remedy = "GET /v1/openapi.json describes all queries.";
    ApiError::new(ErrorKind::InvalidRequest, message, remedy)
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use serde_json::json;

    use super::*;

    fn rows() -> Vec<Value> {
        (0..5)
            .map(|i| {
                let state = if i % 2 == 0 { "up" } else { "down" };
                json!({"name": format!("leaf-{i}"), "state": state, "a": {"port": i}})
            })
            .collect()
    }

    fn names(query: &ListQuery) -> (usize, Vec<String>, Option<String>) {
        let page = page(rows(), query).unwrap();
        let names = page.items.iter().map(|row| plain(&row["name"]));
        (page.total, names.collect(), page.next)
    }

    #[test]
    fn pages_follow_each_other_without_gaps() {
        let mut query = ListQuery {
            limit: Some(2),
            ..ListQuery::default()
        };
        let mut all = Vec::new();
        loop {
            let (total, names, next) = names(&query);
            assert_eq!(total, 5);
            all.extend(names);
            query.cursor = next;
            if query.cursor.is_none() {
                break;
            }
        }
        assert_eq!(all, ["leaf-0", "leaf-1", "leaf-2", "leaf-3", "leaf-4"]);
    }

    /// Without conditions, the objects of other pages are only counted.
    #[test]
    fn objects_of_other_pages_are_not_made() {
        let made = Cell::new(0);
        let rows = (0..1000).map(|n| {
            let made = &made;
            move || {
                made.set(made.get() + 1);
                json!({ "n": n })
            }
        });
        let query = ListQuery {
            limit: Some(2),
            cursor: Some("5".to_owned()),
            ..ListQuery::default()
        };
        let page = page_of_rows(rows, &query).unwrap();
        assert_eq!(page.items, [json!({"n": 5}), json!({"n": 6})]);
        assert_eq!((page.total, page.next.as_deref()), (1000, Some("7")));
        // The first object has the names of the fields.
        assert_eq!(made.get(), 3);
    }

    struct NumberRow<'a> {
        number: u64,
        made: &'a Cell<usize>,
    }

    impl Row for NumberRow<'_> {
        type Object = Value;

        fn object(self) -> Value {
            self.made.set(self.made.get() + 1);
            json!({"number": self.number, "parity": {"odd": self.number % 2}})
        }

        fn field(&self, name: &str) -> Option<Value> {
            (name == "number").then(|| self.number.into())
        }
    }

    /// Conditions on fields that rows show leave out rows without making their objects.
    #[test]
    fn objects_of_rows_that_are_left_out_are_not_made() {
        for (conditions, selected, objects) in [
            // The first object has the names of the fields.
            ("number=*7", 100, 101),
            ("parity.odd=1,number=*7", 100, 101),
            ("number=*7,parity.odd=0", 0, 101),
            ("number!=*7,parity.odd=1", 400, 900),
            ("parity.odd=1", 500, 1000),
            ("number.odd=1", 0, 1),
        ] {
            let made = Cell::new(0);
            let rows = (0..1000).map(|number| NumberRow {
                number,
                made: &made,
            });
            let query = ListQuery {
                conditions: Some(conditions.to_owned()),
                ..ListQuery::default()
            };
            let page = page_of_rows(rows, &query).unwrap();
            assert_eq!(
                (page.total, made.get()),
                (selected, objects),
                "{conditions}"
            );
        }
    }

    /// A list that is known only as it is now does not pretend to be of an earlier time.
    #[test]
    fn time_without_earlier_lists_is_refused() {
        let query = ListQuery {
            at: Some("2026-11-29T05:00:00Z".to_owned()),
            ..ListQuery::default()
        };
        let error = page(rows(), &query).unwrap_err();
        assert!(error.remedy.contains("leave out `at`"), "{error:?}");
        assert!(time("2026-11-29T05:00:00Z").is_ok());
        assert!(time("yesterday").is_err());
    }

    #[test]
    fn conditions_and_fields_select() {
        let with = |conditions: &str| {
            names(&ListQuery {
                conditions: Some(conditions.to_owned()),
                ..ListQuery::default()
            })
            .1
        };
        assert_eq!(with("state=down"), ["leaf-1", "leaf-3"]);
        assert_eq!(with("state!=down,name=*4"), ["leaf-4"]);
        assert_eq!(with("a.port=3"), ["leaf-3"]);
        let only = ListQuery {
            fields: Some("state".to_owned()),
            ..ListQuery::default()
        };
        assert_eq!(
            page(rows(), &only).unwrap().items[0],
            json!({"state": "up"})
        );
    }

    /// A client cannot make the service build an answer of any size.
    #[test]
    fn page_size_is_bounded() {
        let with = |limit| {
            let query = ListQuery {
                limit: Some(limit),
                ..ListQuery::default()
            };
            page(rows(), &query)
        };
        assert_eq!(with(PAGE_LIMIT_MAX).unwrap().items.len(), 5);
        let error = with(PAGE_LIMIT_MAX + 1).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidRequest);
        assert!(error.remedy.contains("cursor"), "{error:?}");
    }

    #[test]
    fn misspelt_queries_are_errors() {
        for (conditions, fields, limit) in [
            (Some("stat=down"), None, None),
            (Some("down"), None, None),
            (None, Some("nmae"), None),
            (None, None, Some(0)),
        ] {
            let query = ListQuery {
                conditions: conditions.map(str::to_owned),
                fields: fields.map(str::to_owned),
                limit,
                ..ListQuery::default()
            };
            let error = page(rows(), &query).unwrap_err();
            assert_eq!(error.kind, ErrorKind::InvalidRequest);
        }
    }
}
