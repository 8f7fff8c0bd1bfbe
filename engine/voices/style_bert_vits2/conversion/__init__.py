"""From a trained folder to the published layout, compared with the original (extra ``torch``)."""
