#!/usr/bin/env python3
"""Measures how fast profiles of every kind that grows large are read, beside Chrome's JSON in the same run.

    cargo build --release -p opscope
    python3 benches/reading.py [--program target/release/opscope] [--before ../opscope-before] [--bytes 200000000]
        [--rounds 5] [--nodes 100000] [--dir FOLDER] [--only KIND ...]

A file of each kind is made once, of about so many bytes, its records as the tool writes them that the kind is of; kinds
of which a run leaves some megabytes only have a twentieth of them. Models have so many nodes in a row (`--nodes`). Then
each round reads every file in turn (`opscope info`), so that whatever else the machine does meets all of them. Printed
are, for each kind, the file's size, the bytes of it a second that go by and a second of processor time (medians), how
that stands to Chrome's JSON, how the most anonymous memory (what isn't a file's, on Linux) stands to the file's size,
and the limits:

- text is read at 400 MB/s or more, protocol buffers and SQLite at 300, on two cores;
- memory is at most the file's size, from 200 MB on; smaller files, and events of xplane's that are shorter than any
  tool's, may take 64 MB more;
- layers, requests and benchmarks, of which there are some megabytes only and each row becomes an operator or inference
  with names of its own, are held row for row against Chrome's JSON whose rows are operators of their own as well, which
  is read at 15 MB/s or more: half of its rows a second at least, twice its memory a row at most;
- an offline model of Ascend of 500 MB is described in less than a second, a model of 100,000 nodes in less than three.

With `--before` every file is also read by that program, and the ratio of both times is printed. The exit status is 1
where a figure is beyond its limit.
"""

import argparse
import json
import os
import pathlib
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT, BINARY = 400, 300
# Rows a second, as a share of those of Chrome's JSON whose rows are operators of their own too.
ROWS = 0.5
# Kinds with that limit have files that are so many times smaller.
SMALLER = 20
OPERATORS = "Chrome's JSON, operators"
# The most memory of a row, as a multiple of a row's of `OPERATORS`.
MORE = 2
# The least of the yardstick itself, in megabytes a second.
LEAST_OF_OPERATORS = 15
LEAST = "xplane, least events"
# From so many bytes on, the memory of a program that has read nothing yet doesn't count.
LARGE = 200_000_000
# Memory beyond the size of a file that is small, or whose records are shorter than any tool's.
SPARE = 64 << 20
KERNELS = [f"void cutlass::gemm_{number}<float, {number * 16}>(float const*, float*, int)" for number in range(60)]


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def repeated(path, size, head, record, tail=b""):
    """Writes a head, records by their number until there are `size` bytes, and a tail."""
    with open(path, "wb", buffering=1 << 20) as file:
        file.write(head)
        written, place = len(head), 0
        while written < size:
            written += file.write(record(place))
            place += 1
        file.write(tail)


def chrome(path, size):
    def event(place):
        start = place * 12.5
        name = KERNELS[place % len(KERNELS)]
        return (
            f'{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{start:.3f},"dur":10.250,'
            f'"args":{{"External id":{place},"device":0,"stream":7,"correlation":{place}}}}},\n'
        ).encode()

    repeated(path, size, b'{"traceEvents":[\n', event, b'{"ph":"M","name":"process_name","pid":0,"args":{"name":"gpu"}}]}\n')


def chrome_operators(path, size):
    """Each event is an operator with a name and a type of its own."""
    def event(place):
        times = f'"ts":{place * 20}.5,"dur":12.250'
        return (f'{{"ph":"X","cat":"op","name":"/block.{place}/conv/Conv","pid":1,"tid":1,{times},'
                f'"args":{{"op_type":"Conv_{place}"}}}},\n').encode()

    repeated(path, size, b'{"traceEvents":[\n', event, b'{"ph":"M","name":"process_name","pid":1,"args":{"name":"cpu"}}]}\n')


def perfetto(path, size):
    """Track events with interned names, a packet each (perfetto_trace.proto)."""
    names = b"".join(message(2, number(1, place + 1) + message(2, name)) for place, name in enumerate(KERNELS))
    clocks = number(10, 1) + number(13, 1)
    head = message(1, number(8, 0) + message(60, number(1, 1) + message(2, "stream 7")) + clocks)
    head += message(1, number(8, 0) + clocks + message(12, names))

    def slices(place):
        start = 1_000_000 + place * 12_500
        begin = number(9, 1) + number(11, 1) + number(10, place % len(KERNELS) + 1)
        end = number(9, 2) + number(11, 1)
        packet = lambda time, event: message(1, number(8, time) + number(10, 1) + number(13, 2) + message(11, event))
        return packet(start, begin) + packet(start + 10_250, end)

    repeated(path, size, head, slices)


def device_plane(path, size, stats, event):
    """A plane of a GPU with one line of events (xplane.proto), which have the values that are named."""
    metadata = b"".join(
        message(4, number(1, place + 1) + message(2, number(1, place + 1) + message(2, name)))
        for place, name in enumerate(KERNELS)
    )
    events = bytearray()
    place = 0
    while len(events) < size:
        head = number(1, place % len(KERNELS) + 1) + number(2, place * 12_500_000) + number(3, 10_250_000)
        events += message(4, head + event(place))
        place += 1
    line = number(1, 7) + message(2, "Stream #7") + number(3, 1_700_000_000_000_000_000) + bytes(events)
    stat = b"".join(
        message(5, number(1, place) + message(2, number(1, place) + message(2, name)))
        for place, name in enumerate(stats, 1)
    )
    plane = number(1, 1) + message(2, "/device:GPU:0") + message(3, line) + metadata + stat
    path.write_bytes(message(1, plane))


def xplane(path, size):
    """Kernels with the values that XLA's collector on GPUs writes beside each (`CreateXEvent` of cupti_collector.cc)."""
    names = [
        "correlation_id",
        "context_id",
        "theoretical_occupancy_pct",
        "occupancy_min_grid_size",
        "occupancy_suggested_block_size",
        "kernel_details",
        "tf_op",
        "hlo_module",
        "hlo_op",
        "program_id",
    ]
    kinds = len(KERNELS)
    # Texts that come again are names of values, and referred to.
    details = [f"regs:32 static_shared:0 dynamic_shared:0 grid:{place},1,1 block:256,1,1 occ_pct:75" for place in range(kinds)]
    operators = [f"fusion.{place}" for place in range(kinds)]
    shared = ["jit_train_step", *(f"jit(train_step)/dot_general[{place}]" for place in range(kinds))]
    texts = {text: place for place, text in enumerate(names + details + operators + shared, 1)}

    def event(place):
        kind = place % kinds
        reference = lambda stat, text: message(4, number(1, stat) + number(7, texts[text]))
        whole = lambda stat, value: message(4, number(1, stat) + number(4, value))
        return (
            message(4, number(1, 1) + number(3, place))
            + message(4, number(1, 2) + message(5, "$$1"))
            + message(4, number(1, 3) + varint(2 << 3 | 1) + struct.pack("<d", 75.0))
            + whole(4, 216)
            + whole(5, 1024)
            + reference(6, details[kind])
            + reference(7, shared[1 + kind])
            + reference(8, shared[0])
            + reference(9, operators[kind])
            + whole(10, 17)
        )

    device_plane(path, size, list(texts), event)


def least_xplane(path, size):
    """Events with nothing beside them but the number of their launch: more rows in as many bytes than any tool writes."""
    device_plane(path, size, ["correlation_id"], lambda place: message(4, number(1, 1) + number(3, place)))


def nsight(path, size):
    """The tables of kernels and calls of an export of Nsight Systems; a row of each takes some 110 bytes."""
    database = sqlite3.connect(path)
    database.executescript(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,"
        " globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,"
        " contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
        " demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER, gridY INTEGER, gridZ INTEGER,"
        " blockX INTEGER, blockY INTEGER, blockZ INTEGER, registersPerThread INTEGER, staticSharedMemory INTEGER);"
    )
    process, thread = 717 << 24, 717 << 24 | 718
    names = KERNELS + [f"gemm_{place}" for place in range(len(KERNELS))] + ["cudaLaunchKernel_v7000"]
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names, 1))
    rows = range(size // 110)
    database.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0)",
        ((place * 12_500, place * 12_500 + 4_000, thread, place, len(names)) for place in rows),
    )
    kinds = len(KERNELS)
    database.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, ?, ?, 128, 1, 1, 256, 1, 1, 32, 4096)",
        (
            (place * 12_500 + 9_000, place * 12_500 + 19_250, place, process, place % kinds + 1, place % kinds + 1 + kinds)
            for place in rows
        ),
    )
    database.commit()
    database.close()


def nsight_lines(path, size):
    texts = json.dumps({"data": ["[unknown]", *KERNELS, "cudaLaunchKernel_v7000"]}) + "\n"
    launch = len(KERNELS) + 1

    def pair(place):
        start = place * 12_500
        return (
            f'{{"Type":48,"TraceProcessEvent":{{"startNs":"{start}","endNs":"{start + 4_000}","correlationId":{place},'
            f'"name":"{launch}","returnValue":0,"globalTid":"83886086"}}}}\n'
            f'{{"Type":79,"CudaEvent":{{"startNs":"{start + 9_000}","endNs":"{start + 19_250}","correlationId":{place},'
            f'"deviceId":0,"contextId":"1","streamId":"7","globalPid":"83886080","kernel":{{"demangledName":'
            f'"{place % len(KERNELS) + 1}","shortName":"{place % len(KERNELS) + 1}","gridX":128,"blockX":256}}}}}}\n'
        ).encode()

    repeated(path, size, texts.encode(), pair)


def nsight_compute(path, size):
    columns = [f"smsp__metric_{place}.sum" for place in range(40)]
    head = '"ID","Process ID","Kernel Name","Stream","Device","gpu__time_duration.sum",'
    head += ",".join(f'"{column}"' for column in columns) + "\n"
    head += '"","","","","","usecond",' + ",".join('"inst"' for _ in columns) + "\n"
    values = ",".join(f'"{place * 1_000 + 7}"' for place in range(len(columns)))
    repeated(
        path,
        size,
        head.encode(),
        lambda place: f'"{place}","717","{KERNELS[place % len(KERNELS)]}","7","0","10.25",{values}\n'.encode(),
    )


def rocm_table(path, size):
    head = '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
    head += '"Start_Timestamp","End_Timestamp","Private_Segment_Size","Group_Segment_Size","Workgroup_Size_X",'
    head += '"Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'

    def row(place):
        start = 1_000_000 + place * 12_500
        name = KERNELS[place % len(KERNELS)]
        return (
            f'"KERNEL_DISPATCH","Agent 2",1,3,718,{place},{place % len(KERNELS)},"{name}",{place},{start},'
            f"{start + 10_250},0,4096,256,1,1,32768,1,1\n"
        ).encode()

    repeated(path, size, head.encode(), row)


def rocm_json(path, size):
    symbols = [{"kernel_id": place, "formatted_kernel_name": name} for place, name in enumerate(KERNELS)]
    head = {
        "metadata": {"pid": 7},
        "agents": [{"id": {"handle": 200}, "type": 2, "node_id": 2, "name": "gfx"}],
        "strings": {"buffer_records": [{"kind": "KERNEL_DISPATCH", "operations": []}], "marker_api": []},
        "kernel_symbols": symbols,
    }
    head = '{"rocprofiler-sdk-tool":[' + json.dumps(head)[:-1] + ',"buffer_records":{"kernel_dispatch":[\n'

    def record(place):
        start = 1_000_000 + place * 12_500
        return (
            ("" if place == 0 else ",")
            + f'{{"size":104,"kind":0,"operation":2,"thread_id":718,"correlation_id":{{"internal":{place},"external":0}},'
            f'"start_timestamp":{start},"end_timestamp":{start + 10_250},"dispatch_info":{{"size":64,"agent_id":'
            f'{{"handle":200}},"queue_id":{{"handle":1}},"kernel_id":{place % len(KERNELS)},"dispatch_id":{place}}}}}\n'
        ).encode()

    repeated(path, size, head.encode(), record, b"]}}]}\n")


def perf_script(path, size):
    def sample(place):
        return (
            f"python   717/718   [003] {12 + place / 4000:.6f}:     250000 cpu-clock:pppH: \n"
            f"\t    7f3a5c00{place % 60:04x} gemm_{place % 60}+0x1f (/usr/lib/libblas.so.3)\n"
            f"\t    7f3a5c0a0010 dispatch+0x10 (/usr/lib/libtorch_cpu.so)\n"
            f"\t    55d0a5c00010 main+0x10 (/usr/bin/python3.11)\n\n"
        ).encode()

    repeated(path, size, b"", sample)


def perf_folded(path, size):
    repeated(path, size, b"", lambda place: f"python;main;dispatch_{place % 900};gemm_{place % 60} {place % 7 + 1}\n".encode())


def tensorrt_times(path, size):
    def inference(place):
        start = place * 1.25
        names = ["startEnqMs", "endEnqMs", "startH2dMs", "endH2dMs", "startComputeMs", "endComputeMs", "startD2hMs", "endD2hMs"]
        times = ", ".join(f'"{name}" : {start + step * 0.125:.6g}' for step, name in enumerate(names))
        comma = "" if place == 0 else ", "
        return f'{comma}{{ {times}, "h2dMs" : 0.125, "computeMs" : 0.125, "d2hMs" : 0.125, "latencyMs" : 0.625 }}\n'.encode()

    repeated(path, size, b"[\n  ", inference, b"]\n")


def tensorrt_profile(path, size):
    def layer(place):
        name = f"/block.{place}/conv/Conv + PWN(/block.{place}/act/Relu)"
        times = '"timeMs" : 12.5, "averageMs" : 0.125, "medianMs" : 0.125, "percentage" : 0.01'
        return f', {{ "name" : "{name}", {times} }}\n'.encode()

    repeated(path, size, b'[\n  { "count" : 100 }\n', layer, b"]\n")


def openvino_counters(path, size):
    """Detailed counters: the nodes of each inference."""
    head = "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms);\n"
    nodes = "".join(f"Conv_{place};EXECUTED;Convolution;brgconv_avx512_f32;0.125;0.125;\n" for place in range(200))
    repeated(path, size, b"", lambda place: f"{head}{nodes}Total;;;;25.000;25.000;\n\n".encode())


def tflite_text(path, size):
    head = "=" * 30 + " Run Order " + "=" * 30 + "\n"
    headings = ["[node type]", "[first]", "[avg ms]", "[%]", "[cdf%]", "[mem KB]", "[times called]", "[Name]"]
    head += "".join(f"\t{heading:>10}" for heading in headings) + "\n"
    cells = ["CONV_2D", "1.000", "0.125", "0.010%", "1.000%", "0.000", "1"]
    row = "".join(f"\t{cell:>10}" for cell in cells) + "\t[block_{0}/Conv2D]:{0}\n"
    repeated(path, size, head.encode(), lambda place: row.format(place).encode())


def ncnn_layers(path, size):
    shapes = "[112, 112,  16 *4] -> [112, 112,  16 *4]"
    inference = "".join(
        f"{'Convolution':24} {f'conv{place}':30} {0.125:8.2f}ms    |    {shapes}       kernel: 3 x 3     stride: 1 x 1\n"
        for place in range(60)
    )
    repeated(path, size, b"", lambda place: inference.encode())


def benchncnn(path, size):
    head = "loop_count = 64\nnum_threads = 1\npowersave = 0\ngpu_device = -1\ncooling_down = 0\n"
    rows = lambda place: "".join(f"{f'net_{row}':>20}  min =   11.66  max =   11.80  avg =   11.74\n" for row in range(35))
    repeated(path, size, b"", lambda place: (head + rows(place)).encode())


def pytorch_table(path, size):
    dashes = "-" * 40 + ("  " + "-" * 12) * 4 + "  \n"
    line = lambda name, *cells: f"{name:>40}" + "".join(f"  {cell:>12}" for cell in cells) + "  \n"
    head = dashes + line("Name", "Self CPU %", "Self CPU", "Self CUDA", "# of Calls") + dashes
    row = lambda place: line(f"aten::operator_{place}", "0.01%", "12.500us", "0.000us", "1").encode()
    repeated(path, size, head.encode(), row, dashes.encode())


def requests(path, size):
    """Requests of a server, as msServiceProfiler tells them."""
    head = "http_rid,start_time(ms),recv_token_size,reply_token_size,execution_time(ms),queue_wait_time(ms),"
    head += "first_token_latency(ms)\n"
    row = lambda place: f"{place},{1_745_398_331_100 + place * 12.5},128,32,512.5,10.25,50.125\n".encode()
    repeated(path, size, head.encode(), row)


def onnx_model(path, nodes):
    """The fields of onnx.proto."""
    size = lambda value: message(1, number(1, value))
    shape = message(2, b"".join(size(value) for value in (1, 3, 8, 8)))
    value = lambda name: message(1, name) + message(2, message(1, number(1, 1) + shape))
    graph = b"".join(
        message(1, message(1, f"t{place}") + message(2, f"t{place + 1}") + message(3, f"r{place}") + message(4, "Relu"))
        for place in range(nodes)
    )
    graph += message(2, "n") + message(11, value("t0")) + message(12, value(f"t{nodes}"))
    path.write_bytes(number(1, 8) + message(7, graph) + message(8, number(2, 18)))


def caffe_model(path, nodes):
    head = 'name: "n"\ninput: "t0"\ninput_shape { dim: 1 dim: 3 dim: 8 dim: 8 }\n'
    layer = 'layer {{ name: "r{0}" type: "ReLU" bottom: "t{0}" top: "t{1}" }}\n'
    path.write_text(head + "".join(layer.format(place, place + 1) for place in range(nodes)))


def tensorflow_model(path, nodes):
    """The fields of graph.proto, node_def.proto and attr_value.proto."""
    attribute = lambda name, value: message(5, message(1, name) + message(2, value))
    sizes = b"".join(message(2, number(1, value)) for value in (1, 8, 8, 3))
    kind = number(6, 1)
    placeholder = message(1, "r0") + message(2, "Placeholder")
    placeholder += attribute("dtype", kind) + attribute("shape", message(7, sizes))
    relu = lambda place: message(1, f"r{place + 1}") + message(2, "Relu") + message(3, f"r{place}") + attribute("T", kind)
    path.write_bytes(message(1, placeholder) + b"".join(message(1, relu(place)) for place in range(nodes)))


def openvino_model(path, nodes):
    port = '<port id="{}" precision="FP32"><dim>1</dim><dim>3</dim><dim>8</dim><dim>8</dim></port>'
    layer = lambda place, kind, data, inputs, outputs: (
        f'<layer id="{place}" name="r{place}" type="{kind}" version="opset1">{data}<input>{inputs}</input>'
        f"<output>{outputs}</output></layer>\n"
    )
    data = '<data shape="1,3,8,8" element_type="f32"/>'
    layers = [layer(0, "Parameter", data, "", port.format(1))]
    layers += [layer(place, "ReLU", "", port.format(0), port.format(1)) for place in range(1, nodes + 1)]
    layers += [layer(nodes + 1, "Result", "", port.format(0), "")]
    edge = '<edge from-layer="{}" from-port="1" to-layer="{}" to-port="0"/>\n'
    edges = "".join(edge.format(place, place + 1) for place in range(nodes + 1))
    head = '<?xml version="1.0"?>\n<net name="n" version="11"><layers>\n'
    path.write_text(head + "".join(layers) + "</layers><edges>\n" + edges + "</edges></net>\n")


class Flatbuffer:
    """Tables, lists and texts of a FlatBuffer, each behind what refers to it."""

    def __init__(self, identifier):
        self.bytes = bytearray(4) + identifier

    def at(self, place):
        """Has the offset at a place lead to the end of what is there so far."""
        self.bytes += bytes(-len(self.bytes) % 4)
        struct.pack_into("<I", self.bytes, place, len(self.bytes) - place)

    def table(self, place, **fields):
        """A table of four bytes a field, each named `f` and its number: a value, or `None` for an offset to come. Returns
        where the fields are."""
        numbers = {int(name[1:]): value for name, value in fields.items()}
        slots = [0] * (max(numbers) + 1)
        for order, field in enumerate(sorted(numbers)):
            slots[field] = 4 + 4 * order
        self.bytes += bytes(-len(self.bytes) % 4)
        listed = struct.pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), 4 + 4 * len(numbers), *slots)
        listed += bytes(-len(listed) % 4)
        begin = len(self.bytes)
        self.bytes += listed
        self.at(place)
        own = len(self.bytes)
        self.bytes += struct.pack("<i", own - begin)
        for field in sorted(numbers):
            self.bytes += struct.pack("<i", numbers[field] or 0)
        return {field: own + slots[field] for field in numbers}

    def numbers(self, place, values):
        self.at(place)
        self.bytes += struct.pack(f"<I{len(values)}i", len(values), *values)

    def text(self, place, text):
        self.at(place)
        self.bytes += struct.pack("<I", len(text)) + text.encode() + b"\0"

    def offsets(self, place, count):
        """A list of offsets to come; returns where they are."""
        self.at(place)
        begin = len(self.bytes) + 4
        self.bytes += struct.pack("<I", count) + bytes(4 * count)
        return range(begin, begin + 4 * count, 4)


def tflite_model(path, nodes):
    """The tables of schema.fbs."""
    relu = 19
    file = Flatbuffer(b"TFL3")
    model = file.table(0, f0=3, f1=None, f2=None, f4=None)
    (code,) = file.offsets(model[1], 1)
    file.table(code, f3=relu)
    (buffer,) = file.offsets(model[4], 1)
    file.table(buffer, f1=0)
    (graph,) = file.offsets(model[2], 1)
    graph = file.table(graph, f0=None, f1=None, f2=None, f3=None)
    file.numbers(graph[1], [0])
    file.numbers(graph[2], [nodes])
    for place, tensor in enumerate(file.offsets(graph[0], nodes + 1)):
        tensor = file.table(tensor, f0=None, f2=0, f3=None)
        file.numbers(tensor[0], [1, 8, 8, 3])
        file.text(tensor[3], f"r{place}")
    for place, operator in enumerate(file.offsets(graph[3], nodes)):
        operator = file.table(operator, f0=0, f1=None, f2=None)
        file.numbers(operator[1], [place])
        file.numbers(operator[2], [place + 1])
    path.write_bytes(file.bytes)


def offline_model(path, size):
    """The sample among the seeds of the fuzzing programs, with weights of so many bytes: a hole in the file."""
    sample = (ROOT / "fuzz/seeds/om/old").read_bytes()
    table = struct.unpack_from("<I", sample, 4)[0]
    (count,) = struct.unpack_from("<I", sample, table)
    begin = table + 4 + 12 * count
    parts = [struct.unpack_from("<3I", sample, table + 4 + 12 * place) for place in range(count)]
    content, entries = b"", b""
    for kind, offset, length in sorted(parts, key=lambda part: part[0] == 1):
        entries += struct.pack("<3I", kind, len(content), size if kind == 1 else length)
        content += b"" if kind == 1 else sample[begin + offset : begin + offset + length]
    whole = begin + len(content) + size
    head = bytearray(sample[: table + 4])
    struct.pack_into("<I", head, 76, whole - table)
    with open(path, "wb") as file:
        file.write(bytes(head) + entries + content)
        file.truncate(whole)


# The name of a kind, the end of its file's name, what makes the file, and the megabytes a second that are asked.
KINDS = [
    ("Chrome's JSON", "trace.json", chrome, TEXT),
    ("Perfetto", "trace.pftrace", perfetto, BINARY),
    ("Nsight Systems, SQLite", "nsys.sqlite", nsight, BINARY),
    ("Nsight Systems, lines", "nsys.jsonl", nsight_lines, TEXT),
    ("Nsight Compute", "ncu.csv", nsight_compute, TEXT),
    ("rocprofv3, table", "rocprof_kernel_trace.csv", rocm_table, TEXT),
    ("rocprofv3, JSON", "rocprof_results.json", rocm_json, TEXT),
    ("xplane", "host.xplane.pb", xplane, BINARY),
    (LEAST, "least.xplane.pb", least_xplane, BINARY),
    ("perf script", "perf.txt", perf_script, TEXT),
    ("perf, folded", "perf.folded", perf_folded, TEXT),
    (OPERATORS, "operators.json", chrome_operators, ROWS),
    ("TensorRT, times", "times.json", tensorrt_times, ROWS),
    ("TensorRT, layers", "profile.json", tensorrt_profile, ROWS),
    ("OpenVINO, counters", "counters.csv", openvino_counters, ROWS),
    ("TensorFlow Lite, text", "tflite.txt", tflite_text, ROWS),
    ("ncnn, layers", "ncnn.txt", ncnn_layers, ROWS),
    ("benchncnn", "benchncnn.txt", benchncnn, ROWS),
    ("PyTorch's table", "table.txt", pytorch_table, ROWS),
    ("server's requests", "request.csv", requests, ROWS),
]

# The name of a kind of model, the end of its file's name, and what makes the file.
MODELS = [
    ("ONNX", "model.onnx", onnx_model),
    ("Caffe", "model.prototxt", caffe_model),
    ("TensorFlow", "model.pb", tensorflow_model),
    ("TensorFlow Lite", "model.tflite", tflite_model),
    ("OpenVINO", "model.xml", openvino_model),
]


def measured(command):
    """The seconds that go by, those of the processors, and the most anonymous bytes of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    most = 0
    while True:
        try:
            lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
        except OSError:
            lines = []
        most = max([most] + [int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon")])
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        time.sleep(0.002)
    took = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {process.stderr.read().decode().strip()}")
    return took, usage.ru_utime + usage.ru_stime, most


def check_counts(program, kind, path):
    """A file of which little is understood is read fast."""
    answer = json.loads(subprocess.run([program, "analyze", path, "--json"], capture_output=True, check=True).stdout)
    has_some = answer["rows"] or answer["stated"] or (answer["ranges"] or {}).get("rows")
    if not has_some or any(loss.get("severity") == "lost" for loss in answer["losses"]):
        sys.exit(f"{kind}: not understood: {json.dumps(answer['losses'])[:400]}")


def check_nodes(program, kind, path, nodes):
    answer = json.loads(subprocess.run([program, "info", path, "--json"], capture_output=True, check=True).stdout)
    if answer["content"]["nodes"]["count"] != nodes or answer["losses"]:
        sys.exit(f"{kind}: not understood: {json.dumps(answer['content'])[:400]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "target/release/opscope")
    parser.add_argument("--before", type=pathlib.Path, help="another version of the program")
    parser.add_argument("--bytes", type=int, default=200_000_000, help="the size of each file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=100_000, help="the nodes of each model")
    parser.add_argument("--dir", type=pathlib.Path, help="where the files are made")
    parser.add_argument("--only", nargs="*", default=[], help="kinds whose name contains one of the words")
    options = parser.parse_args()
    chosen = [kind for kind in KINDS if not options.only or any(word in kind[0] for word in options.only)]
    # Kinds that others are held against come first.
    first = [kind for kind in KINDS if kind[0] in (KINDS[0][0], OPERATORS)]
    chosen = first + [kind for kind in chosen if kind not in first]
    programs = [options.program] + ([options.before] if options.before else [])
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        # A folder for each, because some are read together with what lies beside them.
        paths = {kind: pathlib.Path(folder) / str(place) / file for place, (kind, file, *_) in enumerate(chosen)}
        for kind, _, make, limit in chosen:
            paths[kind].parent.mkdir()
            make(paths[kind], options.bytes // SMALLER if limit == ROWS else options.bytes)
            check_counts(options.program, kind, paths[kind])
        models = {kind: pathlib.Path(folder) / file for kind, file, _ in MODELS}
        for kind, _, make in MODELS:
            make(models[kind], options.nodes)
            check_nodes(options.program, kind, models[kind], options.nodes)
        model = pathlib.Path(folder) / "model.om"
        offline_model(model, 500_000_000)
        times = {(kind, program): [] for kind in paths for program in programs}
        openings, described = [], {kind: [] for kind in models}
        for _ in range(options.rounds):
            for (kind, program), taken in times.items():
                taken.append(measured([program, "info", paths[kind], "--quiet"]))
            openings.append(measured([options.program, "info", model])[0])
            for kind, taken in described.items():
                taken.append(measured([options.program, "info", models[kind]])[0])
        failed = report(chosen, paths, times, programs)
    opening = statistics.median(openings)
    print(f"an offline model of 500 MB: {opening:.3f} s (at most 1)")
    failed |= opening >= 1
    for kind, taken in described.items():
        took, most = statistics.median(taken), 3 * max(1, options.nodes / 100_000)
        print(f"a model of {options.nodes} nodes, {kind}: {took:.3f} s (at most {most:g})")
        failed |= took >= most
    sys.exit(1 if failed else 0)


def report(chosen, paths, times, programs):
    failed = False
    medians = {key: [statistics.median(column) for column in zip(*taken)] for key, taken in times.items()}
    print(f"{'kind':24} {'MB':>5} {'MB/s':>6} {'a CPU s':>8} {'to Chrome':>9} {'memory':>7}  limit")

    def rate_of(kind):
        """Megabytes a second."""
        return paths[kind].stat().st_size / medians[kind, programs[0]][0] / 1e6

    def of_rows(kind):
        """Rows a second, and bytes of memory a row."""
        rows = paths[kind].read_bytes().count(b"\n")
        took, _, memory = medians[kind, programs[0]]
        return rows / took, memory / rows

    chrome_rate = rate_of(KINDS[0][0])
    chrome_rows, chrome_memory = of_rows(OPERATORS)
    for kind, _, _, limit in chosen:
        size, rate = paths[kind].stat().st_size, rate_of(kind)
        took, processor, memory = medians[kind, programs[0]]
        before = f"  {took / medians[kind, programs[1]][0]:.2f} of the time before" if programs[1:] else ""
        if limit == ROWS:
            rows, memory_of_row = of_rows(kind)
            beside, memory_beside = rows / chrome_rows, memory_of_row / max(chrome_memory, 1)
            is_slow = rate < LEAST_OF_OPERATORS if kind == OPERATORS else beside < ROWS
            is_large = memory_beside > MORE
            limit = f"{LEAST_OF_OPERATORS} MB/s" if kind == OPERATORS else f"{ROWS} of its rows a second, {MORE} of its memory"
            told = f"{limit} ({rows / 1e3:.0f} thousand rows a second; memory a row {memory_beside:.2f})"
        else:
            beside, told = rate / chrome_rate, f"{limit} MB/s"
            spare = SPARE if size < LARGE or kind == LEAST else 0
            is_slow, is_large = rate < limit, memory > size + spare
        failed |= is_slow or is_large
        marks = ("  TOO SLOW" if is_slow else "") + ("  TOO MUCH MEMORY" if is_large else "")
        print(
            f"{kind:24} {size / 1e6:5.0f} {rate:6.0f} {size / processor / 1e6:8.0f} {beside:9.2f} "
            f"{memory / size:7.2f}  {told}{before}{marks}"
        )
    return failed


if __name__ == "__main__":
    main()
