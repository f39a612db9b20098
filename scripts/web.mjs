import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';
import { root } from './set-up.mjs';

// Builds the pages, with compressed copies, so that nothing is compressed per request. Tells the parent process the folders of
// the packages whose code is in them.
const { output } = await build({
  configFile: fileURLToPath(new URL('web/vite.config.ts', root)),
  logLevel: 'error',
});
const folder = fileURLToPath(new URL('dist/web/', root));
for (const name of readdirSync(folder, { recursive: true })) {
  if (!/\.(html|js|mjs|css|svg|json|webmanifest)$/.test(name)) continue;
  const path = join(folder, name);
  const bytes = readFileSync(path);
  if (bytes.length < 1024) continue;
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
}
const sources = output.flatMap(({ moduleIds = [], originalFileNames = [] }) => [...moduleIds, ...originalFileNames]);
const names = sources.map((name) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(name)?.[1]).filter(Boolean);
if (process.connected)
  process.send([...new Set(names)].sort().map((name) => fileURLToPath(new URL(`node_modules/${name}`, root))));
