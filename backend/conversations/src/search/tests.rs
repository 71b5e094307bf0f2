//! Tests how a search proceeds from batch to batch, and how long it holds its permit.

use std::time::Duration;

use chrono::TimeDelta;
use tallybook_accounts::UserId;
use tallybook_database::{now, select};

use crate::{
    limits::MAX_SEARCHES,
    search::{FIRST_BATCH, MAX_BATCH_BYTES, Scope, edge, find_rows, first_cursor, search},
    turn::testing::Fixture,
};

const MEBIBYTE: i64 = 1024 * 1024;

#[tokio::test]
async fn a_batch_of_long_texts_is_small() {
    const MESSAGES: i32 = 30;
    let fixture = Fixture::set_up().await;
    let db = &fixture.service.context.db;
    for number in 0..MESSAGES {
        let sql = "INSERT INTO messages (conversation_id, role, content, status, created_at) \
                   VALUES (?, 'user', HEX(ZEROBLOB(524288)), 'complete', ?)";
        let time = now() + TimeDelta::seconds(number.into());
        db.writer().query(sql).bind(fixture.conversation_id).bind(time).execute().await.unwrap();
    }
    for scope in [Scope::User(UserId::LOCAL), Scope::Conversation(fixture.conversation_id)] {
        let (mut cursor, mut seen) = (first_cursor(scope), 0);
        loop {
            let until = search::find_batch_end(db, scope, cursor, FIRST_BATCH, MAX_BATCH_BYTES, None).await.unwrap();
            let end = until.map_or(cursor_behind_all(scope), |until| edge(scope, until));
            let sql = select!(
                "SELECT COUNT(*) FROM messages WHERE created_at > MIN(?, ?) AND created_at < MAX(?, ?) OR created_at = ?"
            );
            let count = db.reader().query(sql).bind(cursor.time).bind(end.time).bind(cursor.time).bind(end.time);
            let count: i64 = count.bind(cursor.time).fetch_value().await.unwrap();
            assert!(count * MEBIBYTE <= MAX_BATCH_BYTES + MEBIBYTE, "{count} messages");
            seen += count;
            cursor = end;
            if until.is_none() {
                break;
            }
        }
        assert_eq!(seen, i64::from(MESSAGES), "{scope:?}");
    }
}

/// A page whose time is up after one batch says so, and the next page continues after it.
#[tokio::test]
async fn a_search_through_long_texts_continues_from_page_to_page() {
    const MESSAGES: i64 = 250;
    let fixture = Fixture::set_up().await;
    let context = &fixture.service.context;
    for number in 0..MESSAGES {
        let sql = "INSERT INTO messages (conversation_id, role, content, status, created_at) \
                   VALUES (?, 'user', HEX(ZEROBLOB(65536)) || ?, 'complete', ?)";
        let (word, time) = (if number % 25 == 0 { " needle" } else { "" }, now() + TimeDelta::seconds(number));
        let insert = context.db.writer().query(sql).bind(fixture.conversation_id).bind(word).bind(time);
        insert.execute().await.unwrap();
    }
    for scope in [Scope::User(UserId::LOCAL), Scope::Conversation(fixture.conversation_id)] {
        let (mut cursor, mut found, mut pages) = (first_cursor(scope), Vec::new(), 0);
        loop {
            let page =
                find_rows(context, UserId::LOCAL, scope, &["needle".to_owned()], cursor, Duration::ZERO).await.unwrap();
            found.extend(page.rows.iter().map(|row| row.cursor().message));
            pages += 1;
            assert_eq!(page.complete, page.next.is_none(), "{scope:?}, page {pages}");
            let Some(next) = page.next else { break };
            cursor = next;
        }
        found.sort_unstable();
        found.dedup();
        // 128 KiB each, 8 MiB per batch.
        assert_eq!((found.len(), pages), (10, 4), "{scope:?}");
    }
}

/// Returns where the other scope begins.
fn cursor_behind_all(scope: Scope) -> search::Cursor {
    match scope {
        Scope::User(_) => first_cursor(Scope::Conversation(crate::search::ConversationId(0))),
        Scope::Conversation(_) => first_cursor(Scope::User(UserId::LOCAL)),
    }
}

#[tokio::test]
async fn a_statement_whose_caller_gave_up_still_counts_as_a_search() {
    let fixture = Fixture::set_up().await;
    let context = &fixture.service.context;
    let insert = "INSERT INTO messages (conversation_id, role, content, status, created_at) \
                  VALUES (?, 'user', 'text', 'complete', ?)";
    context.db.writer().query(insert).bind(fixture.conversation_id).bind(now()).execute().await.unwrap();
    // The view repeats the message so often that the first statement of a search takes long.
    let slow = "ALTER TABLE messages RENAME TO stored; CREATE VIEW messages AS \
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000000) \
                SELECT stored.* FROM n CROSS JOIN stored";
    fixture.execute(slow).await;
    let (service, uuid) = (fixture.service.clone(), fixture.uuid);
    // In one conversation, a search compares all messages and does not read the index before.
    let search =
        tokio::spawn(async move { service.search_conversation(UserId::LOCAL, uuid, "word", None).await.is_ok() });
    while context.searches.free() == MAX_SEARCHES {
        assert!(!search.is_finished(), "the search ended before it was seen");
        tokio::task::yield_now().await;
    }
    search.abort();
    assert!(search.await.is_err());
    assert_eq!(context.searches.free(), MAX_SEARCHES - 1);
    while context.searches.free() < MAX_SEARCHES {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
