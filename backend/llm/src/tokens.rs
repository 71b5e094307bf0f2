//! Estimates the number of tokens of a text that no provider has counted. It uses no provider's vocabulary:
//! vocabularies differ, and a wrong one would give no better result than this estimate.

use tallybook_tools::ToolSpec;

use super::request::{AssistantBlock, ImagePart, ModelMessage, ModelRequest, ToolResult, UserPart};

/// Overhead of a message, a call or a result in addition to its text, in tokens: role marks, IDs, field names.
const OVERHEAD_TOKENS: usize = 8;

/// Number of pixels of an image that take one token.
const PIXELS_PER_TOKEN: u64 = 750;

/// Estimates the maximum number of tokens of a text:
/// - one token for three ASCII characters
/// - two tokens for three characters of two bytes in UTF-8 (accented Latin, Cyrillic, Greek, Arabic, Hebrew)
/// - four tokens for three characters of three bytes (Japanese, Chinese, Korean, Thai, the scripts of India)
/// - three tokens for one character of four bytes (emoji, rare Chinese characters)
///
/// Current vocabularies need fewer tokens for ordinary text: about one token for four English characters or for one
/// Japanese character. So a text that fits by this estimate fits the model.
pub fn of_text(text: &str) -> usize {
    // Counts in thirds of a token.
    let thirds = text.chars().map(|c| match c.len_utf8() {
        1 => 1,
        2 => 2,
        3 => 4,
        _ => 9,
    });
    thirds.sum::<usize>().div_ceil(3)
}

/// Estimates the maximum number of tokens of a message of the history.
pub fn of_message(message: &ModelMessage) -> usize {
    let parts: usize = match message {
        ModelMessage::User(parts) => parts.iter().map(of_user_part).sum(),
        ModelMessage::Assistant(blocks) => blocks.iter().map(of_block).sum(),
        ModelMessage::ToolResults(results) => {
            let of_images = |result: &ToolResult| result.images.iter().map(of_user_part).sum::<usize>();
            results.iter().map(|result| of_text(&result.content) + of_images(result) + OVERHEAD_TOKENS).sum()
        }
    };
    parts + OVERHEAD_TOKENS
}

/// Estimates the maximum number of tokens of the available tools.
pub fn of_tools(tools: &[ToolSpec]) -> usize {
    let of_tool = |tool: &ToolSpec| {
        of_text(&tool.name) + of_text(&tool.description) + of_text(&tool.input_schema.to_string()) + OVERHEAD_TOKENS
    };
    tools.iter().map(of_tool).sum()
}

/// Estimates the maximum number of tokens of a complete prompt.
pub fn of_request(request: &ModelRequest) -> usize {
    let system: usize = request.system.iter().map(|text| of_text(text)).sum();
    let messages: usize = request.messages.iter().map(of_message).sum();
    system + messages + of_tools(&request.tools)
}

/// Maximum number of tokens of an image as it is sent to models.
const MAX_IMAGE_TOKENS: usize = 1600;

fn of_user_part(part: &UserPart) -> usize {
    match part {
        UserPart::Text(text) => of_text(text),
        UserPart::Image(image) => of_image(image),
        // Its size is not known. An image has at most this many.
        UserPart::StoredFile(_) => MAX_IMAGE_TOKENS,
    }
}

/// Estimates the tokens of an image from its size
/// (<https://docs.claude.com/en/docs/build-with-claude/vision#evaluate-image-size>).
fn of_image(image: &ImagePart) -> usize {
    let pixels = u64::from(image.width) * u64::from(image.height);
    usize::try_from(pixels.div_ceil(PIXELS_PER_TOKEN)).unwrap_or(usize::MAX).saturating_add(OVERHEAD_TOKENS)
}

fn of_block(block: &AssistantBlock) -> usize {
    match block {
        AssistantBlock::Text { text } => of_text(text),
        AssistantBlock::ToolCall(call) => of_text(&call.name) + of_text(&call.input_text) + OVERHEAD_TOKENS,
        AssistantBlock::Opaque { json, .. } => of_text(json),
    }
}

#[cfg(test)]
mod tests {
    use super::{of_message, of_text};
    use crate::{AssistantBlock, ModelMessage, ToolCallRequest, ToolResult};

    #[test]
    fn estimates_depend_on_the_script() {
        for (text, tokens) in [
            ("", 0),
            ("a", 1),
            ("The quick brown fox jumps over the lazy dog.", 15),
            ("吾輩は猫である。名前はまだ無い。", 22),
            ("Съешь же ещё этих мягких французских булок", 26),
            ("🙂🙂", 6),
        ] {
            assert_eq!(of_text(text), tokens, "{text}");
        }
    }

    #[test]
    fn calls_and_results_count_with_their_overhead() {
        let call = ToolCallRequest {
            id: "a".to_owned(),
            name: "add".to_owned(),
            input_text: "{}".to_owned(),
            written_by: None,
        };
        let said = ModelMessage::Assistant(vec![AssistantBlock::ToolCall(call)]);
        let result = ToolResult {
            call_id: "a".to_owned(),
            tool_name: "add".to_owned(),
            content: "123456".to_owned(),
            is_error: false,
            images: Vec::new(),
        };
        let counted = [ModelMessage::user_text("123"), said, ModelMessage::ToolResults(vec![result])];
        assert_eq!(counted.each_ref().map(of_message), [9, 18, 18]);
    }
}
