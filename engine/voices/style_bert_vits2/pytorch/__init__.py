"""The same networks in PyTorch, for CUDA devices and for conversion (extra ``torch``)."""
