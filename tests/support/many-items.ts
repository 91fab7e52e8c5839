/** A manifest of 500 services in a chain, and 2,000 items in all. */

const many = (count: number, make: (n: number) => string): string => Array.from({ length: count }, (_, n) => `    - ${make(n)}\n`).join('');

export const manyItems = `version: 1
graph:
  repos:
${many(400, (n) => `{id: repo-${n}, path: "\${SKILLBOX_REPOS_ROOT}/r${n}", source: {url: https://example.org/r${n}.git, branch: main}}`)}
  artifacts:
${many(300, (n) => `{id: art-${n}, path: bin/a${n}, source: {url: https://example.org/a${n}, sha256: ${'ab'.repeat(32)}, executable: true}}`)}
  env_files:
${many(300, (n) => `{id: env-${n}, path: /workspace/repos/r${n}/.env, repo: repo-${n}, required: true, source: {path: secrets/${n}.env}}`)}
  logs:
${many(100, (n) => `{id: log-${n}, path: "\${SKILLBOX_LOG_ROOT}/l${n}", retention_days: 7}`)}
  tasks:
${many(300, (n) => `{id: task-${n}, command: "make \${SKILLBOX_NAME}", depends_on: [${n ? `task-${n - 1}` : ''}], outputs: [out/${n}]}`)}
  checks:
${many(100, (n) => `{id: check-${n}, path: "\${SKILLBOX_MONOSERVER_ROOT}/c${n}"}`)}
  services:
${many(
  500,
  (n) => `id: svc-${n}
      repo: repo-${n % 400}
      command: run --port ${10_000 + n}
      env: {PORT: ${10_000 + n}, LOGS: "\${SKILLBOX_LOG_ROOT}"}
      depends_on: [${n ? `svc-${n - 1}` : ''}]
      healthcheck: {type: http, url: "http://127.0.0.1:${10_000 + n}/health"}
      log: log-${n % 100}`,
)}`;
