import { hideSecrets } from '../core/hide-secrets.ts';
import { fieldPattern } from '../core/sent-fields.ts';
import { badFlags, type Problem, type Read } from './flag.ts';

/** What a remote backend is used for. */
const remotePurposes = ['text', 'embeddings', 'images', 'audio', 'speech', 'transcription'] as const;
export type RemotePurpose = (typeof remotePurposes)[number];

export interface RemoteAddress {
  /** Base URL, without `/v1` and without a trailing slash. */
  readonly base: string;
  /** Host and port, safe to show to clients. */
  readonly host: string;
  readonly purpose: RemotePurpose;
  /** Share of the load relative to other backends. */
  readonly weight: number;
  readonly parallel: number;
  /** Model to request; the first that the backend lists by default. */
  readonly model?: string;
  readonly keyVariable?: string;
  /** Names of request fields, with `*`, that are passed on although the adapter does not know them. */
  readonly pass?: readonly string[];
}

const defaultParallel = 64;
const passForm = 'a name of fields such as cnet_*; repeat the option for several';
const form = 'URL or URL,OPTION=VALUE';

/** Each returns the parsed option, or what the value must be. */
const options: Readonly<Record<string, (value: string) => Partial<RemoteAddress> | string>> = {
  weight: (value) => {
    const weight = Number(value);
    return weight > 0 && weight <= 1000 ? { weight } : 'a number above 0, up to 1000';
  },
  parallel: (value) => {
    const parallel = Number(value);
    const fits = Number.isInteger(parallel) && parallel >= 1 && parallel <= 4096;
    return fits ? { parallel } : 'a whole number from 1 to 4096';
  },
  model: (value) => (value === '' ? 'the name of a model' : { model: value }),
  key: (value) => {
    const keyVariable = /^env:([A-Za-z_]\w*)$/.exec(value)?.[1];
    // The value may be the key itself, so the message must not contain it.
    return keyVariable === undefined
      ? 'env:NAME, because other users of this machine can read the command line'
      : { keyVariable };
  },
  for: (value) => {
    const purpose = remotePurposes.find((one) => one === value);
    return purpose ? { purpose } : `one of ${remotePurposes.join(', ')}`;
  },
  pass: (value) => {
    const pattern = fieldPattern(value);
    return pattern === undefined ? passForm : { pass: [pattern] };
  },
};

export function readRemote(text: string): Read<{ readonly address: RemoteAddress }> {
  const [addressText = '', ...pairs] = text.split(',');
  const url = parsed(addressText.trim());
  if (!url)
    return {
      ok: false,
      expected: `${form}, and ${JSON.stringify(hideSecrets(addressText))} is not an http or https URL`,
    };
  if (url.username !== '' || url.password !== '') {
    return { ok: false, expected: `${form}, without a user name or password; use key=env:NAME for a key` };
  }
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}`;
  let address: RemoteAddress = { base, host: url.host, purpose: 'text', weight: 1, parallel: defaultParallel };
  for (const pair of pairs) {
    const equals = pair.indexOf('=');
    const name = pair.slice(0, Math.max(0, equals)).trim();
    const read = Object.hasOwn(options, name) ? options[name] : undefined;
    if (!read) return { ok: false, expected: `${form}; the options are ${Object.keys(options).join(', ')}` };
    const option = read(pair.slice(equals + 1).trim());
    if (typeof option === 'string') return { ok: false, expected: `${form}, and ${name} must be ${option}` };
    const pass = [...(address.pass ?? []), ...(option.pass ?? [])];
    address = { ...address, ...option, ...(pass.length > 0 && { pass }) };
  }
  return { ok: true, address };
}

/** The valid backends of this purpose; invalid ones were rejected at startup. */
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
    return [badFlags(`--remote ${host}: the environment variable ${keyVariable} for its key is not set.`)];
  });
}

function parsed(addressText: string): URL | undefined {
  if (!URL.canParse(addressText)) return undefined;
  const url = new URL(addressText);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined;
}

/** The image server of `--sdremote`, and its kind if given. */
export interface SdRemote {
  readonly address: RemoteAddress;
  readonly kind: 'a1111' | 'comfyui' | undefined;
}

/** `comfy` is the older spelling. */
const sdRemoteKinds: Readonly<Record<string, SdRemote['kind']>> = {
  a1111: 'a1111',
  comfy: 'comfyui',
  comfyui: 'comfyui',
};

/** Throws an error with one sentence for an invalid value. */
export function readSdRemote(
  pairs: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): SdRemote {
  const [addressText = '', ...options] = pairs;
  const url = parsed(/^[a-z]+:\/\//i.test(addressText) ? addressText : `http://${addressText}`);
  if (addressText === '' || !url) {
    throw new Error(`--sdremote ${hideSecrets(addressText)} is no address; give one such as http://127.0.0.1:7860.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error('--sdremote: the URL must not contain a user name or password; use key=env:NAME for a key.');
  }
  let kind: SdRemote['kind'];
  let keyVariable: string | undefined;
  const pass: string[] = [];
  for (const option of options) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/s.exec(option) ?? [];
    const pattern = name === 'pass' ? fieldPattern(value) : undefined;
    if (pattern !== undefined) pass.push(pattern);
    else if (name === 'key') keyVariable = filledVariable(value, environment);
    else if (name === 'kind' && Object.hasOwn(sdRemoteKinds, value)) kind = sdRemoteKinds[value];
    else
      throw new Error(
        `--sdremote: unknown option ${option.replace(/=.*$/s, '')}; the options are key=env:NAME, kind=a1111, kind=comfy and pass=FIELDS such as pass=cnet_*.`,
      );
  }
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  const common = { base, host: url.host, purpose: 'images', weight: 1, parallel: defaultParallel } as const;
  const own = { ...(keyVariable !== undefined && { keyVariable }), ...(pass.length > 0 && { pass }) };
  return { address: { ...common, ...own }, kind };
}

/** Keys come from the environment, because other users can read the command line in the process list. */
function filledVariable(value: string, environment: Readonly<Record<string, string | undefined>>): string {
  const name = /^env:(\w+)$/.exec(value)?.[1];
  if (name === undefined)
    throw new Error('--sdremote: give the key as key=env:NAME, with the name of an environment variable.');
  if (!environment[name]) throw new Error(`--sdremote: the environment variable ${name} is not set.`);
  return name;
}
