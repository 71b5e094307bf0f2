//! A conversation as a tree: editing a question and writing an answer anew put siblings beside a message, and what is
//! shown is one branch. Pure: it works on whatever knows its place, oldest first.

/// Where a message stands. A parent is always older than its children, and so has a smaller key: there are no cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct Place {
    pub(crate) id: i64,
    /// The message before it; `None` for the first, of which there are several once it has been edited.
    pub(crate) parent_id: Option<i64>,
}

/// What knows its place.
pub(crate) trait Placed {
    fn place(&self) -> Place;
}

impl Placed for Place {
    fn place(&self) -> Place {
        *self
    }
}

/// The branch that ends in `head`: its messages from the first to `head` itself.
pub(crate) fn branch<T: Placed>(messages: Vec<T>, head: Option<i64>) -> Vec<T> {
    // One walk from the newest to the oldest finds the whole branch.
    let mut wanted = head;
    let mut branch = Vec::new();
    for message in messages.into_iter().rev() {
        let Place { id, parent_id } = message.place();
        if Some(id) == wanted {
            wanted = parent_id;
            branch.push(message);
        }
    }
    branch.reverse();
    branch
}

#[cfg(test)]
mod tests {
    use super::{Place, branch};

    /// Two first questions; the second was answered twice, and the conversation went on from its first answer.
    fn messages() -> Vec<Place> {
        let places = [(1, None), (2, Some(1)), (3, None), (4, Some(3)), (5, Some(4)), (6, Some(5)), (7, Some(3))];
        places.map(|(id, parent_id)| Place { id, parent_id }).to_vec()
    }

    #[test]
    fn a_branch_is_the_way_from_the_first_message_to_its_end() {
        for (head, expected) in [
            (Some(2), &[1, 2][..]),
            (Some(6), &[3, 4, 5, 6]),
            (Some(7), &[3, 7]),
            (Some(3), &[3]),
            (Some(9), &[]),
            (None, &[]),
        ] {
            let ids: Vec<i64> = branch(messages(), head).iter().map(|place| place.id).collect();
            assert_eq!(ids, expected, "{head:?}");
        }
    }
}
