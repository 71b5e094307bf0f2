//! The decoder of server-sent events.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tallybook_llm::fuzzing::event_stream(bytes));
