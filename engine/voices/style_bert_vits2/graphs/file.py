"""Reading and writing ONNX files with the ``onnx`` package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.voices.style_bert_vits2.graphs.split import UnknownGraphError

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto


def load_model(path: Path) -> ModelProto:
    """Read a graph with its weights, also where they lie beside it.

    The package's own loader refuses weights behind links, as the caches of model hubs have them.

    Raises:
        UnknownGraphError: not an ONNX file, or its weights are not where it says.
        OSError: a file cannot be read.
    """
    import onnx  # noqa: PLC0415
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        model = onnx.load(path, load_external_data=False)
    except DecodeError as error:
        message = f"it is no ONNX file ({error})"
        raise UnknownGraphError(message) from error
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            _bring_in(tensor, path.parent)
    return model


def save_model(model: ModelProto, path: Path) -> None:
    """Write a graph with its weights in one file.

    Raises:
        UnknownGraphError: it has more than the 2 GB that such a file can hold.
        OSError: the file cannot be written.
    """
    from google.protobuf.message import EncodeError  # noqa: PLC0415

    try:
        path.write_bytes(model.SerializeToString())
    except (EncodeError, ValueError) as error:
        message = f"it is too large for one file ({error})"
        raise UnknownGraphError(message) from error


def _bring_in(tensor: TensorProto, folder: Path) -> None:
    where = {item.key: item.value for item in tensor.external_data}
    name = where.get("location", "")
    if not name or Path(name).name != name:
        message = f"its weights lie outside its folder ({name!r})"
        raise UnknownGraphError(message)
    offset, length = int(where.get("offset", "0")), int(where.get("length", "-1"))
    with (folder / name).open("rb") as file:
        file.seek(offset)
        data = file.read(length)
    if length >= 0 and len(data) != length:
        message = f"{name} is shorter than it says"
        raise UnknownGraphError(message)
    tensor.raw_data = data
    del tensor.external_data[:]
    tensor.ClearField("data_location")
