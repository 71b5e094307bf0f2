//! Reads JSON objects from external sources leniently: a field of an unexpected type counts as absent. Values stay
//! text, so numbers keep their digits.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

/// A JSON object: its keys in order, each with the text of its value.
#[derive(Debug, Default)]
pub(crate) struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Object<'a> {
    /// Reads an object. Returns `None` if the text isn't valid JSON, or is another kind of JSON.
    pub(crate) fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// Returns the keys with their values.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    /// Returns the value of a key, unless it is `null`.
    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.find(&[key]).filter(|value| value.get() != "null")
    }

    /// Returns the value of the first of these keys that the object has, even if it is `null`.
    pub(crate) fn find(&self, keys: &[&str]) -> Option<&'a RawValue> {
        keys.iter().find_map(|key| self.0.iter().find(|(name, _)| name == key).map(|(_, value)| *value))
    }

    /// Returns the text of a string field; `None` for a value of another type.
    pub(crate) fn string(&self, key: &str) -> Option<Cow<'a, str>> {
        string(self.get(key)?)
    }

    /// Returns the text of a string field, or the digits of a number.
    pub(crate) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        let value = self.get(key)?;
        if is_number(value) { Some(Cow::Borrowed(value.get())) } else { string(value) }
    }

    /// Returns a non-negative integer, which may be in a string.
    pub(crate) fn index(&self, key: &str) -> Option<u64> {
        self.text(key)?.trim().parse().ok()
    }

    /// Returns the object in a field; `None` for a value of another type.
    pub(crate) fn object(&self, key: &str) -> Option<Self> {
        Self::parse(self.get(key)?.get())
    }

    /// Returns the objects in a list. If the field is one object instead of a list, returns that object.
    pub(crate) fn objects(&self, key: &str) -> Vec<Self> {
        let Some(value) = self.get(key) else { return Vec::new() };
        match elements(value) {
            Some(elements) => elements.into_iter().filter_map(|element| Self::parse(element.get())).collect(),
            None => Self::parse(value.get()).into_iter().collect(),
        }
    }

    /// Returns a value of any type; `null` if it is missing or contains a number that is out of range.
    pub(crate) fn value(&self, key: &str) -> Value {
        self.get(key).and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default()
    }
}

/// Returns the elements of a list; `None` if the value is something else.
pub(crate) fn elements(value: &RawValue) -> Option<Vec<&RawValue>> {
    value.get().starts_with('[').then(|| serde_json::from_str(value.get()).unwrap_or_default())
}

/// Returns the text of a string; `None` if the value is something else.
pub(crate) fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    let Text(text) = serde_json::from_str(value.get()).ok()?;
    Some(text)
}

/// Returns the text of a string, or any other value as it is written.
pub(crate) fn written(value: &RawValue) -> Cow<'_, str> {
    string(value).unwrap_or(Cow::Borrowed(value.get()))
}

/// Returns `true` if the value is a number.
pub(crate) fn is_number(value: &RawValue) -> bool {
    value.get().starts_with(|c: char| c == '-' || c.is_ascii_digit())
}

/// A string that is copied only if it has escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((Text(key), value)) = map.next_entry()? {
                    fields.push((key, value));
                }
                Ok(Object(fields))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::Object;

    #[test]
    fn a_field_of_another_type_is_read_if_its_meaning_is_clear() {
        let object = Object::parse(
            r#"{"id":7,"index":"0","below":-1,"half":0.5,"off":false,"none":null,"list":[{"a":1},null,7],"one":{"a":1},
                "big":1e999,"e\u0061sy":"\u0061"}"#,
        )
        .unwrap();
        assert_eq!((object.text("id").as_deref(), object.string("id")), (Some("7"), None));
        assert_eq!((object.index("index"), object.index("id")), (Some(0), Some(7)));
        for key in ["below", "half", "off", "none", "list", "missing"] {
            assert_eq!(object.index(key), None, "{key}");
        }
        assert_eq!((object.text("off"), object.get("none").is_some()), (None, false));
        assert_eq!((object.objects("list").len(), object.objects("one").len(), object.objects("off").len()), (1, 1, 0));
        assert_eq!((object.value("big"), object.value("id")), (serde_json::Value::Null, 7.into()));
        assert_eq!(object.string("easy").as_deref(), Some("a"));
        for other in ["[]", "7", "null", "\"{}\"", "{", ""] {
            assert!(Object::parse(other).is_none(), "{other}");
        }
    }
}
