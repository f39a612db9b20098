import { checkedWeights, weights } from '../weights.ts';
import { type Recogniser, soundRate } from './recogniser.ts';
import { loadSherpa } from './sherpa.ts';

/** The model is too small to use more threads. */
const maxThreads = 4;

/** Built-in recogniser Moonshine-tiny: English only, ten times faster than real time. */
export async function openMoonshine(threads: number): Promise<Recogniser> {
  const { OfflineRecognizer } = loadSherpa();
  const [encoder, mergedDecoder, tokens] = await Promise.all([
    checkedWeights(weights.moonshineEncoder),
    checkedWeights(weights.moonshineDecoder),
    checkedWeights(weights.moonshineTokens),
  ]);
  const recogniser = await OfflineRecognizer.createAsync({
    modelConfig: {
      moonshine: { encoder, mergedDecoder },
      tokens,
      numThreads: Math.min(threads, maxThreads),
      provider: 'cpu',
      debug: 0,
    },
  });
  const name = 'moonshine-tiny';
  return {
    facts: { name, languages: ['en'], translates: false },
    longestSeconds: 25,
    missesShortSpeech: true,
    timeoutMs: (seconds) => 60_000 + seconds * 4000,
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
