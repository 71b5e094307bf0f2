//! Tool calls with bad content, in both wire formats. The call of [`CALLS_FOR_EVER`] is repeated after each result, as
//! long as the request allows calls.

use super::{Fault, SUM, stream};
use crate::{Reply, tool_call, tool_call_with_id};

/// The name of the fault that never ends by itself.
pub(crate) const CALLS_FOR_EVER: &str = "calls_for_ever";

pub(crate) const FAULTS: &[Fault] = &[
    ("unknown_tool", || stream([tool_call("no_such_tool", SUM)])),
    ("arguments_miss_the_schema", || stream([tool_call("add", "{\"a\": {}, \"c\": 2}")])),
    (CALLS_FOR_EVER, || stream([tool_call("add", SUM)])),
    ("long_tool_name", || stream([tool_call("n".repeat(300), SUM)])),
    ("odd_tool_name", || stream([tool_call("git diff! ☃ <b>\u{0}", SUM)])),
    ("call_id_twice", || {
        let call = tool_call_with_id("call_same", "add", SUM);
        stream([call.clone(), call])
    }),
    ("ten_calls", || vec![tool_call("add", SUM); 10].into()),
    ("deep_json", || {
        stream([tool_call("add", format!("{{\"a\":{}{},\"b\":1}}", "[".repeat(100_000), "]".repeat(100_000)))])
    }),
    ("huge_number", || stream([tool_call("add", "{\"a\":1e999999,\"b\":1}")])),
    ("a_million_parentheses", a_million_parentheses),
];

fn a_million_parentheses() -> Reply {
    let expression = format!("{}1{}", "(".repeat(500_000), ")".repeat(500_000));
    stream([tool_call("evaluate", format!("{{\"expression\":\"{expression}\"}}"))])
}
