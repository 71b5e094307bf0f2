//! Faults by name, so that a test (`model.reply(fault("cut"))`) and a user of the binary (`fault:cut` in a message) get
//! the same reply. This file has the faults that mean the same in both wire formats. The other files have those of one
//! format, bad tool calls, and markup that models write into their text.

mod anthropic;
mod calls;
mod dialects;
mod kit;
mod openai;

use self::kit::{Fault, SUM, stream};
use crate::{
    Gate, Part, Reply, cut, end_of_file, hang, partial_tool_call, raw, redacted_thinking, text, thinking, tool_call,
};

pub(crate) use calls::CALLS_FOR_EVER;

/// The faults of both formats.
const COMMON: &[Fault] = &[
    // HTTP errors that are retried.
    ("request_timeout", || error(408, "timeout_error", "the request took too long")),
    ("conflict", || error(409, "conflict_error", "try again")),
    ("rate_limited", || error(429, "rate_limit_error", "slow down").header("retry-after", "1")),
    ("retry_after_ms", || error(429, "rate_limit_error", "slow down").header("retry-after-ms", "1")),
    ("retry_after_date", || {
        error(429, "rate_limit_error", "slow down").header("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")
    }),
    ("retry_after_too_long", || error(429, "rate_limit_error", "slow down").header("retry-after", "61")),
    ("server_error", || error(500, "api_error", "internal server error")),
    ("bad_gateway", || Reply::fail(502, "<html>Bad Gateway</html>")),
    ("unavailable", || error(503, "api_error", "down for maintenance")),
    ("gateway_timeout", || Reply::fail(504, "")),
    ("overloaded", || error(529, "overloaded_error", "Overloaded")),
    // HTTP errors that are final.
    ("bad_request", || error(400, "invalid_request_error", "the request is not as it should be")),
    ("unauthorized", || error(401, "authentication_error", "invalid x-api-key")),
    ("forbidden", || error(403, "permission_error", "this key may not use this model")),
    ("unknown_model", || error(404, "not_found_error", "no such model")),
    ("too_large", || error(413, "request_too_large", "the request is too large")),
    ("out_of_credit", || {
        let words = "You exceeded your current quota, please check your plan and billing details.";
        error(429, "insufficient_quota", words)
    }),
    ("tools_unsupported", || error(400, "invalid_request_error", "some-model does not support tools")),
    ("not_a_stream", || Reply::fail(200, "{\"hello\": 1}")),
    // Stalls and broken connections.
    ("hang_before_headers", || stream([beginning()]).after(&Gate::new())),
    ("hang", || stream([beginning(), hang()])),
    ("cut", || stream([beginning(), cut()])),
    ("cut_at_once", || stream([cut()])),
    ("cut_in_tool_call", || stream([beginning(), partial_tool_call("add", "{\"a\": 1"), cut()])),
    ("end_of_file", || stream([beginning(), end_of_file()])),
    ("not_json", || stream([beginning(), raw("data: {this is not JSON\n\n")])),
    // Errors after HTTP 200.
    ("overloaded_in_stream", || stream([overloaded()])),
    ("overloaded_after_thinking", || stream([thinking("hm", "c2ln"), overloaded()])),
    ("overloaded_after_text", || stream([beginning(), overloaded()])),
    // Odd replies that are still answers.
    ("everything", everything),
    ("split_at_every_byte", || everything().splintered()),
    ("comments_and_pings", || stream([noise(), text("Quiet"), noise(), text(" words."), noise()])),
    ("thinking", || stream([thinking("Let me think.", "c2ln"), redacted_thinking("eHl6"), text("Yes.")])),
    ("several_calls", || stream([tool_call("add", SUM), tool_call("add", SUM), tool_call("multiply", SUM)])),
    ("empty_tool_input", || stream([tool_call("add", "")])),
    ("tool_input_not_json", || stream([tool_call("add", "{\"a\": oops")])),
    ("max_tokens_in_tool_call", || stream([partial_tool_call("add", "{\"a\": 1, \"b\"")]).stop_reason("max_tokens")),
    ("refusal", || stream([]).stop_reason("refusal")),
    ("refusal_after_text", || stream([beginning()]).stop_reason("refusal")),
    ("long_stop_reason", || stream([text("Well.")]).stop_reason("because_".repeat(40))),
    ("nothing_to_say", || stream([])),
];

/// Returns every name that [`fault`] accepts.
pub fn fault_names() -> impl Iterator<Item = &'static str> {
    all().map(|(name, _)| *name)
}

/// Returns the reply of a fault; `None` if the name is unknown.
pub fn fault(name: &str) -> Option<Reply> {
    all().find(|(known, _)| *known == name).map(|(_, reply)| reply())
}

fn all() -> impl Iterator<Item = &'static Fault> {
    COMMON.iter().chain(calls::FAULTS).chain(dialects::FAULTS).chain(anthropic::FAULTS).chain(openai::FAULTS)
}

/// Returns an error body that the readers of both providers understand.
fn error(status: u16, kind: &str, message: &str) -> Reply {
    Reply::fail(status, crate::anthropic::error_body(kind, message))
}

fn beginning() -> Part {
    text("The beginning of an answer, ")
}

/// Returns an error event that both readers understand.
fn overloaded() -> Part {
    let body = crate::anthropic::error_body("overloaded_error", "Overloaded");
    raw(format!("event: error\ndata: {body}\n\n"))
}

/// Returns text in two scripts and outside the Basic Multilingual Plane, and calls.
fn everything() -> Reply {
    stream([thinking("考え", "c2ln"), text("12.5 は🙂 “ok”"), tool_call("add", SUM), tool_call("add", "{}")])
}

/// Returns what readers of event streams must ignore: comments, pings, one of them with data on several lines, and
/// unknown and empty fields.
fn noise() -> Part {
    raw(": OPENROUTER PROCESSING\n\n:\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\nevent: ping\ndata: {\ndata: \
         \"type\":\ndata:\"ping\"}\n\nretry: 5\nid\nunknown: field\n\n")
}

#[cfg(test)]
mod tests {
    use super::{fault, fault_names};

    #[test]
    fn every_name_exists_once() {
        let names: Vec<&str> = fault_names().collect();
        let distinct: std::collections::HashSet<&str> = names.iter().copied().collect();
        assert_eq!(names.len(), distinct.len());
        assert!(names.iter().all(|name| fault(name).is_some()));
        assert!(fault("nonsense").is_none());
        for name in names {
            assert!(include_str!("../../README.md").contains(&format!("`{name}`")), "the README names {name}");
        }
    }
}
