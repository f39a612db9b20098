import type { EmbeddingEngine, EmbeddingFacts, EmbeddingService } from '../core/embedding.ts';
import type { EngineSource } from '../core/engine-source.ts';
import type { SpeechEngine, SpeechService } from '../core/speech.ts';
import type { Ticket } from '../core/ticket.ts';
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

export function speechService(parts: TaskDeps<SpeechEngine, SpeechSource>): SpeechService {
  const { stream } = tasks(parts);
  const { name, voices, maxWords, exactVoices = false } = parts.source;
  return {
    name,
    maxWords,
    exactVoices,
    voices,
    warm: (signal) => loaded(parts.source, signal),
    speak: (request, ticket) => stream(ticket, ({ engine, signal }) => engine.speak(request, signal), { paced: true }),
  };
}

export function transcriptionService(parts: TaskDeps<TranscriptionEngine, TranscriptionSource>): TranscriptionService {
  const { stream } = tasks(parts);
  const { source } = parts;
  let known = source.languages;
  return {
    name: source.name,
    languages: () => {
      known = source.peek()?.facts()?.languages ?? known;
      return known;
    },
    warm: (signal) => loaded(parts.source, signal),
    transcribe: (request, ticket) =>
      stream(ticket, async function* ({ engine, signal, wrote }) {
        let text = '';
        for await (const event of engine.transcribe(request, signal)) {
          if (event.type === 'segment') {
            text += event.segment.text;
            wrote(text);
          }
          yield event;
        }
      }),
  };
}

export function embeddingService(parts: TaskDeps<EmbeddingEngine>): EmbeddingService {
  const { source } = parts;
  const { once } = tasks(parts);
  let known: EmbeddingFacts | undefined;
  const facts = (): EmbeddingFacts | undefined => {
    known = source.peek()?.facts() ?? known;
    return known;
  };
  const timed = <Answer>(ticket: Ticket, work: (engine: EmbeddingEngine, signal: AbortSignal) => Promise<Answer>) =>
    once(ticket, async ({ engine, signal, loadMs }) => {
      facts();
      return { ...(await work(engine, signal)), loadMs };
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
    embed: (request, ticket) => timed(ticket, (engine, signal) => engine.embed(request, signal)),
    rank: (request, ticket) => timed(ticket, (engine, signal) => engine.rank(request, signal)),
  };
}
