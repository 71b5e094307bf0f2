//! The decoder of server-sent events.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rooms::llm::fuzzing::event_stream(bytes));
