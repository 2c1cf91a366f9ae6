//! Small generated profiles with chosen figures.

/// An operator of a small profile; text is JSON.
pub struct Op<'a> {
    pub name: &'a str,
    pub op_type: &'a str,
    /// Start, kern and end on the device.
    pub device: Option<[&'a str; 3]>,
    /// Start, kern and end on the host.
    pub host: Option<[&'a str; 3]>,
    /// The footprint's memory and computation.
    pub footprint: Option<[&'a str; 2]>,
    /// The element type of its one input, if its memory is planned.
    pub input: Option<&'a str>,
}

impl Default for Op<'_> {
    fn default() -> Self {
        Self {
            name: "op",
            op_type: "Elemwise",
            device: Some(["0.0", "0.001", "0.002"]),
            host: Some(["0.0", "0.00001", "0.00002"]),
            footprint: Some(["4096", "1000"]),
            input: None,
        }
    }
}

/// A profile of these operators; the operator at position `n` has the id `2n` and reads the var
/// `2n + 1`.
pub fn profile(ops: &[Op]) -> String {
    let times = |times: &dyn Fn(&Op) -> Option<String>| {
        let entries =
            ops.iter().enumerate().filter_map(|(at, op)| Some(format!("\"{}\": {}", at * 2, times(op)?)));
        entries.collect::<Vec<_>>().join(", ")
    };
    let interval = |place: &str, [start, kern, end]: [&str; 3]| {
        format!("{{ {place}: {{ \"end\": {end}, \"kern\": {kern}, \"start\": {start}}}}}")
    };
    let device = times(&|op| Some(interval(r#""CompNode(\"cpu0:0\" from \"cpu0:0\")""#, op.device?)));
    let host = times(&|op| Some(interval("\"interpreter\"", op.host?)));
    let footprints = times(&|op| {
        let [memory, computation] = op.footprint?;
        Some(format!(
            "{{ \"param\": {{ }}, \"out_shapes\": [ [ 1, 10]], \"in_shapes\": [ [ 10]], \
             \"memory\": {memory}, \"computation\": {computation}}}"
        ))
    });
    let operators = ops.iter().enumerate().map(|(at, op)| {
        format!(
            "\"{id}\": {{ \"waiting_spec\": {{ }}, \"output\": [], \"input\": [ \"{var}\"], \
             \"type\": \"{op_type}\", \"name\": \"{name}\", \"id\": \"{id}\", \"extra\": {{ }}, \
             \"node_type\": \"operator\"}}",
            id = at * 2,
            var = at * 2 + 1,
            op_type = op.op_type,
            name = op.name
        )
    });
    let vars = ops.iter().enumerate().map(|(at, op)| {
        let plan = op.input.map_or("null".to_owned(), |dtype| {
            format!(
                "{{ \"offset_byte\": 0, \"layout\": {{ \"dtype\": \"{dtype}\", \"stride\": [ 1], \
                 \"shape\": [ 10]}}, \"mem_chunk_id\": \"chk{}\"}}",
                at * 2 + 1
            )
        });
        format!("\"{id}\": {{ \"name\": \"v{id}\", \"mem_plan\": {plan}, \"id\": \"{id}\"}}", id = at * 2 + 1)
    });
    let order: Vec<String> = (0..ops.len()).map(|at| format!("\"{}\"", at * 2)).collect();
    format!(
        "{{ \"profiler\": {{ \"opr_internal_pf\": {{ }}, \"host\": {{ {host}}}, \
         \"opr_footprint\": {{ {footprints}}}, \"device\": {{ {device}}}}}, \
         \"graph_exec\": {{ \"comp_seq\": [ {}], \"mem_chunk\": {{ }}, \"var\": {{ {}}}, \
         \"operator\": {{ {}}}}}}}",
        order.join(", "),
        vars.collect::<Vec<_>>().join(", "),
        operators.collect::<Vec<_>>().join(", ")
    )
}
