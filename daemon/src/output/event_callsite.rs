//! Log lines of the event table.
//!
//! The macros of `tracing` need names and fields as constants. Those of events come from the table
//! in `ferrosm_core::event`, so a callsite is made when an event is first logged. There is one for
//! each name, level and list of fields: a small number, for the life of the process.

use core::array;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use ferrosm_core::event::FieldValue;
use tracing::callsite::{self, Callsite, Identifier};
use tracing::field::{Field, FieldSet, Value, display};
use tracing::metadata::Kind;
use tracing::subscriber::Interest;
use tracing::{Level, Metadata, dispatcher};

/// Most values of an event, the message included: the limit of `tracing`.
const VALUES_MAX: usize = 32;

/// The target of the events; `log.level` can select by it.
const TARGET: &str = "ferrosm::event";

/// Where an event is logged.
#[derive(Default)]
struct EventCallsite(OnceLock<Metadata<'static>>);

impl Callsite for EventCallsite {
    // The level may change at any time: each event asks whether it is enabled.
    fn set_interest(&self, _: Interest) {}

    fn metadata(&self) -> &Metadata<'_> {
        self.0
            .get_or_init(|| metadata("", Level::DEBUG, &[], Identifier(&UNUSED)))
    }
}

/// For a callsite without metadata, which none is.
static UNUSED: EventCallsite = EventCallsite(OnceLock::new());

fn metadata(
    name: &'static str,
    level: Level,
    fields: &'static [&'static str],
    callsite: Identifier,
) -> Metadata<'static> {
    let fields = FieldSet::new(fields, callsite);
    Metadata::new(name, TARGET, level, None, None, None, fields, Kind::EVENT)
}

/// Name, level and fields of a callsite.
type Key = (&'static str, Level, Vec<&'static str>);

fn callsite_of(
    name: &'static str,
    level: Level,
    fields: &[(&'static str, FieldValue)],
) -> &'static EventCallsite {
    static CALLSITES: Mutex<BTreeMap<Key, &'static EventCallsite>> = Mutex::new(BTreeMap::new());
    let names = ["message"]
        .into_iter()
        .chain(fields.iter().map(|(name, _)| *name));
    let key = (name, level, names.take(VALUES_MAX).collect());
    let mut callsites = CALLSITES.lock().unwrap_or_else(PoisonError::into_inner);
    callsites.entry(key).or_insert_with_key(|(_, _, names)| {
        let callsite: &'static EventCallsite = Box::leak(Box::default());
        let names: &'static [&'static str] = Vec::leak(names.clone());
        callsite
            .0
            .get_or_init(|| metadata(name, level, names, Identifier(callsite)));
        callsite::register(callsite);
        callsite
    })
}

/// Logs a line, if its level is enabled.
pub(super) fn dispatch(name: &'static str, level: Level, fields: &[(&'static str, FieldValue)]) {
    let callsite = callsite_of(name, level, fields);
    let metadata = callsite.metadata();
    dispatcher::get_default(|dispatch| {
        if !dispatch.enabled(metadata) {
            return;
        }
        let mut values: Vec<(Field, Box<dyn Value>)> = Vec::new();
        let message: Box<dyn Value> = Box::new(display(name));
        let rest = fields.iter().map(|(_, value)| boxed(value));
        values.extend(
            metadata
                .fields()
                .iter()
                .zip([message].into_iter().chain(rest)),
        );
        let Some((first, _)) = values.first() else {
            return;
        };
        let values: [(&Field, Option<&dyn Value>); VALUES_MAX] = array::from_fn(|i| {
            values
                .get(i)
                .map_or((first, None), |(field, value)| (field, Some(&**value)))
        });
        dispatch.event(&tracing::Event::new(
            metadata,
            &metadata.fields().value_set(&values),
        ));
    });
}

fn boxed(value: &FieldValue) -> Box<dyn Value> {
    match value {
        FieldValue::Integer(number) => Box::new(*number),
        FieldValue::Real(number) => Box::new(*number),
        FieldValue::Name(name) => Box::new(display(name.clone())),
        FieldValue::Text(text) => Box::new(text.clone()),
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_core::event::Event;

    use super::*;

    #[test]
    fn callsites_are_made_once() {
        let fields = |event: &Event| event.fields();
        let event = Event::ReplicaTimedOut;
        let callsite = |level| {
            core::ptr::from_ref(callsite_of(
                event.row().name,
                level,
                fields(&event).as_slice(),
            ))
        };
        assert_eq!(callsite(Level::WARN), callsite(Level::WARN));
        assert_ne!(callsite(Level::WARN), callsite(Level::DEBUG));
    }
}
