import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownFolder } from '../src/core/data-folder.ts';

// Runs before every test file: no test may depend on what its machine has set, keeps at home or shows on a display. Variables
// that only tests read (`PARLEY_TEST_…`, `PARLEY_DIST`, `PARLEY_CHROMIUM`) stay.

/** Where the packs of this machine are, for tests that are asked to use them. */
process.env.PARLEY_TEST_PACKS ??= ownFolder('packs');

const read = /^(?:PARLEY_(?!TEST_|DIST$|CHROMIUM$)|KCPP_|HF_|OLLAMA_|LLAMA_|XDG_|ESPEAK_|SSH_)|^(?:WAYLAND_)?DISPLAY$/;
for (const name of Object.keys(process.env)) {
  if (read.test(name)) delete process.env[name];
}
/**
 * Certificates that this machine adds. Node reads them whenever a program starts, which takes longer than all else of its start, and no
 * server of a test asks a host of the internet. Tests that do name them.
 */
if (process.env.NODE_EXTRA_CA_CERTS) process.env.PARLEY_TEST_CERTIFICATES = process.env.NODE_EXTRA_CA_CERTS;
delete process.env.NODE_EXTRA_CA_CERTS;
/** Files share a process; each has an empty home folder of its own. */
const homes = join(tmpdir(), `parley-test-homes-${process.pid}`);
if (!existsSync(homes)) {
  mkdirSync(homes);
  process.once('exit', () => rmSync(homes, { recursive: true, force: true }));
}
process.env.PARLEY_HOME = mkdtempSync(join(homes, 'home-'));
// Nobody answers there: tests that need a hub bring their own.
process.env.HF_ENDPOINT = 'http://127.0.0.1:9';
process.env.PARLEY_OLLAMA_REGISTRY = 'http://127.0.0.1:9';
process.env.HF_HUB_DISABLE_IMPLICIT_TOKEN = '1';
