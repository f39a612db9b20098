import { badFlags, type Problem } from './problem.ts';

/** What an engine elsewhere is used for. */
export const remotePurposes = ['text', 'embeddings', 'images'] as const;
export type RemotePurpose = (typeof remotePurposes)[number];

/** One engine on another machine, as `--remote` names it. */
export interface RemoteAddress {
  /** Where its paths begin, without `/v1` and without a slash at the end. */
  readonly base: string;
  /** The name and port alone: what may be told to anybody. */
  readonly host: string;
  readonly purpose: RemotePurpose;
  /** How much it can do beside the others. */
  readonly weight: number;
  /** How many requests it takes at once. */
  readonly parallel: number;
  /** The model to ask it for; the first that it has unless this says otherwise. */
  readonly model?: string;
  /** The variable of the environment that holds its key. */
  readonly keyVariable?: string;
}

export type RemoteReading =
  | { readonly ok: true; readonly address: RemoteAddress }
  /** The end of the sentence "--remote must be …". */
  | { readonly ok: false; readonly expected: string };

const usualParallel = 64;
const form = 'URL or URL,OPTION=VALUE';

interface Options {
  purpose: RemotePurpose;
  weight: number;
  parallel: number;
  model?: string;
  keyVariable?: string;
}

/** Each takes its value in, or says what it should have been. */
const readers: Readonly<Record<string, (value: string, options: Options) => string | undefined>> = {
  weight: (value, options) => {
    options.weight = Number(value);
    return options.weight > 0 && options.weight <= 1000 ? undefined : 'a number above 0, up to 1000';
  },
  parallel: (value, options) => {
    options.parallel = Number(value);
    const fits = Number.isInteger(options.parallel) && options.parallel >= 1 && options.parallel <= 4096;
    return fits ? undefined : 'a whole number from 1 to 4096';
  },
  model: (value, options) => {
    options.model = value;
    return value === '' ? 'the name of a model' : undefined;
  },
  key: (value, options) => {
    const { name } = /^env:(?<name>[A-Za-z_]\w*)$/.exec(value)?.groups ?? {};
    if (name !== undefined) options.keyVariable = name;
    // The value may be the key itself, which must not be repeated.
    return name === undefined ? 'env:NAME: everybody on this machine can read the words of a command line' : undefined;
  },
  for: (value, options) => {
    const purpose = remotePurposes.find((one) => one === value);
    options.purpose = purpose ?? 'text';
    return purpose ? undefined : `one of ${remotePurposes.join(', ')}`;
  },
};

export function readRemote(text: string): RemoteReading {
  const [place = '', ...words] = text.split(',');
  const url = parsed(place.trim());
  if (!url) return { ok: false, expected: `${form}, and ${JSON.stringify(place)} is no http or https address` };
  if (url.username !== '' || url.password !== '') {
    return { ok: false, expected: `${form}, without a name or password in it; a key goes into key=env:NAME` };
  }
  const options: Options = { purpose: 'text', weight: 1, parallel: usualParallel };
  for (const word of words) {
    const equals = word.indexOf('=');
    const name = word.slice(0, Math.max(0, equals)).trim();
    const read = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (!read) return { ok: false, expected: `${form}; the options are ${Object.keys(readers).join(', ')}` };
    const wrong = read(word.slice(equals + 1).trim(), options);
    if (wrong !== undefined) return { ok: false, expected: `${form}, and ${name} must be ${wrong}` };
  }
  const path = url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
  return { ok: true, address: { base: `${url.origin}${path}`, host: url.host, ...options } };
}

/** All that are named; what cannot be read was refused at the start. */
export function remoteAddresses(texts: readonly string[] | null, purpose: RemotePurpose): readonly RemoteAddress[] {
  return (texts ?? []).flatMap((text) => {
    const reading = readRemote(text);
    return reading.ok && reading.address.purpose === purpose ? [reading.address] : [];
  });
}

export function remoteProblems(
  texts: readonly string[] | null,
  environment: Readonly<Record<string, string | undefined>>,
): readonly Problem[] {
  return (texts ?? []).flatMap((text) => {
    const reading = readRemote(text);
    if (!reading.ok) return [badFlags(`--remote must be ${reading.expected}.`)];
    const { host, keyVariable } = reading.address;
    if (keyVariable === undefined || environment[keyVariable]) return [];
    return [badFlags(`--remote ${host}: the variable ${keyVariable}, which should hold its key, is not set.`)];
  });
}

function parsed(place: string): URL | undefined {
  if (!URL.canParse(place)) return undefined;
  const url = new URL(place);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined;
}

/** `--sdremote`: a server that draws, and of which product it is where that was said. */
export interface DrawingRemote {
  readonly address: RemoteAddress;
  readonly kind: 'a1111' | 'comfyui' | undefined;
}

/** `comfy` is what the flag took first. */
const drawingKinds: Readonly<Record<string, DrawingRemote['kind']>> = {
  a1111: 'a1111',
  comfy: 'comfyui',
  comfyui: 'comfyui',
};

/** Throws one sentence for what it cannot mean. */
export function readDrawingRemote(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): DrawingRemote {
  const [place = '', ...options] = words;
  const url = parsed(/^[a-z]+:\/\//i.test(place) ? place : `http://${place}`);
  if (place === '' || !url) {
    throw new Error(`--sdremote ${place} is no address; it must be one such as http://127.0.0.1:7860.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('--sdremote: the address must not hold a name or password; a key goes into key=env:NAME.');
  }
  let kind: DrawingRemote['kind'];
  let keyVariable: string | undefined;
  for (const option of options) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/s.exec(option) ?? [];
    if (name === 'key') keyVariable = filledVariable(value, environment);
    else if (name === 'kind' && Object.hasOwn(drawingKinds, value)) kind = drawingKinds[value];
    else throw new Error(`--sdremote: ${option} is none of key=env:NAME, kind=a1111 and kind=comfy.`);
  }
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  const common = { base, host: url.host, purpose: 'images', weight: 1, parallel: usualParallel } as const;
  return { address: { ...common, ...(keyVariable === undefined ? {} : { keyVariable }) }, kind };
}

/** A password on the command line would stand in every list of processes. */
function filledVariable(value: string, environment: Readonly<Record<string, string | undefined>>): string {
  const name = /^env:(\w+)$/.exec(value)?.[1];
  if (name === undefined) throw new Error('--sdremote: the key must be named as key=env:NAME, by a variable.');
  if (!environment[name]) throw new Error(`--sdremote: the environment variable ${name} is empty.`);
  return name;
}
