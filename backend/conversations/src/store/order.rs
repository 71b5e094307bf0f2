//! Sorts rows without using their primary keys. If several servers of a database cluster assign keys, later rows can
//! have smaller keys.

use std::collections::{HashMap, HashSet};

use tallybook_protocol::MessageId;

use crate::store::rows::TreeNode;

/// Returns the same nodes, each after its parent and otherwise in the given order. A node that is its own ancestor is
/// left out.
pub(crate) fn parents_first(places: Vec<TreeNode>) -> Vec<TreeNode> {
    let known: HashSet<MessageId> = places.iter().map(|place| place.id).collect();
    let mut done = HashSet::with_capacity(places.len());
    let mut waiting: HashMap<MessageId, Vec<TreeNode>> = HashMap::new();
    let mut ordered = Vec::with_capacity(places.len());
    for place in places {
        if let Some(parent) = place.parent_id.filter(|parent| known.contains(parent) && !done.contains(parent)) {
            waiting.entry(parent).or_default().push(place);
            continue;
        }
        let mut next = vec![place];
        while let Some(place) = next.pop() {
            done.insert(place.id);
            ordered.push(place);
            next.extend(waiting.remove(&place.id).into_iter().flatten().rev());
        }
    }
    ordered
}

/// Returns the rows in the order of `ids`.
pub(crate) fn as_named<T>(mut rows: Vec<T>, ids: &[MessageId], id_of: impl Fn(&T) -> MessageId) -> Vec<T> {
    let places: HashMap<MessageId, usize> = ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
    rows.sort_by_key(|row| places.get(&id_of(row)).copied());
    rows
}

#[cfg(test)]
mod tests {
    use crate::store::order::{MessageId, TreeNode, as_named, parents_first};

    fn ordered(places: &[(i64, Option<i64>)]) -> Vec<i64> {
        let place =
            |&(id, parent): &(i64, Option<i64>)| TreeNode { id: MessageId(id), parent_id: parent.map(MessageId) };
        parents_first(places.iter().map(place).collect()).into_iter().map(|place| place.id.0).collect()
    }

    #[test]
    fn a_message_comes_after_its_parent_whatever_their_keys() {
        assert_eq!(ordered(&[(1, None), (2, Some(1)), (3, None), (4, Some(2))]), [1, 2, 3, 4]);
        assert_eq!(ordered(&[(1, Some(2)), (2, Some(3)), (5, Some(3)), (4, Some(2)), (3, None)]), [3, 2, 1, 4, 5]);
        assert_eq!(ordered(&[(4, Some(9)), (1, Some(4))]), [4, 1]);
        assert_eq!(ordered(&[(1, Some(2)), (2, Some(1)), (3, None)]), [3]);
        assert_eq!(ordered(&[]), [0; 0]);
    }

    #[test]
    fn rows_are_returned_in_the_order_of_the_ids() {
        let ids = [7, 2, 5].map(MessageId);
        assert_eq!(as_named(vec![2, 5, 7], &ids, |row| MessageId(*row)), [7, 2, 5]);
    }
}
