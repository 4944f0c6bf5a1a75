/** Import directions: cli → release | audit | chaos | reports → backends | protocols | resources | checks → conventions → domain. */
const only = (name, comment, from, allowed) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { path: '^src/', pathNot: allowed },
});

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'domain-imports-nothing',
      comment: 'domain is plain types and pure functions: no I/O, no packages, no node: modules',
      severity: 'error',
      from: { path: '^src/domain/' },
      to: { pathNot: '^src/domain/' },
    },
    only(
      'conventions-are-pure',
      'conventions know only the domain',
      '^src/conventions/',
      '^src/(conventions|domain)/',
    ),
    {
      name: 'conventions-need-no-package',
      severity: 'error',
      from: { path: '^src/conventions/' },
      to: { dependencyTypes: ['npm', 'core'] },
    },
    only(
      'checks-are-pure',
      'checkers read a history and nothing else',
      '^src/checks/',
      '^src/(checks|domain)/',
    ),
    {
      name: 'no-backend-imports-backend',
      comment: 'adapters share the interface, never each other',
      severity: 'error',
      from: { path: '^src/backends/([^/]+)/' },
      to: { path: '^src/backends/[^/]+/', pathNot: '^src/backends/$1/' },
    },
    only(
      'backends-know-conventions-and-domain',
      '',
      '^src/backends/[^/]+/',
      '^src/(backends|clients|conventions|domain)/',
    ),
    only('protocols-know-the-domain', '', '^src/protocols/', '^src/(protocols|clients|domain)/'),
    only(
      'clients-know-the-domain',
      'ways to a service that its adapter and its lock client share',
      '^src/clients/',
      '^src/(clients|domain)/',
    ),
    only('resources-know-the-domain', '', '^src/resources/', '^src/(resources|domain)/'),
    only(
      'release-sees-only-the-backend-interface',
      '',
      '^src/release/',
      '^src/(release|backends/backend[.]ts|conventions|domain)',
    ),
    only(
      'audit-sees-only-the-backend-interface',
      '',
      '^src/audit/',
      '^src/(audit|backends/backend[.]ts|domain)',
    ),
    only(
      'watch-sees-only-the-backend-interface',
      'locks over time: the changes between looks, and what is shown of them',
      '^src/watch/',
      '^src/(watch|reports|backends/backend[.]ts|domain)',
    ),
    only('reports-take-results', '', '^src/reports/', '^src/(reports|domain)/'),
    only(
      'files-know-the-domain',
      'how files that people write are read',
      '^src/files/',
      '^src/(files|domain)/',
    ),
    only(
      'config-turns-files-into-objects',
      'what a team configures, in the form that its users want',
      '^src/config/',
      '^src/(config|files|conventions|domain)/',
    ),
    only(
      'captures-know-the-domain',
      'files of listings',
      '^src/captures/',
      '^src/(captures|domain)/',
    ),
    only('lab-stands-alone', '', '^src/lab/', '^src/(lab|processes|domain)/'),
    only(
      'process-evidence-stands-alone',
      'facts from the operating system, for the lab and for faults alike',
      '^src/processes/',
      '^src/(processes|domain)/',
    ),
    only(
      'chaos-never-sees-the-command-line',
      '',
      '^src/chaos/(?!drivers/)',
      '^src/(chaos|files|processes|protocols|resources|checks|backends/backend[.]ts|domain)',
    ),
    only(
      'only-the-lab-driver-starts-servers',
      '',
      '^src/chaos/drivers/',
      '^src/(chaos|processes|protocols|lab|backends/backend[.]ts|domain)',
    ),
    {
      name: 'clients-only-in-their-adapter',
      comment: 'a client library never leaves the folder that speaks its protocol',
      severity: 'error',
      from: { pathNot: '^src/(backends|protocols|clients)/' },
      to: { path: 'node_modules/(ioredis|etcd3|node-zookeeper-client)/' },
    },
    {
      name: 'no-dev-package-in-src',
      severity: 'error',
      from: { path: '^src' },
      to: { dependencyTypes: ['npm-dev'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
};
