//! `cargo xtask dist`: packs a release into one archive, `target/dist/tallybook-VERSION-TARGET.tar.gz`, with its
//! checksum next to it. `notices` creates the license and SBOM files in it.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest as _, Sha256};

use crate::{
    build, notices,
    progress::{Step, say},
    shell,
    ui::{files_below, optimize},
    workspace,
};

/// Files of the workspace that go into the archive unchanged.
const FILES: [&str; 9] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "SECURITY.md",
    "compose.sqlite.yml",
    "docker-compose.yml",
    "tallybook.example.toml",
];

/// Folders that go into the archive with all their contents, so that links between documents work there, too.
const FOLDERS: [&str; 2] = ["docs", "infra"];

/// Dockerfile of the images. The archive has its own version, which uses the built program.
const DOCKERFILE: &str = "infra/Dockerfile";

/// The archive's `README.md`. That of the workspace describes the source code.
const README: &str = "infra/archive/README.md";

/// Files in those folders that are left out or changed. They belong to a build from the source code, which is not in
/// the archive.
const LEFT_OUT: [&str; 3] = [DOCKERFILE, "infra/Dockerfile.dockerignore", README];

/// First stage of the archive's Dockerfile. It provides the files that the stage `build` of the workspace's Dockerfile
/// builds.
const BUILD_STAGE: &str = "\
# Tallybook in a container: the program of this archive.
#   docker build -f infra/Dockerfile -t tallybook .
# For an installation without tool servers that run as local processes, an image without a shell is enough:
#   docker build -f infra/Dockerfile --target without-shell -t tallybook .

FROM debian:trixie-slim AS build
COPY THIRD-PARTY-LICENSES.txt tallybook.cdx.json /notices/
COPY tallybook /usr/local/bin/tallybook
RUN mkdir /empty
";

/// Timeout for the packed program to be ready.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Options of `cargo xtask dist`.
#[derive(Args)]
pub(crate) struct Options {
    /// Pack the quick build, to try the archive; its file name shows that
    #[arg(long)]
    quick: bool,
}

/// Builds the program, and packs it with the files that belong to it.
pub(crate) fn run(options: &Options) -> Result<()> {
    // Checks these first, so that what is missing or forbidden shows before the long build.
    ensure!(
        options.quick || optimize::find().is_some(),
        "a release needs wasm-opt, since its page would otherwise be about three times as large: run `npm ci` in e2e, \
         or install binaryen"
    );
    let notices = notices::checked()?;
    let program = build::program(!options.quick)?;
    let step = Step::begin("packing", "");
    let version = env!("CARGO_PKG_VERSION");
    let quick = if options.quick { "-quick" } else { "" };
    let name = format!("tallybook-{version}-{}{quick}", target()?);
    let mut contents = vec![("tallybook".to_owned(), fs::read(&program)?, 0o755)];
    contents.extend(notices.files.into_iter().map(|(name, content)| (name.to_owned(), content.into_bytes(), 0o644)));
    contents.extend(changed_files()?.map(|(name, text)| (name.to_owned(), text.into_bytes(), 0o644)));
    for file in files()? {
        let content = fs::read(workspace::root().join(&file))?;
        contents.push((file, content, 0o644));
    }
    let folder = workspace::root().join("target/dist");
    fs::create_dir_all(&folder)?;
    let archive = pack(&folder, &name, &contents)?;
    let ready = starts(&archive, &name)?.as_millis();
    let bytes = fs::metadata(&archive)?.len();
    step.done(&format!("{} third-party crates", notices.crates));
    say(&format!(
        "the archive is {} ({} MB), with its checksum next to it",
        archive.display(),
        bytes.div_ceil(1_000_000)
    ));
    say(&format!("unpacked and started on an empty database, it was ready after {ready} ms"));
    Ok(())
}

/// Returns the paths of the workspace files that go into the archive unchanged.
fn files() -> Result<Vec<String>> {
    let mut files = FILES.map(str::to_owned).to_vec();
    let root = workspace::root();
    for folder in FOLDERS {
        for file in files_below(&root.join(folder))? {
            let name = file.strip_prefix(&root)?.to_str().context("a file's name is not valid UTF-8")?;
            files.push(name.replace(std::path::MAIN_SEPARATOR, "/"));
        }
    }
    files.retain(|file| !LEFT_OUT.contains(&file.as_str()));
    files.sort_unstable();
    Ok(files)
}

/// Returns the files that the archive has in another form than the workspace.
fn changed_files() -> Result<[(&'static str, String); 2]> {
    let read = |file: &str| fs::read_to_string(workspace::root().join(file));
    // The archive has this file in its top folder.
    let readme = read(README)?.replace("](../../", "](");
    Ok([("README.md", readme), (DOCKERFILE, release_dockerfile(&read(DOCKERFILE)?)?)])
}

/// Creates the archive's Dockerfile from the workspace's. The stages of the images stay as they are.
fn release_dockerfile(source: &str) -> Result<String> {
    let is_image = |stage: &&str| ![" AS build\n", " AS e2e\n"].iter().any(|name| stage.contains(name));
    let images: String =
        source.split("\nFROM ").skip(1).filter(is_image).flat_map(|stage| ["\nFROM ", stage]).collect();
    ensure!(!images.is_empty(), "infra/Dockerfile has no stage of an image");
    Ok(format!("{BUILD_STAGE}{images}"))
}

/// Returns Rust's target triple of this machine.
fn target() -> Result<String> {
    let described = shell::ask(Command::new("rustc").arg("-vV")).context("cannot run `rustc -vV`")?;
    let host =
        described.lines().find_map(|line| line.strip_prefix("host: ")).context("`rustc -vV` does not name the host")?;
    Ok(host.to_owned())
}

/// Writes `NAME.tar.gz`, in which everything is in a folder of that name, and `NAME.tar.gz.sha256` for `sha256sum
/// --check`. Equal contents give an equal archive: it contains no time and no owner.
fn pack(folder: &Path, name: &str, contents: &[(String, Vec<u8>, u32)]) -> Result<PathBuf> {
    let archive = folder.join(format!("{name}.tar.gz"));
    let file = File::create(&archive).with_context(|| format!("cannot write {}", archive.display()))?;
    let mut tar = tar::Builder::new(GzEncoder::new(file, Compression::best()));
    for (path, bytes, mode) in contents {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(*mode);
        header.set_mtime(0);
        tar.append_data(&mut header, format!("{name}/{path}"), bytes.as_slice())?;
    }
    tar.into_inner()?.finish()?;
    let digest = hex::encode(Sha256::digest(fs::read(&archive)?));
    fs::write(folder.join(format!("{name}.tar.gz.sha256")), format!("{digest}  {name}.tar.gz\n"))?;
    Ok(archive)
}

/// Unpacks the archive as users do, and starts its program on a new, empty database. Returns the time until the program
/// is ready.
fn starts(archive: &Path, name: &str) -> Result<Duration> {
    let folder = tempfile::tempdir()?;
    shell::run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(folder.path()))?;
    let mut program = Command::new(folder.path().join(name).join("tallybook"));
    // The settings and keys of the user who makes the release must not apply.
    program.env_clear().envs([("HOST", "127.0.0.1"), ("PORT", "0"), ("LLM_PROVIDER", "demo")]);
    let began = Instant::now();
    let mut child = program.current_dir(folder.path()).stdout(Stdio::piped()).spawn()?;
    let (sender, receiver) = mpsc::sync_channel(1);
    let said = BufReader::new(child.stdout.take().context("the program has no output")?);
    thread::spawn(move || {
        let ready = said.lines().map_while(Result::ok).any(|line| line.starts_with("Tallybook is ready at "));
        // After the timeout, the receiver is gone.
        let _ = sender.send(ready);
    });
    let ready = receiver.recv_timeout(START_LIMIT).unwrap_or(false);
    let took = began.elapsed();
    child.kill()?;
    child.wait()?;
    ensure!(ready, "the program in {} does not start", archive.display());
    Ok(took)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path, process::Command};

    use regex::Regex;

    use super::{DOCKERFILE, changed_files, files, pack, starts};
    use crate::{shell, workspace};

    #[test]
    fn an_archive_unpacks_to_its_contents_and_matches_its_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let contents = [
            ("run".to_owned(), b"#!/bin/sh\necho hello\n".to_vec(), 0o755),
            ("TEXT".to_owned(), b"words".to_vec(), 0o644),
        ];
        let archive = pack(folder.path(), "thing-1.0", &contents).unwrap();
        let first = fs::read(&archive).unwrap();
        shell::run(
            Command::new("sha256sum")
                .args(["--quiet", "--check", "thing-1.0.tar.gz.sha256"])
                .current_dir(folder.path()),
        )
        .unwrap();
        shell::run(Command::new("tar").args(["-xzf", "thing-1.0.tar.gz"]).current_dir(folder.path())).unwrap();
        let said = shell::ask(&mut Command::new(folder.path().join("thing-1.0/run")));
        assert_eq!(said.as_deref(), Some("hello"));
        assert_eq!(fs::read_to_string(folder.path().join("thing-1.0/TEXT")).unwrap(), "words");

        assert_eq!(
            fs::read(pack(folder.path(), "thing-1.0", &contents).unwrap()).unwrap(),
            first,
            "packed again, the archive is the same"
        );
    }

    /// Names of an archive's files besides the program and its notices.
    fn archived() -> BTreeSet<String> {
        let changed = changed_files().unwrap().map(|(name, _)| name.to_owned());
        files().unwrap().into_iter().chain(changed).collect()
    }

    #[test]
    fn an_archive_has_every_file_to_which_its_documents_link() {
        let link = Regex::new(r#"(?:\]\(|(?:src|srcset|href)=")([^)"\s#]+)"#).unwrap();
        let (names, changed) = (archived(), changed_files().unwrap());
        let is_document = |name: &&String| Path::new(name).extension().is_some_and(|extension| extension == "md");
        for document in names.iter().filter(is_document) {
            let text = changed.iter().find(|(name, _)| name == document).map(|(_, text)| text.clone());
            let text = text.unwrap_or_else(|| fs::read_to_string(workspace::root().join(document)).unwrap());
            for found in link.captures_iter(&text).filter(|found| !found[1].contains(':') && !found[1].starts_with('/'))
            {
                let mut path: Vec<&str> = document.split('/').collect();
                path.pop();
                for part in found[1].split('/') {
                    match part {
                        ".." => {
                            assert!(path.pop().is_some(), "{document} links to {}, outside of the archive", &found[1]);
                        }
                        part => path.push(part),
                    }
                }
                let path = path.join("/");
                let is_folder = names.iter().any(|name| name.starts_with(&format!("{path}/")));
                assert!(names.contains(&path) || is_folder, "{document} links to {path}, which the archive lacks");
            }
        }
    }

    /// Compose builds the images with the archive's own Dockerfile.
    #[test]
    fn an_archive_has_what_its_images_contain() {
        let names = archived();
        for file in ["README.md", "compose.sqlite.yml", "docker-compose.yml", "infra/mysql/my.cnf"] {
            assert!(names.contains(file), "{file}");
        }
        let [(_, readme), (_, dockerfile)] = changed_files().unwrap();
        assert!(readme.contains("(docs/how-to/install.md") && !readme.contains("../"), "{readme}");
        assert!(!dockerfile.contains("cargo") && !dockerfile.contains(" AS e2e"), "{dockerfile}");
        let source = fs::read_to_string(workspace::root().join(DOCKERFILE)).unwrap();
        for image in ["FROM gcr.io/distroless/", "FROM debian:trixie-slim\n"] {
            let stage =
                |text: &str| text.split(image).nth(1).map(|rest| rest.split("\nFROM ").next().unwrap().to_owned());
            assert!(stage(&source).is_some(), "{image}");
            assert_eq!(stage(&dockerfile), stage(&source), "{image}");
        }
    }

    #[test]
    fn a_packed_program_must_start_and_report_that_it_is_ready() {
        let folder = tempfile::tempdir().unwrap();
        let script = |line: &str| [("tallybook".to_owned(), format!("#!/bin/sh\n{line}\n").into_bytes(), 0o755)];
        let well = pack(folder.path(), "well", &script("echo Tallybook is ready at http://127.0.0.1:1")).unwrap();
        starts(&well, "well").unwrap();
        let ill = pack(folder.path(), "ill", &script("echo no; exit 1")).unwrap();
        assert!(starts(&ill, "ill").unwrap_err().to_string().ends_with("does not start"));
    }
}
