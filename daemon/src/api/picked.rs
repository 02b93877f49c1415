//! Single fields of an object as JSON, without the cost of all of it: most objects of a long list
//! are only looked at.

use core::fmt;

use serde::ser::{Error, Impossible, Serialize, SerializeMap, SerializeStruct, Serializer};
use serde_json::{Map, Value};

/// These fields of an object; all of it if it is not an object.
pub(super) fn fields<T: Serialize>(object: &T, names: &[&str]) -> serde_json::Result<Value> {
    match object.serialize(Picker { names }) {
        Ok(fields) => Ok(Value::Object(fields)),
        Err(NotPicked) => serde_json::to_value(object),
    }
}

/// The object cannot be serialized field by field.
#[derive(Debug)]
struct NotPicked;

impl fmt::Display for NotPicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a struct or map")
    }
}

impl core::error::Error for NotPicked {}

impl Error for NotPicked {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

struct Picker<'q> {
    names: &'q [&'q str],
}

/// The fields so far.
struct Fields<'q> {
    names: &'q [&'q str],
    found: Map<String, Value>,
    /// The key of a map whose value comes next, if it is wanted.
    key: Option<String>,
}

impl Fields<'_> {
    fn add<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), NotPicked> {
        if self.names.contains(&name) {
            let value = serde_json::to_value(value).map_err(NotPicked::custom)?;
            self.found.insert(name.to_owned(), value);
        }
        Ok(())
    }
}

impl SerializeStruct for Fields<'_> {
    type Ok = Map<String, Value>;
    type Error = NotPicked;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), NotPicked> {
        self.add(name, value)
    }

    fn end(self) -> Result<Self::Ok, NotPicked> {
        Ok(self.found)
    }
}

impl SerializeMap for Fields<'_> {
    type Ok = Map<String, Value>;
    type Error = NotPicked;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), NotPicked> {
        let key = serde_json::to_value(key).map_err(NotPicked::custom)?;
        self.key = key.as_str().map(str::to_owned);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), NotPicked> {
        let key = self.key.take().ok_or(NotPicked)?;
        self.add(&key, value)
    }

    fn end(self) -> Result<Self::Ok, NotPicked> {
        Ok(self.found)
    }
}

macro_rules! not_picked {
    ($($method:ident($($name:ident: $type:ty),*);)*) => {
        $(fn $method(self, $($name: $type),*) -> Result<Self::Ok, NotPicked> {
            $(let _ = $name;)*
            Err(NotPicked)
        })*
    };
}

impl<'q> Serializer for Picker<'q> {
    type Ok = Map<String, Value>;
    type Error = NotPicked;
    type SerializeSeq = Impossible<Self::Ok, NotPicked>;
    type SerializeTuple = Impossible<Self::Ok, NotPicked>;
    type SerializeTupleStruct = Impossible<Self::Ok, NotPicked>;
    type SerializeTupleVariant = Impossible<Self::Ok, NotPicked>;
    type SerializeMap = Fields<'q>;
    type SerializeStruct = Fields<'q>;
    type SerializeStructVariant = Impossible<Self::Ok, NotPicked>;

    not_picked! {
        serialize_bool(value: bool);
        serialize_i8(value: i8);
        serialize_i16(value: i16);
        serialize_i32(value: i32);
        serialize_i64(value: i64);
        serialize_u8(value: u8);
        serialize_u16(value: u16);
        serialize_u32(value: u32);
        serialize_u64(value: u64);
        serialize_f32(value: f32);
        serialize_f64(value: f64);
        serialize_char(value: char);
        serialize_str(value: &str);
        serialize_bytes(value: &[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(name: &'static str);
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str);
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Self::Ok, NotPicked> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Self::Ok, NotPicked> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Self::Ok, NotPicked> {
        Err(NotPicked)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, NotPicked> {
        Err(NotPicked)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, NotPicked> {
        Err(NotPicked)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, NotPicked> {
        Err(NotPicked)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, NotPicked> {
        Err(NotPicked)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Fields<'q>, NotPicked> {
        Ok(Fields {
            names: self.names,
            found: Map::new(),
            key: None,
        })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields<'q>, NotPicked> {
        self.serialize_map(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, NotPicked> {
        Err(NotPicked)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(serde::Serialize)]
    struct Inner {
        port: u8,
    }

    #[derive(serde::Serialize)]
    struct Object {
        name: &'static str,
        a: Inner,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<u8>,
        #[serde(flatten)]
        more: Inner,
    }

    /// Structs and maps have the wanted fields that they have, as they would be in the whole.
    #[test]
    fn wanted_fields_are_as_in_the_whole() {
        #[derive(serde::Serialize)]
        struct Plain {
            name: &'static str,
            a: Inner,
            note: Option<u8>,
        }
        let object = Object {
            name: "x",
            a: Inner { port: 1 },
            note: None,
            more: Inner { port: 2 },
        };
        let plain = Plain {
            name: "x",
            a: Inner { port: 1 },
            note: None,
        };
        let names = ["a", "port", "note", "other"];
        assert_eq!(
            fields(&object, &names).unwrap(),
            json!({"a": {"port": 1}, "port": 2})
        );
        assert_eq!(
            fields(&plain, &names).unwrap(),
            json!({"a": {"port": 1}, "note": null})
        );
        assert_eq!(
            fields(&json!({"a": 1, "b": 2}), &["b"]).unwrap(),
            json!({"b": 2})
        );
        assert_eq!(fields(&json!([1]), &names).unwrap(), json!([1]));
    }
}
