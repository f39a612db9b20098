import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { totalmem } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { commandKind, type EngineProgram, enginePrograms, programName } from '../config/engine.ts';
import type { Settings } from '../config/flags.ts';
import type { EmbeddingEngine } from '../core/embedding.ts';
import type { GpuUse } from '../core/gpu-memory.ts';
import type { ImageEngine } from '../core/image.ts';
import { ProgramEngine } from '../engines/program/engine.ts';
import { NvidiaSmi } from '../engines/program/gpu-memory.ts';
import { mainTask, type ProgramIdentity, type ProgramTask } from '../engines/program/identify.ts';
import { commonVoices, type RemoteSpeech } from '../engines/remote/audio.ts';
import { randomCallId } from '../engines/remote/chat-service.ts';
import { ImageServerEngine } from '../engines/remote/image-servers/engine.ts';
import { unprobedImageFacts } from '../engines/remote/image-servers/server.ts';
import { titleOf } from '../engines/remote/kinds.ts';
import { printable } from '../observe/printable.ts';
import type { Terminal } from '../observe/terminal.ts';
import { type Guard, processGuard } from '../processes/guard.ts';
import { modelsFolder } from './admin-options.ts';
import { engineConsole } from './engine-console.ts';
import { asPng, imageEditor } from './image-editor.ts';
import { EngineLifecycle, engineTimer, type ModelSpec, residentBytes } from './lifecycle.ts';
import { backendPool, remoteEngines } from './remote-tasks.ts';
import { residenceOf } from './residence.ts';
import type { ImageModel, ModelTools, SpeechModel, TaskModel, TranscriptionModel } from './task-model.ts';

/** An estimate alone must not refuse a program: its model may be on a GPU. */
const maxEstimateShare = 0.6;

/** These are for all programs. */
let guard: Guard | undefined;
const nvidiaSmi = new NvidiaSmi();

/** A program, its name as a model, and the kind of registry entry that it is. */
export interface NamedProgram {
  readonly name: string;
  readonly program: EngineProgram;
  /** Undefined if only the running program can tell. */
  readonly task: ProgramTask | undefined;
}

/** The programs of the settings. One without a name is the model of its config, which is called so. */
export function namedPrograms(settings: Settings, own?: string): readonly NamedProgram[] {
  return enginePrograms(settings.engine).map((program) => {
    const name = program.name ?? own ?? ownName(settings, program);
    return { name, program: withModel(program, settings), task: mainTask(commandKind(program)) };
  });
}

/** The program of a config without a name. */
export function ownProgram(settings: Settings, name?: string): NamedProgram | undefined {
  const programs = enginePrograms(settings.engine);
  const index = programs.findIndex((one) => one.name === undefined);
  return index === -1 ? undefined : namedPrograms(settings, name)[index];
}

function ownName({ config }: Settings, program: EngineProgram): string {
  return config ? basename(config).replace(/\.kcpp[st]$/i, '') : programName(program);
}

/** A file in the working folder or in the models folder; anything else is left to the program. */
function withModel(program: EngineProgram, settings: Settings): EngineProgram {
  const { model } = program;
  if (model === undefined) return program;
  const path = [resolve(model), resolve(join(modelsFolder(settings), model))].find((one) => existsSync(one));
  return path === undefined ? program : { ...program, model: path };
}

/** How the program is loaded: one entry of the registry, whatever it does. */
export function programSpec(
  { name, program, task = 'text' }: NamedProgram,
  settings: Pick<Settings, 'contextsize' | 'quiet' | 'idle' | 'pin' | 'group'>,
  terminal: Terminal,
  known?: (engine: ProgramEngine) => void,
  gpuUse: (pid: number) => Promise<readonly GpuUse[] | undefined> = (pid) => nvidiaSmi.use(pid),
) {
  const { contextsize, quiet } = settings;
  const pool = backendPool(task, { addresses: [] }, { line: (line: string) => problemLine(line, terminal) });
  const need = async (): Promise<number> =>
    program.memoryBytes ?? Math.min(await bytesOfFile(program.model ?? ''), maxEstimateShare * totalmem());
  let proven = false;
  let expected = 0;
  /** The one that ran last: the next one will use the same GPUs. */
  let last: ProgramEngine | undefined;
  const make = () => {
    guard ??= processGuard();
    const engine = new ProgramEngine({
      name,
      program,
      pool,
      guard,
      proven,
      freePort,
      newKey: () => randomBytes(24).toString('base64url'),
      loaded: (pid) => (expected > 0 ? Math.min(0.95, (residentBytes(pid) ?? 0) / expected) : undefined),
      wait: (milliseconds) => wait(milliseconds, undefined, { ref: false }),
      now: () => performance.now(),
      startTimer: engineTimer,
      gpuUse,
      newCallId: randomCallId,
      defaultContext: contextsize,
      log: (line) => (quiet ? undefined : terminal.line(printable(`${name}: ${line}`, 1000))),
      observer: engineConsole<ProgramIdentity>(task, name, terminal, {
        loaded: (identity) => loadedLine(name, identity),
        advice: `Its last lines are above; docs/engines.md has advice.`,
        packages: () => [],
      }),
    });
    last = engine;
    return new EngineLifecycle(engine, () => {
      proven = true;
      known?.(engine);
    });
  };
  const spec: ModelSpec<EngineLifecycle<ProgramEngine>> = {
    name,
    kind: task,
    // The settings are about the model of their config, and about no other program.
    ...(program.name === undefined && residenceOf(settings)),
    ...(program.idleMs === undefined ? {} : { idleMs: program.idleMs }),
    need: async () => {
      expected = await need();
      return expected;
    },
    // Without an estimate: the registry remembers how much it held the last time.
    gpuNeed: async () => {
      const devices = last?.gpuNames ?? [];
      return devices.length > 0 ? { bytes: 0, devices } : undefined;
    },
    make,
  };
  return { spec, pool };
}

/** Problems only: the load has a line of its own. */
function problemLine(line: string, terminal: Terminal): void {
  if (!/^The remote backend at \S+ is ready /.test(line))
    terminal.line(line.replace('The remote backend at', 'The engine'));
}

function loadedLine(name: string, identity: ProgramIdentity): string {
  const {
    models: [model],
    tasks: can,
  } = identity;
  const context = model?.contextSize && can.includes('text') ? `, context ${model.contextSize}` : '';
  return `Loaded ${name} (${titleOf(identity)}${context}).`;
}

async function bytesOfFile(path: string): Promise<number> {
  const facts = await stat(path).catch(() => undefined);
  return facts?.isFile() ? facts.size : 0;
}

/** One that was free just now, on this machine only. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** What a program does besides text, as models of a context. */
interface ProgramTasks {
  readonly image?: ImageModel;
  readonly embedding?: TaskModel<EmbeddingEngine>;
  readonly speech?: SpeechModel;
  readonly transcription?: TranscriptionModel;
  readonly textEmbedding?: TaskModel<EmbeddingEngine>;
}

type Spec = ReturnType<typeof programSpec>['spec'];

/** The models of a program; all of them where only the running program can tell what it does. */
export function programTasks({ name, program, task }: NamedProgram, spec: Spec, maxWords: number): ProgramTasks {
  const shared = { spec: spec as never, given: false, concurrency: () => program.parallel };
  const part = { name, model: undefined };
  const embedding: TaskModel<EmbeddingEngine> = {
    ...shared,
    pick: picked('embedding', ({ pool }) => remoteEngines.embedding(pool, part)),
  };
  const image: ImageModel = {
    ...shared,
    concurrency: () => 1,
    facts: unprobedImageFacts(name, commandKind(program)),
    pick: picked('image', ({ pool, identity }): ImageEngine => {
      if (identity?.imageServer) return new ImageServerEngine(pool, { asPng: asPng(imageEditor) });
      return remoteEngines.image(pool, part);
    }),
  };
  let running: RemoteSpeech | undefined;
  const speech: SpeechModel = {
    ...shared,
    maxWords,
    voices: async () => (await running?.voices()) ?? commonVoices,
    pick: picked('speech', ({ pool }) => {
      running = remoteEngines.speech(pool, part);
      return running;
    }),
  };
  const transcription: TranscriptionModel = {
    ...shared,
    pick: picked('transcription', ({ pool }) => remoteEngines.transcription(pool, part)),
  };
  if (task === 'text') return { textEmbedding: embedding };
  const all = { image, embedding, speech, transcription };
  return task === undefined ? { ...all, textEmbedding: embedding } : { [task]: all[task] };
}

/** The program that does this for requests that name no model: that of the config, or the first of `--engine` that is known to do it. */
export function programTaskModels(settings: Settings, { terminal, text }: ModelTools) {
  const programs = namedPrograms(settings, text.name || undefined);
  return (kind: string) => {
    const named = programs.find(({ task }) => task === kind);
    if (!named) return undefined;
    const models = programTasks(named, programSpec(named, settings, terminal).spec, settings.ttsmaxlen);
    return models[kind as keyof ProgramTasks];
  };
}

/** The adapter of a running program; once for each start of the server's engine object. */
function picked<Adapter extends object>(task: ProgramTask, make: (engine: ProgramEngine) => Adapter) {
  const adapters = new WeakMap<ProgramEngine, Adapter>();
  return (engine: ProgramEngine): Adapter => {
    engine.check(task);
    const adapter = adapters.get(engine) ?? explaining(engine, make(engine));
    adapters.set(engine, adapter);
    return adapter;
  };
}

/** The same adapter, with the end of the program as the error instead of a broken connection. */
function explaining<Adapter extends object>(engine: ProgramEngine, adapter: Adapter): Adapter {
  const explainer =
    (died: Promise<void>) =>
    async (error: unknown): Promise<never> => {
      throw await engine.explained(error, died);
    };
  type Explain = ReturnType<typeof explainer>;
  async function* events(source: AsyncIterable<unknown>, explain: Explain) {
    try {
      yield* source;
    } catch (error) {
      await explain(error);
    }
  }
  return new Proxy(adapter, {
    get: (target, key) => {
      const value = Reflect.get(target, key) as unknown;
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]) => {
        const explain = explainer(engine.died);
        const result = value.apply(target, args) as unknown;
        if (result instanceof Promise) return result.catch(explain);
        return isEvents(result) ? events(result, explain) : result;
      };
    },
  });
}

function isEvents(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
