import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { root } from './set-up.mjs';

// Writes the pages under docs/ that come from tables in the code.
await build();
// It may have been installed only now.
const { importModule } = await import('./bundle.mjs');
const names = [
  'config/help',
  'server/fidelity',
  'protocols/fidelity/fidelity',
  'observe/metrics-table',
  'server/access-document',
  'server/access',
  'server/testing/built-app',
];
const [{ configurationDocument }, { fidelityByPage }, { fillFields }, { fillMetrics }, { fillPaths }, ...built] =
  await Promise.all(names.map((name) => importModule(`src/${name}.ts`)));
const [{ accessTable }, { builtApp }] = built;
const rules = accessTable(await builtApp());
const write = (name, text) => {
  writeFileSync(fileURLToPath(new URL(name, root)), text);
  console.log(`Written: ${name}`);
};
write('docs/configuration.md', configurationDocument());
write('docs/security.md', fillPaths(readFileSync(new URL('docs/security.md', root), 'utf8'), rules));
write('docs/monitoring.md', fillMetrics(readFileSync(new URL('docs/monitoring.md', root), 'utf8')));
for (const [page, endpoints] of Object.entries(fidelityByPage)) {
  const name = `docs/apis/${page}.md`;
  write(name, fillFields(readFileSync(new URL(name, root), 'utf8'), endpoints));
}
