export type RemoteKind = 'a1111' | 'comfy';

/** `--sdremote`: where the server is, what opens it, and of what kind it is where that was said. */
export interface RemoteAddress {
  readonly url: string;
  readonly key?: string | undefined;
  readonly kind?: RemoteKind | undefined;
}

/** Throws one sentence for what it cannot mean. */
export function readRemote(words: readonly string[], environment: NodeJS.ProcessEnv = process.env): RemoteAddress {
  const [first = '', ...options] = words;
  const url = plainAddress(first);
  let found: RemoteAddress = { url };
  for (const option of options) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/s.exec(option) ?? [];
    if (name === 'key') found = { ...found, key: keyOf(value, environment) };
    else if (name === 'kind' && (value === 'a1111' || value === 'comfy')) found = { ...found, kind: value };
    else throw new Error(`--sdremote: ${option} is none of key=env:NAME, kind=a1111 and kind=comfy.`);
  }
  return found;
}

/** Without what stands behind the path, and without a slash at its end. */
function plainAddress(text: string): string {
  const url = addressOf(/^[a-z]+:\/\//i.test(text) ? text : `http://${text}`);
  if (text === '' || !url || !/^https?:$/.test(url.protocol)) {
    throw new Error(`--sdremote ${text} is no address; it is to be one such as http://127.0.0.1:7860.`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function addressOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** A password on the command line would stand in every list of processes. */
function keyOf(value: string, environment: NodeJS.ProcessEnv): string {
  const name = /^env:(\w+)$/.exec(value)?.[1];
  if (name === undefined) throw new Error('--sdremote: the key is to be named as key=env:NAME, by a variable.');
  const key = environment[name];
  if (!key) throw new Error(`--sdremote: there is nothing in the environment variable ${name}.`);
  return key;
}
