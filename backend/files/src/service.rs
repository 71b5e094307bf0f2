//! The use cases of files.

use std::{
    collections::{BTreeSet, HashMap},
    slice,
    sync::Arc,
};

use sha2::{Digest as _, Sha256};
use tallybook_accounts::{UserId, lock_user};
use tallybook_database::{Database, Transaction, with_retries};
use tallybook_documents::{EncodedImage, FileKind as FoundKind, FileProcessor, ProcessError, ProcessedFile};
use tallybook_protocol::{AccountFile, FileInfo, FileKind, FileText};
use tallybook_tools::FairSemaphore;
use tokio::time::timeout;
use uuid::Uuid;

use crate::{
    FileCounts, FilesError, FilesSettings, StorageUrl, Upload,
    content::{Content, ContentRange, ContentStream, Contents, Source},
    limits::{MAX_IMAGE_BYTES, MAX_UPLOADS, UPLOAD_QUEUE_TIMEOUT},
    names::cleaned,
    objects::Objects,
    store::{
        blobs,
        files::{self, DatedRow, FileRow, NewFile},
        is_referred_to, texts,
    },
    upload::Received,
};

/// Maximum number of attempts to store a file whose content is purged at the same moment.
const MAX_ATTEMPTS: u32 = 3;

/// A form of a file's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// As it was uploaded.
    #[default]
    Original,
    /// An image as models receive it.
    Model,
    /// An image as lists show it.
    Thumb,
}

/// The use cases of files. Cheap to clone; all clones are the same service.
#[derive(Clone, Debug)]
pub struct Files {
    pub(crate) db: Database,
    pub(crate) contents: Contents,
    settings: Arc<FilesSettings>,
    processor: FileProcessor,
    uploads: Arc<FairSemaphore<UserId>>,
    counts: FileCounts,
}

impl Files {
    /// Creates the service. Creates the folder of `FILES_URL` if it is missing.
    pub fn new(db: Database, settings: FilesSettings) -> Result<Self, FilesError> {
        let contents = Contents { db: db.clone(), objects: Objects::open(&settings.storage)? };
        let processor = FileProcessor::new(settings.program.clone());
        Ok(Self {
            db,
            contents,
            settings: Arc::new(settings),
            processor,
            uploads: Arc::new(FairSemaphore::new(MAX_UPLOADS)),
            counts: FileCounts::default(),
        })
    }

    /// Returns the counts of uploads.
    pub fn counts(&self) -> &FileCounts {
        &self.counts
    }

    /// Returns the place of the content.
    pub fn storage(&self) -> &StorageUrl {
        &self.settings.storage
    }

    /// Begins an upload of `announced` bytes, if the client says how many there are. Fails at once if the file would be
    /// too large.
    pub async fn begin_upload(&self, user: UserId, announced: Option<u64>) -> Result<Upload, FilesError> {
        let max_bytes = self.settings.max_file_bytes;
        let count = self.counts.begin();
        if announced.is_some_and(|bytes| bytes > max_bytes) {
            return Err(FilesError::TooLarge { max_bytes });
        }
        self.check_room(user, announced.unwrap_or_default()).await?;
        let slot = timeout(UPLOAD_QUEUE_TIMEOUT, self.uploads.acquire(user)).await.ok().flatten();
        Upload::begin(max_bytes, slot.ok_or(FilesError::Busy)?, count).await
    }

    /// Recognizes an uploaded file, and stores it.
    pub async fn finish_upload(&self, user: UserId, name: &str, upload: Upload) -> Result<FileInfo, FilesError> {
        self.process(user, cleaned(name), upload.end().await?).await
    }

    /// Does the same, unless the user has a file with this content and name already. Then returns that file, and keeps
    /// it from being purged for a day.
    pub async fn finish_upload_once(&self, user: UserId, name: &str, upload: Upload) -> Result<FileInfo, FilesError> {
        let (name, mut received) = (cleaned(name), upload.end().await?);
        if let Some(known) = files::find_same(&self.db, user, &received.sha256, &name).await?
            && files::touch(&self.db, known.id).await?
        {
            received.count.leave_out();
            return Ok(known.into_info());
        }
        self.process(user, name, received).await
    }

    async fn process(&self, user: UserId, name: String, mut received: Received) -> Result<FileInfo, FilesError> {
        // Before anything is stored, because the client need not have announced the size.
        self.check_room(user, received.bytes).await?;
        // The slot is held until everything is stored, so that few results are in memory at once.
        let (processed, _slot) = self.processor.process(received.open()?, &name).await.map_err(refusal)?;
        let file = self.store(user, name, &received, processed).await?;
        received.count.succeed(received.bytes);
        Ok(file.into_info())
    }

    async fn store(
        &self,
        user: UserId,
        name: String,
        received: &Received,
        processed: ProcessedFile,
    ) -> Result<FileRow, FilesError> {
        let ProcessedFile { kind, media_type, pages, has_text, truncated, image } = processed;
        let kind = match kind {
            FoundKind::Image => FileKind::Image,
            FoundKind::Document => FileKind::Document,
            FoundKind::Text => FileKind::Text,
        };
        let pages = if has_text { pages } else { Vec::new() };
        let (model, thumb) = match &image {
            Some(image) => (Some(hashed(&image.model)), Some(hashed(&image.thumb))),
            None => (None, None),
        };
        let number = |pixels: u32| i32::try_from(pixels).unwrap_or(i32::MAX);
        let new = NewFile {
            uuid: Uuid::now_v7(),
            user,
            sha256: received.sha256.clone(),
            name,
            kind,
            media_type,
            bytes: i64::try_from(received.bytes).unwrap_or(i64::MAX),
            size: image.as_ref().map(|image| (number(image.width), number(image.height))),
            pages: i32::try_from(pages.len()).ok().filter(|pages| *pages > 0),
            text_bytes: pages.iter().map(|page| i64::try_from(page.len()).unwrap_or(i64::MAX)).sum(),
            truncated: truncated && has_text,
            model: model.as_ref().map(|(sha256, image)| (sha256.clone(), number(image.width), number(image.height))),
            thumb_sha256: thumb.as_ref().map(|(sha256, _)| sha256.clone()),
        };
        let images: Vec<_> = [&model, &thumb].into_iter().flatten().collect();
        match self.store_new(&new, &pages, received, &images).await {
            // An unreachable store cannot delete objects either. They are purged after a day.
            Err(FilesError::Objects(error)) => Err(FilesError::Objects(error)),
            Err(failure) => {
                // The content of refused files would take storage for a day without counting for the user.
                if let Err(error) = self.contents.purge_unreferenced(new.hashes()).await {
                    tracing::warn!(%error, "the content of a refused file is purged later");
                }
                Err(failure)
            }
            Ok(file) => Ok(file),
        }
    }

    /// Stores the content of a new file, its images and its row. Repeats that if some content is purged meanwhile.
    async fn store_new(
        &self,
        new: &NewFile,
        pages: &[String],
        received: &Received,
        images: &[&(String, &EncodedImage)],
    ) -> Result<FileRow, FilesError> {
        for _ in 0..MAX_ATTEMPTS {
            self.contents.store(&new.sha256, new.bytes, &new.media_type, Source::File(received)).await?;
            for (sha256, image) in images {
                let bytes = i64::try_from(image.bytes.len()).unwrap_or(i64::MAX);
                self.contents.store(sha256, bytes, image.media_type, Source::Bytes(&image.bytes)).await?;
            }
            if with_retries(|| Box::pin(self.create(new, pages))).await? {
                return files::find(&self.db, new.user, new.uuid).await?.ok_or(FilesError::NotFound);
            }
        }
        Err(FilesError::Busy)
    }

    /// Stores the row of a file and its text. Returns `false` if some content was purged meanwhile.
    async fn create(&self, new: &NewFile, pages: &[String]) -> Result<bool, FilesError> {
        let mut tx = self.db.begin().await?;
        lock_user(&mut tx, new.user).await?;
        if !self.keep_contents(&mut tx, new.user, slice::from_ref(new)).await? {
            return Ok(false);
        }
        let stored = texts::create(&mut tx, &new.sha256, pages).await?;
        let pages = i32::try_from(stored).ok().filter(|pages| *pages > 0);
        files::create(&mut tx, &[NewFile { pages, ..new.clone() }]).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Checks that a user has room for files, and keeps their content from being purged. Returns `false` if some
    /// content was purged meanwhile. The transaction must have locked the user.
    async fn keep_contents(&self, tx: &mut Transaction, user: UserId, new: &[NewFile]) -> Result<bool, FilesError> {
        let stored = files::sum_bytes_in(tx, user).await?;
        self.check_quota(stored, new.iter().map(|file| file.bytes.unsigned_abs()).sum())?;
        let hashes: BTreeSet<&str> = new.iter().flat_map(NewFile::hashes).collect();
        Ok(blobs::touch_all(tx, &hashes.into_iter().collect::<Vec<_>>()).await?)
    }

    /// Checks that a user has room for a file of this size.
    async fn check_room(&self, user: UserId, bytes: u64) -> Result<(), FilesError> {
        self.check_quota(files::sum_bytes(&self.db, user).await?, bytes)
    }

    fn check_quota(&self, stored: i64, more: u64) -> Result<(), FilesError> {
        let max_bytes = self.settings.max_user_bytes;
        let sum = stored.unsigned_abs().saturating_add(more);
        if max_bytes > 0 && sum > max_bytes {
            return Err(FilesError::QuotaReached { max_bytes });
        }
        Ok(())
    }

    /// Returns a user's file.
    pub async fn find(&self, user: UserId, id: Uuid) -> Result<FileInfo, FilesError> {
        Ok(self.row(user, id).await?.into_info())
    }

    /// Returns the row of a user's file.
    pub async fn row(&self, user: UserId, id: Uuid) -> Result<FileRow, FilesError> {
        files::find(&self.db, user, id).await?.ok_or(FilesError::NotFound)
    }

    /// Lists at most `limit` of a user's files after the one with the ID `after`, oldest first.
    pub async fn list_after(&self, user: UserId, after: Uuid, limit: u32) -> sqlx::Result<Vec<AccountFile>> {
        let rows = files::list_after(&self.db, user, after, limit).await?;
        let listed = |row: DatedRow| AccountFile { file: row.file.into_info(), created_at: row.created_at };
        Ok(rows.into_iter().map(listed).collect())
    }

    /// Returns the content of a user's file in this form. Fails with `NotFound` if the file does not have it.
    pub async fn content(&self, user: UserId, id: Uuid, variant: Variant) -> Result<Content, FilesError> {
        let file = self.row(user, id).await?;
        let sha256 = match variant {
            Variant::Original => Some(file.sha256),
            Variant::Model => file.model_sha256,
            Variant::Thumb => file.thumb_sha256,
        };
        let row = self.contents.find(&sha256.ok_or(FilesError::NotFound)?).await?;
        let media_type = if variant == Variant::Original { file.media_type } else { row.media_type.clone() };
        Ok(Content { name: file.name, media_type, sha256: row.sha256.clone(), bytes: row.bytes.unsigned_abs(), row })
    }

    /// Reads a range of content.
    pub async fn read(&self, content: &Content, range: ContentRange) -> Result<ContentStream, FilesError> {
        self.contents.read(&content.row, range).await
    }

    /// Returns an image as models receive it, and its media type: always the same bytes for the same hash.
    pub async fn model_image(&self, sha256: &str) -> Result<(String, Vec<u8>), FilesError> {
        let row = self.contents.find(sha256).await?;
        Ok((row.media_type, self.contents.read_all(sha256, MAX_IMAGE_BYTES).await?))
    }

    /// Returns a page of the text of a user's file.
    pub async fn text(&self, user: UserId, id: Uuid, page: i32) -> Result<FileText, FilesError> {
        let file = self.row(user, id).await?;
        let text = self.page(&file.sha256, page).await?.ok_or(FilesError::NoSuchPage)?;
        Ok(FileText { pages: file.pages.unwrap_or_default(), page, text })
    }

    /// Returns the text of the next pages of content, beginning with page `first`: some, or none after the last page.
    pub async fn pages(&self, sha256: &str, first: i32) -> sqlx::Result<Vec<String>> {
        texts::list(&self.db, sha256, first).await
    }

    /// Returns the text of a page of content, if it has that page.
    pub async fn page(&self, sha256: &str, page: i32) -> sqlx::Result<Option<String>> {
        texts::find(&self.db, sha256, page).await
    }

    /// Copies files of `owner` to the files of `user`, and returns the copies by the IDs of the originals. A file that
    /// `user` has already, with the same content and name, is not copied again. Fails with `NotFound` if a file no
    /// longer exists, and with `QuotaReached` if `user` has no room for the files. The transaction must have locked
    /// `user`.
    pub async fn copy_all(
        &self,
        tx: &mut Transaction,
        owner: UserId,
        ids: &[Uuid],
        user: UserId,
    ) -> Result<HashMap<Uuid, FileRow>, FilesError> {
        let originals = files::list_in(tx, owner, ids).await?;
        if originals.len() < ids.len() {
            return Err(FilesError::NotFound);
        }
        let contents: BTreeSet<&str> = originals.iter().map(|file| file.sha256.as_str()).collect();
        let key = |file: &FileRow| (file.sha256.clone(), file.name.clone());
        let same = files::list_same_in(tx, user, &contents.into_iter().collect::<Vec<_>>()).await?;
        let mut own: HashMap<(String, String), FileRow> = same.into_iter().map(|file| (key(&file), file)).collect();
        own.retain(|key_of_own, _| originals.iter().any(|file| key(file) == *key_of_own));
        let known: Vec<_> = own.values().map(|file| file.id).collect();
        if !files::touch_all(tx, &known).await? {
            return Err(FilesError::NotFound);
        }
        let missing: HashMap<_, _> =
            originals.iter().filter(|file| !own.contains_key(&key(file))).map(|file| (key(file), file)).collect();
        // The text of the pages belongs to the content, so it is stored already.
        let new: Vec<NewFile> = missing.into_values().map(|file| copy_of(file, user)).collect();
        if !new.is_empty() {
            if !self.keep_contents(tx, user, &new).await? {
                return Err(FilesError::NotFound);
            }
            files::create(tx, &new).await?;
            let uuids: Vec<Uuid> = new.iter().map(|file| file.uuid).collect();
            own.extend(files::list_in(tx, user, &uuids).await?.into_iter().map(|file| (key(&file), file)));
        }
        let copies = originals.iter().map(|file| Some((file.uuid, own.get(&key(file))?.clone())));
        copies.collect::<Option<_>>().ok_or(FilesError::NotFound)
    }

    /// Keeps files of a user from being deleted until the transaction ends. Returns the ID of a file that is deleted
    /// already, if there is one.
    pub async fn keep(&self, tx: &mut Transaction, user: UserId, files: &[FileRow]) -> sqlx::Result<Option<Uuid>> {
        let ids: BTreeSet<files::FileId> = files.iter().map(|file| file.id).collect();
        if files::touch_all(tx, &ids.into_iter().collect::<Vec<_>>()).await? {
            return Ok(None);
        }
        let uuids: Vec<Uuid> = files.iter().map(|file| file.uuid).collect();
        let left = files::list_in(tx, user, &uuids).await?;
        Ok(uuids.into_iter().find(|uuid| !left.iter().any(|file| file.uuid == *uuid)))
    }

    /// Deletes a user's file, and its content unless another file has the same. Fails with `InUse` if a message or a
    /// tool call refers to it.
    pub async fn delete(&self, user: UserId, id: Uuid) -> Result<(), FilesError> {
        let file = self.row(user, id).await?;
        if !with_retries(|| files::soft_delete(&self.db, file.id)).await? {
            return Err(FilesError::InUse);
        }
        let purged = async {
            self.purge_file(&file).await?;
            Ok::<_, FilesError>(self.db.empty_journal().await?)
        };
        // For the user it is deleted in any case, and counts until the next purge.
        if let Err(error) = purged.await {
            tracing::warn!(%error, "a deleted file is purged later");
        }
        Ok(())
    }

    /// Purges a file that no message and no tool call refers to, and its content unless another file has the same.
    pub(crate) async fn purge_file(&self, file: &FileRow) -> Result<(), FilesError> {
        self.delete_row(file.id).await?;
        self.contents.purge_unreferenced(file.hashes()).await
    }

    /// Deletes the row of a file that nothing refers to. Returns `false` if a message or tool call refers to it.
    pub(crate) async fn delete_row(&self, id: files::FileId) -> sqlx::Result<bool> {
        match files::delete(&self.db, id).await {
            Ok(()) => Ok(true),
            Err(error) if is_referred_to(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns a file of `user` with the content and the name of `file`.
fn copy_of(file: &FileRow, user: UserId) -> NewFile {
    let size_for_models = file.model_width.zip(file.model_height);
    NewFile {
        uuid: Uuid::now_v7(),
        user,
        sha256: file.sha256.clone(),
        name: file.name.clone(),
        kind: file.kind,
        media_type: file.media_type.clone(),
        bytes: file.bytes,
        size: file.width.zip(file.height),
        pages: file.pages,
        text_bytes: file.text_bytes,
        truncated: file.truncated,
        model: file.model_sha256.clone().zip(size_for_models).map(|(sha256, (width, height))| (sha256, width, height)),
        thumb_sha256: file.thumb_sha256.clone(),
    }
}

/// Returns the hash of an image, in hex, with the image.
fn hashed(image: &EncodedImage) -> (String, &EncodedImage) {
    (hex::encode(Sha256::digest(&image.bytes)), image)
}

fn refusal(error: ProcessError) -> FilesError {
    match error {
        error @ ProcessError::UnsupportedType { .. } => FilesError::UnsupportedType(error.to_string()),
        ProcessError::Unreadable { reason } => FilesError::Unreadable(reason),
        error @ ProcessError::Unavailable { .. } => FilesError::Processor(error),
    }
}
