//! The reader of Anthropic's stream.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tallybook_llm::fuzzing::anthropic_stream(bytes));
