//! Keyboard shortcuts: maps key presses to commands. Pure; the components listen for keys and run the commands.

/// A command that the user gives with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Palette,
    Search,
    /// Finds text in the open conversation.
    Find,
    NewChat,
    Help,
    /// Closes the topmost open element. If nothing is open, stops the answer.
    Close,
    PreviousCall,
    NextCall,
    ToggleCalls,
    /// Chooses one of the numbered options of a call that waits for approval.
    Choose(u8),
}

/// Element that receives a key press unless a shortcut takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Page,
    /// A text field.
    Field,
    /// A listbox, which takes letters and closes with Esc.
    Choice,
    /// A dialog over the page, which closes with Esc.
    Dialog,
}

/// Returns the name of a key for shortcuts. On a keyboard with non-Latin letters, the position counts: `л` on the key
/// `KeyK` is `k`.
pub(crate) fn shortcut_key(key: &str, code: &str) -> String {
    let is_other_script = |c: char| c >= '\u{370}' && !('\u{1e00}'..='\u{1eff}').contains(&c) && c.is_alphanumeric();
    let by_place = match code {
        _ if !key.chars().all(is_other_script) => None,
        "BracketLeft" => Some("[".to_owned()),
        "BracketRight" => Some("]".to_owned()),
        "Slash" => Some("/".to_owned()),
        _ => code.strip_prefix("Key").or_else(|| code.strip_prefix("Digit")).map(str::to_ascii_lowercase),
    };
    by_place.unwrap_or_else(|| key.to_owned())
}

/// A key press.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "three modifier keys, a repeat flag, and a setting")]
pub(crate) struct Press<'a> {
    /// The key's name, such as `k` or `Escape`.
    pub(crate) key: &'a str,
    /// `true` while the key is held down and repeats.
    pub(crate) repeats: bool,
    /// Ctrl or ⌘.
    pub(crate) control: bool,
    pub(crate) shift: bool,
    pub(crate) alt: bool,
    pub(crate) target: Target,
    /// `true` if shortcuts of a single character are enabled.
    pub(crate) single_keys: bool,
}

impl Press<'_> {
    /// Returns the command of the key press. Shortcuts of a single character work only outside of text fields.
    pub(crate) fn command(self) -> Option<Command> {
        let Self { key, repeats, control, shift, alt, target, single_keys } = self;
        let is_free = target == Target::Page && single_keys;
        // Some keyboards have brackets only with AltGr, which counts as Ctrl and Alt together.
        let plain = !control || alt;
        let command = match key {
            "k" | "K" if control && !shift && !alt => Command::Palette,
            "f" | "F" if control && shift && !alt => Command::Search,
            "o" | "O" if control && shift && !alt => Command::NewChat,
            "/" if control && !alt => Command::Help,
            "/" if !control && !alt && target == Target::Page => Command::Find,
            "Escape" if !control && !shift && target != Target::Choice => Command::Close,
            "[" if plain && is_free => Command::PreviousCall,
            "]" if plain && is_free => Command::NextCall,
            // Some keyboards have digits only with Shift.
            "1" | "2" | "3" if !control && !alt && is_free => Command::Choose(key.as_bytes()[0] - b'0'),
            "e" | "E" if !control && !alt && is_free => Command::ToggleCalls,
            _ => return None,
        };
        // A repeat of a held key must not decide or stop anything.
        let takes_repeats = !matches!(command, Command::Choose(_) | Command::Close);
        let is_heard = target != Target::Dialog || command == Command::Help;
        (is_heard && (takes_repeats || !repeats)).then_some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Press, Target, shortcut_key};

    /// Presses keys such as `Ctrl+Shift+O` on the target.
    fn pressed(keys: &str, target: Target) -> Option<Command> {
        let key = keys.rsplit('+').next().unwrap();
        let has = |name: &str| keys.split('+').any(|part| part == name);
        let (control, shift, alt) = (has("Ctrl"), has("Shift"), has("Alt"));
        Press { key, repeats: has("Held"), control, shift, alt, target, single_keys: true }.command()
    }

    #[test]
    fn a_held_key_decides_nothing() {
        for keys in ["Held+1", "Held+2", "Held+3", "Held+Escape"] {
            assert_eq!(pressed(keys, Target::Page), None, "{keys}");
        }
        assert_eq!(pressed("Held+]", Target::Page), Some(Command::NextCall), "moving to the next call may repeat");
    }

    #[test]
    fn shortcut_keys_keep_their_position_on_every_keyboard() {
        for (key, code, shortcut) in [
            ("k", "KeyK", "k"),
            ("л", "KeyK", "k"),
            ("Κ", "KeyK", "k"),
            ("ل", "KeyG", "g"),
            ("ф", "KeyA", "a"),
            ("х", "BracketLeft", "["),
            ("ъ", "BracketRight", "]"),
            ("١", "Digit1", "1"),
            // On a Latin layout, the letter counts, because it is printed on the key.
            ("q", "KeyA", "q"),
            ("/", "Digit7", "/"),
            ("Escape", "Escape", "Escape"),
            ("Enter", "NumpadEnter", "Enter"),
            ("é", "Digit2", "é"),
            ("ü", "BracketLeft", "ü"),
            ("€", "KeyE", "€"),
            ("", "", ""),
        ] {
            assert_eq!(shortcut_key(key, code), shortcut, "{key} on {code}");
        }
    }

    #[test]
    fn shortcuts_of_a_single_character_can_be_disabled() {
        for key in ["[", "]", "e", "E", "1", "Escape"] {
            let press = Press {
                key,
                repeats: false,
                control: false,
                shift: false,
                alt: false,
                target: Target::Page,
                single_keys: false,
            };
            assert_eq!(press.command(), (key == "Escape").then_some(Command::Close), "{key}");
        }
    }

    #[test]
    fn keys_have_their_commands() {
        for (keys, command) in [
            ("Ctrl+k", Some(Command::Palette)),
            ("Ctrl+Shift+O", Some(Command::NewChat)),
            ("Ctrl+Shift+F", Some(Command::Search)),
            ("/", Some(Command::Find)),
            ("Shift+/", Some(Command::Find)),
            ("Ctrl+/", Some(Command::Help)),
            ("Ctrl+Shift+/", Some(Command::Help)),
            ("Escape", Some(Command::Close)),
            ("[", Some(Command::PreviousCall)),
            ("Ctrl+Alt+]", Some(Command::NextCall)),
            ("e", Some(Command::ToggleCalls)),
            ("Shift+E", Some(Command::ToggleCalls)),
            ("1", Some(Command::Choose(1))),
            ("Shift+3", Some(Command::Choose(3))),
            ("4", None),
            ("Ctrl+1", None),
            ("Alt+2", None),
            ("k", None),
            ("Ctrl+f", None),
            ("Ctrl+o", None),
            ("Ctrl+e", None),
            ("Ctrl+[", None),
            ("Ctrl+Shift+k", None),
        ] {
            assert_eq!(pressed(keys, Target::Page), command, "{keys}");
        }
    }

    #[test]
    fn a_text_field_keeps_keys_without_ctrl_except_escape() {
        for keys in ["[", "]", "e", "E", "/", "1", "2", "3", "Ctrl+Alt+["] {
            assert_eq!(pressed(keys, Target::Field), None, "{keys}");
        }
        assert_eq!(pressed("Ctrl+k", Target::Field), Some(Command::Palette));
        assert_eq!(pressed("Escape", Target::Field), Some(Command::Close), "with or without a draft");
        assert_eq!(pressed("Escape", Target::Choice), None);
    }

    #[test]
    fn in_a_dialog_only_the_help_shortcut_works() {
        for keys in ["Escape", "Ctrl+k", "Ctrl+Shift+O", "e", "[", "1"] {
            assert_eq!(pressed(keys, Target::Dialog), None, "{keys}");
        }
        assert_eq!(pressed("Ctrl+/", Target::Dialog), Some(Command::Help));
    }
}
