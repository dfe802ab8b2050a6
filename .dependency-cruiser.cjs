/** The one-way rule of docs/architecture.md, left to right. */
const ORDER = ['platform', 'config', 'agent', 'runtime', 'beads', 'session', 'controller', 'api'];
const layer = (name) => `^internal/${name}/`;

const oneWay = ORDER.map((name, index) => ({
  name: `one-way-${name}`,
  comment: `${name} may use only what stands to its left`,
  severity: 'error',
  from: { path: layer(name) },
  to: { path: [...ORDER.slice(index + 1).map(layer), '^cmd/'] },
}));

module.exports = {
  forbidden: [
    ...oneWay,
    {
      name: 'runtime-is-alone',
      comment: 'the runtime gets a resolved RuntimeConfig and a name: no config, agent, beads or session',
      severity: 'error',
      from: { path: layer('runtime') },
      to: { path: ['config', 'agent', 'beads', 'session', 'events'].map(layer) },
    },
    {
      name: 'events-is-low',
      comment: 'events is usable by beads and everything right of it; it uses platform and beads only',
      severity: 'error',
      from: { path: layer('events') },
      to: { path: ['config', 'agent', 'runtime', 'session', 'controller', 'api'].map(layer) },
    },
    {
      name: 'worktree-is-low',
      comment: 'worktree is usable by controller and everything right of it; it uses platform only',
      severity: 'error',
      from: { path: layer('worktree') },
      to: {
        path: ['config', 'agent', 'runtime', 'beads', 'events', 'session', 'controller', 'api'].map(layer),
      },
    },
    {
      name: 'not-to-worktree-from-the-left',
      severity: 'error',
      from: { path: ['platform', 'config', 'agent', 'runtime', 'beads', 'events', 'session'].map(layer) },
      to: { path: layer('worktree') },
    },
    {
      name: 'not-to-events-from-the-left',
      severity: 'error',
      from: { path: ['platform', 'config', 'agent', 'runtime'].map(layer) },
      to: { path: layer('events') },
    },
    {
      name: 'protocol-is-low',
      comment:
        'the wire format of session logs is usable by session and everything right of it; it uses platform only',
      severity: 'error',
      from: { path: layer('protocol') },
      to: {
        path: [
          'config',
          'agent',
          'runtime',
          'beads',
          'events',
          'worktree',
          'session',
          'controller',
          'api',
        ].map(layer),
      },
    },
    {
      name: 'not-to-protocol-from-the-left',
      severity: 'error',
      from: {
        path: ['platform', 'config', 'agent', 'runtime', 'beads', 'events', 'worktree'].map(layer),
      },
      to: { path: layer('protocol') },
    },
    {
      name: 'conformance-sees-contracts-only',
      comment: 'suites judge any implementation: they may know none',
      severity: 'error',
      from: { path: '^conformance/', pathNot: '\\.test\\.ts$|^conformance/[^/]+/testing/' },
      to: {
        path: '^(internal|cmd)/',
        pathNot:
          '^internal/(runtime/(provider|errors|runtime-config)|beads/(store|work)|events/event|platform/(clock|errors|ids|duration)|session/log/(session-log|errors))\\.ts$|^internal/protocol/',
      },
    },
    {
      name: 'no-tests-in-the-product',
      severity: 'error',
      from: { path: '^(cmd|internal)/', pathNot: '\\.test\\.ts$|/testing/' },
      to: { path: '\\.test\\.ts$|/testing/|^test/|^bench/' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'] },
  },
};
