//! The form of the event table: one place for each event.
//!
//! `events!` generates an enum and its rows. From a row come the line of the log, the label of
//! the metric and the row of docs/operations.md, which a test compares.

use core::fmt;

/// How serious an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The operator has to act.
    Error,
    /// A deviation.
    Warning,
    /// A normal change.
    Info,
    /// A detail.
    Debug,
}

impl Severity {
    /// As in docs/operations.md and in the label `severity` of the metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// A row of the event table. An event with several severities has a row for each.
#[derive(Debug, PartialEq, Eq)]
pub struct EventRow {
    /// The text of the log line; unique together with `severity`.
    pub name: &'static str,
    pub severity: Severity,
    /// What it means, in Markdown.
    pub meaning: &'static str,
    /// What the operator does, in Markdown; empty if nothing.
    pub action: &'static str,
}

impl EventRow {
    /// The value of the label `event` of the metrics.
    #[must_use]
    pub fn label(&self) -> String {
        self.name.to_lowercase().replace(' ', "-")
    }
}

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// A whole number.
    Integer(u64),
    /// A real number.
    Real(f64),
    /// The name of an object, or an expression of one: printed without quotation marks.
    Name(String),
    /// A sentence or a part of one: printed with quotation marks.
    Text(String),
}

impl fmt::Display for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
            Self::Name(value) => f.write_str(value),
            Self::Text(value) => write!(f, "{value:?}"),
        }
    }
}

/// A value that prints without quotation marks.
pub(crate) fn display(value: impl fmt::Display) -> FieldValue {
    FieldValue::Name(value.to_string())
}

/// The fields of an event in their order; those without a value are left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields(Vec<(&'static str, FieldValue)>);

impl Fields {
    pub(crate) fn add(&mut self, name: &'static str, value: impl IntoField) {
        self.0.extend(value.into_field().map(|value| (name, value)));
    }

    /// Names and values.
    #[must_use]
    pub fn as_slice(&self) -> &[(&'static str, FieldValue)] {
        &self.0
    }
}

/// What can be the value of a field.
pub(crate) trait IntoField {
    /// The value; `None` if there is none.
    fn into_field(self) -> Option<FieldValue>;
}

impl IntoField for FieldValue {
    fn into_field(self) -> Option<FieldValue> {
        Some(self)
    }
}

impl<T: IntoField> IntoField for Option<T> {
    fn into_field(self) -> Option<FieldValue> {
        self.and_then(T::into_field)
    }
}

impl IntoField for &str {
    fn into_field(self) -> Option<FieldValue> {
        Some(FieldValue::Text(self.to_owned()))
    }
}

impl IntoField for String {
    fn into_field(self) -> Option<FieldValue> {
        Some(FieldValue::Text(self))
    }
}

impl IntoField for f64 {
    fn into_field(self) -> Option<FieldValue> {
        Some(FieldValue::Real(self))
    }
}

macro_rules! integer_fields {
    ($($integer:ty),*) => {
        $(impl IntoField for $integer {
            fn into_field(self) -> Option<FieldValue> {
                u64::try_from(self).ok().map(FieldValue::Integer)
            }
        })*
    };
}

integer_fields!(u8, u16, u32, u64, usize);

/// Defines an enum of events. For each variant: `=> { field: value }`, and its rows. A variant with
/// several rows names the index of the one that applies: `=> row(index) { ... }`. Variants in
/// other tables have only a name and a type.
macro_rules! events {
    (
        $(#[$enum_attr:meta])*
        pub enum $name:ident {
            $(section $section:literal {
                $(
                    $(#[$attr:meta])*
                    $variant:ident
                    $( ( $($pos:ident : $pos_ty:ty),* ) )?
                    $( { $( $(#[$field_attr:meta])* $field:ident : $field_ty:ty ),* $(,)? } )?
                    => $(row($index:expr))? { $( $key:ident : $value:expr ),* $(,)? } [
                        $( $severity:ident $text:literal: $meaning:literal $(do $action:literal)?; )+
                    ]
                )*
            })*
            $(in other tables {
                $( $(#[$other_attr:meta])* $other:ident($other_ty:ty) )*
            })?
        }
    ) => {
        $(#[$enum_attr])*
        pub enum $name {
            $($(
                $(#[$attr])*
                $variant $( ( $($pos_ty),* ) )?
                    $( { $( $(#[$field_attr])* $field : $field_ty ),* } )?,
            )*)*
            $($( $(#[$other_attr])* $other($other_ty), )*)?
        }

        impl $name {
            /// The rows of the table by section of docs/operations.md.
            pub const SECTIONS: &'static [(
                &'static str,
                &'static [$crate::event_table::EventRow],
            )] = &[ $( ($section, &[ $($( $crate::event_table::EventRow {
                name: $text,
                severity: $crate::event_table::Severity::$severity,
                meaning: $meaning,
                action: concat!($($action)?),
            } ),+),* ]) ),* ];

            /// Its row of the table.
            #[must_use]
            #[allow(unused_variables, reason = "most rows do not depend on fields")]
            pub fn row(&self) -> &'static $crate::event_table::EventRow {
                match self {
                    $($( Self::$variant $( ( $($pos),* ) )? $( { $($field),* } )? => {
                        const ROWS: &[$crate::event_table::EventRow] = &[ $(
                            $crate::event_table::EventRow {
                                name: $text,
                                severity: $crate::event_table::Severity::$severity,
                                meaning: $meaning,
                                action: concat!($($action)?),
                            }
                        ),+ ];
                        &ROWS[0 $(+ $index)?]
                    } )*)*
                    $($( Self::$other(inner) => inner.row(), )*)?
                }
            }

            /// Its fields.
            #[must_use]
            #[allow(unused_variables, reason = "some fields only select the row")]
            pub fn fields(&self) -> $crate::event_table::Fields {
                #[allow(unused_mut, reason = "some events have no fields")]
                let mut fields = $crate::event_table::Fields::default();
                match self {
                    $($( Self::$variant $( ( $($pos),* ) )? $( { $($field),* } )? => {
                        $( fields.add(stringify!($key), $value); )*
                    } )*)*
                    $($( Self::$other(inner) => return inner.fields(), )*)?
                }
                fields
            }
        }
    };
}

pub(crate) use events;
