//! The fields of a tool server.

use std::net::IpAddr;

use serde_json::{Map, Value};
use tallybook_protocol::ToolServerFields;

use super::{
    entry::members,
    fields::{Fault, Field, FieldFault, Texts},
};

/// Values of [`Field::Authentication`].
pub(crate) const KEEP: &str = "keep";
pub(crate) const TOKEN: &str = "token";
pub(crate) const HEADER: &str = "header";

/// Returns the texts of the fields of these settings.
pub(super) fn texts(settings: &ToolServerFields, has_headers: bool) -> Vec<(Field, Option<String>)> {
    vec![
        (Field::Name, Some(settings.name.clone())),
        (Field::Address, Some(settings.url.clone())),
        (Field::AllowHttp, settings.allow_http.then(|| "yes".to_owned())),
        (Field::Authentication, has_headers.then(|| KEEP.to_owned())),
        (Field::Approval, settings.risk.clone().filter(|risk| risk != "high")),
        (Field::Include, Some(settings.include.join(", "))),
        (Field::Exclude, Some(settings.exclude.join(", "))),
        (Field::Timeout, settings.timeout_secs.map(|seconds| seconds.to_string())),
        (Field::Pin, settings.pin.clone().filter(|pin| pin != "warn")),
    ]
}

/// Returns the field of the first setting that the sentence names.
pub(super) fn field_in(sentence: &str) -> Option<Field> {
    if sentence.contains("header name") {
        return Some(Field::Header);
    }
    sentence.split(|letter: char| !letter.is_alphanumeric() && letter != '_').find_map(|word| match word {
        "url" => Some(Field::Address),
        "header" | "headers" => Some(Field::Secret),
        "name" => Some(Field::Name),
        "risk" => Some(Field::Approval),
        "include" => Some(Field::Include),
        "exclude" => Some(Field::Exclude),
        "timeout_secs" => Some(Field::Timeout),
        "pin" => Some(Field::Pin),
        _ => None,
    })
}

/// Returns `true` if the address is sent unencrypted through the network, so that the user must allow it.
pub(super) fn is_plain_http(texts: &Texts) -> bool {
    let Some(rest) = texts.get(Field::Address).trim().strip_prefix("http://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next(),
        None => authority.split(':').next(),
    };
    let is_local =
        |host: &str| host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    host.is_some_and(|host| !host.is_empty() && !is_local(host))
}

/// Returns the headers to send. `None` leaves the stored ones as they are, and null removes them.
pub(super) fn headers(texts: &Texts, has_stored: bool) -> Result<Option<Value>, FieldFault> {
    let first = match texts.get(Field::Authentication) {
        TOKEN => {
            let token = texts.required(Field::Secret)?;
            let token = token.strip_prefix("Bearer ").map_or(token.as_str(), str::trim);
            ("Authorization".to_owned(), format!("Bearer {token}"))
        }
        HEADER => (texts.required(Field::Header)?, texts.required(Field::Secret)?),
        KEEP => return Ok(None),
        _ => return Ok(has_stored.then_some(Value::Null)),
    };
    let mut headers = vec![first];
    for line in texts.get(Field::MoreHeaders).lines().map(str::trim).filter(|line| !line.is_empty()) {
        let header = line.split_once(':').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        let is_new = |name: &str| !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let header = header.filter(|(name, value)| !name.is_empty() && !value.is_empty() && is_new(name));
        headers.push(header.ok_or((Field::MoreHeaders, Fault::NotAHeader))?);
    }
    Ok(Some(Value::Object(headers.into_iter().map(|(name, value)| (name, Value::String(value))).collect())))
}

/// Returns the settings, or the first field with a fault.
pub(super) fn settings(texts: &Texts, before: ToolServerFields) -> Result<Map<String, Value>, FieldFault> {
    let name = texts.required(Field::Name)?;
    let url = texts.checked_address()?.ok_or((Field::Address, Fault::Missing))?;
    let is_plain = is_plain_http(texts);
    if is_plain && texts.get(Field::AllowHttp).is_empty() {
        return Err((Field::AllowHttp, Fault::PlainHttp));
    }
    Ok(members(&ToolServerFields {
        name,
        allow_http: is_plain || (before.allow_http && url == before.url),
        url,
        risk: chosen(texts.get(Field::Approval), before.risk, "high"),
        include: names(texts.get(Field::Include)),
        exclude: names(texts.get(Field::Exclude)),
        timeout_secs: texts.whole(Field::Timeout)?,
        pin: chosen(texts.get(Field::Pin), before.pin, "warn"),
    }))
}

/// Returns the names of tools in a text.
fn names(text: &str) -> Vec<String> {
    let names = text.split([',', '、', '\n']).map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns the value of a setting. An empty text stands for the default, which `before` may name explicitly.
fn chosen(text: &str, before: Option<String>, default: &str) -> Option<String> {
    if text.is_empty() { before.filter(|before| before == default) } else { Some(text.to_owned()) }
}
