//! A fair semaphore: one user holds at most half of the permits, so that a single user cannot block the others.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A fair semaphore whose permits (slots) are shared among users. `Key` is the key of a user.
pub struct FairSemaphore<Key> {
    all: Arc<Semaphore>,
    per_user: usize,
    /// Semaphores of the users who hold a slot or wait for one.
    users: Mutex<HashMap<Key, Weak<Semaphore>>>,
}

/// A slot that is held until this value is dropped.
#[derive(Debug)]
pub struct Slot {
    _own: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl<Key: Copy + Eq + Hash> FairSemaphore<Key> {
    /// Creates a semaphore with this number of slots, at least one.
    pub fn new(slots: usize) -> Self {
        let users = Mutex::default();
        Self { all: Arc::new(Semaphore::new(slots.max(1))), per_user: slots.div_ceil(2).max(1), users }
    }

    /// Waits until a slot is free for this user. A user at the per-user limit waits without taking a shared slot. Never
    /// returns `None`, because the semaphores are never closed.
    pub async fn acquire(&self, user: Key) -> Option<Slot> {
        let own = self.of(user).acquire_owned().await.ok()?;
        Some(Slot { _own: own, _of_all: Arc::clone(&self.all).acquire_owned().await.ok()? })
    }

    /// Returns a slot for this user if one is free now.
    pub fn try_acquire(&self, user: Key) -> Option<Slot> {
        let own = self.of(user).try_acquire_owned().ok()?;
        Some(Slot { _own: own, _of_all: Arc::clone(&self.all).try_acquire_owned().ok()? })
    }

    fn of(&self, user: Key) -> Arc<Semaphore> {
        let mut users = self.users.lock();
        if let Some(own) = users.get(&user).and_then(Weak::upgrade) {
            return own;
        }
        users.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(self.per_user));
        users.insert(user, Arc::downgrade(&own));
        own
    }

    /// Returns the number of free slots.
    pub fn free(&self) -> usize {
        self.all.available_permits()
    }
}

impl<Key> fmt::Debug for FairSemaphore<Key> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FairSemaphore").field("free", &self.all.available_permits()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::FairSemaphore;

    #[tokio::test]
    async fn one_user_gets_half_of_the_slots_and_does_not_block_others() {
        let (slots, ann, bob, eve) = (FairSemaphore::new(4), 1, 2, 3);
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
        assert_eq!(slots.users.lock().len(), 1, "a user without permits is removed");
    }
}
