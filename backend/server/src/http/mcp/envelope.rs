//! Determines the protocol version and the era of a request, from `params._meta` and the headers. A request of the
//! newer era names its version, and repeats its method and tool in headers, so that a proxy need not parse the body
//! (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>). A request of the
//! older era follows an `initialize` request, and names its version in a header or not at all.

use actix_web::http::header::HeaderMap;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::http::mcp::rpc::{Era, Failure, Message, NEWER, OLDER};

const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The parts of a request's parameters that determine its era.
#[derive(Default, Deserialize)]
struct Envelope {
    #[serde(default, rename = "_meta")]
    meta: Map<String, Value>,
    #[serde(default)]
    name: Option<Value>,
}

/// Returns the era of a request. Refuses a request that contradicts itself, or whose version is not supported.
pub(crate) fn era_of(headers: &HeaderMap, message: &Message<'_>) -> Result<Era, Failure> {
    // If a header occurs twice, a proxy may have read the other one.
    if [VERSION_HEADER, METHOD_HEADER, NAME_HEADER].iter().any(|name| headers.get_all(*name).count() > 1) {
        return Err(Failure::header_mismatch());
    }
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let version = header(VERSION_HEADER);
    // Parameters that cannot be parsed count as parameters without a version.
    let Envelope { meta, name } = message.params().unwrap_or_default();
    if !meta.contains_key(VERSION) && version.is_none_or(|version| !NEWER.contains(&version)) {
        return match version {
            Some(version) if !OLDER.contains(&version) => {
                Err(Failure::unsupported_version(version, &[&NEWER[..], &OLDER[..]].concat()))
            }
            _ if header(METHOD_HEADER).is_some_and(|method| method != message.method) => {
                Err(Failure::header_mismatch())
            }
            _ => Ok(Era::Older),
        };
    }
    let (Some(spoken), true) = (meta.get(VERSION).and_then(Value::as_str), meta.contains_key(CAPABILITIES)) else {
        return Err(Failure::bad_params(format!("The parameters must contain {VERSION} and {CAPABILITIES} in _meta.")));
    };
    // For a tool call, a header repeats the tool's name.
    let called = name.as_ref().and_then(Value::as_str).filter(|_| message.method == "tools/call");
    let repeats = version == Some(spoken)
        && header(METHOD_HEADER) == Some(&*message.method)
        && called.is_none_or(|name| header(NAME_HEADER) == Some(name));
    if !repeats {
        return Err(Failure::header_mismatch());
    }
    if NEWER.contains(&spoken) { Ok(Era::Newer) } else { Err(Failure::unsupported_version(spoken, &NEWER)) }
}
