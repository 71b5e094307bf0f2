//! Markup that models write into their text if the provider does not remove it: tool calls in the syntax of their
//! training, and reasoning.

use super::{Fault, stream};
use crate::text;

pub(crate) const FAULTS: &[Fault] = &[
    ("qwen_xml_call", || {
        let parameters = "<parameter=a>\n0.10\n</parameter>\n<parameter=b>\n2\n</parameter>";
        stream([text(format!("Adding.\n<tool_call>\n<function=add>\n{parameters}\n</function>\n</tool_call>"))])
    }),
    ("hermes_call", || {
        stream([text(format!("Adding.\n<tool_call>\n{{\"name\": \"add\", \"arguments\": {ARGUMENTS}}}\n</tool_call>"))])
    }),
    ("mistral_list_of_calls", || {
        stream([text(format!("Adding.\n[TOOL_CALLS][{{\"name\": \"add\", \"arguments\": {ARGUMENTS}}}]"))])
    }),
    ("mistral_named_call", || stream([text(format!("Adding.\n[TOOL_CALLS]add[ARGS]{ARGUMENTS}"))])),
    ("llama_python_tag", || {
        stream([text(format!("Adding.\n<|python_tag|>{{\"name\": \"add\", \"parameters\": {ARGUMENTS}}}"))])
    }),
    ("llama_bare_json", || stream([text(format!("Adding.\n{{\"name\": \"add\", \"parameters\": {ARGUMENTS}}}"))])),
    ("think_in_text", || stream([text("<think>\nOne and two.\n</think>\n\nThree.")])),
    ("think_never_closed", || stream([text("<think>\nOne and two, and")]).stop_reason("max_tokens")),
    ("think_of_a_call", || {
        let call = format!("<tool_call>{{\"name\": \"add\", \"arguments\": {ARGUMENTS}}}</tool_call>");
        stream([text(format!("<think>I could write {call}.</think>No need: three."))])
    }),
];

const ARGUMENTS: &str = "{\"a\":0.10,\"b\":2}";
