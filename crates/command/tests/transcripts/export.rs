//! `s3cmtf export`, `s3cmtf completions` and `s3cmtf man`.

use std::fs;

use crate::harness::Folder;

#[test]
fn a_model_goes_out_in_four_formats() {
    let folder = Folder::with_model();
    let tables = ["core", "factor.mode1", "factor.mode2", "factor.mode3"];
    for format in ["csv", "parquet"] {
        folder
            .run(&format!("export model --to {format} --out {format}"))
            .succeeds()
            .prints(&["factor.mode1"]);
        assert_eq!(folder.list(format), tables.map(|name| format!("{name}.{format}")));
    }
    let text = fs::read_to_string(folder.path("csv/factor.mode1.csv")).unwrap();
    assert!(text.starts_with("mode1,concept1,concept2"), "{text}");
    assert_eq!(text.lines().count(), 13);
    for format in ["npz", "safetensors"] {
        folder.run(&format!("export model --to {format} --out {format}")).succeeds().prints(&["factors"]);
        assert_eq!(folder.list(format), [format!("factors.{format}")]);
    }
    folder.run("export model --to xlsx --out x").fails(2, &["csv, parquet, npz, safetensors"]);
    folder.run("export nowhere --to csv --out x").fails(1, &["nowhere"]);
    folder.run("export model --to csv --out ratings.tns").fails(1, &["ratings.tns"]);
}

#[test]
fn shells_complete_the_verbs_and_their_flags() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let shown = folder.run(&format!("completions {shell}")).succeeds();
        shown.prints(&["s3cmtf", "fold-in", "evaluate", "lambda-reg"]);
    }
    folder.run("completions tcsh").fails(2, &["tcsh", "bash"]);
}

#[test]
fn every_verb_has_a_page_with_all_its_flags() {
    let folder = Folder::new();
    folder.run("man").succeeds().prints(&[".TH", "fold\\-in"]);
    folder.run("man --out pages").succeeds();
    let help = folder.run("--help").succeeds().stdout;
    let verbs = help.split("Start:\n").nth(1).unwrap().split("\nOptions:").next().unwrap();
    let verbs = verbs.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let mut pages = 0;
    for verb in verbs.filter_map(|line| line.split_whitespace().next()).filter(|verb| *verb != "help") {
        let page = fs::read_to_string(folder.path("pages").join(format!("s3cmtf-{verb}.1"))).unwrap();
        assert!(page.contains(&format!("s3cmtf\\-{}", verb.replace('-', "\\-"))), "{verb}: {page}");
        let help = folder.run(&format!("{verb} --help")).succeeds().stdout;
        let flags = help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 4);
        for flag in flags.map(|flag| flag.trim_matches(|c: char| !c.is_alphanumeric() && c != '-')) {
            let name = flag.split(['=', '[']).next().unwrap_or(flag).replace('-', "\\-");
            assert!(page.contains(&name), "{verb}: no {flag} in its page");
        }
        pages += 1;
    }
    assert!(pages == 22 && folder.list("pages").len() > pages, "{pages}");
}
