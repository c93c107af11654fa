"""Item analysis: facility, discrimination, item response, anchors, levels of difficulty."""
