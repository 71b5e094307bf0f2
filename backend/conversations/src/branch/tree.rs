//! Pure functions on a conversation's tree of messages; they receive its nodes, oldest first. Editing a question or
//! regenerating an answer adds a sibling of that message. One branch, or the newest part of it, is shown.

use std::collections::{HashMap, HashSet};

use tallybook_protocol::{MessageId, Window};

use crate::{limits::MAX_WINDOW, store::rows::TreeNode};

/// Returns the branch that ends in `head`: the nodes from the first message to `head` itself.
pub(crate) fn branch(places: &[TreeNode], head: Option<MessageId>) -> Vec<TreeNode> {
    // One pass from the newest to the oldest node finds the whole branch.
    let mut wanted = head;
    let mut branch = Vec::new();
    for place in places.iter().rev() {
        if Some(place.id) == wanted {
            wanted = place.parent_id;
            branch.push(*place);
        }
    }
    branch.reverse();
    branch
}

/// Returns the index in `branch` of the first message that `window` requests, rounded down to a question. Questions and
/// answers alternate, so every even index is a question.
pub(crate) fn beginning(branch: &[TreeNode], window: Window) -> usize {
    let limit = window.limit.map_or(usize::MAX, |limit| limit.clamp(1, MAX_WINDOW) as usize);
    let newest = branch.len().saturating_sub(limit);
    let from = window.from.and_then(|id| branch.iter().position(|place| place.id == id));
    let beginning = from.map_or(newest, |from| from.min(newest));
    beginning - beginning % 2
}

/// The versions of each message: messages with the same parent.
#[derive(Debug)]
pub(crate) struct Versions(HashMap<Option<MessageId>, Vec<MessageId>>);

impl Versions {
    pub(crate) fn of(places: &[TreeNode]) -> Self {
        let mut versions: HashMap<_, Vec<MessageId>> = HashMap::new();
        for TreeNode { id, parent_id } in places {
            versions.entry(*parent_id).or_default().push(*id);
        }
        Self(versions)
    }

    /// Collects only the versions of messages whose parent is in `parents`.
    pub(crate) fn of_children(places: &[TreeNode], parents: &[Option<MessageId>]) -> Self {
        let children = places.iter().filter(|place| parents.contains(&place.parent_id));
        Self::of(&children.copied().collect::<Vec<_>>())
    }

    /// Returns the versions of a message, including the message itself. The list is empty if it is the only version.
    pub(crate) fn siblings(&self, place: TreeNode) -> Vec<MessageId> {
        self.0.get(&place.parent_id).filter(|siblings| siblings.len() > 1).cloned().unwrap_or_default()
    }
}

/// Returns the end of the branch through `id` that was written to last; `None` if the conversation does not have this
/// message.
pub(crate) fn newest_end(messages: &[TreeNode], id: MessageId) -> Option<MessageId> {
    let mut below = HashSet::new();
    let mut newest = None;
    for message in messages {
        if message.id == id || message.parent_id.is_some_and(|parent| below.contains(&parent)) {
            below.insert(message.id);
            newest = Some(message.id);
        }
    }
    newest
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::{MessageId, Window};

    use crate::branch::tree::{MAX_WINDOW, TreeNode, Versions, beginning, branch, newest_end};

    /// Returns a tree with two first questions. The second was answered twice, and the conversation continued from its
    /// first answer.
    fn messages() -> Vec<TreeNode> {
        let places = [(1, None), (2, Some(1)), (3, None), (4, Some(3)), (5, Some(4)), (6, Some(5)), (7, Some(3))];
        places.map(|(id, parent_id)| TreeNode { id: MessageId(id), parent_id: parent_id.map(MessageId) }).to_vec()
    }

    #[test]
    fn a_branch_is_the_path_from_the_first_message_to_its_end() {
        for (head, expected) in [
            (Some(2), &[1, 2][..]),
            (Some(6), &[3, 4, 5, 6]),
            (Some(7), &[3, 7]),
            (Some(3), &[3]),
            (Some(9), &[]),
            (None, &[]),
        ] {
            let ids: Vec<i64> = branch(&messages(), head.map(MessageId)).iter().map(|place| place.id.0).collect();
            assert_eq!(ids, expected, "{head:?}");
        }
    }

    #[test]
    fn a_window_is_the_newest_part_of_a_branch_and_begins_with_a_question() {
        let places: Vec<TreeNode> = (1..=500)
            .map(|id| TreeNode { id: MessageId(id), parent_id: (id > 1).then(|| MessageId(id - 1)) })
            .collect();
        let (limit, from) = (|limit| Window { limit: Some(limit), ..Window::default() }, |id| Some(MessageId(id)));
        for (window, first) in [
            (Window::default(), 1),
            (limit(2), 499),
            (limit(3), 497),
            (limit(0), 499),
            (limit(u32::MAX), i64::from(501 - MAX_WINDOW)),
            (Window { from: from(401), ..limit(2) }, 401),
            (Window { from: from(402), ..limit(2) }, 401),
            (Window { from: from(499), ..limit(50) }, 451),
            (Window { from: from(9999), ..limit(50) }, 451),
            (Window { from: from(3), ..Window::default() }, 1),
        ] {
            assert_eq!(places[beginning(&places, window)].id.0, first, "{window:?}");
        }
        assert_eq!(beginning(&[], limit(50)), 0);
    }

    #[test]
    fn the_newest_leaf_is_the_last_message_written_below() {
        for (id, expected) in [(1, Some(2)), (3, Some(7)), (4, Some(6)), (7, Some(7)), (9, None)] {
            assert_eq!(newest_end(&messages(), MessageId(id)), expected.map(MessageId), "{id}");
        }
    }

    #[test]
    fn versions_have_the_same_parent() {
        let messages = messages();
        let versions = Versions::of(&messages);
        let ids = |siblings: Vec<MessageId>| siblings.into_iter().map(|MessageId(id)| id).collect::<Vec<_>>();
        let siblings: Vec<_> = messages.iter().map(|place| ids(versions.siblings(*place))).collect();
        let none: Vec<i64> = Vec::new();
        assert_eq!(siblings, [vec![1, 3], none.clone(), vec![1, 3], vec![4, 7], none.clone(), none, vec![4, 7]]);
    }
}
