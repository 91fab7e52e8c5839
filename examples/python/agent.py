"""An agent in plain Python: it finds a skill for each job in the catalogue, runs it, checks the figures in a sandbox, and files a report.

There is no model here, so that it runs offline and checks itself: choose() does what a model would, from the same catalogue.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from skillbox import APIError, Client, Execution, Skill

examples = Path(__file__).resolve().parent.parent
text = "The box runs skills. Skills read JSON and write JSON. A sandbox keeps each run apart. The box keeps the record of every run."
rows = [{"city": "Bern", "visitors": 120}, {"city": "Chur", "visitors": 80}, {"city": "Genf", "visitors": 400}]


def main() -> None:
    client = Client(os.environ["SKILLBOX_URL"], os.environ["SKILLBOX_API_KEY"])
    for name in ("data-analysis", "text-summary", "word-counter"):
        client.register_skill(examples / "skills" / name)

    summary = work(client, "summarise text", {"text": text, "max_sentences": 1})
    figures = work(client, "statistics of numbers", {"data": rows})

    with tempfile.TemporaryDirectory() as folder:
        charts = [Path(path).name for path in client.download_files(figures, folder)]

    # What a skill says can be checked: in a sandbox of one's own, with any program.
    with client.sandboxes.create("python", ttl="10m") as sandbox:
        sandbox.files.write("rows.json", json.dumps(rows))
        program = "import json; print(sum(row['visitors'] for row in json.load(open('rows.json'))))"
        checked = sandbox.exec(["python3", "-c", program], on_stderr=sys.stderr.write)
    total = figures.output["columns"]["visitors"]["sum"]

    report = {"summary": summary.output["summary"], "visitors": total, "checked": int(checked.stdout), "charts": charts}
    print(json.dumps(report, indent=2))
    assert report["visitors"] == report["checked"] == 600
    assert report["charts"] and report["summary"] in text

    try:
        client.run("text-summary", input={"max_sentences": 1})
    except APIError as error:
        print(f"refused, as it should be: {error.code}: {error.message}")
        assert error.code == "invalid_input"
    else:
        raise AssertionError("an input that does not fit was taken")


def work(client: Client, job: str, input: object) -> Execution:
    skill = choose(client, job)
    print(f"{job}: {skill.name} {skill.version}")
    result = client.run(skill.name, input=input, version=skill.version)
    if result.status != "success":
        raise RuntimeError(f"{skill.name} ended as {result.status}: {result.logs}")
    return result


def choose(client: Client, job: str) -> Skill:
    """The best match of the catalogue, with its instructions and schema, which a model would read."""
    for found in client.skills.search(job):
        skill = client.get_skill(found.name)
        if skill.mode == "executable" and skill.input_schema is not None:
            return skill
    raise LookupError(f"No skill for: {job}")


main()
