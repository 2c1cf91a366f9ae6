"""What ONNX Runtime makes of models, told by the runtime itself and by the tensors' names alone.

    truth.py generate FOLDER         writes small models with what fusions look for
    truth.py optimize MODEL...       the nodes that run: their names and types, and which of the model's
                                     nodes they must and may stand for; a line of JSON for each model and
                                     level of optimization, in the order of LEVELS
"""

import json
import os
import re
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

onnxruntime.set_default_logger_severity(4)
LEVELS = {
    "off": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "full": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
# These may be dropped, or moved elsewhere, without anything being left of them.
MOVES = {"Reshape", "Transpose", "Cast", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Dropout"}


class Net:
    """A model in the making: every method adds a node and gives the name of its result."""

    def __init__(self, opset=17):
        self.nodes, self.weights, self.opset = [], [], opset
        self.random = numpy.random.default_rng(7)

    def __getattr__(self, op_type):
        def add(*inputs, outputs=1, **attributes):
            name = f"{op_type}_{len(self.nodes)}"
            results = [f"{name}_out{number}" for number in range(outputs)]
            self.nodes.append(helper.make_node(op_type, list(inputs), results, name=name, **attributes))
            return results[0]

        return add

    def weight(self, *shape):
        return self.constant(self.random.standard_normal(shape).astype(numpy.float32) / 4)

    def constant(self, value):
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.asarray(value), name))
        return name

    def scalar(self, value):
        return self.constant(numpy.float32(value))

    def model(self, shape, result):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        y = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "net", [x], [y], self.weights)
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def conv(self, x, inputs, outputs):
        return self.Conv(x, self.weight(outputs, inputs, 3, 3), self.weight(outputs), pads=[1, 1, 1, 1])

    def norm(self, x, channels):
        ones = lambda: self.constant(numpy.ones(channels, numpy.float32))
        return self.BatchNormalization(x, ones(), self.weight(channels), self.weight(channels), ones())


def convolutions(activation, opset=17):
    """Convolutions with an activation, of which one is normalised and one is added to another."""
    net = Net(opset)
    first = activation(net, net.norm(net.conv("x", 8, 16), 16))
    second = activation(net, net.conv(first, 16, 16))
    sum_ = net.Relu(net.Add(net.conv(second, 16, 16), first))
    pooled = net.GlobalAveragePool(activation(net, net.conv(sum_, 16, 16)))
    return net.model([1, 8, 12, 12], net.Flatten(pooled))


def erf_gelu(net, x):
    inner = net.Add(net.Erf(net.Div(x, net.scalar(2**0.5))), net.scalar(1))
    return net.Mul(net.Mul(x, inner), net.scalar(0.5))


def tanh_gelu(net, x):
    cubed = net.Mul(net.Pow(x, net.scalar(3)), net.scalar(0.044715))
    inner = net.Tanh(net.Mul(net.Add(x, cubed), net.scalar(0.7978846)))
    return net.Mul(net.Mul(x, net.Add(inner, net.scalar(1))), net.scalar(0.5))


def attention(gelu):
    """Two blocks of a transformer as exporters write them."""
    width, heads, length = 32, 4, 10
    net = Net()
    split = net.constant(numpy.array([0, length, heads, width // heads], numpy.int64))
    merged = net.constant(numpy.array([0, length, width], numpy.int64))
    linear = lambda x, inner, outer: net.Add(net.MatMul(x, net.weight(inner, outer)), net.weight(outer))
    scale = lambda: net.constant(numpy.ones(width, numpy.float32))
    layer_norm = lambda x: net.LayerNormalization(x, scale(), net.weight(width), axis=-1)
    x = "x"
    for _ in range(2):
        part = lambda x, order: net.Transpose(net.Reshape(linear(x, width, width), split), perm=order)
        query, value = part(x, [0, 2, 1, 3]), part(x, [0, 2, 1, 3])
        scores = net.Div(net.MatMul(query, part(x, [0, 2, 3, 1])), net.scalar((width // heads) ** 0.5))
        mixed = net.Transpose(net.MatMul(net.Softmax(scores, axis=-1), value), perm=[0, 2, 1, 3])
        x = layer_norm(net.Add(linear(net.Reshape(mixed, merged), width, width), x))
        x = layer_norm(net.Add(linear(gelu(net, linear(x, width, 64)), 64, width), x))
    return net.model([1, length, width], x)


def spelled_out():
    """What has to be seen through: copies, equal nodes, a slice of all, a transposition before a shape."""
    net = Net()
    a = net.Sigmoid(net.Identity("x"))
    b = net.Sigmoid("x")
    whole = [net.constant(numpy.array([number], numpy.int64)) for number in (0, 2**31 - 1, 1)]
    c = net.Pow(net.Slice(net.Add(a, b), whole[0], whole[1], whole[2]), net.scalar(2))
    sizes = net.Shape(net.Transpose(c, perm=[0, 2, 3, 1]))
    d = net.Mul(net.Softplus(c), net.Tanh(net.Softplus(c)))
    return net.model([1, 8, 12, 12], net.Add(d, net.Cast(net.ReduceSum(sizes), to=TensorProto.FLOAT)))


def generate(folder):
    from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_dynamic, quantize_static

    swish = lambda net, x: net.Mul(x, net.Sigmoid(x))
    models = {
        "silu": convolutions(swish),
        "erf-gelu": convolutions(erf_gelu),
        "tanh-gelu": convolutions(tanh_gelu),
        "gelu": convolutions(lambda net, x: net.Gelu(x), opset=20),
        "hard-swish": convolutions(lambda net, x: net.HardSwish(x)),
        "hard-swish-in-parts": convolutions(lambda net, x: net.Mul(x, net.HardSigmoid(x, alpha=1 / 6))),
        "mish": convolutions(lambda net, x: net.Mul(x, net.Tanh(net.Softplus(x)))),
        "leaky-relu": convolutions(lambda net, x: net.LeakyRelu(x, alpha=0.1)),
        "attention": attention(erf_gelu),
        "attention-tanh": attention(tanh_gelu),
        "spelled-out": spelled_out(),
    }
    for name, model in models.items():
        onnx.save(model, os.path.join(folder, name + ".onnx"))

    class Once(CalibrationDataReader):
        def __init__(self, shape):
            self.left = [{"x": numpy.random.default_rng(3).standard_normal(shape).astype(numpy.float32)}]

        def get_next(self):
            return self.left.pop() if self.left else None

    path = lambda name: os.path.join(folder, name + ".onnx")
    for name, shape in [("silu", [1, 8, 12, 12]), ("attention", [1, 10, 32])]:
        quantize_dynamic(path(name), path(name + "-dynamic-int8"), weight_type=QuantType.QUInt8)
        quantize_static(path(name), path(name + "-int8"), Once(shape))


def walk(graph, depth=0):
    for node in graph.node:
        yield depth, node
        for attribute in node.attribute:
            for inner in [attribute.g] * attribute.HasField("g") + list(attribute.graphs):
                yield from walk(inner, depth + 1)


def optimize(path, level):
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = LEVELS[level]
        options.intra_op_num_threads = 1
        options.optimized_model_filepath = os.path.join(folder, "optimized.onnx")
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        optimized = onnx.load(options.optimized_model_filepath)
    producers, inputs = {}, set()
    model = onnx.load(path, load_external_data=False)
    known = {tensor.name for tensor in model.graph.initializer}
    inputs.update(value.name for value in model.graph.input if value.name not in known)
    for _, node in walk(model.graph):
        producers.update((output, node) for output in node.output if output)
    computed = set(producers) | inputs
    by_name = {}
    for _, node in walk(model.graph):
        by_name.setdefault(node.name, []).append(node)

    def between(node):
        """The nodes between what a node reads and what it computes; None if names don't tell."""
        reads = [name for name in node.input if name]
        dynamic = [name for name in reads if name in computed]
        if any(output and output not in producers for output in node.output):
            return None
        nodes, open_ = {}, [output for output in node.output if output]
        first = set(open_)
        while open_:
            value = open_.pop()
            if value in inputs and value not in dynamic:
                return None
            if (value in dynamic and value not in first) or value not in producers:
                continue
            producer = producers[value]
            if id(producer) not in nodes:
                nodes[id(producer)] = producer
                open_ += [name for name in producer.input if name]
        return [node.name for node in nodes.values() if node.op_type != "Constant"]

    rows = []
    for depth, node in walk(optimized.graph):
        if node.op_type == "Constant":
            continue
        made = [producers[name] for name in node.output if name in producers]
        # Where values were renamed, the runtime's names for its own nodes say what they were made of.
        blocked = re.fullmatch("(.*)_nchwc", node.name)
        fused = re.fullmatch(r"(.*)/\w*Fusion/", node.name)
        if blocked and blocked[1] in producers:
            made.append(producers[blocked[1]])
        made += [own for own in by_name.get(fused[1], [])] if fused else []
        rows.append({
            "name": node.name,
            "type": node.op_type,
            "inner": depth > 0,
            "must": [own.name for own in made if own.op_type not in MOVES and node.op_type not in MOVES],
            "may": between(node),
        })
    return rows


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "generate":
        generate(*arguments)
    else:
        for model in arguments:
            for level in LEVELS:
                print(json.dumps(optimize(model, level)))
