import { fileURLToPath } from 'node:url';
import { flag, readPort, readWords, text } from './command.ts';
import { examine, type Machine, reportLines } from './doctor.ts';
import { thisMachine } from './doctor-machine.ts';
import { type Licenses, licensesText, readLicenses } from './licenses.ts';
import type { ReachedOutput } from './reached-output.ts';

type Written = Pick<ReachedOutput, 'write'>;

/** `parley doctor`: resolves to the exit code, 0 if Parley can serve. */
export async function doctorCommand(
  words: readonly string[],
  output: Written,
  machine: (port?: number) => Machine = thisMachine,
): Promise<number> {
  const read = readWords(words, { json: flag, port: text });
  const port = readPort(read?.values.port);
  if (!read || read.others.length > 0 || port === undefined) {
    wrong('doctor', 'what works here, what is missing, and what to do', output);
    output.write(`${'parley doctor --port N'.padEnd(24)}for a server on another port than 5001\n`);
    return 2;
  }
  const report = await examine(machine(port));
  const { product, canServe, findings } = report;
  const { name, version, commit } = product;
  if (read.values.json) writeJson({ product: { name, version, commit }, canServe, findings }, output);
  else output.write(`${reportLines(report).join('\n')}\n`);
  return canServe ? 0 : 1;
}

/** `parley licenses`: resolves to the exit code. */
export async function licensesCommand(
  words: readonly string[],
  output: Written,
  read: () => Licenses = () => readLicenses(fileURLToPath(new URL('../..', import.meta.url))),
): Promise<number> {
  const form = formOf(words);
  if (form === undefined) return wrong('licenses', 'the licences of everything that comes with Parley', output);
  const licenses = read();
  if (form === 'json') writeJson(licenses, output);
  else output.write(licensesText(licenses));
  return 0;
}

function formOf(words: readonly string[]): 'text' | 'json' | undefined {
  if (words.length === 0) return 'text';
  return words.length === 1 && words[0] === '--json' ? 'json' : undefined;
}

function writeJson(value: object, output: Written): void {
  output.write(`${JSON.stringify(value, undefined, 2)}\n`);
}

function wrong(command: string, prints: string, output: Written): number {
  const name = `parley ${command}`;
  output.write(`${name.padEnd(24)}${prints}\n${`${name} --json`.padEnd(24)}the same for scripts\n`);
  return 2;
}
