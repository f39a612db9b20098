import { stat } from 'node:fs/promises';
import { byteSize } from '../core/readable.ts';
import { describeGguf } from '../gguf/describe.ts';
import { readGguf } from '../gguf/gguf.ts';
import { fileHash } from '../library/file-hash.ts';
import { findModels, type LocalModelFile } from '../library/find-models.ts';
import { type ModelFacts, modelFacts, modelsNamed } from '../library/model-facts.ts';
import type { ModelFolder } from '../library/model-folders.ts';
import { progressBar, type Terminal } from '../observe/terminal.ts';
import { type Command, CommandError, command, flag, print, printJson } from './command.ts';

const usage = `parley list                   the models on this machine, also those that other programs fetched (also: parley models)
parley list --json            the same for scripts
parley show NAME              what one is and can do (parley models show NAME: all that is in its file)
parley rm NAME                deletes one
parley models verify NAME     whether it is whole, and its SHA-256
parley models path NAME       where it lies: parley --model "$(parley models path NAME)"
NAME is a name of the list, or the path of a file.`;

/** `parley models` and `parley list` */
export const modelsCommand = command(
  { usage, options: { json: flag } },
  async ({ values, positionals }, { modelFolders, terminal }: Pick<Command, 'args' | 'modelFolders' | 'terminal'>) => {
    const [action = 'list', name, ...rest] = positionals;
    if (action === 'list') {
      if (name !== undefined) return undefined;
      const facts = await Promise.all((await findModels(modelFolders)).map(modelFacts));
      return values.json ? printJson(terminal, facts) : print(terminal, listLines(facts, modelFolders));
    }
    const known = { show, verify, path: async ({ path }: LocalModelFile) => print(terminal, [path]) } as const;
    if (!Object.hasOwn(known, action) || name === undefined || rest.length > 0 || values.json) return undefined;
    return known[action as keyof typeof known](await findFile(name, modelFolders), terminal);
  },
);

/** The model with this name, or the file at this path. Throws if there is none, or if there are several. */
export async function findFile(name: string, modelFolders: readonly ModelFolder[]): Promise<LocalModelFile> {
  const own = await stat(name).catch(() => undefined);
  if (own?.isFile()) return { name, path: name, program: '' };
  const [model, ...others] = modelsNamed(await findModels(modelFolders), name);
  if (!model) throw new CommandError(`There is no model ${name} here; parley list shows those that there are.`);
  if (others.length === 0) return model;
  throw new CommandError(`${name} may be any of these: ${[model, ...others].map(({ path }) => path).join(', ')}`);
}

async function show({ path }: LocalModelFile, terminal: Terminal): Promise<number> {
  const description = readGguf(path).then(describeGguf);
  terminal.line(
    await description.catch((error: Error) => {
      throw new CommandError(`${path}: ${error.message}`, 3);
    }),
  );
  return 0;
}

async function verify(file: LocalModelFile, terminal: Terminal): Promise<number> {
  const facts = await modelFacts(file);
  if (facts.type === 'damaged') throw new CommandError(`${file.path}: ${facts.reason}`, 3);
  const digest = await fileHash(file.path, 'sha256', (bytes) =>
    terminal.status(`Reading ${file.name} ${progressBar(bytes / facts.bytes)}`),
  );
  const hash = digest.toString('hex');
  terminal.line(`${file.path}: whole, ${byteSize(facts.bytes)}, sha256 ${hash}`);
  if (file.sha256 === undefined) return 0;
  if (file.sha256 !== hash)
    throw new CommandError(`It should be ${file.sha256}: the file has changed since ${file.program} fetched it.`, 3);
  terminal.line(`That is the hash under which ${file.program} keeps it.`);
  return 0;
}

function listLines(facts: readonly ModelFacts[], modelFolders: readonly ModelFolder[]): readonly string[] {
  if (facts.length === 0) {
    const programs = [...new Set(modelFolders.map(({ program }) => program))];
    return [
      `No models were found in the folders of ${programs.join(', ')}.`,
      'parley pull OWNER/NAME downloads one (parley search WORDS finds it); any GGUF file can be given with --model FILE.',
    ];
  }
  const rows = facts.map((one) =>
    one.type === 'model'
      ? [
          one.name,
          byteSize(one.bytes),
          count(one.parameters),
          one.weights,
          context(one.context),
          one.modified.slice(0, 10),
          one.program,
        ]
      : [one.name, `damaged: ${one.reason}`, '', '', '', '', one.program],
  );
  const header = ['NAME', 'SIZE', 'WEIGHTS', 'TYPE', 'CONTEXT', 'MODIFIED', 'FROM'];
  const widths = header.map((title, column) =>
    Math.max(
      title.length,
      ...rows.filter(([, second]) => !second?.startsWith('damaged')).map((row) => row[column]?.length ?? 0),
    ),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(header), ...rows.map(line)];
}

function count(parameters: number): string {
  return parameters >= 1e9 ? `${(parameters / 1e9).toFixed(1)} B` : `${(parameters / 1e6).toFixed(0)} M`;
}

function context(tokens: number | undefined): string {
  return tokens === undefined ? '' : tokens.toLocaleString('en-US');
}
