//! What is seen on a terminal, and what is not where there is none.

use crate::harness::{BINARY, Folder, Shown};

/// Runs the command on a terminal of so many columns, which Python makes; prints what came out of it.
const TERMINAL: &str = r#"
import fcntl, os, pty, struct, sys, termios
columns, program = int(sys.argv[1]), sys.argv[2:]
child, screen = pty.fork()
if child == 0:
    # The other end waits for this line, so that the size is set before the command asks for it.
    sys.stdin.readline()
    os.execvp(program[0], program)
fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
attributes = termios.tcgetattr(screen)
attributes[3] &= ~termios.ECHO
termios.tcsetattr(screen, termios.TCSANOW, attributes)
os.write(screen, b"\n")
shown = b""
while True:
    try:
        some = os.read(screen, 65536)
    except OSError:
        break
    if not some:
        break
    shown += some
_, status = os.waitpid(child, 0)
sys.stdout.buffer.write(shown.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(status))
"#;

const LONG: &str = "The Lucky Turtle Pizzeria and Grill at the End of the Long Road";
const WIDE: &str = "幸運な亀のピザ屋と焼き肉屋さんは長い道の終わりにあります";

fn with_long_names() -> Folder {
    let folder = Folder::new();
    let mut table = String::from("user,place,stars\n");
    let places = [LONG, WIDE, "Zoe's", "Joe's"];
    for user in 0..8 {
        for (number, place) in places.iter().enumerate() {
            if (user + number) % 4 != 0 {
                let likes = if (user < 4) == (number < 2) { 4.5 } else { 1.5 };
                table += &format!("u{user},\"{place}\",{}\n", likes + 0.1 * (user % 3) as f32);
            }
        }
    }
    folder.write("train.csv", table);
    folder.run("fit train.csv --rank 4 --quiet --out model").succeeds();
    folder
}

fn on_terminal(folder: &Folder, columns: usize, variables: &[(&str, &str)], arguments: &str) -> Shown {
    let mut command = folder.command("python3");
    command.args(["-c", TERMINAL, &columns.to_string(), BINARY]).args(arguments.split_whitespace());
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm").envs(variables.iter().copied());
    Shown::from(command.output().unwrap())
}

/// Characters of two columns are those beyond the alphabets here.
fn columns(line: &str) -> usize {
    line.chars().map(|c| if ('\u{3000}'..'\u{ff00}').contains(&c) { 2 } else { 1 }).sum()
}

#[test]
fn lines_are_no_wider_than_the_terminal_and_scripts_see_whole_names() {
    let folder = with_long_names();
    for arguments in [
        "recommend model --for user=u0 --mode place --include-seen",
        "similar model place=Zoe's",
        "concepts model",
        "clusters model --mode place --k 2",
    ] {
        let whole = folder.run(arguments).succeeds();
        assert!(whole.stdout.contains(LONG) && whole.stdout.contains(WIDE), "{}", whole.stdout);
        assert!(!whole.stdout.contains('\u{1b}'), "{}", whole.stdout);
        for wide in [0, 50, 80] {
            let shown = on_terminal(&folder, wide, &[("NO_COLOR", "1")], arguments).succeeds();
            let most = if wide == 0 { 80 } else { wide };
            // Notes are sentences, which a terminal breaks.
            for line in shown.stdout.lines().filter(|line| !line.starts_with("note: ")) {
                assert!(columns(line) <= most, "{arguments} at {wide}: {line:?}");
            }
            assert!(!shown.stdout.contains('\u{1b}'), "{}", shown.stdout);
        }
    }
    let cut = on_terminal(&folder, 50, &[("NO_COLOR", "1")], "similar model place=Zoe's").succeeds();
    assert!(cut.stdout.contains('…') && cut.stdout.contains("The Lucky"), "{}", cut.stdout);
}

#[test]
fn colours_are_for_terminals_that_have_them_and_people_who_want_them() {
    let folder = with_long_names();
    let arguments = "similar model place=Zoe's";
    let is_coloured = |shown: Shown| shown.succeeds().stdout.contains("\u{1b}[");
    let on = |variables: &[(&str, &str)]| is_coloured(on_terminal(&folder, 80, variables, arguments));
    assert!(on(&[]));
    assert!(on(&[("NO_COLOR", "")]), "an empty NO_COLOR is none");
    assert!(!on(&[("NO_COLOR", "1")]));
    assert!(!on(&[("TERM", "dumb")]));
    assert!(!on(&[("CLICOLOR", "0")]));
    let piped = |variable: (&str, &str)| {
        let mut command = folder.command(BINARY);
        command.args(arguments.split_whitespace()).env_remove("NO_COLOR").envs([variable]);
        is_coloured(Shown::from(command.output().unwrap()))
    };
    assert!(piped(("CLICOLOR_FORCE", "1")));
    assert!(!piped(("CLICOLOR_FORCE", "")));
    let failed = on_terminal(&folder, 80, &[], "similar model place=Zoo's");
    assert_eq!(failed.code, 2);
    assert!(failed.stdout.contains("\u{1b}[31m") && failed.stdout.contains("error:"), "{}", failed.stdout);
}
