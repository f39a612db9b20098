import { commandKind } from '../config/engine.ts';
import type { Settings } from '../config/flags.ts';
import type { EmbeddingEngine } from '../core/embedding.ts';
import type { ImageEngine } from '../core/image.ts';
import type { ProgramEngine } from '../engines/program/engine.ts';
import type { ProgramTask } from '../engines/program/identify.ts';
import { commonVoices, type RemoteSpeech } from '../engines/remote/audio.ts';
import { RemoteDrawing } from '../engines/remote/drawing/engine.ts';
import { unknownDrawingFacts } from '../engines/remote/drawing-server.ts';
import type { Terminal } from '../observe/terminal.ts';
import { asPng, pictureEditor } from './picture-editor.ts';
import { type NamedProgram, namedPrograms, programSpec } from './program-spec.ts';
import { remoteEngines } from './remote-tasks.ts';
import type { ImageModel, SpeechModel, TaskModel, TranscriptionModel } from './task-model.ts';

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
  const shared = { spec: spec as never, given: false, atOnce: () => program.parallel };
  const part = { name, model: undefined };
  const embedding: TaskModel<EmbeddingEngine> = {
    ...shared,
    pick: picked('embedding', ({ pool }) => remoteEngines.embedding(pool, part)),
  };
  const image: ImageModel = {
    ...shared,
    atOnce: () => 1,
    facts: unknownDrawingFacts(name, commandKind(program)),
    pick: picked('image', ({ pool, identity }): ImageEngine => {
      if (identity?.drawing) return new RemoteDrawing(pool, { asPng: asPng(pictureEditor) });
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
export function programTask(
  row: string,
  settings: Settings,
  { terminal, text }: { readonly terminal: Terminal; readonly text: { readonly name: string } },
): object | undefined {
  if (settings.engine === null) return undefined;
  const found = namedPrograms(settings, text.name || undefined).find(({ task }) => task === row);
  return (
    found &&
    programTasks(found, programSpec(found, settings, terminal).spec, settings.ttsmaxlen)[row as keyof ProgramTasks]
  );
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
