//! Which tools are off in one conversation: shown at once, told to the server one request at a time, and taken back where
//! it refuses. Pure.

use std::collections::BTreeSet;

use uuid::Uuid;

/// Names of tools.
pub(crate) type Names = BTreeSet<String>;

/// The tools that are off in a conversation, or in a new chat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    place: Option<Uuid>,
    /// As it is shown; nothing as long as it is not known.
    off: Option<Names>,
    /// As the server has it.
    stored: Names,
    /// Whether a request is under way.
    is_sending: bool,
}

impl Choice {
    /// That of a new chat, or of a conversation of which nothing is known yet.
    pub(super) fn at(place: Option<Uuid>) -> Self {
        Self { place, ..Self::default() }
    }

    /// Whether this is of that place.
    pub(super) fn is_at(&self, place: Option<Uuid>) -> bool {
        self.place == place
    }

    /// What is off, where that is known.
    pub(super) fn off(&self) -> Option<&Names> {
        self.off.as_ref()
    }

    /// Takes what the server has. What was chosen meanwhile stays.
    pub(super) fn learn(&mut self, stored: Names) {
        if !self.is_sending {
            self.off = Some(stored.clone());
            self.stored = stored;
        }
    }

    /// Turns tools on or off. Gives what is to be told to the server, if anything is.
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

    /// The server took what it was told, which is what it has now, or refused it. Gives what is to be told next.
    pub(super) fn told(&mut self, place: Uuid, taken: Option<Names>) -> Option<(Uuid, Names)> {
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

    use super::{Choice, Names};

    const HERE: Uuid = Uuid::from_u128(7);

    fn names(names: &[&str]) -> Names {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn switch(choice: &mut Choice, name: &str, on: bool) -> Option<Names> {
        choice.switch(&[name.to_owned()], on).map(|(_, off)| off)
    }

    fn open() -> Choice {
        let mut choice = Choice::at(Some(HERE));
        choice.learn(names(&["mail"]));
        choice
    }

    #[test]
    fn a_new_chat_tells_nobody_before_it_is_a_conversation() {
        let mut choice = Choice::at(None);
        assert_eq!(switch(&mut choice, "add", false), None, "nothing is known yet");
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
        assert_eq!(choice.off(), Some(&names(&["add", "divide"])), "shown at once");
        choice.learn(names(&["mail"]));
        assert_eq!(choice.off(), Some(&names(&["add", "divide"])), "what was asked before is out of date");
        let next = choice.told(HERE, Some(names(&["add", "mail"])));
        assert_eq!(next, Some((HERE, names(&["add", "divide"]))));
        assert_eq!(choice.told(HERE, Some(names(&["add", "divide"]))), None);
    }

    #[test]
    fn what_is_refused_is_taken_back() {
        let mut choice = open();
        switch(&mut choice, "add", false);
        switch(&mut choice, "divide", false);
        assert_eq!(choice.told(HERE, None), None);
        assert_eq!(choice.off(), Some(&names(&["mail"])));
    }

    #[test]
    fn an_answer_for_another_conversation_changes_nothing() {
        let mut choice = open();
        switch(&mut choice, "add", false);
        let mut other = Choice::at(Some(Uuid::from_u128(8)));
        other.learn(Names::new());
        let before = other.clone();
        assert_eq!(other.told(HERE, None), None);
        assert_eq!(other, before);
    }
}
