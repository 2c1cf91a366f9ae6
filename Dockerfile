# A small image with opscope, for pipelines: docker build -t opscope .
FROM rust:1.95-slim-bookworm AS build
# SQLite is C, and Rust links with a C compiler. Versions are those of Debian's release.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /opscope
COPY . .
RUN cargo build --release --locked --package opscope --features datafusion && strip target/release/opscope

FROM debian:bookworm-slim
# Git is there for pipelines that check out the state before a change.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opscope/target/release/opscope /usr/local/bin/opscope
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/opscope/
# Whoever needs ONNX Runtime builds on this image: pip install onnxruntime, or ORT_DYLIB_PATH.
USER 65534
WORKDIR /work
CMD ["opscope", "--help"]
