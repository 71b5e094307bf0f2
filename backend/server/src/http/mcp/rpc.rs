//! JSON-RPC 2.0 messages (<https://www.jsonrpc.org/specification>), one per request, and their responses.

use std::borrow::Cow;

use actix_web::{HttpResponse, http::StatusCode};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json, value::RawValue};
use tallybook_protocol::first_chars;
use utoipa::{
    ToSchema,
    openapi::{
        Object,
        schema::{SchemaType, Type},
    },
};

/// Supported protocol versions of the newer era (`NEWER`) and of the older one (`OLDER`).
pub(crate) const NEWER: [&str; 1] = ["2026-07-28"];
pub(crate) const OLDER: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// The era of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// Requests are independent of each other, and the HTTP status of a response reports success or failure.
    Newer,
    /// Requests follow an `initialize` request. The HTTP status of a response is 200 even if the response is an error.
    Older,
}

/// Maximum length of a request id, in bytes of JSON.
const MAX_ID_BYTES: usize = 200;

/// Error code for a method that does not exist.
const NO_SUCH_METHOD: i32 = -32601;

/// The result of a request, or its error.
pub(crate) type Answer = Result<Value, Failure>;

/// A message from a client.
pub(crate) struct Message<'a> {
    /// Request id; `None` for a notification, which gets no response.
    pub(crate) id: Option<Value>,
    pub(crate) method: Cow<'a, str>,
    params: Option<&'a RawValue>,
}

/// A JSON-RPC message from a client.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RpcMessage<'a> {
    /// `2.0`
    #[serde(borrow)]
    #[schema(pattern = "^2\\.0$")]
    jsonrpc: Cow<'a, str>,
    /// Method, such as `tools/list` or `tools/call`.
    #[serde(borrow)]
    method: Cow<'a, str>,
    /// Request ID. Absent in a notification, which gets no response.
    #[serde(default, borrow, deserialize_with = "even_null")]
    #[schema(schema_with = id)]
    id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    #[schema(value_type = Value)]
    params: Option<&'a RawValue>,
}

/// The response to a message: a result or an error.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the type only describes the response, which is built as JSON")]
pub(crate) struct RpcAnswer {
    /// `2.0`
    jsonrpc: String,
    /// Request ID of the message.
    #[schema(schema_with = id)]
    id: Value,
    #[schema(value_type = Object, required = false)]
    result: Option<Value>,
    #[schema(value_type = Object, required = false)]
    error: Option<Value>,
}

fn id() -> Object {
    Object::with_type(SchemaType::from_iter([Type::String, Type::Number, Type::Null]))
}

/// Deserializes a field that is present, even if it is `null`: a `null` id is not the same as no id.
fn even_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl<'a> Message<'a> {
    pub(crate) fn read(body: &'a str) -> Result<Self, Failure> {
        let read: RpcMessage<'a> = serde_json::from_str(body).map_err(|_| Failure::no_request())?;
        let id = match read.id.map(RawValue::get) {
            None => None,
            Some(id) if id.len() <= MAX_ID_BYTES => match serde_json::from_str(id) {
                Ok(id @ (Value::String(_) | Value::Number(_))) => Some(id),
                _ => return Err(Failure::no_request()),
            },
            Some(_) => return Err(Failure::no_request()),
        };
        if read.jsonrpc != "2.0" {
            return Err(Failure::no_request());
        }
        Ok(Self { id, method: read.method, params: read.params })
    }

    /// Parses the parameters.
    pub(crate) fn params<T: Deserialize<'a>>(&self) -> Result<T, Failure> {
        let text = self.params.map_or("{}", RawValue::get);
        serde_json::from_str(text)
            .map_err(|error| Failure::bad_params(format!("The parameters are not valid: {error}.")))
    }

    /// Returns the parameter if it is a string.
    pub(crate) fn text_param(&self, name: &str) -> Option<String> {
        let params: Value = self.params().ok()?;
        params.get(name)?.as_str().map(str::to_owned)
    }
}

/// The error of a request.
#[derive(Debug)]
pub(crate) struct Failure {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl Failure {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn no_json() -> Self {
        Self::new(-32700, "The body is not JSON. Send one message with jsonrpc, id and method.")
    }

    fn no_request() -> Self {
        Self::new(-32600, "The body is not a JSON-RPC request. Send one message with jsonrpc, id and method.")
    }

    pub(crate) fn no_such_method() -> Self {
        Self::new(NO_SUCH_METHOD, "This method is not supported. Use tools/list or tools/call.")
    }

    pub(crate) fn bad_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    pub(crate) fn header_mismatch() -> Self {
        let text =
            "The headers Mcp-Protocol-Version, Mcp-Method and Mcp-Name must each occur once and match the message.";
        Self::new(-32020, text)
    }

    pub(crate) fn unsupported_version(asked: &str, spoken: &[&str]) -> Self {
        let asked: String = first_chars(asked, 40).to_owned();
        let data = json!({"requested": asked, "supported": spoken});
        Self { data: Some(data), ..Self::new(-32022, "This protocol version is not supported.") }
    }

    fn body(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        error
    }
}

/// Returns the response that refuses a message as an invalid request.
pub(crate) fn refuse(id: Option<Value>, failure: &Failure) -> HttpResponse {
    let mut body = json!({"jsonrpc": "2.0", "error": failure.body()});
    body["id"] = id.unwrap_or(Value::Null);
    HttpResponse::build(StatusCode::BAD_REQUEST).json(body)
}

/// Returns the response to a request, with the status that its era demands.
pub(crate) fn respond(id: &Value, answer: Answer, era: Era) -> HttpResponse {
    let mut body = json!({"jsonrpc": "2.0", "id": id});
    let status = match answer {
        Ok(result) => {
            body["result"] = result;
            StatusCode::OK
        }
        Err(failure) => {
            body["error"] = failure.body();
            match era {
                Era::Older => StatusCode::OK,
                Era::Newer if failure.code == NO_SUCH_METHOD => StatusCode::NOT_FOUND,
                Era::Newer => StatusCode::BAD_REQUEST,
            }
        }
    };
    HttpResponse::build(status).json(body)
}
