//! Selects, inserts and deletes several rows per statement, and limits the size of these statements.

use crate::{
    database::{Reader, Transaction, Writer},
    query::{Argument, Row, Select, Values},
};

/// Maximum number of IDs per query; more IDs take several queries.
pub const MAX_IDS_PER_QUERY: usize = 200;

/// Maximum number of rows, and bytes of their large values, per INSERT; every supported database accepts this much. A
/// single larger row is inserted alone.
const MAX_ROWS_PER_INSERT: usize = 32;
const MAX_BYTES_PER_INSERT: usize = 512 * 1024;

/// Returns how many of the next rows, given by the sizes of their large values in bytes, fit into one statement: at
/// least one, however large it is.
fn batch_len(sizes: impl Iterator<Item = usize>) -> usize {
    let mut bytes = 0;
    let batch_len = sizes.take(MAX_ROWS_PER_INSERT).take_while(|size| {
        bytes += size;
        bytes <= MAX_BYTES_PER_INSERT
    });
    batch_len.count().max(1)
}

impl Reader {
    /// Returns the rows of a query that consists of `select`, a list of `ids`, and `order`. The rows are in order if
    /// `ids` are.
    pub async fn list_by_ids<I, T>(&self, select: Select, ids: &[I], order: &'static str) -> sqlx::Result<Vec<T>>
    where
        I: Copy + Sync + for<'v> Argument<'v>,
        T: Row,
    {
        let mut rows = Vec::new();
        for ids in ids.chunks(MAX_IDS_PER_QUERY) {
            let mut query = self.query(select);
            query.push_list(ids.iter().copied()).push(order);
            rows.append(&mut query.fetch_all().await?);
        }
        Ok(rows)
    }

    /// Returns the rows of a union of two queries, each of which has the same list of `ids`. `selects` are the texts
    /// before the lists.
    pub async fn list_union_by_ids<I, T>(
        &self,
        selects: (Select, &'static str),
        ids: &[I],
        order: &'static str,
    ) -> sqlx::Result<Vec<T>>
    where
        I: Copy + Sync + for<'v> Argument<'v>,
        T: Row,
    {
        let mut rows = Vec::new();
        for ids in ids.chunks(MAX_IDS_PER_QUERY) {
            let mut query = self.query(selects.0);
            query.push_list(ids.iter().copied()).push(selects.1);
            query.push_list(ids.iter().copied()).push(order);
            rows.append(&mut query.fetch_all().await?);
        }
        Ok(rows)
    }
}

impl Writer {
    /// Runs `delete` on the rows with the given primary keys, so that it locks no other rows. `delete` must end with
    /// the opening parenthesis of the list of keys. `keys` must not be empty.
    pub async fn delete_by_ids(&self, delete: &'static str, keys: &[i64]) -> sqlx::Result<()> {
        let mut query = self.query(delete);
        query.push_list(keys).push(")");
        query.execute().await.map(|_| ())
    }
}

impl Transaction {
    /// Inserts rows, several in a statement. `insert` is the text before the first row's values, `bytes` returns the
    /// size of a row's large values, and `add` adds the values of a row. Fails if the database would not accept the
    /// statement of a single row.
    pub async fn insert_rows<T: Sync>(
        &mut self,
        insert: &'static str,
        mut rows: &[T],
        bytes: impl Fn(&T) -> usize + Send + Sync,
        mut add: impl FnMut(&mut Values<'_, &mut Self>, &T) + Send,
    ) -> sqlx::Result<()> {
        while !rows.is_empty() {
            let sizes: Vec<usize> = rows.iter().take(MAX_ROWS_PER_INSERT).map(&bytes).collect();
            let (together, rest) = rows.split_at(batch_len(sizes.iter().copied()));
            self.check_statement_size(sizes.iter().take(together.len()).sum()).await?;
            let mut statement = self.query(insert);
            statement.push_rows(together, &mut add);
            statement.execute().await?;
            rows = rest;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES_PER_INSERT, MAX_ROWS_PER_INSERT, batch_len};

    #[test]
    fn an_insert_is_limited_and_has_at_least_one_row() {
        let half = MAX_BYTES_PER_INSERT / 2;
        assert_eq!(batch_len([3 * half, 1].into_iter()), 1);
        assert_eq!(batch_len([half, half, 1].into_iter()), 2);
        assert_eq!(batch_len([1; 2 * MAX_ROWS_PER_INSERT].into_iter()), MAX_ROWS_PER_INSERT);
    }
}
