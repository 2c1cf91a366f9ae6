//! The table of layers with their counters (`op_summary_*`).

use opscope_trace::words;

use crate::cell::Figure;
use crate::table_text::{TableError, TextTable};

words! {
    /// A column of figures in the table of layers. Ratios are shares of the layer's own time, in
    /// percent.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LayerColumn {
        /// The layer's time in microseconds.
        Time = "Time(us)",
        /// Its share of the whole network's time.
        TimeRatio = "Time Ratio",
        /// Cube instructions.
        MacBusy = "Mac Busy Ratio",
        /// Their effective work.
        MacPpen = "Mac Ppen Ratio",
        /// Vector instructions.
        VecBusy = "Vec Busy Ratio",
        /// Their effective work.
        VecPpen = "Vec Ppen Ratio",
        /// Storing to DDR.
        Dstr = "Dstr Ratio",
        /// Moving and transforming from RAM to RAM.
        Dtrans = "Dtrans Ratio",
        /// Loading images and feature maps.
        Dld = "DLD Ratio",
        /// Loading weights.
        Wld = "WLD Ratio",
        /// The slowest of the three transfers beside the faster of the two units; above 1, memory is
        /// the bottleneck.
        MemoryBound = "Memory Bound",
        /// Bytes read from DDR.
        DdrRead = "DDR Read(byte)",
        /// Bytes written to DDR.
        DdrWrite = "DDR Write(byte)",
        /// Both.
        DdrTotal = "DDR Total(byte)",
    }
}

impl LayerColumn {
    /// The columns that the engine's counters give, and those that follow from them.
    pub const COUNTERS: &[Self] = Self::ALL.split_at(2).1;

    /// The column's name without its unit.
    pub fn metric(self) -> &'static str {
        self.name().split('(').next().unwrap_or_default()
    }

    /// The column's unit.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Time => "us",
            Self::DdrRead | Self::DdrWrite | Self::DdrTotal => "B",
            Self::MemoryBound => "",
            _ => "%",
        }
    }
}

/// The columns of text, which stand before those of figures.
const TEXT_COLUMNS: [&str; 4] = ["Layer Id", "Ori Layer Name", "Layer Name", "Layer Type"];
/// The stand-in for a layer's number or name in the row of the whole network.
const TOTAL: &str = "-";

/// A layer as it was executed once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    /// Its number, as the file has it.
    pub id: String,
    /// Its name in the model before conversion.
    pub original_name: String,
    /// Its name after conversion; a fused layer joins several.
    pub name: String,
    /// Its type.
    pub layer_type: String,
    /// The dimensions of its inputs, where the file has them; semicolons part the dimensions.
    pub input_shapes: String,
    /// Its cells in the table's [`OpSummary::other_columns`].
    pub other_cells: Vec<String>,
    figures: [Figure; LayerColumn::ALL.len()],
}

impl Layer {
    /// A layer of which only the name and type are known.
    pub fn new(id: u64, name: &str, layer_type: &str) -> Self {
        Self {
            id: id.to_string(),
            original_name: name.to_owned(),
            name: name.to_owned(),
            layer_type: layer_type.to_owned(),
            ..Self::default()
        }
    }

    /// One of its figures.
    pub fn figure(&self, column: LayerColumn) -> Figure {
        self.figures[column as usize]
    }

    /// Sets one of its figures.
    pub fn set(&mut self, column: LayerColumn, figure: Figure) {
        self.figures[column as usize] = figure;
    }

    /// `max(Dstr, DLD, WLD) / max(Mac Busy, Vec Ppen)`, as the vendor's guide defines it, with a missing
    /// figure where neither unit worked; `None` where a part of it is missing.
    pub fn memory_bound(&self) -> Option<Figure> {
        let of = |column| self.figure(column).0;
        let transfer = of(LayerColumn::Dstr)?.max(of(LayerColumn::Dld)?).max(of(LayerColumn::Wld)?);
        let work = of(LayerColumn::MacBusy)?.max(of(LayerColumn::VecPpen)?);
        Some(if work > 0.0 { Figure::rounded(transfer / work) } else { Figure::MISSING })
    }

    /// The memory bound that follows from the figures; the stated one where they don't tell.
    pub fn best_bound(&self) -> Figure {
        self.memory_bound().unwrap_or_else(|| self.figure(LayerColumn::MemoryBound))
    }

    /// Whether its input is a scalar: shapes that consist of separators only.
    pub fn has_scalar_input(&self) -> bool {
        !self.input_shapes.is_empty() && self.input_shapes.chars().all(|c| matches!(c, ';' | ' ' | '"'))
    }
}

/// The table of layers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpSummary {
    /// The layers, in the order of the file.
    pub layers: Vec<Layer>,
    /// The row of the whole network, which must not be added to the layers.
    pub total: Option<Layer>,
    /// Columns that mean nothing here, and that are written again as they were read.
    pub other_columns: Vec<String>,
    /// How many cells were neither a number nor a word for nothing.
    pub garbled: u64,
    /// How many rows state another memory bound than follows from their figures.
    pub wrong_bounds: u64,
}

impl OpSummary {
    /// Reads CSV or JSON.
    ///
    /// # Errors
    /// When it is no table, or has no layers or no times.
    pub fn read(bytes: &[u8]) -> Result<Self, TableError> {
        Self::from_text(&TextTable::read(bytes)?)
    }

    pub(crate) fn from_text(table: &TextTable) -> Result<Self, TableError> {
        let name = table.need("Layer Name")?;
        table.need(LayerColumn::Time.name())?;
        let [id, original, layer_type] = ["Layer Id", "Ori Layer Name", "Layer Type"].map(|n| table.find(n));
        let shapes = table.find("Input Shapes");
        let columns = LayerColumn::ALL.map(|column| (column, table.find(column.name())));
        let names: Vec<&str> =
            TEXT_COLUMNS.into_iter().chain(LayerColumn::ALL.map(LayerColumn::name)).collect();
        let (other_columns, others) = table.others(&names);
        let mut summary = Self { other_columns, ..Self::default() };
        for row in 0..table.len() {
            let text = |column| table.cell(row, column).to_owned();
            let mut layer = Layer {
                id: text(id),
                original_name: text(original),
                name: text(Some(name)),
                layer_type: text(layer_type),
                input_shapes: text(shapes),
                other_cells: others.iter().copied().map(text).collect(),
                ..Layer::default()
            };
            for (column, place) in columns {
                let cell = table.cell(row, place);
                summary.garbled += u64::from(Figure::is_garbled(cell));
                layer.set(column, Figure::read(cell));
            }
            summary.wrong_bounds += u64::from(states_wrong_bound(&layer));
            if layer.id == TOTAL || layer.name == TOTAL {
                summary.total = Some(layer);
            } else if !(layer.name.is_empty() && layer.id.is_empty()) {
                summary.layers.push(layer);
            }
        }
        Ok(summary)
    }

    /// The time of all layers in microseconds, without the row of the whole network.
    pub fn layer_time(&self) -> f64 {
        self.layers.iter().filter_map(|layer| layer.figure(LayerColumn::Time).0).sum()
    }

    pub(crate) fn to_text(&self) -> TextTable {
        let columns = TEXT_COLUMNS.into_iter().chain(LayerColumn::ALL.map(LayerColumn::name));
        let mut table = TextTable::new(columns).with_columns(&self.other_columns);
        for layer in self.layers.iter().chain(&self.total) {
            let texts = [&layer.id, &layer.original_name, &layer.name, &layer.layer_type].map(String::clone);
            let figures = LayerColumn::ALL.map(|column| match column {
                LayerColumn::MemoryBound => layer.best_bound().to_string(),
                column => layer.figure(column).to_string(),
            });
            let others = layer.other_cells.iter().cloned();
            table.push(texts.into_iter().chain(figures).chain(others).collect());
        }
        table
    }
}

/// The figures are rounded before they are written, so a difference of a hundredth means nothing.
fn states_wrong_bound(layer: &Layer) -> bool {
    match (layer.figure(LayerColumn::MemoryBound).0, layer.memory_bound()) {
        (Some(stated), Some(Figure(Some(computed)))) => {
            (stated - computed).abs() > 0.01 * computed.abs().max(1.0)
        }
        // Nothing follows where neither unit worked, and the vendor's guide wants N/A there.
        (Some(stated), Some(Figure::MISSING)) => stated != 0.0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
Layer Id,Ori Layer Name,Layer Name,Layer Type,Time(us),Time Ratio,Mac Busy Ratio,Mac Ppen Ratio,Vec Busy Ratio,Vec Ppen Ratio,Dstr Ratio,Dtrans Ratio,DLD Ratio,WLD Ratio,Memory Bound,DDR Read(byte),DDR Write(byte),DDR Total(byte)
0,conv1,conv1_relu1,Convolution,120.5,60.25,80,70,10,5,20,3,40,30,0.5,1001590000000,4096,1001590004096
1,mish1,softplus1,Softplus,79.5,39.75,0,0,40,25,50,N/A,10,0,9.9,N/A,N/A,N/A
2,soft,softmax1,Softmax,0,0,0,0,0,0,0,0,0,0,N/A,0,0,0
-,-,-,-,200,100,50,40,20,10,30,2,30,20,0.6,1001590000000,4096,1001590004096
";

    #[test]
    fn the_total_row_is_no_layer() {
        let summary = OpSummary::read(TABLE.as_bytes()).unwrap();
        assert_eq!(summary.layers.len(), 3);
        assert_eq!(summary.layer_time(), 200.0);
        assert_eq!(summary.total.unwrap().figure(LayerColumn::Time), Figure(Some(200.0)));
    }

    #[test]
    fn memory_bounds_are_computed_again_and_compared() {
        let summary = OpSummary::read(TABLE.as_bytes()).unwrap();
        let bounds: Vec<_> = summary.layers.iter().map(|layer| layer.best_bound().to_string()).collect();
        assert_eq!(bounds, ["0.5", "2", "N/A"]);
        assert_eq!(summary.wrong_bounds, 1);
        let stated = TABLE.replace("0,0,0,N/A,0,0,0", "0,0,0,5.0,0,0,0");
        let summary = OpSummary::read(stated.as_bytes()).unwrap();
        assert_eq!((summary.layers[2].best_bound(), summary.wrong_bounds), (Figure::MISSING, 2));
    }

    #[test]
    fn a_table_that_is_written_again_has_the_same_columns_and_figures() {
        let summary = OpSummary::read(TABLE.as_bytes()).unwrap();
        let mut written = Vec::new();
        summary.to_text().write_csv(&mut written).unwrap();
        let corrected = TABLE.replace(",9.9,", ",2,");
        assert_eq!(String::from_utf8(written).unwrap(), corrected);
    }

    #[test]
    fn columns_that_mean_nothing_here_are_written_again() {
        let table = "Layer Name,Time(us),Input Shapes,Mystery\na,1,\"1;3\",x\n-,1,,total\n";
        let mut written = Vec::new();
        OpSummary::read(table.as_bytes()).unwrap().to_text().write_csv(&mut written).unwrap();
        let written = String::from_utf8(written).unwrap();
        let ends: Vec<&str> = written.lines().map(|line| line.rsplit(',').next().unwrap()).collect();
        assert_eq!(ends, ["Mystery", "x", "total"], "{written}");
        assert!(written.lines().next().unwrap().ends_with(",Input Shapes,Mystery"), "{written}");
        assert!(written.contains(",1;3,x"), "{written}");
    }

    #[test]
    fn shapes_of_separators_only_are_scalars() {
        let table = "Layer Name,Time(us),Input Shapes\na,1,; ; ; ;\nb,2,1;3;224;224\nc,x1,\n";
        let summary = OpSummary::read(table.as_bytes()).unwrap();
        assert_eq!(
            summary.layers.iter().map(Layer::has_scalar_input).collect::<Vec<_>>(),
            [true, false, false]
        );
        assert_eq!(summary.garbled, 1);
        assert!(OpSummary::read(b"Name,Time(us)\nx,1\n").is_err());
    }
}
