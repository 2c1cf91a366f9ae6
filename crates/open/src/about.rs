//! Descriptions of formats in words for people: where it comes from, what is read of it, and on what that was tried.

use opscope_trace::words;

/// The words about a format, as `opscope formats` lists them. Texts are parts of sentences without a full stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The kind of thing that it describes.
    pub kind: FormatKind,
    /// The programs that write it, with the versions that were seen.
    pub from: &'static str,
    /// The part of its content that is read.
    pub reads: &'static str,
    /// The commands that write it, if any does.
    pub written_by: Option<&'static str>,
    /// The part of a run that it doesn't hold, or that is left out.
    pub lacks: &'static str,
    /// The files on which the reader was tried.
    pub tried: Tried,
}

words! {
    /// The kind of thing that a format describes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum FormatKind {
        /// A run of a program or a model.
        Profile = "profile",
        /// A model.
        Model = "model",
        /// The operators that a compiler of models has.
        Library = "library",
        /// Something that the conversion of a model left beside it.
        Conversion = "conversion",
    }
}

words! {
    /// The files on which a reader was tried, the best that there were.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Tried {
        /// Files that the programs named wrote in real use.
        RealFiles = "real files",
        /// Whole files of TensorRT that are public, with the profile, the layers and the times of each engine.
        EngineExplorer = "real files: the 10 samples of NVIDIA's engine explorer for TensorRT, whose sums were compared by hand on 2026-11-30",
        /// A whole document of ncnn's that is public, and nothing of MNN's.
        NcnnReadme = "real files of ncnn: the 8,554 networks in its benchmark/README.md, whose sums were compared by hand on 2026-11-30; untested on a real file of MNN",
        /// Parts of such files, as documentation and reports of faults show them.
        Excerpts = "published excerpts of real files; untested on a whole one",
        /// Files that were built by a layout or schema that the format's owner publishes.
        PublicLayout = "files built by its public layout; untested on a real file",
        /// Files that were built by what documentation says.
        Documentation = "files built by its documentation; untested on a real file",
    }
}

#[cfg(test)]
mod tests {
    use crate::format::Reader;
    use crate::formats::ALL;

    #[test]
    fn every_format_that_can_be_read_says_what_it_is_in_one_line_each() {
        for format in ALL {
            let Some(about) = format.about else {
                assert!(matches!(format.reader, Reader::None(_)), "{} is read and says nothing", format.name);
                continue;
            };
            for text in [Some(about.from), Some(about.reads), about.written_by, Some(about.lacks)]
                .into_iter()
                .flatten()
            {
                let one_line = !text.is_empty() && !text.contains(['\n', '|']) && !text.ends_with('.');
                assert!(one_line, "{}: {text:?}", format.name);
            }
        }
    }

    #[test]
    fn formats_of_one_name_say_the_same() {
        for format in ALL {
            let same = ALL.iter().filter(|other| *other == &format);
            same.for_each(|other| assert_eq!(other.about, format.about, "{}", format.name));
        }
    }
}
