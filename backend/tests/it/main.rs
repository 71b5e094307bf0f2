//! The integration tests: the whole server in this process, driven over real HTTP, on every database engine, with the
//! model played by `mock-llm`. One binary, so that it links once.

mod support;

mod bad_input;
mod command_line;
mod conversations;
mod failures;
mod following;
mod page;
mod storage;
mod turns;
