import type { EmbeddingEngine, EmbeddingFacts, EmbeddingService } from '../core/embedding.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { RequestContext } from '../core/request-context.ts';
import type { SpeechEngine, SpeechService } from '../core/speech.ts';
import type { TranscriptionEngine, TranscriptionService } from '../core/transcription.ts';
import { type TaskDeps, tasks } from './tasks.ts';

/** The voices are known without loading the model. */
export type TranscriptionSource = EngineSource<TranscriptionEngine> & {
  /** Where they are known without loading the model. */
  readonly languages?: readonly string[];
};
export type SpeechSource = EngineSource<SpeechEngine> & Pick<SpeechService, 'voices' | 'maxWords' | 'exactVoices'>;

/** No task, so that it takes no turn in the queue. */
async function loaded<Engine>(source: EngineSource<Engine>, signal: AbortSignal): Promise<void> {
  (await source.use(signal)).release();
}

type SoundEvent = { readonly type: string } | { readonly type: 'finish'; readonly seconds: number };

/** Counts generated sound for its client. */
export async function* countSound<Event extends SoundEvent>(events: AsyncIterable<Event>, { watch }: RequestContext) {
  for await (const event of events) {
    if ('seconds' in event) watch?.used?.({ audioSecondsOut: event.seconds });
    yield event;
  }
}

export function speechService(deps: TaskDeps<SpeechEngine, SpeechSource>): SpeechService {
  const { stream } = tasks(deps);
  const { name, voices, maxWords, exactVoices = false } = deps.source;
  return {
    name,
    maxWords,
    exactVoices,
    voices,
    warm: (signal) => loaded(deps.source, signal),
    speak: (request, context) =>
      stream(context, ({ engine, signal }) => countSound(engine.speak(request, signal, context.sent), context), {
        paced: true,
      }),
  };
}

export function transcriptionService(deps: TaskDeps<TranscriptionEngine, TranscriptionSource>): TranscriptionService {
  const { stream } = tasks(deps);
  const { source } = deps;
  let known = source.languages;
  return {
    name: source.name,
    languages: () => {
      known = source.peek()?.facts()?.languages ?? known;
      return known;
    },
    warm: (signal) => loaded(deps.source, signal),
    transcribe: (request, context) =>
      stream(context, async function* ({ engine, signal, wrote }) {
        let text = '';
        for await (const event of engine.transcribe(request, signal, context.sent)) {
          if (event.type === 'segment') {
            text += event.segment.text;
            wrote(text);
          }
          if (event.type === 'finish') context.watch?.used?.({ audioSecondsIn: event.seconds });
          yield event;
        }
      }),
  };
}

export function embeddingService(deps: TaskDeps<EmbeddingEngine>): EmbeddingService {
  const { source } = deps;
  const { once } = tasks(deps);
  let known: EmbeddingFacts | undefined;
  const facts = (): EmbeddingFacts | undefined => {
    known = source.peek()?.facts() ?? known;
    return known;
  };
  type Read = { readonly tokens: number | readonly number[] };
  const timed = <Answer extends Read>(
    context: RequestContext,
    work: (engine: EmbeddingEngine, signal: AbortSignal) => Promise<Answer>,
  ) =>
    once(context, async ({ engine, signal, loadMs }) => {
      facts();
      const done = await work(engine, signal);
      const { tokens } = done;
      const promptTokens = typeof tokens === 'number' ? tokens : tokens.reduce((sum, count) => sum + count, 0);
      context.watch?.used?.({ promptTokens });
      return { ...done, loadMs };
    });
  const { builtIn = false, keepFor, expiresAt, file } = source;
  return {
    name: source.name,
    builtIn,
    facts,
    loaded: () => source.state().type === 'ready',
    ...(file ? { file } : {}),
    ...(keepFor ? { keepFor } : {}),
    ...(expiresAt ? { expiresAt } : {}),
    embed: (request, context) => timed(context, (engine, signal) => engine.embed(request, signal, context.sent)),
    rank: (request, context) => timed(context, (engine, signal) => engine.rank(request, signal, context.sent)),
  };
}
