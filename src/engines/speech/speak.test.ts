import decodeWav from '@audio/decode-wav';
import { describe, expect, test, vi } from 'vitest';
import { type SpeechEvent, type SpeechFormat, type SpeechRequest, speechFormats } from '../../core/speech.ts';
import { EncoderCache, piecesOf, type Synthesiser, speak } from './speak.ts';

const rate = 16_000;
const request = (text: string, own: Partial<SpeechRequest> = {}): SpeechRequest => ({
  text,
  voice: 'v',
  speed: 1,
  language: '',
  instruction: '',
  seed: -1,
  format: 'wav',
  streamed: true,
  ...own,
});

/** Says every sentence as one second of a tone, and tells in which order things happened. */
function world({ fails = '', notes = [] as string[], drained = (): Promise<void> | undefined => undefined } = {}) {
  const story: string[] = [];
  const told: SpeechEvent[] = [];
  const stop = new AbortController();
  const encoders = new EncoderCache();
  const synthesiser: Synthesiser = {
    voices: [],
    normalized: (text) => ({ text, notes }),
    ignored: ({ instruction }) => (instruction === '' ? [] : ['no instructions']),
    synthesize: async (sentence) => {
      story.push(`say ${sentence.trim()}`);
      if (fails !== '' && sentence.includes(fails)) throw new Error('it broke');
      return { samples: new Float32Array(rate).fill(0.25), rate };
    },
  };
  const tools = {
    emit: (event: SpeechEvent) => {
      story.push(event.type);
      told.push(event);
    },
    drained: () => {
      const waits = drained();
      if (waits) story.push('wait');
      return waits ?? Promise.resolve();
    },
    signal: stop.signal,
    watch: {
      here: <Result>(_: number, work: () => Result) => work(),
      aside: <Result>(_: number, work: () => Promise<Result>) => work(),
    },
  };
  return {
    story,
    told,
    stop,
    run: (sent: SpeechRequest) => speak({ synthesiser, encoders }, sent, tools),
    sound: () => new Uint8Array(Buffer.concat(told.flatMap((event) => (event.type === 'audio' ? [event.bytes] : [])))),
  };
}

describe('speak', () => {
  test('sends each sentence before it synthesises the next', async () => {
    const { run, story } = world();
    await run(request('One. Two. Three.'));
    expect(story).toEqual(['start', 'say One.', 'audio', 'say Two.', 'audio', 'say Three.', 'audio', 'finish']);
  });

  test('speak: waits between sentences until the reader has taken enough', async () => {
    let go = () => {};
    let sentences = 0;
    const drained = () => (++sentences === 2 ? new Promise<void>((resolve) => (go = resolve)) : undefined);
    const { run, story } = world({ drained });
    const running = run(request('One. Two. Three.'));
    await vi.waitUntil(() => story.includes('wait'));
    expect(story).toEqual(['start', 'say One.', 'audio', 'say Two.', 'audio', 'wait']);
    go();
    await running;
    expect(story.slice(-3)).toEqual(['say Three.', 'audio', 'finish']);
  });

  test('speak: ends where it waits for a reader that goes away', async () => {
    const drained = () =>
      story.includes('audio')
        ? new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve()))
        : undefined;
    const { run, story, stop } = world({ drained: () => drained() });
    const running = run(request('One. Two. Three.'));
    await vi.waitUntil(() => story.includes('wait'));
    stop.abort();
    await running;
    expect(story).toEqual(['start', 'say One.', 'audio', 'wait']);
  });

  test('reports the duration at the end', async () => {
    const { run, told } = world();
    await run(request('One. Two. Three.'));
    expect(told.at(-1)).toEqual({ type: 'finish', seconds: 3 });
  });

  test('the chunks are one file', async () => {
    const { run, sound } = world();
    await run(request('One. Two.'));
    const { channelData, sampleRate } = decodeWav(sound());
    expect([sampleRate, channelData[0]?.length]).toEqual([rate, 2 * rate]);
  });

  test('without streaming the file is one chunk with its length', async () => {
    const { run, told, sound } = world();
    await run(request('One. Two.', { streamed: false }));
    expect(told.map(({ type }) => type)).toEqual(['start', 'audio', 'finish']);
    expect(Buffer.from(sound()).readUInt32LE(40)).toBe(4 * rate);
  });

  test.each(speechFormats)('as %s', async (format: SpeechFormat) => {
    const { run, sound, told } = world();
    await run(request('One. Two.', { format }));
    const signs = { wav: 'RIFF', mp3: '\u00ff', opus: 'OggS', flac: 'fLaC', pcm: '' };
    expect(Buffer.from(sound()).toString('latin1').startsWith(signs[format])).toBe(true);
    expect(told.filter(({ type }) => type === 'audio').length).toBeGreaterThanOrEqual(2);
  });

  test('sends notes first', async () => {
    const { run, told } = world({ notes: ['a letter is lost'] });
    await run(request('One.', { instruction: 'sing' }));
    expect(told[0]).toEqual({ type: 'start', notes: ['a letter is lost', 'no instructions'] });
  });

  test('splits a very long sentence', async () => {
    const { run, story } = world();
    await run(request('word '.repeat(200)));
    expect(story.filter((entry) => entry.startsWith('say')).length).toBeGreaterThan(3);
    expect(Math.max(...story.map(({ length }) => length))).toBeLessThanOrEqual(244);
  });
});

test('piecesOf: the first piece is short for an engine that takes long', () => {
  const text = 'When the weather was lovely we set out along the river, but nobody had told us about the bridge.';
  expect(piecesOf(text)).toEqual([text]);
  expect(piecesOf(text, { firstPiece: 50 })).toEqual([text.slice(0, 56), text.slice(56)]);
});

describe('speak: nothing to say', () => {
  test.each(['...', '- - -', '?!', '"..." --'])('%s is a short silence', async (text) => {
    const { run, story, sound, told } = world();
    await run(request(text));
    expect(story).toEqual(['start', 'audio', 'finish']);
    expect(told.at(-1)).toEqual({ type: 'finish', seconds: 0.2 });
    const { channelData } = decodeWav(sound());
    expect(channelData[0]?.every((sample) => sample === 0)).toBe(true);
  });

  test('is skipped between two sentences', async () => {
    const { run, story } = world();
    await run(request('One.\n\n***\n\nTwo.'));
    expect(story.filter((entry) => entry.startsWith('say'))).toEqual(['say One.', 'say Two.']);
  });
});

describe('speak: abort', () => {
  test('takes effect between two sentences', async () => {
    const { run, story, stop } = world();
    const running = run(request('One. Two. Three. Four.'));
    stop.abort();
    await running;
    expect(story).toEqual(['start', 'say One.', 'audio']);
  });

  test('before the start synthesises nothing', async () => {
    const { run, story, stop } = world();
    stop.abort();
    await run(request('One. Two.'));
    expect(story).toEqual(['start']);
  });

  test('lets messages in between two sentences', async () => {
    const { run, story, stop } = world();
    setImmediate(() => setImmediate(() => stop.abort()));
    await run(request('A. '.repeat(1) + 'Word. '.repeat(50)));
    expect(story.filter((entry) => entry.startsWith('say')).length).toBeLessThan(10);
    expect(story).not.toContain('finish');
  });
});

describe('speak: failure', () => {
  test('is thrown after the audio before it', async () => {
    const { run, story } = world({ fails: 'Two' });
    await expect(run(request('One. Two. Three.'))).rejects.toThrow('it broke');
    expect(story).toEqual(['start', 'say One.', 'audio', 'say Two.']);
  });

  test('does not affect the next request', async () => {
    const { run, story } = world({ fails: 'Two' });
    await run(request('Two.', { format: 'flac' })).catch(() => undefined);
    await run(request('One.', { format: 'flac' }));
    expect(story.at(-1)).toBe('finish');
  });
});
