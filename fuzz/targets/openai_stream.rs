//! The reader of a Chat Completions stream.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tallybook_llm::fuzzing::openai_stream(bytes));
