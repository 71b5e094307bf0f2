//! Rows of many messages or calls by one statement.

use sqlx::{Encode, FromRow, MySql, QueryBuilder, Sqlite, Type, mysql::MySqlRow, sqlite::SqliteRow};

use crate::db::{Database, on_db, write_db};

/// How many ids one query names; more take several.
pub(super) const MAX_IDS_PER_QUERY: usize = 200;

/// The rows that `select`, the list of `ids` and then `order` find. They are in order when the ids are.
pub(super) async fn list_of<I, T>(
    db: &Database,
    select: &'static str,
    ids: &[I],
    order: &'static str,
) -> sqlx::Result<Vec<T>>
where
    I: Copy + Sync + Type<MySql> + Type<Sqlite> + for<'q> Encode<'q, MySql> + for<'q> Encode<'q, Sqlite>,
    T: for<'r> FromRow<'r, MySqlRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
{
    let mut rows = Vec::new();
    for ids in ids.chunks(MAX_IDS_PER_QUERY) {
        rows.append(&mut on_db!(db, |pool| {
            let mut query = QueryBuilder::new(select);
            let mut list = query.separated(", ");
            for id in ids {
                list.push_bind(*id);
            }
            query.push(order);
            query.build_query_as().fetch_all(pool).await
        })?);
    }
    Ok(rows)
}

/// Runs `delete`, which ends with the opening of a list, on rows that are named by their keys; so it locks no others. There must be
/// one at least.
pub(super) async fn delete_of(db: &Database, delete: &'static str, keys: &[i64]) -> sqlx::Result<()> {
    write_db!(db, |pool| {
        let mut query = QueryBuilder::new(delete);
        let mut list = query.separated(", ");
        for key in keys {
            list.push_bind(*key);
        }
        query.push(")");
        query.build().execute(pool).await.map(|_| ())
    })
}
