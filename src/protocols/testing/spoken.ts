import { AppError } from '../../core/errors.ts';
import type { RequestContext } from '../../core/request-context.ts';
import type { SpeechEvent, SpeechRequest, SpeechService, Voice } from '../../core/speech.ts';

const voice = (name: string, own: Partial<Voice> = {}): Voice => ({ name, language: 'en', description: '', ...own });

export const testVoices: readonly Voice[] = [
  voice('slt', { sound: 'female' }),
  voice('rms', { sound: 'male' }),
  voice('awb', { sound: 'male' }),
  voice('aunt.wav', { sample: true, language: '' }),
];

export interface AskedSpeech {
  readonly request: SpeechRequest;
  readonly requestContext: RequestContext;
}

export interface SpokenScript {
  readonly notes?: readonly string[];
  readonly pieces?: readonly string[];
  /** What goes wrong: before any sound, or after all pieces. */
  readonly refusal?: AppError;
  readonly failure?: Error;
}

/** A service that says what a test tells it to, and notes what it was asked. */
export function scriptedSpeech({ notes = [], pieces = ['RIFF', 'sound'], refusal, failure }: SpokenScript = {}) {
  const asked: AskedSpeech[] = [];
  const seen = { returned: 0 };
  async function* play(): AsyncGenerator<SpeechEvent> {
    try {
      if (refusal) throw refusal;
      yield { type: 'start', notes };
      for (const piece of pieces) yield { type: 'audio', bytes: Buffer.from(piece) };
      if (failure) throw failure;
      yield { type: 'finish', seconds: 1.5 };
    } finally {
      seen.returned += 1;
    }
  }
  const speech: SpeechService = {
    name: 'flite',
    maxWords: 50,
    voices: async () => testVoices,
    speak: (request, requestContext) => {
      asked.push({ request, requestContext });
      return play();
    },
  };
  return { speech, asked, seen };
}

export const lost = new AppError('engine-lost', { capability: 'speech' });
