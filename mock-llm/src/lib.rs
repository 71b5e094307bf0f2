//! A scripted model server that speaks the real wire formats of Anthropic Messages and OpenAI Chat Completions over
//! real HTTP, for tests, and by its binary for trying things by hand. It lives apart from the server under test and
//! shares no code with it, so that a misreading of a wire format cannot cancel itself out.
//!
//! ```no_run
//! # async fn example() -> std::io::Result<()> {
//! use tallybook_mock_llm::{MockLlm, text, tool_call};
//!
//! let model = MockLlm::start().await?;
//! model.reply([text("Let me see."), tool_call("add", r#"{"a":1,"b":2}"#)]);
//! model.reply([text("It is 3.")]);
//! // … point the program at `model.url()`, let it chat …
//! model.assert_calls_paired();
//! # Ok(())
//! # }
//! ```
//!
//! Each request takes the next scripted reply. A request that no reply was scripted for is answered with HTTP 500 and
//! remembered; [`MockLlm::assert_calls_paired`] then panics. A request that the real provider would refuse (a tool call
//! without its result, roles that do not alternate, …) is answered with HTTP 400 and takes no reply.

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
pub use server::{MockLlm, serve_by_hand};
