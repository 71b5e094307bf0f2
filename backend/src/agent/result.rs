//! What a model is told of a call: JSON, cut to a limit.

use serde_json::json;

/// `{"success":true,"result":…}`, the output cut to `limit` bytes.
pub fn success_json(output: &str, limit: usize) -> String {
    json!({"success": true, "result": shorten(output, limit)}).to_string()
}

/// `{"success":false,"error":…,"error_type":…}`, the error cut to `limit` bytes.
pub fn error_json(error: &str, error_type: &str, limit: usize) -> String {
    json!({"success": false, "error": shorten(error, limit), "error_type": error_type}).to_string()
}

/// Cuts at a character boundary and says so.
pub(super) fn shorten(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let kept = &text[..text.floor_char_boundary(limit)];
    format!("{kept}\n… cut here: these are the first {} of {} bytes", kept.len(), text.len())
}

#[cfg(test)]
mod tests {
    use super::{error_json, shorten, success_json};

    #[test]
    fn results_are_json_that_says_how_it_went() {
        assert_eq!(success_json("0.3", 99), r#"{"result":"0.3","success":true}"#);
        let error = error_json("invalid_b: division by zero", "invalid_argument", 99);
        assert_eq!(error, r#"{"error":"invalid_b: division by zero","error_type":"invalid_argument","success":false}"#);
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(shorten("数数", 4), "数\n… cut here: these are the first 3 of 6 bytes");
        assert_eq!(shorten("数", 3), "数");
    }
}
