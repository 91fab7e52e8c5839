/** Who may import whom. Data walks one way: cli → server → command → domain → store, events, process, providers. */

const domains = '^packages/box/src/(access|credits|events|executions|graph|manifest|observe|process|sandbox|skills|store|vault)/';

module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } } },
    { name: 'protocol-stands-alone', severity: 'error', from: { path: '^packages/protocol/' }, to: { path: '^(packages/box/|node:)' } },
    {
      name: 'domains-know-no-faces',
      severity: 'error',
      from: { path: domains },
      to: { path: '^packages/box/src/(cli|server|commands)/|^packages/box/src/box\\.ts' },
    },
    {
      name: 'commands-know-no-faces',
      severity: 'error',
      from: { path: '^packages/box/src/commands/(?!local/)' },
      to: { path: '^packages/box/src/(cli|server)/' },
    },
    { name: 'server-knows-no-cli', severity: 'error', from: { path: '^packages/box/src/server/' }, to: { path: '^packages/box/src/cli/' } },
    {
      name: 'store-is-at-the-bottom',
      severity: 'error',
      from: { path: '^packages/box/src/(store|process)/' },
      to: { path: '^packages/box/src/(access|credits|events|executions|manifest|observe|sandbox|skills|vault)/' },
    },
    {
      name: 'providers-know-no-domain',
      severity: 'error',
      from: { path: '^packages/box/src/sandbox/providers/' },
      to: { path: '^packages/box/src/(access|credits|events|executions|skills|store|manifest|vault)/' },
    },
    {
      name: 'sandboxes-know-no-skills',
      severity: 'error',
      from: { path: '^packages/box/src/sandbox/' },
      to: { path: '^packages/box/src/(executions|skills)/' },
    },
    {
      name: 'providers-by-their-contract',
      severity: 'error',
      from: { path: '^packages/box/src/', pathNot: '^packages/box/src/(sandbox/|box\\.ts|doctor\\.ts)' },
      to: { path: '^packages/box/src/sandbox/providers/' },
    },
    { name: 'web-through-the-sdk', severity: 'error', from: { path: '^packages/web/' }, to: { path: '^packages/(box|protocol)/' } },
    {
      name: 'product-imports-no-tests',
      severity: 'error',
      from: { path: '^packages/', pathNot: '\\.test\\.tsx?$' },
      to: { path: '^(tests|bench|scripts|examples)/' },
    },
    {
      name: 'only-declared-dependencies',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'nothing-unresolved',
      severity: 'error',
      from: { pathNot: '^packages/(box/bin|sdk/langchain)/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['\\.test\\.tsx?$', '^packages/[^/]+/dist/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default'],
      extensions: ['.ts', '.js', '.mjs', '.json'],
    },
  },
};
