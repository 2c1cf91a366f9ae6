"""Checks a sample model: valid, and every node computes finite values that depend on the input.

usage: samples_onnxruntime.py MODEL.onnx
"""

import sys

import numpy as np
import onnx
import onnxruntime

VOCABULARY = 8192


def main(path):
    onnx.checker.check_model(path, full_check=True)
    session, names = session_of_every_result(path)
    declared = {output.name: output.shape for output in onnxruntime.InferenceSession(path).get_outputs()}
    (model_input,) = session.get_inputs()
    for kind, first, second in pairs_of_inputs(model_input):
        results = [dict(zip(names, session.run(names, {model_input.name: x}))) for x in (first, second)]
        for name in names:
            check(name, kind, *(result[name] for result in results))
        for name, shape in declared.items():
            values = results[0][name]
            assert list(values.shape) == shape, f"{name}: {values.shape}, declared as {shape}"
            assert values.std() > 0.1, f"{name}: deviation {values.std()} for {kind}"
            print(
                f"{path} {kind} {name} {values.shape}: {values.min():.3f} to {values.max():.3f},"
                f" deviation {values.std():.3f}"
            )


def session_of_every_result(path):
    """A session without optimisation whose outputs are the results of all nodes."""
    model = onnx.load(path)
    names = [name for node in model.graph.node for name in node.output]
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options), names


def pairs_of_inputs(model_input):
    random = np.random.default_rng(0)
    shape = model_input.shape
    if model_input.type == "tensor(int64)":
        yield "tokens", *random.integers(0, VOCABULARY, (2, *shape))
        return
    yield "values from 0 to 1", *random.random((2, *shape), dtype=np.float32)
    yield "normal values", *random.standard_normal((2, *shape), dtype=np.float32)


def check(name, kind, first, second):
    for values in (first, second):
        assert np.isfinite(values).all(), f"{name}: not finite for {kind}"
        assert np.abs(values).max() < 1000, f"{name}: up to {np.abs(values).max()} for {kind}"
        assert values.std() > 0.005, f"{name}: deviation {values.std()} for {kind}"
    difference = (first - second).std()
    assert difference > 0.2 * first.std(), f"{name}: hardly depends on the input for {kind}"


main(sys.argv[1])
