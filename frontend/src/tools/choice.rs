//! The disabled tools of one conversation. A change shows at once, is sent to the server one request at a time, and
//! is undone if the server refuses it. Pure.

use std::collections::BTreeSet;

use uuid::Uuid;

/// Names of tools.
pub(crate) type Names = BTreeSet<String>;

/// The disabled tools of a conversation, or of a new chat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolChoice {
    place: Option<Uuid>,
    /// The disabled tools as shown; `None` until they are known.
    off: Option<Names>,
    /// The disabled tools as the server has stored them.
    stored: Names,
    /// `true` while a request is under way.
    is_sending: bool,
}

impl ToolChoice {
    /// Creates the state of a new chat, or of a conversation whose tools are not loaded yet.
    pub(super) fn at(place: Option<Uuid>) -> Self {
        Self { place, ..Self::default() }
    }

    /// Returns `true` if the state is of this place.
    pub(super) fn is_at(&self, place: Option<Uuid>) -> bool {
        self.place == place
    }

    /// Returns the disabled tools; `None` if they are not known yet.
    pub(super) fn off(&self) -> Option<&Names> {
        self.off.as_ref()
    }

    /// Takes the disabled tools from the server. A change that is being sent has priority.
    pub(super) fn learn(&mut self, stored: Names) {
        if !self.is_sending {
            self.off = Some(stored.clone());
            self.stored = stored;
        }
    }

    /// Enables or disables tools. Returns the change to send to the server, if any.
    pub(super) fn switch(&mut self, names: &[String], on: bool) -> Option<(Uuid, Names)> {
        let off = self.off.as_mut()?;
        for name in names {
            if on {
                off.remove(name);
            } else {
                off.insert(name.clone());
            }
        }
        self.next()
    }

    /// Handles the response to a change: the disabled tools that the server has stored, or `None` if it refused.
    /// Returns the next change to send.
    pub(super) fn on_response(&mut self, place: Uuid, taken: Option<Names>) -> Option<(Uuid, Names)> {
        if self.place != Some(place) {
            // Another conversation is open by now.
            return None;
        }
        self.is_sending = false;
        match taken {
            Some(stored) => self.stored = stored,
            None => self.off = Some(self.stored.clone()),
        }
        self.next()
    }

    fn next(&mut self) -> Option<(Uuid, Names)> {
        let off = self.off.clone().filter(|off| *off != self.stored && !self.is_sending)?;
        let place = self.place?;
        self.is_sending = true;
        Some((place, off))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{Names, ToolChoice};

    const HERE: Uuid = Uuid::from_u128(7);

    fn names(names: &[&str]) -> Names {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn switch(choice: &mut ToolChoice, name: &str, on: bool) -> Option<Names> {
        choice.switch(&[name.to_owned()], on).map(|(_, off)| off)
    }

    fn open() -> ToolChoice {
        let mut choice = ToolChoice::at(Some(HERE));
        choice.learn(names(&["mail"]));
        choice
    }

    #[test]
    fn a_new_chat_sends_no_changes_before_it_is_a_conversation() {
        let mut choice = ToolChoice::at(None);
        assert_eq!(switch(&mut choice, "add", false), None, "the disabled tools are not known yet");
        choice.learn(Names::new());
        assert_eq!(switch(&mut choice, "add", false), None);
        assert_eq!(choice.off(), Some(&names(&["add"])));
    }

    #[test]
    fn one_request_is_under_way_and_the_last_choice_wins() {
        let mut choice = open();
        assert_eq!(switch(&mut choice, "add", false), Some(names(&["add", "mail"])));
        assert_eq!(switch(&mut choice, "mail", true), None);
        assert_eq!(switch(&mut choice, "divide", false), None);
        assert_eq!(choice.off(), Some(&names(&["add", "divide"])), "changes show at once");
        choice.learn(names(&["mail"]));
        assert_eq!(choice.off(), Some(&names(&["add", "divide"])), "a list from before the change is outdated");
        let next = choice.on_response(HERE, Some(names(&["add", "mail"])));
        assert_eq!(next, Some((HERE, names(&["add", "divide"]))));
        assert_eq!(choice.on_response(HERE, Some(names(&["add", "divide"]))), None);
    }

    #[test]
    fn refused_changes_are_undone() {
        let mut choice = open();
        switch(&mut choice, "add", false);
        switch(&mut choice, "divide", false);
        assert_eq!(choice.on_response(HERE, None), None);
        assert_eq!(choice.off(), Some(&names(&["mail"])));
    }

    #[test]
    fn a_response_for_another_conversation_is_ignored() {
        let mut choice = open();
        switch(&mut choice, "add", false);
        let mut other = ToolChoice::at(Some(Uuid::from_u128(8)));
        other.learn(Names::new());
        let before = other.clone();
        assert_eq!(other.on_response(HERE, None), None);
        assert_eq!(other, before);
    }
}
