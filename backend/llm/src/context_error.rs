//! Recognizes errors that mean that the prompt exceeds the model's context window. No server has an HTTP status of its
//! own for this, and most have no error code, so the error is recognized by its text.

/// Phrases of such errors, in lower case.
const WORDS: [&str; 30] = [
    // OpenAI, DeepSeek, OpenRouter, vLLM, Mistral.
    "maximum context length",
    // OpenAI, newer; llama-cpp-python.
    "exceeds the context window",
    "exceed context window",
    // OpenAI's error code, if a server sends only that; Groq.
    "context_length_exceeded",
    "reduce the length of the messages",
    // Anthropic; Ollama ("prompt too long; exceeded max context length").
    "prompt is too long",
    "exceed context limit",
    "max context length",
    // llama.cpp.
    "exceeds the available context size",
    "context size has been exceeded",
    // Ollama; vLLM ("is too long to fit into the model (context length …)", "maximum model length").
    "exceeds the context length",
    "too long to fit into the model",
    "maximum model length",
    // Gemini.
    "exceeds the maximum number of tokens",
    // Amazon Bedrock.
    "input is too long for requested model",
    // xAI.
    "maximum prompt length",
    // Cohere.
    "total number of tokens in the prompt cannot exceed",
    // Kimi.
    "exceeded model token limit",
    // Alibaba.
    "range of input length should be",
    // Zhipu.
    "prompt exceeds max length",
    // text-generation-inference.
    "`inputs` tokens + `max_new_tokens` must be",
    "`inputs` must have less than",
    // LM Studio.
    "when context the overflows",
    "greater than the context length",
    // GitHub Models; Groq, if its token limit per minute is lower than one request of this size.
    "tokens_limit_reached",
    "request body too large for",
    "please reduce your message size",
    // LiteLLM, SambaNova and others.
    "contextwindowexceeded",
    "context_window_exceeded",
    "exceeds the model's context",
];

/// Text before the number that gives the size of the context window, in lower case.
const BEFORE_LIMIT: [&str; 10] = [
    "maximum context length is ",
    "maximum model length of ",
    "(context length ",
    "available context size (",
    // Anthropic: "233153 tokens > 200000 maximum".
    " tokens > ",
    "context window of ",
    "maximum number of tokens allowed (",
    "maximum prompt length is ",
    "exceeded model token limit: ",
    "max size: ",
];

/// Returns `true` if a server's message says that the prompt exceeds the context window.
pub(crate) fn says_so(message: &str) -> bool {
    let message = message.to_lowercase();
    WORDS.iter().any(|words| message.contains(words))
}

/// Returns the size of the model's context window in tokens, or `None` if the message does not contain it.
pub(crate) fn stated_limit(message: &str) -> Option<usize> {
    let message = message.to_lowercase();
    let number = |words: &&str| {
        let (_, rest) = message.split_once(*words)?;
        let digits = rest.split(|c: char| !c.is_ascii_digit() && c != ',').next()?;
        digits.replace(',', "").parse().ok()
    };
    BEFORE_LIMIT.iter().find_map(number)
}

#[cfg(test)]
mod tests {
    use super::{says_so, stated_limit};

    #[test]
    fn context_errors_of_servers_are_recognized() {
        for (message, limit) in [
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
                Some(8192),
            ),
            ("Your input exceeds the context window of this model. Please adjust your input and try again.", None),
            ("Please reduce the length of the messages or completion.", None),
            ("prompt is too long: 233153 tokens > 200000 maximum", Some(200_000)),
            (
                "input length and `max_tokens` exceed context limit: 174167 + 64000 > 200000, decrease input length",
                None,
            ),
            ("The decoder prompt (length 9000) is longer than the maximum model length of 4,096.", Some(4096)),
            ("The prompt (total length 25938) is too long to fit into the model (context length 4096).", Some(4096)),
            ("request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it", Some(4096)),
            ("the request exceeds the available context size. try increasing the context size", None),
            ("Context size has been exceeded.", None),
            ("Requested tokens (2285) exceed context window of 2048", Some(2048)),
            ("the input length exceeds the context length", None),
            ("prompt too long; exceeded max context length by 12 tokens", None),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_048_576),
            ),
            ("Input is too long for requested model.", None),
            ("Invalid request: Your request exceeded model token limit: 8192", Some(8192)),
            ("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]", None),
            ("Prompt exceeds max length", None),
            ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000", None),
            ("Trying to keep the first 5000 tokens when context the overflows.", None),
            (
                "The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length",
                None,
            ),
            ("Request body too large for gpt-4o model. Max size: 8000 tokens.", Some(8000)),
            (
                "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 8000, please reduce your message size and try again.",
                None,
            ),
            ("litellm.ContextWindowExceededError: it is too much", None),
            ("This model's maximum prompt length is 131072 but the request contains 200000 tokens.", Some(131_072)),
            ("too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.", None),
        ] {
            assert!(says_so(message), "{message}");
            assert_eq!(stated_limit(message), limit, "{message}");
        }
        for message in ["", "max_tokens is too large: 9000", "the request is too large", "context deadline exceeded"] {
            assert!(!says_so(message), "{message}");
        }
    }
}
