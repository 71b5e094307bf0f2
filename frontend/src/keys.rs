//! What the keys do. Pure; who listens and acts is in the components.

/// What a reader asks for with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Palette,
    Search,
    /// Finds something in the conversation that is open.
    Find,
    NewChat,
    Help,
    /// Closes what is open, topmost first; stops the answer when nothing is.
    Close,
    PreviousCall,
    NextCall,
    ToggleCalls,
    /// Takes one of the numbered choices on a call that waits.
    Choose(u8),
}

/// Where a key press goes if nobody takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Page,
    /// A field that takes letters.
    Field,
    /// A choice, which takes letters and closes with Esc.
    Choice,
    /// Something lies over the page, and closes with Esc.
    Dialog,
}

/// The name of a key in a shortcut. On a keyboard whose letters are not Latin, `л` on the key `KeyK` is `k`.
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

/// One key press.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "three keys that are held, how long, and a setting")]
pub(crate) struct Press<'a> {
    /// What the key means, as `k` or `Escape`.
    pub(crate) key: &'a str,
    /// Set while the key is held down and repeats.
    pub(crate) repeats: bool,
    /// Ctrl or ⌘.
    pub(crate) control: bool,
    pub(crate) shift: bool,
    pub(crate) alt: bool,
    pub(crate) target: Target,
    /// Whether keys that are single characters do something.
    pub(crate) single_keys: bool,
}

impl Press<'_> {
    /// What the press asks for. Keys without Ctrl are for those who are not writing.
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
        // A key that is held decides nothing, and stops nothing.
        let takes_repeats = !matches!(command, Command::Choose(_) | Command::Close);
        let is_heard = target != Target::Dialog || command == Command::Help;
        (is_heard && (takes_repeats || !repeats)).then_some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Press, Target, shortcut_key};

    /// `Ctrl+Shift+O`, with the target.
    fn pressed(keys: &str, target: Target) -> Option<Command> {
        let key = keys.rsplit('+').next().unwrap();
        let has = |name: &str| keys.split('+').any(|part| part == name);
        let (control, shift, alt) = (has("Ctrl"), has("Shift"), has("Alt"));
        Press { key, repeats: has("Held"), control, shift, alt, target, single_keys: true }.command()
    }

    #[test]
    fn a_key_that_is_held_decides_nothing() {
        for keys in ["Held+1", "Held+2", "Held+3", "Held+Escape"] {
            assert_eq!(pressed(keys, Target::Page), None, "{keys}");
        }
        assert_eq!(pressed("Held+]", Target::Page), Some(Command::NextCall), "going on is harmless");
    }

    #[test]
    fn shortcuts_have_their_place_on_every_keyboard() {
        for (key, code, shortcut) in [
            ("k", "KeyK", "k"),
            ("л", "KeyK", "k"),
            ("Κ", "KeyK", "k"),
            ("ل", "KeyG", "g"),
            ("ф", "KeyA", "a"),
            ("х", "BracketLeft", "["),
            ("ъ", "BracketRight", "]"),
            ("١", "Digit1", "1"),
            // The letters of a Latin layout are where its reader sees them.
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
    fn keys_that_are_single_characters_can_be_off() {
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
    fn keys_and_what_they_do() {
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
    fn who_writes_keeps_every_key_without_ctrl() {
        for keys in ["[", "]", "e", "E", "/", "1", "2", "3", "Ctrl+Alt+["] {
            assert_eq!(pressed(keys, Target::Field), None, "{keys}");
        }
        assert_eq!(pressed("Ctrl+k", Target::Field), Some(Command::Palette));
        assert_eq!(pressed("Escape", Target::Field), Some(Command::Close), "draft or not");
        assert_eq!(pressed("Escape", Target::Choice), None);
    }

    #[test]
    fn over_a_dialog_only_the_help_hears() {
        for keys in ["Escape", "Ctrl+k", "Ctrl+Shift+O", "e", "[", "1"] {
            assert_eq!(pressed(keys, Target::Dialog), None, "{keys}");
        }
        assert_eq!(pressed("Ctrl+/", Target::Dialog), Some(Command::Help));
    }
}
