"""Files → Markdown → chunks → vectors → hits. No agent, and no database of ours."""

import os

# onnxruntime reports to Microsoft about the machine and its models unless this is set before it starts.
# Source: Privacy.md in its package, "Disabling Telemetry".
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
