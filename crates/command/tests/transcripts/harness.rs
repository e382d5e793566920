//! A folder of its own for each test, and the command run in it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// The command under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_s3cmtf");

/// A folder that goes away with the test.
pub(crate) struct Folder(TempDir);

/// What a run of the command left behind.
pub(crate) struct Shown {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Folder(TempDir::new().unwrap())
    }

    /// A folder with `ratings.tns`, `test.tns`, `friends.tns` and `genres.tns`.
    pub(crate) fn with_ratings() -> Self {
        let folder = Folder::new();
        // A walk through all 12 x 8 x 4 cells that enters none twice.
        let cell = |n: usize| (n * 29 % 12 + 1, n * 29 % 384 / 12 % 8 + 1, n * 29 % 384 / 96 + 1);
        let value = |(user, item, month): (usize, usize, usize)| 1 + (user % 3 + item % 2 + month) % 5;
        let lines = |places: std::ops::Range<usize>| -> String {
            let line = |n| format!("{} {} {} {}\n", cell(n).0, cell(n).1, cell(n).2, value(cell(n)));
            places.map(line).collect()
        };
        folder.write("ratings.tns", lines(0..150));
        folder.write("test.tns", lines(150..190));
        let friends: String = (1..12).map(|user| format!("{user} {} 1\n", user + 1)).collect();
        folder.write("friends.tns", &friends);
        let genres: String = (1..=8).map(|item| format!("{item} {} 1\n", item % 3 + 1)).collect();
        folder.write("genres.tns", &genres);
        folder
    }

    /// A folder as [`Folder::with_ratings`] has it, and a small model in `model`.
    pub(crate) fn with_model() -> Self {
        let folder = Folder::with_ratings();
        folder.run("fit ratings.tns --rank 2 --epochs 3 --out model").succeeds();
        folder
    }

    /// Where a file of this folder is.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// The names of what is in a subfolder, sorted.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let Ok(files) = fs::read_dir(self.path(name)) else { return Vec::new() };
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A command in this folder, not yet started.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path());
        command
    }

    /// Runs `s3cmtf` with arguments that blanks separate.
    pub(crate) fn run(&self, arguments: &str) -> Shown {
        Shown::from(self.command(BINARY).args(arguments.split_whitespace()).output().unwrap())
    }
}

impl From<Output> for Shown {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        // A signal has no code; none of the tests expects one.
        let code = output.status.code().unwrap_or(-1);
        Shown { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Shown {
    /// Asserts that all went well.
    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        assert_eq!(self.code, 0, "stdout:\n{}stderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts the exit code, and that one `error:` on stderr says each of `words`; stdout stays empty.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &[&str]) -> Self {
        let Shown { stdout, stderr, .. } = &self;
        assert_eq!(self.code, code, "stdout:\n{stdout}stderr:\n{stderr}");
        assert_eq!(stdout, "");
        assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
        self.says(words)
    }

    /// Asserts that stderr has each of `words`, and no panic.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in:\n{}", self.stderr);
        }
        self
    }

    /// Asserts that stdout has each of `words`.
    #[track_caller]
    pub(crate) fn prints(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stdout.contains(word), "{word:?} is not in:\n{}", self.stdout);
        }
        self
    }

    /// The JSON objects on stdout, one per line.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// What a command that was interrupted after its first line still prints; it must end as one that was.
#[cfg(unix)]
pub(crate) fn interrupted(mut command: Command) -> String {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    rest
}
