"""Arrow without numpy and pandas: in a node, in a worker of Spark, in what Celery's processes load at their start."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SET_UP = "import os, sys, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'schemalab.settings'; django.setup()\n"
NODE = "import nodes.management.commands.node as node"
SPARK = "import spark_tasks.jobs.reorganisations, spark_tasks.jobs.loads, storage.arrow.encoding"
CELERY = "from schemalab.celery import app; app.loader.import_default_modules()"


@pytest.mark.parametrize(("process", "left_out"), [
    pytest.param(NODE, {"numpy", "pandas", "pyspark", "celery", "pyarrow"}, id="node"),
    pytest.param(SPARK, {"numpy", "pandas", "pyspark"}, id="spark"),
    pytest.param(CELERY, {"numpy", "pandas", "pyspark", "pyarrow"}, id="celery"),
])  # fmt: skip
def test_what_is_not_used_is_not_loaded(process: str, left_out: set[str]) -> None:
    program = f"{SET_UP}{process}\nprint(*sorted({left_out!r} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def test_who_needs_them_has_them_all_the_same() -> None:
    program = "import storage.arrow, pandas, pyarrow as pa; print(pandas.Series([1, 2]).sum(), pa.array([1, 2])[1])"
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["3", "2"]
