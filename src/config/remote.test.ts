import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readRemote, readSdRemote, remoteAddresses, remoteProblems } from './remote.ts';

function addressOf(text: string) {
  const reading = readRemote(text);
  if (!reading.ok) throw new Error(reading.expected);
  return reading.address;
}

function refusalOf(text: string): string {
  const reading = readRemote(text);
  return reading.ok ? '' : reading.expected;
}

describe('readRemote', () => {
  test.each([
    ['http://gpu1:8000', 'http://gpu1:8000'],
    ['http://gpu1:8000/', 'http://gpu1:8000'],
    ['http://gpu1:8000/v1', 'http://gpu1:8000'],
    ['http://gpu1:8000/v1/', 'http://gpu1:8000'],
    ['https://cluster.example/llm/v1', 'https://cluster.example/llm'],
    ['https://cluster.example/v1beta', 'https://cluster.example/v1beta'],
  ])('%s has the base URL %s', (text, base) => {
    expect(addressOf(text).base).toBe(base);
  });

  test('defaults: text, weight 1, unlimited concurrency', () => {
    expect(addressOf('http://gpu1:8000/v1')).toEqual({
      base: 'http://gpu1:8000',
      host: 'gpu1:8000',
      purpose: 'text',
      weight: 1,
      parallel: 64,
    });
  });

  test('reads options after commas, in any order', () => {
    expect(addressOf('http://a:1,for=embeddings, weight=2.5 ,model=org/name:tag=x,parallel=8,key=env:A_KEY')).toEqual({
      base: 'http://a:1',
      host: 'a:1',
      purpose: 'embeddings',
      weight: 2.5,
      parallel: 8,
      model: 'org/name:tag=x',
      keyVariable: 'A_KEY',
    });
  });

  test.each([
    ['gpu1:8000', 'not an http or https URL'],
    ['ftp://gpu1', 'not an http or https URL'],
    ['', 'not an http or https URL'],
    ['http://a:1,weight=0', 'weight must be a number above 0'],
    ['http://a:1,weight=much', 'weight must be a number above 0'],
    ['http://a:1,parallel=0', 'parallel must be a whole number from 1'],
    ['http://a:1,parallel=1.5', 'parallel must be a whole number from 1'],
    ['http://a:1,model=', 'model must be the name of a model'],
    ['http://a:1,for=video', 'for must be one of text, embeddings, images, audio, speech, transcription'],
    ['http://a:1,speed=3', 'the options are weight, parallel, model, key, for, pass'],
    ['http://a:1,constructor=3', 'the options are weight'],
    ['http://a:1,weight', 'the options are weight'],
    ['http://me:secret@a:1', 'key=env:NAME'],
  ])('rejects %s with the reason', (text, words) => {
    expect(refusalOf(text)).toContain(words);
  });

  test('pass may be repeated, and takes names of fields only', () => {
    expect(readRemote('http://a:1,pass=cnet_*,pass=video')).toMatchObject({ address: { pass: ['cnet_*', 'video'] } });
    expect(refusalOf('http://a:1,pass=a b')).toContain('pass must be a name of fields such as cnet_*');
  });

  test('rejects a key on the command line and does not repeat it', () => {
    expect(refusalOf('http://a:1,key=sk-12345')).toContain('env:NAME');
    expect(refusalOf('http://a:1,key=sk-12345')).not.toContain('12345');
  });

  test('never throws', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (place, options) => {
        const reading = readRemote(`${place},${options}`);
        expect(reading.ok || reading.expected.length > 0).toBe(true);
      }),
    );
  });
});

test('remoteAddresses: returns the addresses of a purpose in order', () => {
  const texts = ['http://a:1', 'http://b:1,for=images', 'http://c:1,for=text'];
  expect(remoteAddresses(texts, 'text').map(({ host }) => host)).toEqual(['a:1', 'c:1']);
  expect(remoteAddresses(texts, 'images').map(({ host }) => host)).toEqual(['b:1']);
  expect(remoteAddresses(null, 'text')).toEqual([]);
});

test('remoteProblems: rejects an invalid address or a missing key variable', () => {
  const sentences = (texts: string[], environment = {}) =>
    remoteProblems(texts, environment).map(({ sentence }) => sentence);
  expect(sentences(['http://a:1', 'nonsense'])).toEqual([expect.stringContaining('--remote must be URL')]);
  expect(sentences(['http://a:1,key=env:MISSING'])).toEqual([
    '--remote a:1: the environment variable MISSING for its key is not set.',
  ]);
  expect(sentences(['http://a:1,key=env:THERE'], { THERE: 'x' })).toEqual([]);
  expect(remoteProblems(null, {})).toEqual([]);
});

describe('readDrawingRemote', () => {
  test.each([
    ['http://127.0.0.1:7860', 'http://127.0.0.1:7860'],
    ['localhost:8188/', 'http://localhost:8188'],
    ['https://draw.invalid/sd/?x=1#y', 'https://draw.invalid/sd'],
  ])('reads %s', (text, base) => {
    expect(readSdRemote([text], {})).toMatchObject({ address: { base, purpose: 'images' }, kind: undefined });
  });

  test.each(['', 'ftp://x', 'http://', 'http://a b'])('refuses %j', (text) => {
    expect(() => readSdRemote([text], {})).toThrow('is no address');
  });

  test('reads the kind and the name of the key variable', () => {
    expect(readSdRemote(['x:1', 'key=env:SD_KEY', 'kind=comfy'], { SD_KEY: 'secret' })).toMatchObject({
      address: { base: 'http://x:1', host: 'x:1', keyVariable: 'SD_KEY' },
      kind: 'comfyui',
    });
  });

  test('reads the fields that are passed on', () => {
    expect(readSdRemote(['a:1', 'pass=cnet_*', 'pass=video'], {}).address.pass).toEqual(['cnet_*', 'video']);
    expect(() => readSdRemote(['a:1', 'pass=a b'], {})).toThrow('pass=FIELDS');
  });

  test('rejects a literal key, an empty variable, credentials in the URL and unknown options', () => {
    expect(() => readSdRemote(['x:1', 'key=secret'], {})).toThrow('key=env:NAME');
    expect(() => readSdRemote(['x:1', 'key=env:SD_KEY'], {})).toThrow('variable SD_KEY is not set');
    expect(() => readSdRemote(['http://me:secret@x:1'], {})).toThrow('name or password');
    expect(() => readSdRemote(['x:1', 'kind=other'], {})).toThrow('unknown option kind;');
    expect(() => readSdRemote(['x:1', 'more'], {})).toThrow('unknown option more');
  });
});

test('--remote and --sdremote: an error repeats no secret', () => {
  const remote = (text: string) =>
    remoteProblems([text], {})
      .map(({ sentence }) => sentence)
      .join();
  const drawing = (...words: string[]): string => {
    try {
      readSdRemote(words, {});
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const all = [
    remote('ftp://me:secret@host/?key=secret'),
    remote('http://me:secret@host'),
    remote('http://host,key=secret'),
    drawing('ftp://me:secret@host'),
    drawing('http://me:secret@host'),
    drawing('http://host', 'key=secret'),
    drawing('http://host', 'apikey=secret'),
  ];
  for (const sentence of all) {
    expect(sentence).not.toBe('');
    expect(sentence).not.toContain('secret');
  }
});
