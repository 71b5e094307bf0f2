//! Phrases by which servers say in their errors what they do not accept, in lower case.

/// Phrases for a part that the server does not accept.
pub(crate) const NOT_TAKEN: [&str; 43] = [
    "not support",
    "n't support",
    "unsupported",
    "no support",
    "not enabled",
    "n't enabled",
    "not available",
    "n't available",
    "unavailable",
    "not allowed",
    "n't allowed",
    "not permitted",
    "n't permitted",
    "not accept",
    "n't accept",
    "not implement",
    "n't implement",
    "not compatible",
    "incompatible",
    "not capable",
    "incapable",
    "disabled",
    "deprecated",
    "no longer",
    "no endpoints found that support",
    "only the default",
    "only supports single",
    "does not have",
    "doesn't have",
    "cannot be used",
    "can't be used",
    "cannot be set",
    "cannot use",
    "can't use",
    "cannot call",
    "can't call",
    "not able to",
    "not trained for",
    "not possible",
    "not applicable",
    "not configured",
    "does not allow",
    "不支持",
];

/// Phrases for a field that the server does not know. They count for fields only, because errors about the ID of a call
/// use them, too.
pub(crate) const UNKNOWN: [&str; 16] = [
    "unknown",
    "unrecognized",
    "unrecognised",
    "not recognized",
    "unexpected",
    "extra input",
    "extra field",
    "additional propert",
    "invalid parameter",
    "invalid argument",
    "invalid field",
    "not a valid parameter",
    "not a valid field",
    "not a valid argument",
    "not expected",
    "no such field",
];

/// Phrases for an invalid number. Such an error means that the server accepts the field.
pub(crate) const BAD_NUMBER: [&str; 13] = [
    "too large",
    "too small",
    "too high",
    "too low",
    "too long",
    "at most",
    "at least",
    "must be",
    "should be",
    "between",
    "greater than",
    "less than",
    "exceed",
];

/// Phrases for an invalid word. Such an error means that the server accepts the field.
pub(crate) const BAD_WORD: [&str; 4] = ["unsupported value", "supported values", "expected one of", "invalid value"];

/// Phrases in errors about the definition of one tool. Such an error does not mean that the server accepts no tools.
pub(crate) const TOOL_DEFINITION: [&str; 9] = [
    "input_schema",
    "json schema",
    "json_schema",
    "function.parameters",
    "function_declarations",
    "tools[",
    "oneof",
    "anyof",
    "allof",
];

/// Names of tools and of the ability to call tools.
pub(crate) const TOOLS: [&str; 15] = [
    "tools",
    "tool use",
    "tool-use",
    "tool call",
    "tool-call",
    "tool_calls",
    "tool support",
    "tool message",
    "tool role",
    "role tool",
    "function calling",
    "function-calling",
    "function call",
    "functions",
    "function support",
];

/// Phrases in errors about one call, or about several calls at once.
pub(crate) const LESS_THAN_TOOLS: [&str; 6] =
    ["tool call id", "tool_call_id", "tool_use_id", "parallel", "multiple tool", "single tool"];

/// Phrases in errors of servers that were started without the options for tool calls: llama.cpp, vLLM.
pub(crate) const STARTED_WITHOUT_TOOLS: [&str; 3] =
    ["requires --jinja", "--enable-auto-tool-choice", "--tool-call-parser"];

/// Names of the system message.
pub(crate) const SYSTEM: [&str; 10] = [
    "system role",
    "system message",
    "system prompt",
    "system instruction",
    "system_instruction",
    "developer instruction",
    "role system",
    "role: system",
    "messages[0].role",
    "messages.0.role",
];

/// Names of the field `stop` in sentences where the word has no other meaning.
pub(crate) const STOP: [&str; 6] =
    ["stop sequence", "stop parameter", "parameter: stop", "parameter stop", "field stop", "supplied: stop"];

/// Names of images and of the ability to read them.
pub(crate) const IMAGES: [&str; 7] =
    ["image", "vision", "multimodal", "multi-modal", "multi modal", "mmproj", "content must be a string"];

/// Phrases in errors of models that read only text.
pub(crate) const TEXT_ONLY: [&str; 9] = [
    "only supported by certain models",
    "unknown variant image_url",
    "expected text",
    "at most 0 image",
    "not a multimodal",
    "not multimodal",
    "missing data required for image",
    "content must be a string",
    "no image support",
];

/// Phrases in errors about one image.
pub(crate) const ONE_IMAGE: [&str; 13] = [
    "format",
    "media type",
    "media_type",
    "mime",
    "too large",
    "too many",
    "size",
    "exceed",
    "dimension",
    "could not process",
    "decode",
    "base64",
    "download",
];
