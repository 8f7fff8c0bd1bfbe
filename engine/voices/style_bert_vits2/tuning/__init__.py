"""Tuning: which layers of a voice may compute with 8 bits on this machine, found by trying, and kept with the proof.

``tune`` goes through it all: ``sentences`` are spoken, ``calibrate`` finds the bounds of what the ``layers`` take and
give, ``quantise`` writes graphs of it, ``measure`` compares them with float32, ``choose`` decides, ``store`` keeps. A
voice that loads needs only ``store``, ``report`` and ``processor``, and no package beyond ONNX Runtime.
"""
