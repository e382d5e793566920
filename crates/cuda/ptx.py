#!/usr/bin/env python3
"""Compiles the kernels to PTX, which a driver compiles for its GPU.

    ptx.py           writes ptx/*.ptx.gz anew, and sources.crc, by which `cargo test` knows what they were made of
    ptx.py --check   fails if they are not what the sources give

No GPU and no CUDA installation are needed: the compiler is NVRTC, from a pinned package that is put in a virtual environment
beside this file. An older compiler is preferred, since drivers accept no PTX that is newer than themselves.
"""

import ctypes
import gzip
import pathlib
import subprocess
import sys
import venv
import zlib

COMPILER = "nvidia-cuda-nvrtc-cu12==12.0.140"
# The oldest GPUs that are supported: Volta; and those with tensor cores for numbers of 11 bits: Ampere.
TARGET = "compute_70"
TENSOR = "compute_80"
# As in src/device.rs.
PADS = [4, 8, 12, 16, 24, 32, 48, 64]
LEAST_TENSOR = 16

HERE = pathlib.Path(__file__).resolve().parent
KERNELS = HERE / "kernels"
PTX = HERE / "ptx"


def compiler() -> ctypes.CDLL:
    """The compiler's library, installed if it is not there."""
    environment = HERE / ".venv"
    marker = environment / COMPILER
    if not marker.exists():
        venv.create(environment, with_pip=True, clear=True)
        python = environment / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", COMPILER], check=True)
        marker.touch()
    (library,) = environment.glob("lib/python*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
    return ctypes.CDLL(str(library))


def text(get_size, get, program: ctypes.c_void_p) -> str:
    """One of the texts that a program has."""
    size = ctypes.c_size_t()
    get_size(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    get(program, buffer)
    return buffer.value.decode()


def build(nvrtc: ctypes.CDLL, source: str, target: str, defines: list[str]) -> str:
    """The PTX of a source file."""
    program = ctypes.c_void_p()
    include = f'#include "{source}"\n'.encode()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), include, b"module", 0, None, None)
    options = [f"--gpu-architecture={target}", "--std=c++17", f"--include-path={KERNELS}", *defines]
    encoded = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    failed = nvrtc.nvrtcCompileProgram(program, len(options), encoded)
    log = text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
    if failed or log:
        sys.exit(f"{source} {defines}: {log}")
    return text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)


def sources() -> str:
    """The checksum of all that is compiled, as src/cuda.rs computes it."""
    crc = 0
    for path in sorted(KERNELS.iterdir()):
        if path.suffix in {".cu", ".h"} and not path.name.startswith("emulator"):
            crc = zlib.crc32(path.name.encode() + path.read_bytes(), crc)
    return f"{crc:08x}\n"


def main() -> None:
    """Writes or checks all modules."""
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    nvrtc = compiler()
    modules = {"common": ("common.cu", TARGET, [])}
    for pad in PADS:
        define = [f"--define-macro=PAD={pad}"]
        modules[f"pad{pad}"] = ("pad.cu", TARGET, define)
        if pad >= LEAST_TENSOR:
            modules[f"tensor{pad}"] = ("tensor.cu", TENSOR, define)
    PTX.mkdir(exist_ok=True)
    old = []
    for name, (source, target, defines) in modules.items():
        ptx = build(nvrtc, source, target, defines).encode()
        path = PTX / f"{name}.ptx.gz"
        if not check:
            # Without the time, so that the same text gives the same file.
            path.write_bytes(gzip.compress(ptx, 9, mtime=0))
        elif not path.exists() or gzip.decompress(path.read_bytes()) != ptx:
            old.append(path.name)
    crc = PTX / "sources.crc"
    if not check:
        crc.write_text(sources())
    elif not crc.exists() or crc.read_text() != sources():
        old.append(crc.name)
    if old:
        sys.exit(f"not what the sources give: {', '.join(old)}; run {pathlib.Path(__file__).name}")


if __name__ == "__main__":
    main()
