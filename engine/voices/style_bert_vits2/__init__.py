"""The family ``style_bert_vits2``: neural voices of Style-Bert-VITS2 JP-Extra.

The way through this room, for a sentence: ``normalize`` (marks and scripts that the models know) → ``reading``
(``phonemes``, ``prosody``: phonemes, tones, characters) → ``model_input`` (ids and BERT features) → a
``Synthesizer`` (``backend`` has the Protocol; ``onnx_synthesizer`` computes it) → ``pitch``, ``timing``.
``voice`` walks it, ``family`` loads a voice from a source, ``prepare_graph`` improves a published graph once,
``tuning`` finds out which layers may compute with 8 bits on a machine.

With the extra ``torch``: ``network`` is the same network in PyTorch, ``torch_voice`` speaks with it (``torch_family``
loads it for CUDA devices), ``convert`` turns a trained folder into the published layout (``export_bert``,
``export_synthesizer``) and compares the result with the original.
"""
