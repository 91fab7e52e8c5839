import json
import os

numbers = json.loads(os.environ["SANDBOX_INPUT"])["numbers"]
with open(os.environ["SANDBOX_OUTPUT"], "w", encoding="utf-8") as file:
    json.dump({"count": len(numbers), "sum": sum(numbers), "largest": max(numbers)}, file)
