//! The parser that reads calls out of an answer's text.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tallybook_llm::fuzzing::prompted_text(bytes));
