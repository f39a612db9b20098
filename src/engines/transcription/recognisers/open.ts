import { checkedWeights, weights } from '../../weights.ts';
import type { RecogniserOptions } from '../host.ts';
import { loadSherpa } from '../sherpa.ts';
import { type Recogniser, soundRate } from './recogniser.ts';
import { openWhisper } from './whisper.ts';

/** Rejects with one sentence where it cannot be had. */
export async function openRecogniser(
  options: RecogniserOptions,
  note: (text: string) => void = () => {},
): Promise<Recogniser> {
  switch (options.type) {
    case 'moonshine':
      return openMoonshine(options);
    case 'whisper':
      return openWhisper(options, note);
  }
}

/** The model is too small to use more threads. */
const mostThreads = 4;

/** Moonshine-tiny: English, a tenth of the time that the sound takes, and nothing to install. */
async function openMoonshine({ threads }: { readonly threads: number }): Promise<Recogniser> {
  const sherpa = loadSherpa();
  const [encoder, mergedDecoder, tokens] = await Promise.all([
    checkedWeights(weights.moonshineEncoder),
    checkedWeights(weights.moonshineDecoder),
    checkedWeights(weights.moonshineTokens),
  ]);
  const recogniser = await sherpa.OfflineRecognizer.createAsync({
    modelConfig: {
      moonshine: { encoder, mergedDecoder },
      tokens,
      numThreads: Math.min(threads, mostThreads),
      provider: 'cpu',
      debug: 0,
    },
  });
  const name = 'moonshine-tiny';
  return {
    facts: { name, languages: ['en'], translates: false },
    longestSeconds: 25,
    patienceMs: (seconds) => 60_000 + seconds * 4000,
    notes: ({ prompt, temperature }) => [
      ...(prompt.trim() === '' ? [] : [`prompt has no effect: ${name} takes none`]),
      ...(temperature > 0 ? [`temperature has no effect: ${name} always writes what is most likely`] : []),
    ],
    recognise: async (samples) => {
      const stream = recogniser.createStream();
      stream.acceptWaveform({ samples, sampleRate: soundRate });
      const { text } = await recogniser.decodeAsync(stream);
      return { text: text.trim(), language: 'en' };
    },
  };
}
