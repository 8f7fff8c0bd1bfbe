"""The family ``style_bert_vits2``: neural voices of Style-Bert-VITS2 JP-Extra.

The way through this room, for a sentence: ``text`` (``normalize`` for marks and scripts that the models know →
``reading`` with ``phonemes`` and ``prosody``: phonemes, tones, characters → ``model_input``: ids and BERT features) → a
``Synthesizer`` (``backend`` has the Protocol; ``runtime.synthesizer`` computes it with ONNX Runtime) → ``pitch``,
``timing``. ``voice`` walks it, ``family`` loads a voice from a source (``layout``, ``model_folder``).

``graphs`` has the files: ``prepare`` improves a published graph once, ``rows`` and ``quick_decoder`` lay the decoder
out for the processor. ``tuning`` finds out which layers may compute with 8 bits on a machine.

With the extra ``torch``: ``pytorch.network`` is the same network in PyTorch, ``pytorch.voice`` speaks with it
(``pytorch.family`` loads it for CUDA devices), ``conversion.convert`` turns a trained folder into the published layout
and compares the result with the original.
"""
