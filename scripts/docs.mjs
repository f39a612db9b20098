import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { root } from './set-up.mjs';

// Writes the pages under docs/ that come from tables in the code.
await build();
// It may have been installed only now.
const { importModule } = await import('./bundle.mjs');
const names = [
  'scripts/pages/configuration',
  'scripts/pages/tables',
  'src/protocols/fidelity/fidelity',
  'src/server/testing/built-app',
  'bench/document',
];
const [
  { configurationDocument },
  { accessTable, fillAgents, fillFields, fillMetrics, fillPaths, fillRecommended, pageOf },
  { fieldTables },
  { builtApp },
  { fillFigures, fillSummary, speedPlot },
] = await Promise.all(names.map((name) => importModule(`${name}.ts`)));
const read = (name) => readFileSync(new URL(name, root), 'utf8');
const write = (name, text) => {
  writeFileSync(fileURLToPath(new URL(name, root)), text);
  console.log(`Written: ${name}`);
};
write('docs/configuration.md', configurationDocument());
const app = await builtApp();
write('docs/security.md', fillPaths(read('docs/security.md'), accessTable(app)));
write('docs/monitoring.md', fillMetrics(read('docs/monitoring.md')));
write('docs/agents.md', fillAgents(read('docs/agents.md')));
write('docs/models.md', fillRecommended(read('docs/models.md')));
const figures = JSON.parse(read('bench/figures.json'));
write('docs/figures.md', fillFigures(read('docs/figures.md'), figures));
write('docs/performance.md', fillSummary(read('docs/performance.md'), figures));
write('docs/performance.svg', speedPlot(figures.serve));
for (const page of readdirSync(new URL('docs/apis', root))) {
  const endpoints = app.modelEndpoints.filter((endpoint) => `${pageOf(endpoint)}.md` === page);
  write(`docs/apis/${page}`, fillFields(read(`docs/apis/${page}`), fieldTables(endpoints)));
}
