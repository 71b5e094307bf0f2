//! Code that both wire formats share: the actions that a connection carries out, and splitting text into deltas.

use bytes::Bytes;

use crate::Gate;

/// One action of a connection.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Sends these bytes.
    Send(Bytes),
    /// Waits at this gate.
    Wait(Gate),
    /// Breaks the connection; no later action is carried out.
    Cut,
}

/// The wire format of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenAi,
}

/// Returns the actions with CRLF at the end of each line, and every byte sent by itself.
pub(crate) fn splinters(actions: Vec<Action>) -> Vec<Action> {
    let single = |byte: u8| Action::Send(Bytes::copy_from_slice(&[byte]));
    let mut splinters = Vec::new();
    for action in actions {
        let Action::Send(bytes) = action else {
            splinters.push(action);
            continue;
        };
        for byte in bytes {
            if byte == b'\n' {
                splinters.push(single(b'\r'));
            }
            splinters.push(single(byte));
        }
    }
    splinters
}

/// Maximum number of pieces of a text, so that a very long text does not take long to send.
const MAX_PIECES: usize = 1000;

/// Splits text into at least two pieces (if it has two characters), each of at most `longest` characters. The pieces
/// are longer if there would be more than [`MAX_PIECES`] otherwise.
pub(crate) fn pieces(text: &str, longest: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let longest = longest.max(characters.len().div_ceil(MAX_PIECES));
    let size = characters.len().div_ceil(2).clamp(1, longest);
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_are_several_and_lose_nothing() {
        assert_eq!(pieces("hi", 8), ["h", "i"]);
        assert_eq!(pieces("", 8), [""; 0]);
        assert_eq!(pieces("あいう🙂", 3), ["あい", "う🙂"]);
        assert_eq!(pieces("0123456789", 4).concat(), "0123456789");
        assert_eq!(pieces(&"x".repeat(1_000_000), 4).len(), 1000);
    }
}
