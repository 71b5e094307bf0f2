//! Faults by name, so that a test (`model.reply(fault("cut"))`) and a person (`fault:cut` in a message to the binary)
//! ask for the same thing. Only faults that mean the same in both wire formats are here; those of one format are
//! scripted with [`crate::raw`] where they are tested.

use crate::{Part, Reply, cut, end_of_file, hang, partial_tool_call, raw, text};

/// Every name that [`fault`] knows.
pub const FAULT_NAMES: &[&str] = &[
    "bad_request",
    "cut",
    "cut_in_tool_call",
    "end_of_file",
    "hang",
    "not_json",
    "overloaded",
    "rate_limited",
    "rate_limited_in_ms",
    "server_error",
    "too_large",
    "unauthorized",
    "unknown_model",
];

/// The reply that plays this fault.
pub fn fault(name: &str) -> Option<Reply> {
    let beginning = || text("The beginning of an answer, ");
    Some(match name {
        "bad_request" => error(400, "invalid_request_error", "the request is not as it should be"),
        "unauthorized" => error(401, "authentication_error", "invalid x-api-key"),
        "unknown_model" => error(404, "not_found_error", "no such model"),
        "too_large" => error(413, "request_too_large", "the request is too large"),
        "rate_limited" => error(429, "rate_limit_error", "slow down").header("retry-after", "1"),
        "rate_limited_in_ms" => error(429, "rate_limit_error", "slow down").header("retry-after-ms", "1"),
        "server_error" => error(500, "api_error", "internal server error"),
        "overloaded" => error(529, "overloaded_error", "Overloaded"),
        "cut" => stream([beginning(), cut()]),
        "cut_in_tool_call" => stream([beginning(), partial_tool_call("add", "{\"a\": 1"), cut()]),
        "end_of_file" => stream([beginning(), end_of_file()]),
        "hang" => stream([beginning(), hang()]),
        "not_json" => stream([beginning(), raw("data: {this is not JSON\n\n")]),
        _ => return None,
    })
}

/// An error body that both providers' readers understand.
fn error(status: u16, kind: &str, message: &str) -> Reply {
    Reply::fail(status, crate::anthropic::error_body(kind, message))
}

fn stream<const N: usize>(parts: [Part; N]) -> Reply {
    parts.into()
}

#[cfg(test)]
mod tests {
    use super::{FAULT_NAMES, fault};

    #[test]
    fn every_name_is_known_and_no_other() {
        for name in FAULT_NAMES {
            assert!(fault(name).is_some(), "{name}");
        }
        assert!(fault("nonsense").is_none());
    }
}
