//! Slots for work of which a process does little at once. One person has half of them at most, so that nobody is kept
//! waiting by one other person alone.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::accounts::UserId;

/// So many slots.
pub(crate) struct Slots {
    all: Arc<Semaphore>,
    per_person: usize,
    /// Those of people who have a slot or wait for one.
    people: Mutex<HashMap<UserId, Weak<Semaphore>>>,
}

/// A slot that is taken, until it is dropped.
pub(crate) struct Slot {
    _own: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Slots {
    /// At least one.
    pub(crate) fn new(slots: usize) -> Self {
        let people = Mutex::default();
        Self { all: Arc::new(Semaphore::new(slots.max(1))), per_person: slots.div_ceil(2).max(1), people }
    }

    /// A slot for this person, when one is free. Who waits for one of the person's own takes none of the others'.
    pub(crate) async fn acquire(&self, user: UserId) -> Option<Slot> {
        let own = self.of(user).acquire_owned().await.ok()?;
        Some(Slot { _own: own, _of_all: Arc::clone(&self.all).acquire_owned().await.ok()? })
    }

    /// A slot for this person, if one is free now.
    pub(crate) fn try_acquire(&self, user: UserId) -> Option<Slot> {
        let own = self.of(user).try_acquire_owned().ok()?;
        Some(Slot { _own: own, _of_all: Arc::clone(&self.all).try_acquire_owned().ok()? })
    }

    fn of(&self, user: UserId) -> Arc<Semaphore> {
        let mut people = self.people.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = people.get(&user).and_then(Weak::upgrade) {
            return own;
        }
        people.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.per_person));
        people.insert(user, Arc::downgrade(&own));
        own
    }

    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.all.available_permits()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::{Slots, UserId};

    #[tokio::test]
    async fn one_person_has_half_of_them_and_keeps_no_other_waiting() {
        let (slots, ann, bob, eve) = (Slots::new(4), UserId(1), UserId(2), UserId(3));
        let anns = [slots.acquire(ann).await.unwrap(), slots.try_acquire(ann).unwrap()];
        assert!(slots.try_acquire(ann).is_none());
        let mut waiting = Box::pin(slots.acquire(ann));
        assert!((&mut waiting).now_or_never().is_none());
        let bobs = [slots.try_acquire(bob).unwrap(), slots.acquire(bob).now_or_never().flatten().unwrap()];
        assert!(slots.try_acquire(eve).is_none(), "there are no more than four");
        drop(bobs);
        assert!(slots.try_acquire(eve).is_some() && (&mut waiting).now_or_never().is_none());
        drop(anns);
        assert!(waiting.now_or_never().flatten().is_some());
        assert_eq!(slots.free(), 4);
        slots.try_acquire(eve).unwrap();
        assert_eq!(slots.people.lock().unwrap().len(), 1, "nobody is remembered who has none");
    }
}
