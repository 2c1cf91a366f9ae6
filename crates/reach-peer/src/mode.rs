//! The vendor's modes by name: those that are here, and those that aren't, with a word on who has them.

/// A mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Everything that communication tells.
    All,
    /// How long collectives take.
    CommunicationTime,
    /// The traffic of each link.
    CommunicationMatrix,
    /// The groups of ranks.
    CommunicationGroupMap,
    /// As [`Self::CommunicationTime`], without the tables about the run.
    CommunicationTimeSum,
    /// As [`Self::CommunicationMatrix`], without the tables about the run.
    CommunicationMatrixSum,
    /// Where steps go.
    ClusterTimeSummary,
    /// Where steps of two runs go.
    ClusterTimeCompareSummary,
    /// Statistics of computing operators.
    ComputeOpSum,
    /// Statistics of collectives.
    HcclSum,
    /// Statistics of calls.
    CannApiSum,
    /// Ranks that others wait for, by count.
    SlowRank,
    /// Kinds of collectives whose times stray.
    SlowLink,
    /// Ranks whose AI Cores slowed down.
    FreqAnalysis,
    /// Tokens of experts.
    EpLoadBalance,
    /// The longest idle stretches of ranks.
    FreeAnalysis,
    /// Who holds up the longest collectives of a rank.
    CommunicationBottleneck,
    /// Statistics of what the program marked.
    MstxSum,
    /// Tables of ranks as text.
    ExportSummary,
    /// Names by which sends find their receives.
    P2pPairing,
    /// Forward and backward passes of a pipeline's stages.
    PpChart,
}

/// All modes, in the order of the help.
pub const MODES: [Mode; 21] = [
    Mode::All,
    Mode::CommunicationTime,
    Mode::CommunicationMatrix,
    Mode::CommunicationGroupMap,
    Mode::CommunicationTimeSum,
    Mode::CommunicationMatrixSum,
    Mode::ClusterTimeSummary,
    Mode::ClusterTimeCompareSummary,
    Mode::ComputeOpSum,
    Mode::HcclSum,
    Mode::CannApiSum,
    Mode::SlowRank,
    Mode::SlowLink,
    Mode::FreqAnalysis,
    Mode::EpLoadBalance,
    Mode::FreeAnalysis,
    Mode::CommunicationBottleneck,
    Mode::MstxSum,
    Mode::ExportSummary,
    Mode::P2pPairing,
    Mode::PpChart,
];

impl Mode {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::CommunicationTime => "communication_time",
            Self::CommunicationMatrix => "communication_matrix",
            Self::CommunicationGroupMap => "communication_group_map",
            Self::CommunicationTimeSum => "communication_time_sum",
            Self::CommunicationMatrixSum => "communication_matrix_sum",
            Self::ClusterTimeSummary => "cluster_time_summary",
            Self::ClusterTimeCompareSummary => "cluster_time_compare_summary",
            Self::ComputeOpSum => "compute_op_sum",
            Self::HcclSum => "hccl_sum",
            Self::CannApiSum => "cann_api_sum",
            Self::SlowRank => "slow_rank",
            Self::SlowLink => "slow_link",
            Self::FreqAnalysis => "freq_analysis",
            Self::EpLoadBalance => "ep_load_balance",
            Self::FreeAnalysis => "free_analysis",
            Self::CommunicationBottleneck => "communication_bottleneck",
            Self::MstxSum => "mstx_sum",
            Self::ExportSummary => "export_summary",
            Self::P2pPairing => "p2p_pairing",
            Self::PpChart => "pp_chart",
        }
    }

    /// Its output, in a line for the help.
    pub fn purpose(self) -> &'static str {
        match self {
            Self::All => "steps, collectives and links of all ranks (databases or texts)",
            Self::CommunicationTime => "steps and collectives (databases or texts)",
            Self::CommunicationMatrix => "steps and links (databases or texts)",
            Self::CommunicationGroupMap => "groups of ranks",
            Self::CommunicationTimeSum => "groups and collectives",
            Self::CommunicationMatrixSum => "links",
            Self::ClusterTimeSummary => "where each rank's steps go",
            Self::ClusterTimeCompareSummary => "where they go in two runs (--bp)",
            Self::ComputeOpSum => "statistics of operators",
            Self::HcclSum => "statistics of collectives",
            Self::CannApiSum => "statistics of calls",
            Self::SlowRank => "ranks that others wait for, by count",
            Self::SlowLink => "kinds of collectives whose times stray",
            Self::FreqAnalysis => "ranks whose AI Cores slowed down",
            Self::EpLoadBalance => "tokens of experts",
            Self::FreeAnalysis => "each rank's longest idle stretches, and why",
            Self::CommunicationBottleneck => "who holds up a rank's longest collectives (--rank_id)",
            Self::MstxSum => "statistics of what the program marked (mstx)",
            Self::ExportSummary => "each rank's calls and operators as CSV (--into-input)",
            Self::P2pPairing => "which send belongs to which receive, into ranks' databases (--into-input)",
            Self::PpChart => "passes of a pipeline's stages, into ranks' databases (--into-input)",
        }
    }

    /// Whether it can do with texts.
    pub fn reads_texts(self) -> bool {
        matches!(self, Self::All | Self::CommunicationTime | Self::CommunicationMatrix)
    }

    /// Whether it adds to the ranks' own files, or to copies of them.
    pub fn adds_to_ranks(self) -> bool {
        matches!(self, Self::ExportSummary | Self::P2pPairing | Self::PpChart)
    }

    /// Whether it can do with some of the ranks: all but the one that reads results instead of ranks.
    pub fn chooses_ranks(self) -> bool {
        self != Self::ClusterTimeCompareSummary
    }

    /// Whether it can do with one step.
    pub fn chooses_step(self) -> bool {
        use Mode::{
            CannApiSum, ClusterTimeCompareSummary, ClusterTimeSummary, CommunicationBottleneck, ComputeOpSum,
            EpLoadBalance, HcclSum, MstxSum, P2pPairing, PpChart, SlowRank,
        };
        let modes = [
            CannApiSum,
            ClusterTimeCompareSummary,
            ClusterTimeSummary,
            CommunicationBottleneck,
            ComputeOpSum,
            EpLoadBalance,
            HcclSum,
            MstxSum,
            P2pPairing,
            PpChart,
            SlowRank,
        ];
        modes.contains(&self)
    }

    /// The mode of a name.
    ///
    /// # Errors
    /// When there is none, with a word on who has it, or the closest name.
    pub fn of_name(name: &str) -> Result<Self, String> {
        if let Some(mode) = MODES.into_iter().find(|mode| mode.name() == name) {
            return Ok(mode);
        }
        match elsewhere(name) {
            Some(whom) => Err(format!("-m {name} isn't here: {whom}")),
            None => Err(format!("there is no mode '{name}'; see msprof-analyze --help")),
        }
    }
}

/// Who has a mode of the vendor's that isn't here.
fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "mstx2commop" => "it changes the profiles themselves; the vendor's msprof-analyze has it",
        "module_statistic" | "operator_mfu" | "computational_op_masking" | "calibrate_npu_gpu" => {
            "the vendor's msprof-analyze has it"
        }
        "cluster_compare_baseline" => "-m cluster_time_compare_summary compares two runs",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_leads_to_its_mode() {
        for mode in MODES {
            assert_eq!(Mode::of_name(mode.name()), Ok(mode));
        }
    }

    #[test]
    fn a_mode_of_the_vendors_alone_is_refused_by_name() {
        assert!(Mode::of_name("operator_mfu").unwrap_err().contains("the vendor's msprof-analyze"));
        assert!(Mode::of_name("al").unwrap_err().contains("no mode 'al'"));
    }
}
