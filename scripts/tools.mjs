import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { root } from './set-up.mjs';

/** Runs tools of the repository at the same time and prints the output of each in one piece; ends the process if one has failed. */
export async function runTools(steps) {
  const codes = await Promise.all(steps.map(runTool));
  const failed = codes.find((code) => code !== 0);
  if (failed !== undefined) process.exit(failed ?? 1);
}

async function runTool({ title, command: [tool, ...args] }) {
  const program = fileURLToPath(new URL(`node_modules/${tool}`, root));
  const child = spawn(process.execPath, [program, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  const [code] = await once(child, 'close');
  console.log(`\n== ${title}\n${output}`);
  return code;
}
