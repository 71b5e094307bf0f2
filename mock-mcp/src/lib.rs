//! A tool server for tests that speaks MCP as a hostile or broken one would, over a program's standard streams
//! ([`stdio`]) and over Streamable HTTP ([`MockMcp`]). What it does wrong is named by [`Fault`] or by the tool that is
//! called; its README.md lists them. A server of [`ScriptedTool`]s does nothing wrong but what they say.

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
