import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

/** Bundles a module, so that other processes can run it. Returns the file. */
export async function bundled(module: URL, folder: string): Promise<string> {
  const file = join(folder, 'bundled.mjs');
  await build({ input: fileURLToPath(module), platform: 'node', output: { file, format: 'esm' }, logLevel: 'silent' });
  return file;
}

/** Runs a script in a process of its own. Resolves to its output and exit code. */
export async function runScript(script: string, args: readonly string[] = []) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, '--', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = await once(child, 'close');
  return { output, code: code as number | null, pid: child.pid };
}
