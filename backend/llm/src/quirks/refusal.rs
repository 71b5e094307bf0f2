//! Recognizes from a provider's refusal which part of the request the model's server cannot accept. Providers share no
//! error code for this. So this module reads the field that the error names, and phrases for "not supported" in the
//! same sentence.

use super::{
    Quirk,
    phrases::{
        BAD_NUMBER, BAD_WORD, IMAGES, LESS_THAN_TOOLS, NOT_TAKEN, ONE_IMAGE, STARTED_WITHOUT_TOOLS, STOP, SYSTEM,
        TEXT_ONLY, TOOL_DEFINITION, TOOLS, UNKNOWN,
    },
};
use crate::reason::Reason;

/// Returns the parts of a request that the refusal names, most likely first.
pub(crate) fn named_in(reason: &Reason) -> Vec<Quirk> {
    let whole = normalized(&reason.text_with_codes());
    let mut found = Vec::new();
    if has_any(&whole, &["propert"]) && has_any(&whole, &["pattern", "regex", "alphanumeric"]) {
        found.push(Quirk::NoSpecialPropertyNames);
    }
    if whole.contains("cache_control") && is_refused(&whole) {
        found.push(Quirk::NoCacheControl);
    }
    if takes_no_images(&whole) {
        found.push(Quirk::NoImages);
    }
    if is_about_one_tool(&whole) {
        return found;
    }
    // If the error names a field, no sentence about the field is needed.
    for field in reason.fields.iter().filter(|_| is_refused(&whole)) {
        let field = normalized(field);
        let root = field.trim_start_matches("body.").split('.').next().unwrap_or_default();
        found.extend(by_name(root).filter(|quirk| !is_about_value(*quirk, &whole)));
    }
    for sentence in whole.split(". ") {
        found.extend(named_in_sentence(sentence));
    }
    if recommends(&whole, "max_completion_tokens") {
        found.push(Quirk::NoMaxTokens);
    }
    if recommends(&whole, "max_tokens") {
        found.push(Quirk::NoMaxCompletionTokens);
    }
    found
}

/// Returns `true` if the error says that the API key is invalid. This is for servers that do not use status 401 for it.
pub(crate) fn refuses_key(reason: &Reason) -> bool {
    let whole = normalized(&reason.text_with_codes()).replace(['_', '-'], " ");
    has_any(&whole, &["api key", "apikey", "access token", "bearer token"])
        && has_any(
            &whole,
            &["invalid", "incorrect", "not valid", "missing", "expired", "revoked", "no api key", "wrong"],
        )
}

fn named_in_sentence(sentence: &str) -> Vec<Quirk> {
    let mut found = Vec::new();
    if is_refused(sentence) {
        // "stop" is too common a word to be recognized as the field.
        let fields = words(sentence).filter(|word| *word != "stop").filter_map(by_name);
        found.extend(fields.filter(|quirk| !is_about_value(*quirk, sentence)));
        // "Reasoning models do not support temperature" is about the temperature.
        found.sort_by_key(|quirk| *quirk == Quirk::NoReasoning);
        for (names, quirk) in [
            (&STOP[..], Quirk::NoStop),
            (&["parallel tool", "parallel function", "single tool", "multiple tool"], Quirk::NoParallelToolCalls),
            (&["tool choice"], Quirk::NoToolChoice),
        ] {
            if has_any(sentence, names) && !has_any(sentence, &STARTED_WITHOUT_TOOLS) {
                found.push(quirk);
            }
        }
        if sentence.contains("messages") && words(sentence).any(|word| word == "name") {
            found.push(Quirk::NoToolMessageName);
        }
    }
    if takes_no_system(sentence) {
        found.push(Quirk::NoSystemMessage);
    }
    if takes_no_tools(sentence) {
        found.push(Quirk::NoTools);
    }
    found
}

/// Returns the quirk of a server that does not accept the field with this name; `None` if no quirk concerns the field.
fn by_name(field: &str) -> Option<Quirk> {
    Some(match field {
        "stream_options" | "include_usage" => Quirk::NoStreamOptions,
        "max_tokens" => Quirk::NoMaxTokens,
        "max_completion_tokens" => Quirk::NoMaxCompletionTokens,
        "temperature" => Quirk::NoTemperature,
        "stop" | "stop_sequences" => Quirk::NoStop,
        "reasoning_effort" | "reasoning" | "output_config" | "effort" | "thinking" => Quirk::NoReasoning,
        "reasoning_content" | "reasoning_details" => Quirk::NoReasoningHistory,
        "tool_choice" => Quirk::NoToolChoice,
        "parallel_tool_calls" => Quirk::NoParallelToolCalls,
        _ => return None,
    })
}

/// Returns `true` if the server accepts the field, but not the value.
fn is_about_value(quirk: Quirk, sentence: &str) -> bool {
    match quirk {
        // OpenAI calls every temperature except one an unsupported value, so `BAD_WORD` does not apply to the
        // temperature.
        Quirk::NoMaxTokens | Quirk::NoMaxCompletionTokens | Quirk::NoTemperature => has_any(sentence, &BAD_NUMBER),
        Quirk::NoReasoning => has_any(sentence, &BAD_NUMBER) || has_any(sentence, &BAD_WORD),
        _ => false,
    }
}

fn is_refused(text: &str) -> bool {
    has_any(text, &NOT_TAKEN) || has_any(text, &UNKNOWN)
}

/// Returns `true` if the error is about the definition of one tool, as in `tools.0.custom.input_schema: …`.
fn is_about_one_tool(whole: &str) -> bool {
    let has_index = whole.split("tools.").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let is_about_schema = whole.contains("schema") && has_any(whole, &["tool", "function", "parameters"]);
    has_index || is_about_schema || has_any(whole, &TOOL_DEFINITION)
}

fn takes_no_tools(sentence: &str) -> bool {
    let is_unknown_field = has_any(sentence, &UNKNOWN) && words(sentence).any(|word| word == "tools");
    let is_not_taken = has_any(sentence, &TOOLS) && has_any(sentence, &NOT_TAKEN);
    has_any(sentence, &STARTED_WITHOUT_TOOLS)
        || ((is_unknown_field || is_not_taken) && !has_any(sentence, &LESS_THAN_TOOLS))
}

/// Returns `true` if the model reads no images. Errors about one image, such as its format or size, do not count.
fn takes_no_images(whole: &str) -> bool {
    let is_about_images = has_any(whole, &IMAGES) && (is_refused(whole) || has_any(whole, &TEXT_ONLY));
    is_about_images && !has_any(whole, &ONE_IMAGE)
}

fn takes_no_system(sentence: &str) -> bool {
    // These errors come from chat templates of models that support two roles only.
    let knows_two_roles = has_any(sentence, &["only user and assistant", "only user, assistant"])
        || (sentence.contains("conversation roles must alternate") && !sentence.contains("optional system"));
    let is_bad_role = is_refused(sentence) || has_any(sentence, &["invalid", "not one of", "should be", "must be"]);
    knows_two_roles || (has_any(sentence, &SYSTEM) && is_bad_role)
}

/// Returns `true` if the error recommends this field, as in "Use `max_completion_tokens` instead."
fn recommends(whole: &str, field: &str) -> bool {
    let parts: Vec<&str> = whole.split(field).collect();
    parts.windows(2).any(|pair| {
        let (before, after) = (pair[0], pair[1]);
        // The field name must not be part of a longer name.
        let is_name = !after.starts_with(|c: char| c == '_' || c.is_ascii_alphanumeric());
        let is_used =
            ["use ", "use the ", "use the parameter ", "in favor of ", "renamed to ", "replaced by ", "replaced with "];
        is_name && (is_used.iter().any(|word| before.ends_with(word)) || after.trim_start().starts_with("instead"))
    })
}

/// Converts a text to lower case, removes the marks around names, which differ between servers, and unifies the ends of
/// sentences.
fn normalized(text: &str) -> String {
    let text = text.to_lowercase().replace("n’t", "n't").replace("n't", "n\u{2}t");
    let plain: String = text.chars().filter(|c| !matches!(c, '"' | '`' | '\'' | '“' | '”' | '‘' | '’')).collect();
    plain.replace('\u{2}', "'").replace("! ", ". ").replace(char::is_whitespace, " ")
}

fn has_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

/// Returns the names and words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

#[cfg(test)]
mod tests {
    use super::{Quirk, Reason, named_in};

    fn named(message: &str) -> Vec<Quirk> {
        let mut found = named_in(&Reason::from_text(message));
        found.dedup();
        found
    }

    #[test]
    fn models_without_tools_are_recognized_by_meaning() {
        for message in [
            "No endpoints found that support tool use. To learn more about provider routing, visit: x",
            "registry.ollama.ai/library/gemma:2b does not support tools",
            "tools param requires --jinja flag",
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            "Unsupported parameter: 'tools' is not supported with this model.",
            "`tool calling` is not supported with this model",
            "Function calling is not enabled for models/gemma-3-27b-it",
            "Function calling is not enabled for this model",
            "This model doesn't support tool use.",
            "This model doesn’t support tool use in streaming mode.",
            "Tool use is not available for this model",
            "Model m is not capable of function calling.",
            "The model `m` cannot call functions",
            "Extra inputs are not permitted: tools",
            "Unrecognized request argument supplied: tools",
            "json: unknown field \"tools\"",
            "got an unexpected keyword argument 'tools'",
            "property 'tool_calls' is unsupported",
            "Tools are disabled on this deployment",
            "Unable to submit request because Function Calling is not supported by this model.",
            "Tools not supported",
            "The tools parameter is not supported by this model",
            "Model gemma is not able to use tools",
            "This model is not trained for tool use",
            "invalid request: tools are not supported",
            "Unsupported param: tools",
            "该模型不支持 function call",
            "Invalid parameter: tools",
        ] {
            assert_eq!(named(message), [Quirk::NoTools], "{message}");
        }
    }

    #[test]
    fn models_without_vision_are_recognized_by_meaning() {
        for message in [
            "Invalid content type. image_url is only supported by certain models.",
            "No endpoints found that support image input",
            "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
            "At most 0 image(s) may be provided in one request.",
            "google/gemma-2b is not a multimodal model",
            "Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text`",
            "this model is missing data required for image input",
            "'m' does not support image input.",
            "messages[0].content must be a string",
            "This model does not support vision",
        ] {
            assert_eq!(named(message), [Quirk::NoImages], "{message}");
        }
        for message in [
            "Unsupported image format: tiff",
            "image exceeds 5 MB maximum",
            "Could not process image",
            "messages.0.content.1.image.source.media_type: image/tiff is not allowed",
        ] {
            assert_eq!(named(message), [], "{message}");
        }
    }

    #[test]
    fn fields_are_recognized_by_their_names() {
        for (message, quirk) in [
            ("Unrecognized request argument supplied: stream_options", Quirk::NoStreamOptions),
            ("stream_options: Extra inputs are not permitted", Quirk::NoStreamOptions),
            (
                "Invalid JSON payload received. Unknown name \"stream_options\": Cannot find field.",
                Quirk::NoStreamOptions,
            ),
            ("Additional properties are not allowed ('stream_options' was unexpected)", Quirk::NoStreamOptions),
            ("Unsupported parameter: 'max_tokens' is not supported with this model.", Quirk::NoMaxTokens),
            ("Please use max_completion_tokens", Quirk::NoMaxTokens),
            ("Invalid parameter: stream_options", Quirk::NoStreamOptions),
            ("stream_options is not a valid parameter", Quirk::NoStreamOptions),
            ("Unrecognized key(s) in object: 'stream_options'", Quirk::NoStreamOptions),
            ("body.stream_options: property is not expected", Quirk::NoStreamOptions),
            ("Unrecognized field \"stream_options\" (class Request), not marked as ignorable", Quirk::NoStreamOptions),
            (
                "'max_tokens' is not compatible with this model. Use 'max_completion_tokens' instead.",
                Quirk::NoMaxTokens,
            ),
            ("temperature is not applicable to reasoning models", Quirk::NoTemperature),
            ("max_completion_tokens is not supported", Quirk::NoMaxCompletionTokens),
            ("`temperature` is deprecated for this model.", Quirk::NoTemperature),
            (
                "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
                Quirk::NoTemperature,
            ),
            ("Unsupported parameter: 'stop' is not supported with this model.", Quirk::NoStop),
            ("This model does not support the effort parameter.", Quirk::NoReasoning),
            ("adaptive thinking is not supported on this model", Quirk::NoReasoning),
            ("Reasoning models do not support temperature", Quirk::NoTemperature),
            ("property 'reasoning_content' is unsupported", Quirk::NoReasoningHistory),
            ("No endpoints found that support the provided 'tool_choice' value.", Quirk::NoToolChoice),
            (
                "'messages.2' : for 'role:tool' the following must be satisfied[('messages.2' : property 'name' is unsupported)]",
                Quirk::NoToolMessageName,
            ),
            ("This model only supports single tool-calls at once!", Quirk::NoParallelToolCalls),
            (
                "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
                Quirk::NoSpecialPropertyNames,
            ),
            ("tools.0.cache_control: Extra inputs are not permitted", Quirk::NoCacheControl),
            ("System role not supported", Quirk::NoSystemMessage),
            ("Developer instruction is not enabled for models/gemma-3-27b-it", Quirk::NoSystemMessage),
            ("Conversation roles must alternate user/assistant/user/assistant/...", Quirk::NoSystemMessage),
            ("Only user and assistant roles are supported!", Quirk::NoSystemMessage),
            ("System messages are not supported by this model.", Quirk::NoSystemMessage),
            ("Role 'system' is not supported", Quirk::NoSystemMessage),
            ("`system` role is not supported for this model", Quirk::NoSystemMessage),
            ("'system' is not one of ['user', 'assistant'] - 'messages.0.role'", Quirk::NoSystemMessage),
            ("Invalid role: system", Quirk::NoSystemMessage),
            ("Unsupported role: system", Quirk::NoSystemMessage),
            ("Unexpected role 'system', expected 'user' or 'assistant'", Quirk::NoSystemMessage),
            (
                "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
                Quirk::NoSystemMessage,
            ),
            ("messages[0].role: unknown variant `system`, expected `user` or `assistant`", Quirk::NoSystemMessage),
        ] {
            assert_eq!(named(message).first(), Some(&quirk), "{message}");
        }
        let both = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
        assert_eq!(named(both), [Quirk::NoMaxTokens]);
    }

    #[test]
    fn other_errors_name_nothing() {
        for message in [
            "",
            "the request is not as it should be",
            "Invalid schema for function 'add': 'oneOf' is not supported",
            "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
            "tools[0].function.parameters.type 'any' is not supported",
            "Invalid 'tools[0].function.name': string does not match pattern.",
            "Invalid schema for function 'heat': 'temperature' is not permitted",
            "tool function schema with unknown keyword 'stop'",
            "GenerateContentRequest.tools[0].function_declarations[0].parameters: unknown field",
            "messages.3: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1",
            "Unexpected tool call id abc in tool results",
            "No tool output found for function call call_1.",
            "max_tokens is too large: 9000. This model supports at most 4096 completion tokens, whereas you provided 9000.",
            "max_tokens: 9000 is not allowed, must be at most 8192",
            "temperature: Input should be less than or equal to 1",
            "`max_tokens` must be greater than `thinking.budget_tokens`",
            "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported values are: 'low'.",
            "The system is not available",
            "The model `m` does not exist",
            "We stop: this content is not allowed",
        ] {
            assert_eq!(named(message), [], "{message}");
        }
    }

    #[test]
    fn the_field_of_an_error_counts_with_its_code() {
        let reason = Reason::read(
            br#"{"error":{"message":"This is wrong.","param":"stream_options","code":"unsupported_parameter"}}"#,
        );
        assert_eq!(named_in(&reason), [Quirk::NoStreamOptions]);
    }
}
