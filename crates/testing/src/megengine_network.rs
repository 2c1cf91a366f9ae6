//! Generated profiles in the structure of a real convolutional network's, of any size; for the tests
//! and the benchmark.

use std::fmt::Write;

/// A profile of `operators` operators, about 1600 bytes each: weights, convolutions with their
/// workspaces, and additions with an activation, one after another.
pub fn network(operators: usize) -> Vec<u8> {
    let mut network = Network { steps: Numbers(1), ..Network::default() };
    for at in 0..operators {
        match (at, at % 3) {
            (0, _) => network.input(),
            (_, 1) => network.weight(),
            (_, 2) => network.convolution(),
            _ => network.addition(),
        }
    }
    let Network { device, host, footprints, order, chunks, vars, nodes, .. } = network;
    format!(
        "{{ \"profiler\": {{ \"opr_internal_pf\": {{ }}, \"host\": {{ {host}}}, \
         \"opr_footprint\": {{ {footprints}}}, \"device\": {{ {device}}}}}, \
         \"graph_exec\": {{ \"comp_seq\": [ {order}], \"mem_chunk\": {{ {chunks}}}, \
         \"var\": {{ {vars}}}, \"operator\": {{ {nodes}}}}}}}"
    )
    .into_bytes()
}

/// Numbers that look random and are the same in every run.
#[derive(Default)]
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[derive(Default)]
struct Network {
    device: String,
    host: String,
    footprints: String,
    order: String,
    chunks: String,
    vars: String,
    nodes: String,
    next: usize,
    weight: usize,
    value: usize,
    micros: u64,
    steps: Numbers,
}

/// How the memory of a generated var is used.
enum Memory {
    /// All the time, by a weight.
    Kept,
    /// From the operator that makes it to the last that reads it.
    Planned,
    /// By one operator for itself.
    Scratch,
}

const COMP_NODE: &str = r#""CompNode(\"cpu0:0\" from \"xpux:0\")""#;

impl Network {
    fn input(&mut self) {
        self.next = 2;
        self.value = 1;
        self.operator(0, "InputCallback", "data", &[], &[1]);
        self.var(1, "data", Memory::Planned);
        self.run(0, 3, "{ }", "null", "[]", "[ [ 1, 128, 28, 28]]", 0);
    }

    fn weight(&mut self) {
        let id = self.next;
        self.next += 2;
        self.weight = id + 1;
        let name = format!("fuse():MUL(const{{128,1,1,1}}[{id}],MUL[{}])[{}]@{}", id + 17, id + 1, id + 2);
        self.operator(id, "ImmutableTensor", &name, &[], &[id + 1]);
        self.var(id + 1, &name, Memory::Kept);
        self.run(id, 1, "{ }", "null", "[]", "[ [ 128, 128, 3, 3]]", 589_824);
    }

    fn convolution(&mut self) {
        let id = self.next;
        self.next += 3;
        let name = format!("conv(body.{}.a.2.RELU,fuse[{}]@{})[{id}]", id % 16, self.weight, self.weight + 1);
        self.operator(id, "ConvolutionForward", &name, &[self.value, self.weight], &[id + 1, id + 2]);
        self.var(id + 1, &name, Memory::Planned);
        self.var(id + 2, &format!("{name}:workspace"), Memory::Scratch);
        self.value = id + 1;
        let param = "{ \"compute_mode\": \"DEFAULT\", \"format\": \"NCHW\", \"sparse\": \"DENSE\", \
                     \"stride_w\": 1, \"stride_h\": 1, \"pad_w\": 1, \"dilate_w\": 1, \"dilate_h\": 1, \
                     \"pad_h\": 1, \"mode\": \"CROSS_CORRELATION\"}";
        let inputs = "[ [ 1, 128, 28, 28], [ 128, 128, 3, 3]]";
        let micros = 500 + self.steps.below(2_000);
        self.run(id, micros, param, "231211008", inputs, "[ [ 1, 128, 28, 28]]", 1_392_640);
    }

    fn addition(&mut self) {
        let id = self.next;
        self.next += 2;
        let name = format!("FUSE_ADD_RELU(const{{1,128,1,1}}[{}],ADD[{}])[{id}]", id - 1, id - 2);
        self.operator(id, "Elemwise", &name, &[self.weight, self.value], &[id + 1]);
        self.var(id + 1, &name, Memory::Planned);
        self.value = id + 1;
        let inputs = "[ [ 1, 128, 1, 1], [ 1, 128, 28, 28]]";
        let micros = self.steps.below(90);
        let param = "{ \"mode\": \"FUSE_ADD_RELU\"}";
        self.run(id, micros, param, "100352", inputs, "[ [ 1, 128, 28, 28]]", 803_328);
    }

    fn operator(&mut self, id: usize, op_type: &str, name: &str, inputs: &[usize], outputs: &[usize]) {
        let list = |ids: &[usize]| {
            let ids: Vec<String> = ids.iter().map(|id| format!("\"{id}\"")).collect();
            if ids.is_empty() { "[]".to_owned() } else { format!("[ {}]", ids.join(", ")) }
        };
        let (inputs, outputs) = (list(inputs), list(outputs));
        let step = self.steps.below(90);
        let node = format!(
            "\"{id}\": {{ \"waiting_spec\": {{ }}, \"output\": {outputs}, \"input\": {inputs}, \
             \"type\": \"{op_type}\", \"name\": \"{name}\", \"id\": \"{id}\", \
             \"extra\": {{ \"dfs_step_num\": {step}, \"input_update_time\": {step}, \"priority\": 0}}, \
             \"node_type\": \"operator\"}}"
        );
        append(&mut self.nodes, &node);
    }

    fn var(&mut self, id: usize, name: &str, memory: Memory) {
        let address = 140_000_000_000_u64 + id as u64 * 64;
        let (flags, plan, tag) = match memory {
            Memory::Kept => {
                let chunk = format!(
                    "\"chk{id}\": {{ \"dev_ptr\": {address}, \"owner_var\": \"{id}\", \"size\": 589824, \
                     \"id\": \"chk{id}\", \"node_type\": \"mem_chunk\"}}"
                );
                append(&mut self.chunks, &chunk);
                (
                    "\"NO_MEM_RECLAIM\", \"ALLOW_EMPTY_SHAPE\", \"PERSISTENT_DEVICE_VALUE\", \
                     \"DISALLOW_RT_FORCE_DYNAMIC_MEM_ALLOC\"",
                    format!(
                        "{{ \"offset_byte\": 0, \"layout\": {{ \"dtype\": \"Float32\", \
                         \"stride\": [ 1152, 9, 3, 1], \"shape\": [ 128, 128, 3, 3]}}, \
                         \"mem_chunk_id\": \"chk{id}\"}}"
                    ),
                    "CONST",
                )
            }
            Memory::Planned => {
                ("\"RT_FORCE_DYNAMIC_MEM_ALLOC\", \"ALLOW_EMPTY_SHAPE\"", "null".to_owned(), "MISSING_INP")
            }
            Memory::Scratch => (
                "\"VOLATILE_CONTENT\", \"RT_FORCE_DYNAMIC_MEM_ALLOC\", \"ALLOW_EMPTY_SHAPE\"",
                "null".to_owned(),
                "MISSING_INP",
            ),
        };
        let (value, weight) = (self.value, self.weight);
        let deps = format!(
            "[ {{ \"dep_type\": \"SHAPE\", \"var\": \"{value}\"}}, \
             {{ \"dep_type\": \"SHAPE\", \"var\": \"{weight}\"}}]"
        );
        let var = format!(
            "\"{id}\": {{ \"prev_dev_ptr_end\": {}, \"flag\": [ {flags}], \"comp_node\": {COMP_NODE}, \
             \"prev_dev_ptr\": {address}, \"force_update_src\": null, \"dev_ptr\": null, \
             \"mem_plan\": {plan}, \"mem_readonly_fwd_src\": null, \"name\": \"{name}\", \
             \"static_infer_tags\": {{ \"VALUE\": {{ \"deps\": [], \"inferred_result\": null, \
             \"infer_type\": \"NO_DESC\", \"node_type\": \"static_infer_tag\"}}, \"SHAPE\": {{ \
             \"deps\": {deps}, \"inferred_result\": [ 1, 128, 28, 28], \"infer_type\": \"{tag}\", \
             \"node_type\": \"static_infer_tag\"}}}}, \"id\": \"{id}\", \"node_type\": \"var\"}}",
            address + 401_408
        );
        append(&mut self.vars, &var);
    }

    #[expect(clippy::too_many_arguments, reason = "they are the fields of the record")]
    fn run(
        &mut self,
        id: usize,
        micros: u64,
        param: &str,
        computation: &str,
        inputs: &str,
        outputs: &str,
        memory: u64,
    ) {
        let seconds = |micros: u64| micros as f64 / 1e6;
        let times = |place: &str, from: u64, length: u64| {
            let (start, end) = (seconds(from), seconds(from + length));
            format!(
                "\"{id}\": {{ {place}: {{ \"end\": {end:?}, \"kern\": {start:?}, \"start\": {start:?}}}}}"
            )
        };
        append(&mut self.device, &times(COMP_NODE, self.micros, micros));
        append(&mut self.host, &times("\"interpreter\"", self.micros, 3));
        self.micros += micros;
        append(&mut self.order, &format!("\"{id}\""));
        let footprint = format!(
            "\"{id}\": {{ \"param\": {param}, \"out_shapes\": {outputs}, \"in_shapes\": {inputs}, \
             \"memory\": {memory}, \"computation\": {computation}}}"
        );
        append(&mut self.footprints, &footprint);
    }
}

fn append(section: &mut String, entry: &str) {
    let separator = if section.is_empty() { "" } else { ", " };
    write!(section, "{separator}{entry}").expect("a string takes all that is written");
}
