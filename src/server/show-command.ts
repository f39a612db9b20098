import { byteSize, tableLines } from '../core/readable.ts';
import { ggufSummary } from '../gguf/describe.ts';
import { readGguf } from '../gguf/gguf.ts';
import { findModels, type LocalModelFile } from '../library/find-models.ts';
import { readRepository } from '../library/hub/repository.ts';
import { searchHub } from '../library/hub/search.ts';
import { modelsNamed } from '../library/model-facts.ts';
import { shortOllamaName } from '../library/ollama/name.ts';
import { readManifest, readText } from '../library/ollama/registry.ts';
import { readSource, type Source } from '../library/source.ts';
import { type HubMachine, hubFiles, readHubModel } from '../models/hub-files.ts';
import { printable, printableText } from '../observe/printable.ts';
import { type Command, CommandError, command, hubDeps, print } from './command.ts';
import { findFile } from './models-command.ts';

interface ShowCommand extends Omit<Command, 'folder' | 'now' | 'ask'> {
  readonly machine: HubMachine;
}

const usage = `parley show NAME
What a model is and can do. NAME is one of parley list, the path of a file, a model on the hub (owner/name) or of Ollama (qwen3:8b), which is not downloaded.`;

const fitLabels = {
  card: 'fits on the graphics card',
  part: 'fits partly on the graphics card',
  processor: 'fits in main memory',
  no: 'does not fit',
} as const;

/** `parley show` */
export const showCommand = command({ usage, options: {} }, async ({ positionals }, context: ShowCommand) => {
  const [name, ...rest] = positionals;
  if (name === undefined || rest.length > 0) return undefined;
  const lines = await modelLines(name, context).catch((error: Error) => {
    throw error instanceof CommandError ? error : new CommandError(`${name}: ${error.message}`, 3);
  });
  return print(context.terminal, lines);
});

async function modelLines(name: string, context: ShowCommand): Promise<readonly string[]> {
  const source = readSource(name);
  const isHere = /\.gguf$/i.test(name) || modelsNamed(await findModels(context.modelFolders), name).length > 0;
  if (!isHere && source?.type === 'model') return hubLines(source, context);
  if (!isHere && source?.type === 'ollama') return ollamaLines(source, context);
  return localLines(await findFile(name, context.modelFolders));
}

async function localLines({ path, program }: LocalModelFile): Promise<readonly string[]> {
  const rows = ggufSummary(await readGguf(path)).map((row) => row.map((cell) => printable(cell)));
  return tableLines([...rows, ['Where:', `${path}${program ? ` (${program})` : ''}`]]);
}

async function hubLines(
  { repository: id, revision, tag }: Source & { type: 'model' },
  context: ShowCommand,
): Promise<readonly string[]> {
  const deps = hubDeps(context);
  const repository = await readRepository(id, revision, deps);
  const model = await readHubModel(repository, deps, tag);
  if (!model) throw new Error(`it has no ${tag ?? 'complete model file (.gguf)'}`);
  const { models } = await searchHub({ words: id, order: 'downloads', count: 20 }, deps);
  const facts = models.find((one) => one.id.toLowerCase() === id.toLowerCase());
  const { files, reason, architecture, supported, trainedContext, projector } = await hubFiles(
    model,
    undefined,
    context.machine,
  );
  const yes = (value: boolean | undefined) => (value === undefined ? 'not said' : value ? 'yes' : 'no');
  const rows: string[][] = [
    ['Model:', `${id} on the hub`],
    ['Architecture:', `${architecture ?? 'not said'}${supported === false ? ', which cannot be loaded' : ''}`],
    ['Parameters:', facts?.parameters ? facts.parameters.toLocaleString('en-US') : 'not said'],
    ['Context length:', trainedContext?.toLocaleString('en-US') ?? 'not said'],
    // The hub knows the template only of what it could read.
    ['Tools:', yes(facts?.architecture ? facts.tools : undefined)],
    ['Thinking:', yes(facts?.architecture ? facts.thinking : undefined)],
    ['Pictures or sound:', projector ? `yes (${byteSize(projector.bytes)})` : 'no'],
    ['Licence:', facts?.licence ?? 'not said'],
    ['Terms to accept:', yes(facts && facts.gated !== 'no')],
  ];
  const choices = files.map((file) => [
    file.chosen ? '*' : ' ',
    file.name,
    byteSize(file.bytes),
    file.fit === null ? '' : fitLabels[file.fit],
  ]);
  const safe = (row: readonly string[]) => row.map((cell) => printable(cell));
  return [
    ...tableLines(rows.map(safe)),
    '',
    ...tableLines(choices.map(safe)),
    `* ${reason}`,
    `Get it with: parley run ${id}`,
  ];
}

async function ollamaLines({ name }: Source & { type: 'ollama' }, context: ShowCommand): Promise<readonly string[]> {
  const deps = hubDeps(context);
  const layers = await readManifest(name, deps);
  const short = shortOllamaName(name);
  const rows = layers
    .map(({ kind, bytes }) => [`${kind}:`, byteSize(bytes)])
    .filter(([kind]) => /model|projector/.test(kind ?? ''));
  const texts: string[] = [];
  for (const kind of ['config', 'params', 'system', 'license']) {
    const layer = layers.find((one) => one.kind === kind);
    if (layer)
      texts.push(
        '',
        `${kind}:`,
        ...printableText(await readText(name, layer, deps))
          .split('\n')
          .slice(0, 12),
      );
  }
  return [
    ...tableLines([['Model:', `${short} at ${name.host}`], ...rows]),
    ...texts,
    '',
    `Get it with: parley run ${short}`,
  ];
}
