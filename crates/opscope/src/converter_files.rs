//! The model converter's files as commands are given them: the command, the switch file, and the
//! report of what fusion did.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use opscope_advise::ConverterOptions;
use opscope_advise::converter::{Conversion, ConverterFile, FusionResult, OperatorLibrary, Switches};
use opscope_say::say;

use crate::terminal::Terminal;

/// Larger files aren't the converter's.
const LARGEST: u64 = 16 << 20;

/// The options that name the files.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The model's conversion")]
pub struct ConverterArguments {
    /// The command that converted the model, a script with it, or a file with its options
    #[arg(long, value_name = "COMMAND|FILE")]
    pub converter: Option<String>,

    /// The converter's fusion switch file, or its rules as in ReluMerge:off;AbsMerge:on [default: the
    /// one that the command names]
    #[arg(long, value_name = "FILE|RULES")]
    pub switches: Option<String>,

    /// The converter's report on its fusion rules: its fusion_result.json
    #[arg(long, value_name = "FILE")]
    pub fusion_result: Option<PathBuf>,
}

/// The content of the converter's files.
#[derive(Clone, Debug, Default)]
pub struct ConverterFiles {
    /// The command.
    pub command: Option<ConverterOptions>,
    /// The rules that are on and off.
    pub switches: Option<Switches>,
    /// The result of fusion.
    pub result: Option<FusionResult>,
}

impl ConverterArguments {
    /// Reads what is named, and the switch file that the command names, if it is there.
    ///
    /// # Errors
    /// When a file can't be read, or is another one.
    pub fn read(&self, terminal: &Terminal) -> anyhow::Result<ConverterFiles> {
        let mut files = ConverterFiles::default();
        let mut folder = PathBuf::new();
        if let Some(text) = &self.converter {
            let path = Path::new(text);
            let content = if path.is_file() {
                folder = path.parent().map(Path::to_owned).unwrap_or_default();
                let content = read(path)?;
                refuse_other(path, &content, ConverterFile::Command)?;
                content
            } else {
                text.clone()
            };
            let command = ConverterOptions::parse(&content);
            if command.is_empty() {
                bail!(
                    "{}",
                    say!(
                        "--converter {text}: there is neither a file of this name nor an option in it; give the \
                     command as in --converter 'atc --model=m.onnx --framework=5 …', or a script that holds it"
                    )
                );
            }
            if command.others() > 0 {
                terminal.warn(&say!(
                    "{text}: {} further commands of the converter are not read",
                    command.others()
                ));
            }
            files.command = Some(command);
        }
        files.switches = match &self.switches {
            Some(text) => Some(switches(text)?),
            None => files.named_switches(&folder, terminal)?,
        };
        if let Some(path) = &self.fusion_result {
            let content = read(path)?;
            let result = FusionResult::parse(&content);
            if result.is_err() {
                refuse_other(path, &content, ConverterFile::Result)?;
            }
            files.result = Some(result.with_context(|| path.display().to_string())?);
        }
        Ok(files)
    }
}

impl ConverterFiles {
    /// The conversion that they describe together.
    pub fn conversion(&self, is_svp: bool) -> Conversion<'_> {
        Conversion {
            command: self.command.as_ref(),
            switches: self.switches.as_ref(),
            result: self.result.as_ref(),
            is_svp,
        }
    }

    /// The chip that the command names.
    pub fn soc_version(&self) -> Option<&str> {
        self.command.as_ref()?.get("soc_version").filter(|soc| !soc.contains('$'))
    }

    /// Takes a file as what its content is; whether it is one of the converter's.
    ///
    /// # Errors
    /// When it can't be read after all.
    pub fn take(&mut self, path: &Path) -> anyhow::Result<bool> {
        let Some(content) = small_text(path) else { return Ok(false) };
        match ConverterFile::of(&content) {
            Some(ConverterFile::Command) => self.command = Some(ConverterOptions::parse(&content)),
            Some(ConverterFile::Switches) => self.switches = Some(Switches::parse(&content)?),
            Some(ConverterFile::Result) => self.result = Some(FusionResult::parse(&content)?),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// The switches that the command names: a file here or beside the script, or the rules themselves.
    fn named_switches(&self, folder: &Path, terminal: &Terminal) -> anyhow::Result<Option<Switches>> {
        let named = self.command.as_ref().and_then(|command| command.get("fusion_switch_file"));
        let Some(named) = named.filter(|named| !named.is_empty() && !named.contains('$')) else {
            return Ok(None);
        };
        if let Some(path) = [PathBuf::from(named), folder.join(named)].iter().find(|path| path.is_file()) {
            return switches(&path.to_string_lossy()).map(Some);
        }
        if ConverterFile::of(named) == Some(ConverterFile::Switches) {
            return switches(named).map(Some);
        }
        terminal.warn(&say!(
            "the command's switch file {named} is not here, so that which rules were off is not known; give it \
             with --switches"
        ));
        Ok(None)
    }
}

fn switches(text: &str) -> anyhow::Result<Switches> {
    let path = Path::new(text);
    if !path.is_file() {
        return Switches::parse(text)
            .with_context(|| say!("{text}: there is neither a file of this name nor a rule in it"));
    }
    let content = read(path)?;
    let read = Switches::parse(&content);
    if read.is_err() {
        refuse_other(path, &content, ConverterFile::Switches)?;
    }
    read.with_context(|| path.display().to_string())
}

/// Says what a file is, where it is another of the converter's.
fn refuse_other(path: &Path, content: &str, wanted: ConverterFile) -> anyhow::Result<()> {
    let option = |file| match file {
        ConverterFile::Command => "--converter",
        ConverterFile::Switches => "--switches",
        ConverterFile::Result => "--fusion-result",
    };
    match ConverterFile::of(content).filter(|found| *found != wanted) {
        Some(found) => {
            bail!("{}", say!("{}: this is {found}; give it with {}", path.display(), option(found)))
        }
        None => Ok(()),
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    let size = path.metadata().with_context(|| say!("{}: cannot read this file", path.display()))?.len();
    if size > LARGEST {
        bail!("{}", say!("{}: {size} bytes are too many for a file of the converter's", path.display()));
    }
    let bytes = std::fs::read(path).with_context(|| say!("{}: cannot read this file", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text of a file that may be the converter's: not too large, and text at all.
fn small_text(path: &Path) -> Option<String> {
    let found = path.metadata().ok().filter(|found| found.is_file() && found.len() <= LARGEST)?;
    let mut start = [0; 512];
    let length = std::io::Read::read(&mut std::fs::File::open(path).ok()?, &mut start).ok()?;
    if found.len() == 0 || start[..length].contains(&0) {
        return None;
    }
    String::from_utf8(std::fs::read(path).ok()?).ok()
}

/// The kind of a file of the converter's, by its content.
pub fn kind(path: &Path) -> Option<ConverterFile> {
    ConverterFile::of(&small_text(path)?)
}

/// The operators of several libraries together.
///
/// # Errors
/// When a file can't be read, or is no library.
pub fn operator_libraries(paths: &[PathBuf]) -> anyhow::Result<Option<OperatorLibrary>> {
    let mut all = OperatorLibrary::default();
    for path in paths {
        let library = OperatorLibrary::of(&read(path)?).with_context(|| {
            say!(
                "{}: this is no operator information library (aic-CHIP-ops-info.json, or an .ini file that \
                 describes operators)",
                path.display()
            )
        })?;
        all.operators.extend(library.operators);
    }
    Ok((!paths.is_empty()).then_some(all))
}

/// The library of operators that a file is, by its content.
pub fn operator_library(path: &Path) -> Option<OperatorLibrary> {
    OperatorLibrary::of(&small_text(path)?)
}

/// The converter's switch files and reports of fusion in a folder, or in that of a file: those that say
/// so in their names.
pub fn beside(path: &Path) -> Vec<(PathBuf, ConverterFiles)> {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        name.contains("fusion_switch") || name.contains("fusion_result")
    });
    paths.sort();
    let taken = paths.into_iter().filter_map(|path| {
        let mut files = ConverterFiles::default();
        files.take(&path).is_ok_and(|taken| taken).then_some((path, files))
    });
    taken.collect()
}
