//! The reader of Anthropic's stream.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| rooms::llm::fuzzing::anthropic_stream(bytes));
