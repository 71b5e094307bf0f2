//! A tool server for tests that speaks MCP like a hostile or broken server, over standard input and output ([`stdio`])
//! and over Streamable HTTP ([`MockMcp`]). A [`Fault`] or the called tool selects what it does wrong; its README.md
//! lists both. A server of [`ScriptedTool`]s does nothing wrong except in their answers.

mod fault;
mod http;
mod machine;
mod program;
mod scripted;
mod stdio;
mod tools;
mod wire;

pub use fault::Fault;
pub use http::MockMcp;
pub use program::{Program, serve_if_asked};
pub use scripted::ScriptedTool;
pub use stdio::stdio;
