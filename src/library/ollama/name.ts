import { plainFileName } from '../file-name.ts';

/** A model of Ollama's registry, or of another one with the same protocol. */
export interface OllamaName {
  readonly host: string;
  readonly namespace: string;
  readonly model: string;
  readonly tag: string;
}

export const ollamaHost = 'registry.ollama.ai';

const part = /^[A-Za-z0-9_][\w.-]{0,79}$/;
const owner = /^[A-Za-z0-9_][\w-]{0,79}$/;
/** A host has a dot or a port. */
const registry = /^(?=.*[.:]|localhost$)[A-Za-z0-9][\w.:-]{0,349}$/;

/** `qwen3:8b`, `owner/name:tag`, `host/owner/name:tag`; undefined for anything else. */
export function readOllamaName(text: string): OllamaName | undefined {
  const folders = text.split('/');
  const [model = '', tag = 'latest', ...rest] = (folders.pop() ?? '').split(':');
  const [namespace = 'library', host = ollamaHost, ...more] = folders.reverse();
  if (rest.length > 0 || more.length > 0 || !owner.test(namespace) || !registry.test(host)) return undefined;
  if (![model, tag].every((one) => part.test(one) && !one.includes('..'))) return undefined;
  if (![namespace, model, tag].every((one) => plainFileName(one))) return undefined;
  return { host: host.toLowerCase() === 'ollama.com' ? ollamaHost : host, namespace, model, tag };
}

/** As Ollama writes it: without the registry, the owner `library` and the tag `latest`. */
export function shortOllamaName({ host, namespace, model, tag }: OllamaName): string {
  const own = namespace === 'library' ? model : `${namespace}/${model}`;
  const whole = host === ollamaHost ? own : `${host}/${namespace}/${model}`;
  return tag === 'latest' ? whole : `${whole}:${tag}`;
}

/** The name of a model of Ollama's registry in the models folder (`ollama--library--qwen3/qwen3-8b`); undefined for other files. */
export function ollamaFileName(repository: string, stem: string): string | undefined {
  const [model = '', namespace = '', ...host] = (/^ollama\/(?<rest>.+)$/.exec(repository)?.groups?.rest ?? '')
    .split('--')
    .reverse();
  if (model === '' || !stem.startsWith(`${model}-`)) return undefined;
  const tag = stem.slice(model.length + 1);
  return shortOllamaName({ host: host.join('--').replace(/_(?=\d+$)/, ':') || ollamaHost, namespace, model, tag });
}
