import { fileURLToPath } from 'node:url';
import { flag, readPort, readWords, showUsage, text } from './command.ts';
import { examine, type Machine, reportLines } from './doctor.ts';
import { thisMachine } from './doctor-machine.ts';
import { type Licenses, licensesText, readLicenses } from './licenses.ts';
import type { ReachedOutput } from './reached-output.ts';

type Written = Pick<ReachedOutput, 'write'>;

const doctorUsage = `parley doctor           what works here, what is missing, and what to do
parley doctor --json    the same for scripts
parley doctor --port N  for a server on another port than 5001`;
const licensesUsage = `parley licenses         the licences of everything that comes with Parley
parley licenses --json  the same for scripts`;

/** `parley doctor`: resolves to the exit code, 0 if Parley can serve. */
export async function doctorCommand(
  words: readonly string[],
  output: Written,
  machine: (port?: number) => Machine = thisMachine,
): Promise<number> {
  const options = { json: flag, port: text };
  const read = readWords(words, options);
  const port = readPort(read?.values.port);
  if (!read || read.others.length > 0 || port === undefined)
    return showUsage(linesOf(output), doctorUsage, { words, options });
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
  if (form === undefined) return showUsage(linesOf(output), licensesUsage, { words, options: { json: flag } });
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

const linesOf = (output: Written) => ({ line: (text = '') => output.write(`${text}\n`) });
