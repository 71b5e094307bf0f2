//! A scripted model server for tests, and a binary for manual use. It speaks the real wire formats of Anthropic
//! Messages and OpenAI Chat Completions over real HTTP. It shares no code with the server under test, so that a misread
//! wire format cannot cancel itself out.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use tallybook_mock_llm::{MockLlm, text, tool_call};
//!
//! let model = MockLlm::start().await?;
//! model.reply([text("Let me see."), tool_call("add", r#"{"a":1,"b":2}"#)]);
//! model.reply([text("It is 3.")]);
//! // … point the server under test at `model.url()` and let it chat …
//! model.assert_calls_paired();
//! # Ok(())
//! # }
//! ```
//!
//! Each request takes the next scripted reply. If no reply is scripted for a request, the server answers with HTTP 500
//! and records the request; [`MockLlm::assert_calls_paired`] then panics. A request that the real provider would refuse
//! (a tool call without its result, roles that do not alternate, …) gets HTTP 400 and takes no reply.

mod anthropic;
mod by_hand;
mod capture;
mod check;
mod faults;
mod gate;
mod openai;
mod script;
mod server;
mod wire;

pub use capture::CapturedRequest;
pub use faults::{fault, fault_names};
pub use gate::Gate;
pub use script::{
    Part, Reply, cut, end_of_file, hang, partial_tool_call, raw, redacted_thinking, text, thinking, tool_call,
    tool_call_with_id,
};
pub use server::{MockLlm, WRONG_KEY, serve_by_hand};
