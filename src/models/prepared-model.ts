import type { Opening } from '../chat/opening.ts';
import type { ChatDeps, ChatService } from '../chat/service.ts';
import type { FlagKey, Settings } from '../config/flags.ts';
import { byteSize } from '../core/readable.ts';
import type { TextService, TextState } from '../core/text-service.ts';
import type { LlamaObserver } from '../engines/llama/host.ts';
import { expectedContextSize, type ModelFile, sharesCells } from '../engines/llama/load-options.ts';
import { auxiliaryFiles, gpuNeed, memoryNeed } from '../engines/llama/memory-fit.ts';
import { noTextEngine } from '../engines/none.ts';
import { contextFact, LoadLog } from '../observe/load-log.ts';
import type { Terminal } from '../observe/terminal.ts';
import { type ChatFormat, loadChatFormat } from './chat-format.ts';
import { engineConsole } from './engine-console.ts';
import { type TaskModels, taskModels } from './engine-kinds.ts';
import { EngineLifecycle } from './lifecycle.ts';
import type { TextModelFacts } from './registry-source.ts';
import { residenceOf } from './residence.ts';
import { createTextEngine, type TextEngineProcess, textLoadOptions, textPackages } from './text-engine.ts';

const adviceForLosses =
  'If this goes on: --debugmode shows what llama.cpp says; a smaller --contextsize or fewer --gpulayers need less memory; --cpubuild names another build.';

/** A model as it is configured: settings, and which of them were given. */
interface ModelConfig {
  readonly name: string;
  readonly settings: Settings;
  readonly given: ReadonlySet<FlagKey>;
  /** Undefined for a server without a text model. */
  readonly file: ModelFile | undefined;
}

/** A model whose file was read, with everything that depends on it; its weights are not loaded. */
export interface PreparedModel extends ModelConfig, TextModelFacts {
  readonly format: ChatFormat;
  /** Models of the other kinds. */
  readonly taskModels: TaskModels;
  /** Set for a model on a remote backend. */
  readonly remote?: RemoteModel;
  /** Set for a preset, which has the spec of its base. */
  readonly opening?: Opening | undefined;
}

/** A model on a remote backend. */
export interface RemoteModel {
  /** Its names on the backend. */
  readonly names: readonly string[];
  /** How many requests may run at once. */
  readonly capacity: () => number;
  /** Sends chats as messages, without rendering them. */
  readonly chat: (
    text: TextService,
    own: Required<Pick<ChatDeps, 'serverTools' | 'compactions' | 'summaryModel' | 'recall'>>,
  ) => ChatService;
}

/** A model without a file: its backend or program writes the chats, and tells its facts when it is loaded. */
export async function prepareRemoteModel(
  config: Omit<ModelConfig, 'file'>,
  terminal: Terminal,
  remote: RemoteModel,
  specOf: (loaded: (engine: TextEngineProcess) => void) => PreparedModel['spec'],
): Promise<PreparedModel> {
  const { name, settings } = config;
  let known: TextState | undefined;
  const spec = specOf((engine) => {
    known = engine.state();
  });
  return {
    ...config,
    file: undefined,
    format: await loadChatFormat(settings, undefined, (text) => terminal.line(text)),
    taskModels: await taskModels(settings, { terminal, text: { name, file: undefined } }),
    contextSize: settings.contextsize,
    known: () => known,
    remote,
    spec,
  };
}

/** Whether there is a text model, local or remote. */
export function hasText({ file, remote }: Pick<PreparedModel, 'file' | 'remote'>): boolean {
  return file !== undefined || remote !== undefined;
}

/** Throws if the chat format cannot be loaded. */
export async function prepareModel(config: ModelConfig, terminal: Terminal): Promise<PreparedModel> {
  const { name, settings, given, file } = config;
  const format = await loadChatFormat(settings, file?.chatTemplate, (text) => terminal.line(text));
  const observer = consoleObserver(config, format, terminal);
  let known: TextState | undefined;
  // With several models, replies name the model as it was requested.
  const publicName = settings.routermode ? name : undefined;
  const options = file && textLoadOptions(settings, given, file, publicName);
  const contextSize = options ? expectedContextSize(options) : settings.contextsize;
  const make = (proven: boolean) =>
    options ? createTextEngine(options, { observer, proven }) : noTextEngine(contextSize);
  return {
    ...config,
    format,
    taskModels: await taskModels(settings, { terminal, text: config }),
    contextSize,
    known: () => known,
    spec: {
      name,
      kind: 'text',
      ...residenceOf(settings),
      need: async () =>
        options
          ? memoryNeed(options.shape, contextSize, options.sequences, {
              ...options,
              shared: sharesCells(options, false),
            })
          : 0,
      ...(options && { gpuNeed: async () => gpuNeed(options, await auxiliaryFiles(options)) }),
      make: () => {
        const engine = make(known !== undefined);
        return new EngineLifecycle(engine, () => {
          known = engine.state();
        });
      },
    },
  };
}

function consoleObserver(
  { name, settings, given, file }: ModelConfig,
  format: ChatFormat,
  terminal: Terminal,
): LlamaObserver {
  const log = new LoadLog(terminal, name, () => performance.now());
  return {
    ...engineConsole<never>('text', name, terminal, { advice: adviceForLosses, packages: textPackages }),
    starting: () => {
      if (file) log.begin(file.path);
      log.started();
    },
    progress: (fraction) => log.progress(fraction),
    loaded: (model) => {
      const device = model.gpuLayers > 0 ? `${model.gpuLayers} of ${model.layers + 1} layers on the GPU` : 'on the CPU';
      const context = contextFact({
        requested: settings.contextsize,
        isExplicit: given.has('contextsize'),
        trained: model.trainedContext,
        actual: model.contextSize,
      });
      const kept = model.snapshotBytes > 0 ? [`up to ${byteSize(model.snapshotBytes)} for earlier chats`] : [];
      const shared =
        model.pool === undefined
          ? []
          : [`KV cache of ${model.pool} tokens for ${settings.parallelrequests} requests together`];
      log.done([model.description, context, ...shared, device, `CPU build ${model.cpuVariant}`, ...kept]);
      for (const note of model.notes) terminal.line(note);
      if (format.adapter.consoleLine) terminal.line(format.adapter.consoleLine);
    },
    failed: (reason) => log.failed(reason),
    ...(settings.debugmode === 1 ? { line: (line: string) => terminal.line(`llama.cpp: ${line}`) } : {}),
  };
}
