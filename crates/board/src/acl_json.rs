//! Which `acl.json` of a project is the program's, what keys the host's runtime takes in it, and what is
//! said of what the copy there has otherwise.

use crate::Progress;
use crate::connection::Connection;
use crate::error::Error;
use crate::remote::join;
use crate::settings::{Changed, KeyStyle};
use crate::upload::Project;

/// The keys that the host's runtime knows, by its devices: AscendCL refuses to profile with a key that it
/// doesn't know.
pub(crate) async fn found_style(connection: &Connection) -> Result<KeyStyle, Error> {
    Ok(match has_ascend(connection).await? {
        true => KeyStyle::Ascend,
        false => KeyStyle::Aa,
    })
}

/// Whether there is an Ascend processor in the host.
pub(crate) async fn has_ascend(connection: &Connection) -> Result<bool, Error> {
    let found = connection.ask("ls -d /dev/davinci[0-9]* 2>/dev/null").await?;
    Ok(found.is_some_and(|devices| devices.contains("davinci")))
}

/// Says what the copy of `acl.json` on the board has otherwise than the project's own.
pub(crate) fn tell_changes(config: &str, changed: &Changed, output: &str, progress: &mut dyn Progress) {
    if let Some(own) = changed.output.as_ref().filter(|own| *own != output) {
        progress.warn(&format!(
            "{config} names '{own}' for its results; on the board, for this collection, it names {output}, from where \
             they are brought back (--nfs SERVER:PATH puts them on another machine at once)"
        ));
    }
    if !changed.removed.is_empty() {
        progress.warn(&format!(
            "{config}: AscendCL doesn't know {} and would refuse to profile; on the host they are left out",
            changed.removed.join(", ")
        ));
    }
}

/// The project's `acl.json`: the one that is there, nearest to the program; or where the vendor's
/// samples have theirs, in `src` beside the program's folder if there is one, else beside it.
pub(crate) fn config_file(project: &Project, main: &str) -> String {
    let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
    let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
    let source = join(above, "src");
    let likely = [join(folder, "acl.json"), join(&source, "acl.json"), join(above, "acl.json")];
    let names: Vec<&str> = project.names().collect();
    let found = likely.iter().find(|path| names.contains(&path.as_str()));
    let is_one = |name: &&&str| name.rsplit('/').next() == Some("acl.json");
    let anywhere = || names.iter().find(is_one).map(|name| (*name).to_owned());
    let has_source = names.iter().any(|name| name.starts_with(&format!("{source}/")));
    let default = if has_source && !folder.is_empty() { &likely[1] } else { &likely[0] };
    found.cloned().or_else(anywhere).unwrap_or_else(|| default.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::project;

    #[test]
    fn the_configuration_is_the_one_nearest_to_the_program() {
        let place = |files: &[&str], main: &str| config_file(&project(files).1, main);
        assert_eq!(place(&["out/main", "out/acl.json", "src/acl.json"], "out/main"), "out/acl.json");
        assert_eq!(place(&["out/main", "src/acl.json"], "out/main"), "src/acl.json");
        assert_eq!(place(&["out/main", "acl.json"], "out/main"), "acl.json");
        assert_eq!(place(&["out/main", "data/acl.json"], "out/main"), "data/acl.json");
        assert_eq!(place(&["build/bin/main", "acl.json"], "build/bin/main"), "acl.json");
        assert_eq!(place(&["out/main", "src/main.cpp"], "out/main"), "src/acl.json");
        assert_eq!(place(&["main"], "main"), "acl.json");
    }
}
