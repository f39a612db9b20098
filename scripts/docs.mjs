import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { root } from './set-up.mjs';

// Writes the pages under docs/ that come from tables in the code.
build();
const { configurationDocument } = await import(new URL('dist/config/document.js', root));
const path = fileURLToPath(new URL('docs/configuration.md', root));
writeFileSync(path, configurationDocument());
console.log(`Written: ${path}`);
