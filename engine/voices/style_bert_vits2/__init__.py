"""The family ``style_bert_vits2``: neural voices of Style-Bert-VITS2 JP-Extra.

The way through this room, for a sentence: ``normalize`` (marks and scripts that the models know) → ``reading``
(``phonemes``, ``prosody``: phonemes, tones, characters) → ``model_input`` (ids and BERT features) → a
``Synthesizer`` (``backend`` has the Protocol; ``onnx_synthesizer`` computes it) → ``pitch``, ``timing``.
``voice`` walks it, ``family`` loads a voice from a source, ``prepare_graph`` improves a published graph once.
"""
