//! The documents of a conversation under distinct names. Envelopes in prompts and the tool `read_file` use the same
//! names, so that a model can read each document even if several have the same name.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use tallybook_database::Database;
use tallybook_files::FileRow;

use crate::store::{
    ConversationId,
    message_files::{self, DocumentRow},
};

/// Note for models after the last page of a file that has more text than its pages, and after a search of it.
pub(crate) const TRUNCATED_NOTE: &str = "[Only the beginning of this file's text was stored. The file is longer.]";

/// A document with its name in the conversation.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// The name that models see.
    pub(crate) name: String,
    pub(crate) row: DocumentRow,
}

/// Returns the newest documents of a conversation, oldest first. The second document with the name `report.pdf` is
/// `report (2).pdf`. A document that several messages contain is in the list once.
pub(crate) async fn list_named(db: &Database, conversation: ConversationId) -> sqlx::Result<Arc<[Document]>> {
    Ok(name_apart(message_files::list_documents(db, conversation).await?).into())
}

/// Returns the name that models see for a file.
pub(crate) fn name_of<'a>(documents: &'a [Document], file: &'a FileRow) -> &'a str {
    let found = documents.iter().find(|known| known.row.sha256 == file.sha256 && known.row.name == file.name);
    found.map_or(&file.name, |document| &document.name)
}

/// Assigns each document a name of its own. `rows` are newest first.
fn name_apart(rows: Vec<DocumentRow>) -> Vec<Document> {
    let (mut documents, mut known, mut taken) = (Vec::new(), HashSet::new(), HashSet::new());
    let mut counts: HashMap<String, usize> = HashMap::new();
    for row in rows.into_iter().rev() {
        if !known.insert((row.name.clone(), row.sha256.clone())) {
            continue;
        }
        let count = counts.entry(row.name.clone()).or_default();
        let name = loop {
            *count += 1;
            let name = numbered(&row.name, *count);
            if taken.insert(name.clone()) {
                break name;
            }
        };
        documents.push(Document { name, row });
    }
    documents
}

/// Adds a number to a name, before its extension. The number 1 is left out.
fn numbered(name: &str, number: usize) -> String {
    if number == 1 {
        return name.to_owned();
    }
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => format!("{stem} ({number}).{extension}"),
        _ => format!("{name} ({number})"),
    }
}

#[cfg(test)]
mod tests {
    use super::{DocumentRow, name_apart};

    #[test]
    fn documents_with_the_same_name_are_numbered_by_age() {
        let rows = [
            ("notes", "7"),
            ("a.pdf", "6"),
            ("a (2).pdf", "5"),
            ("a.pdf", "2"),
            ("notes", "4"),
            ("a (2).pdf", "3"),
            ("a.pdf", "2"),
            ("a.pdf", "1"),
        ];
        let row = |(name, sha256): (&str, &str)| DocumentRow {
            name: name.to_owned(),
            sha256: sha256.to_owned(),
            pages: 1,
            truncated: false,
        };
        let documents = name_apart(rows.map(row).to_vec());
        let names: Vec<_> = documents.iter().map(|known| (known.row.sha256.as_str(), known.name.as_str())).collect();
        let expected = [
            ("1", "a.pdf"),
            ("2", "a (2).pdf"),
            ("3", "a (2) (2).pdf"),
            ("4", "notes"),
            ("5", "a (2) (3).pdf"),
            ("6", "a (3).pdf"),
            ("7", "notes (2)"),
        ];
        assert_eq!(names, expected);
    }
}
