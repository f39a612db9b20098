import { chmodSync, copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packageFile from '../../package.json' with { type: 'json' };
import type { BareRoot } from './bare-root.ts';

/** The file that people download. PARLEY_TEST_ONE_FILE names another one than that of `npm run release`. */
export const oneFile =
  process.env.PARLEY_TEST_ONE_FILE ??
  fileURLToPath(new URL(`../../release/parley-${packageFile.version}-linux-${process.arch}`, import.meta.url));

export function whyNoFile(): string | undefined {
  return existsSync(oneFile) ? undefined : `there is no ${oneFile}: \`npm run release\` makes it`;
}

/** Lays it into a root as the command `parley`. */
export function installOneFile({ path }: BareRoot): void {
  copyFileSync(oneFile, join(path, 'usr/local/bin/parley'));
  chmodSync(join(path, 'usr/local/bin/parley'), 0o755);
}
