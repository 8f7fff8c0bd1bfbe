"""Networks computed by ONNX Runtime."""
