import type { Settings } from '../config/flags.ts';
import type { ProgramEngine } from '../engines/program/engine.ts';
import { remoteChatService } from '../engines/remote/chat-service.ts';
import { RemoteTokens } from '../engines/remote/tokens.ts';
import type { Terminal } from '../observe/terminal.ts';
import type { ModelOffer } from './model-instance.ts';
import { type PreparedModel, prepareModel, prepareRemoteModel, type RemoteModel } from './prepared-model.ts';
import { type NamedProgram, namedPrograms, ownProgram, programSpec, programTasks } from './program-spec.ts';

type ProgramConfig = Pick<PreparedModel, 'settings' | 'given'>;

/** The program that is the text model of these settings: of the config itself, or the first of `--engine` where there is no file. */
export function servedProgram(settings: Settings, name?: string): NamedProgram | undefined {
  const own = ownProgram(settings, name);
  if (own) return own;
  if (settings.model && !settings.nomodel) return undefined;
  return namedPrograms(settings).find(({ task }) => task === undefined || task === 'text');
}

/** A model in a program. Nothing is started. */
export async function prepareProgram(
  named: NamedProgram,
  { settings, given }: ProgramConfig,
  terminal: Terminal,
): Promise<PreparedModel> {
  const { name, program, task } = named;
  if (task !== undefined && task !== 'text') {
    // Without a text model: what it does is one of the other kinds.
    const bare = await prepareModel({ name, settings, given, file: undefined }, terminal);
    const { spec } = programSpec(named, settings, terminal);
    return { ...bare, taskModels: { ...bare.taskModels, ...programTasks(named, spec, settings.ttsmaxlen) } };
  }
  let loaded: ((engine: ProgramEngine) => void) | undefined;
  const { spec, pool } = programSpec(named, settings, terminal, (engine) => loaded?.(engine));
  const tokens = new RemoteTokens(pool, undefined);
  const remote: RemoteModel = {
    names: [],
    capacity: () => program.parallel,
    chat: (text, parts) => remoteChatService({ ...parts, text, tokens }),
  };
  const model = await prepareRemoteModel({ name, settings, given }, terminal, remote, (onLoaded) => {
    loaded = onLoaded;
    return spec;
  });
  return { ...model, taskModels: { ...model.taskModels, ...programTasks(named, spec, settings.ttsmaxlen) } };
}

/** The programs of `--engine`, by name. */
export function programOffers(config: ProgramConfig, terminal: Terminal): () => readonly ModelOffer[] {
  const programs = namedPrograms(config.settings).filter(({ program }) => program.name !== undefined);
  return () =>
    programs.map((named) => ({
      names: [named.name],
      path: undefined,
      prefix: 'engine',
      prepare: (name) => prepareProgram({ ...named, name }, config, terminal),
    }));
}
