import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageFolder } from '../../package-folder.ts';
import { loadSherpa } from '../sherpa.ts';
import { checkedFile, weights } from '../weights.ts';
import { moonshineTokens } from './moonshine-tokens.ts';
import { type Recogniser, soundRate } from './recogniser.ts';

/** It is so small that more of them only wait for each other. */
const mostThreads = 4;

/** Moonshine-tiny: English, a tenth of the time that the sound takes, and nothing to install. */
export async function openMoonshine({ threads }: { readonly threads: number }): Promise<Recogniser> {
  const sherpa = loadSherpa();
  const [encoder, mergedDecoder, tokens] = await Promise.all([
    checkedFile(weights.moonshineEncoder, packageFolder),
    checkedFile(weights.moonshineDecoder, packageFolder),
    moonshineTokens(),
  ]);
  const recogniser = await withFile(tokens, (path) =>
    sherpa.OfflineRecognizer.createAsync({
      modelConfig: {
        moonshine: { encoder, mergedDecoder },
        tokens: path,
        numThreads: Math.min(threads, mostThreads),
        provider: 'cpu',
        debug: 0,
      },
    }),
  );
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

/**
 * The library reads the tokens from a file and from nothing else. The folder is named like those of uploads: what is left of
 * a process that was killed meanwhile goes at the next start of the server.
 */
async function withFile<Result>(text: string, use: (path: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), `parley-upload-${process.pid}-`));
  try {
    const path = join(folder, 'tokens.txt');
    await writeFile(path, text);
    return await use(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
