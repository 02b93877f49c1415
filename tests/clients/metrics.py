"""Reads a page of metrics as strictly as OpenMetrics has it, by the reference parser (Debian: python3-prometheus-client).

Prints a JSON object: each series, with its labels in order, and its value. Ends with 1 where the page is not what it should be.
"""

import json
import sys
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families

# Whatever proxy the machine has: the page is here.
here = urllib.request.build_opener(urllib.request.ProxyHandler({}))
with here.open(sys.argv[1], timeout=10) as page:
    form = page.headers["Content-Type"]
    text = page.read().decode()
if not form.startswith("application/openmetrics-text; version=1.0.0"):
    sys.exit(f"the page says that it is {form}")

series = {}
for family in text_string_to_metric_families(text):
    if not family.documentation:
        sys.exit(f"{family.name} is not explained")
    for sample in family.samples:
        labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
        name = f"{sample.name}{{{labels}}}"
        if name in series:
            sys.exit(f"{name} is there twice")
        series[name] = sample.value
print(json.dumps(series))
